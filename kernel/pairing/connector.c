// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attempts to connect (Documentation/ib.rst rules 54 and 55): opens a connection for the QP, when
 * the core says that it is time.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "connection/ep.h"
#include "connection/machine.h"
#include "connection/open.h"
#include "connection/frame.h"
#include "pairing/consumer.h"
#include "pairing/pairing.h"
#include "report/counters.h"
#include "stream/detach.h"
#include "stream/kick/kick.h"

static u32 begin_attempt(struct srnic_pairing *pairing, struct srnic_path *path)
{
	struct srnic_qp *qp = pairing->qp;
	struct core_pair_counts counts;
	u32 attempt;

	mutex_lock(&qp->tx.mutex);
	counts = srnic_qp_counts(qp);
	attempt = core_pairing_connect(&pairing->core, &counts);
	*path = pairing->path;
	if (core_pairing_is_itself(&pairing->core))
		srnic_set_port(&path->there, 0);	/* its own */
	srnic_tx_unlock(qp);
	return attempt;
}

static void attempt_failed(struct srnic_pairing *pairing, u32 attempt, int error)
{
	struct core_pair_outcome outcome;

	mutex_lock(&pairing->qp->tx.mutex);
	core_pairing_failed(&pairing->core, attempt, CORE_PAIR_OK, get_random_u32(), &outcome);
	srnic_pairing_take_outcome(pairing, &outcome, error);
	srnic_tx_unlock(pairing->qp);
}

/* The ep gets the QP, and the QP the ep, unless the attempt is over already. */
static bool introduce(struct srnic_pairing *pairing, u32 attempt, struct srnic_ep *ep)
{
	struct srnic_qp *qp = pairing->qp;
	bool current_one;

	srnic_qp_hold(qp);
	ep->qp = qp;
	ep->consumer_id = (void *)(unsigned long)attempt;
	mutex_lock(&qp->tx.mutex);
	current_one = pairing->core.state == CORE_PAIRING_CONNECTING &&
		      pairing->core.attempt == attempt;
	if (current_one) {
		srnic_pairing_drop_attempt(pairing);	/* one that is over */
		srnic_ep_get(ep);
		pairing->attempt = ep;
	}
	srnic_tx_unlock(qp);
	return current_one;
}

static void open_connection(struct srnic_pairing *pairing, u32 attempt,
			    const struct srnic_path *path)
{
	struct srnic_dev *dev = pairing->qp->dev;
	const struct srnic_route route = {
		.here = &path->here,
		.there = &path->there,
		.l3mdev = srnic_path_l3mdev(path, dev_net(dev->netdev)),
		.tos_set = path->tos,
		.tos = path->tos,
	};
	struct srnic_ep *ep;
	int ret;

	srnic_count(dev, SRNIC_PAIRING_ATTEMPTS, 1);
	ep = srnic_ep_create(dev, dev_net(dev->netdev), srnic_machine_work, &srnic_pairing_ops);
	if (IS_ERR(ep)) {
		attempt_failed(pairing, attempt, PTR_ERR(ep));
		return;
	}
	ret = introduce(pairing, attempt, ep) ?
		      srnic_open_active(ep, &route, &(struct srnic_offer) { }) : -ECANCELED;
	if (ret) {
		attempt_failed(pairing, attempt, ret);
		srnic_ep_discard(ep);
	}
	srnic_ep_unlock_put(ep);
}

void srnic_pairing_connect(struct work_struct *work)
{
	struct srnic_pairing *pairing =
		container_of(to_delayed_work(work), struct srnic_pairing, work);
	unsigned int noio = memalloc_noio_save();	/* storage may wait for this connection */
	struct srnic_path path;
	u32 attempt = begin_attempt(pairing, &path);

	if (attempt)
		open_connection(pairing, attempt, &path);
	memalloc_noio_restore(noio);
}
