// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Terminates (RFC 5040 4.8) in the counters, the trace and the kernel's log: there in words, and
 * rate-limited, because a peer may cause many.
 */
#include "core/core_terminate_words.h"
#include "device/stats.h"
#include "device/terminate.h"
#include "tracing/trace.h"

static const char *words_for(const struct core_terminate *term)
{
	return core_terminate_in_words(core_terminate_code(term));
}

void srnic_terminate_sent(struct srnic_qp *qp, const struct core_terminate *term)
{
	const char *words = words_for(term);

	srnic_qp_count(qp, SRNIC_TX_TERMINATES, 1);
	trace_srnic_terminate_sent(qp, term, words);
	ibdev_warn_ratelimited(qp->base.device,
			       "qp %u: Terminate sent: %s (layer %u type %u code %u)\n",
			       qp->base.qp_num, words, term->layer, term->etype, term->code);
}

void srnic_terminate_received(struct srnic_qp *qp, const struct core_terminate *term)
{
	const char *words = words_for(term);

	srnic_qp_count(qp, SRNIC_RX_TERMINATES, 1);
	trace_srnic_terminate_received(qp, term, words);
	ibdev_warn_ratelimited(qp->base.device,
			       "qp %u: peer's Terminate: %s (layer %u type %u code %u)\n",
			       qp->base.qp_num, words, term->layer, term->etype, term->code);
}

void srnic_terminate_at_startup(struct srnic_dev *dev, const struct core_terminate *term)
{
	srnic_count(dev, SRNIC_TX_TERMINATES, 1);
	ibdev_warn_ratelimited(&dev->base,
			       "startup: Terminate sent: %s (layer %u type %u code %u)\n",
			       words_for(term), term->layer, term->etype, term->code);
}
