// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The rest of a stream whose QP has left it (Documentation/ib.rst rule 31).
 */
#include <linux/slab.h>

#include "stream/transmit/own_batch.h"
#include "stream/transmit/rest.h"

/* Its pages are charged, and it needs no more of them. */
static struct srnic_own_batch *take_built(struct srnic_qp *qp)
{
	struct srnic_own_batch *own;

	if (!qp->tx.batch->len)
		return NULL;
	srnic_leave_run_next(&qp->tx);
	own = srnic_own_batch(&qp->tx);
	cancel_delayed_work_sync(&own->trim);
	qp->tx.batch = &srnic_no_batch;
	own->batch.payer = NULL;
	own->qp = NULL;
	srnic_qp_put(qp);
	return own;
}

void srnic_rest_take(struct srnic_qp *qp, struct srnic_rest *rest)
{
	lockdep_assert_held(&qp->tx.mutex);
	*rest = (struct srnic_rest) { .built = take_built(qp) };
	rest->len = core_tx_last_ack(&qp->tx.core, rest->ack);
}

int srnic_rest_send_built(struct srnic_rest *rest, struct socket *sock)
{
	while (rest->built && rest->built->batch.len) {
		int ret = srnic_batch_send(&rest->built->batch, sock, rest->len, true);

		if (ret <= 0)
			return ret;
	}
	return 1;
}

void srnic_rest_free(struct srnic_rest *rest)
{
	if (!rest->built)
		return;
	srnic_batch_release(&rest->built->batch);
	kfree(rest->built);
	rest->built = NULL;
}
