// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A QP's pairing: its life, and what follows when an attempt fails or a stream is lost
 * (Documentation/ib.rst, "Trying again").
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "connection/ep.h"
#include "core/api/core_pairing_words.h"
#include "pairing/pairing.h"
#include "report/counters.h"
#include "report/trace.h"
#include "stream/detach.h"
#include "stream/kick/kick.h"
#include "stream/state.h"

/* ---- life ---- */

int srnic_pairing_alloc(struct srnic_qp *qp)
{
	struct srnic_pairing *pairing = kzalloc(sizeof(*pairing), GFP_KERNEL_ACCOUNT);

	if (!pairing)
		return -ENOMEM;
	pairing->qp = qp;
	pairing->core.features = SRNIC_COMPAT_FLUSH ? CORE_PAIR_EXTENDED : 0;
	INIT_DELAYED_WORK(&pairing->work, srnic_pairing_connect);
	mutex_init(&pairing->modify);
	qp->acks->core.paused = true;	/* until RTS */
	/* release: what it points to before the pointer; pairs with find_qp(), which comes early */
	smp_store_release(&qp->acks->pairing, pairing);
	return 0;
}

void srnic_pairing_free(struct srnic_pairing *pairing)
{
	WARN_ON(pairing->attempt || pairing->attached);
	cancel_delayed_work_sync(&pairing->work);
	kfree(pairing);
}

static void connect_in(struct srnic_pairing *pairing, u32 ms)
{
	mod_delayed_work(srnic_wq, &pairing->work, msecs_to_jiffies(ms));
}

/* Rule 49: not zero. */
static u64 new_incarnation(void)
{
	return get_random_u64() ?: 1;
}

void srnic_pairing_begin(struct srnic_pairing *pairing)
{
	mutex_lock(&pairing->qp->tx.mutex);
	pairing->core.incarnation = new_incarnation();
	core_pairing_ready(&pairing->core);
	srnic_tx_unlock(pairing->qp);
	connect_in(pairing, 0);
}

void srnic_pairing_end(struct srnic_pairing *pairing)
{
	mutex_lock(&pairing->qp->tx.mutex);
	core_pairing_reset(&pairing->core);
	srnic_pairing_drop_attempt(pairing);
	srnic_tx_unlock(pairing->qp);
	cancel_delayed_work_sync(&pairing->work);
}

/* ---- ends ---- */

static struct srnic_ep *take(struct srnic_ep **at)
{
	struct srnic_ep *ep = *at;

	*at = NULL;
	return ep;
}

void srnic_pairing_drop_attempt(struct srnic_pairing *pairing)
{
	struct srnic_ep *ep = take(&pairing->attempt);

	lockdep_assert_held(&pairing->qp->tx.mutex);
	if (!ep)
		return;
	srnic_ep_over(ep, CORE_CONN_ABORT);
	srnic_ep_put(ep);
}

void srnic_pairing_drop_stream(struct srnic_pairing *pairing)
{
	struct srnic_ep *ep = take(&pairing->attached);

	lockdep_assert_held(&pairing->qp->tx.mutex);
	if (!ep)
		return;
	srnic_qp_detach_locked(pairing->qp);
	srnic_ep_over(ep, CORE_CONN_FAULT);
	srnic_ep_put(ep);
}

/* Not ready yet is what each QP hears that comes first. */
static void report(struct srnic_pairing *pairing)
{
	const struct core_pairing *core = &pairing->core;

	if (core->failures < 2)
		return;
	ibdev_warn_ratelimited(pairing->qp->base.device,
			       "qp %u: no stream with QP %u at %pISc: %s (%d)\n",
			       pairing->qp->base.qp_num, core->peer.qpn, &pairing->path.there,
			       core_pair_in_words(pairing->reason), pairing->error);
}

void srnic_pairing_take_outcome(struct srnic_pairing *pairing,
				const struct core_pair_outcome *outcome, int error)
{
	lockdep_assert_held(&pairing->qp->tx.mutex);
	if (outcome->conclusion != CORE_PAIR_RETRY)
		return;
	pairing->reason = outcome->reason;
	pairing->error = error;
	srnic_count(pairing->qp->dev, SRNIC_PAIRING_FAILURES, 1);
	trace_srnic_pairing(pairing->qp, outcome->reason, error, outcome->wait);
	report(pairing);
	connect_in(pairing, outcome->wait);
}

/* With requests unacknowledged there is no other stream: they fail in time (stream/overdue.c). */
void srnic_pairing_lost(struct srnic_pairing *pairing, struct srnic_ep *ep)
{
	struct srnic_qp *qp = pairing->qp;

	lockdep_assert_held(&qp->tx.mutex);
	if (pairing->attached != ep)
		return;
	pairing->attached = NULL;
	srnic_ep_put(ep);	/* the caller has another reference */
	if (READ_ONCE(qp->state) != SRNIC_QP_IDLE) {
		core_pairing_reset(&pairing->core);
		return;
	}
	if (pairing->core.state != CORE_PAIRING_ATTACHED)
		return;		/* the program has reset it */
	srnic_qp_count(qp, SRNIC_STREAMS_LOST, 1);
	if (srnic_qp_counts(qp).idle)
		connect_in(pairing, core_pairing_lost(&pairing->core, get_random_u32()));
}
