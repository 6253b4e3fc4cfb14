// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Terminates (RFC 5040 4.8) in the kernel's log: in words, and rate-limited, because a peer may
 * cause many.
 */
#include "core/api/core_terminate_words.h"
#include "report/terminate.h"

const char *srnic_terminate_words(const struct core_terminate *term)
{
	return core_terminate_in_words(core_terminate_code(term));
}

void srnic_terminate_sent(const struct ib_qp *qp, const struct core_terminate *term)
{
	ibdev_warn_ratelimited(qp->device,
			       "qp %u: Terminate sent: %s (layer %u type %u code %u)\n",
			       qp->qp_num, srnic_terminate_words(term), term->layer, term->etype,
			       term->code);
}

void srnic_terminate_received(const struct ib_qp *qp, const struct core_terminate *term)
{
	ibdev_warn_ratelimited(qp->device,
			       "qp %u: peer's Terminate: %s (layer %u type %u code %u)\n",
			       qp->qp_num, srnic_terminate_words(term), term->layer, term->etype,
			       term->code);
}

void srnic_terminate_at_startup(struct ib_device *dev, const struct core_terminate *term)
{
	ibdev_warn_ratelimited(dev, "startup: Terminate sent: %s (layer %u type %u code %u)\n",
			       srnic_terminate_words(term), term->layer, term->etype, term->code);
}
