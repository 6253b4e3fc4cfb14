// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs of QPs that are connected by hand: the states of InfiniBand, and what each does to
 * pairing and stream (Documentation/ib.rst, "Pairing").
 */
#include "pairing/attributes.h"
#include "pairing/verbs.h"
#include "stream/kick/kick.h"
#include "stream/number.h"
#include "stream/verbs.h"
#include "udata.h"

/* ---- creation and destruction ---- */

int srnic_ib_create_qp(struct ib_qp *base, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	int ret = srnic_create_qp(base, attr, udata);

	if (ret)
		return ret;
	ret = srnic_pairing_alloc(qp);
	if (ret) {
		srnic_destroy_qp(base, udata);
		return ret;
	}
	mutex_lock(&srnic_pairing_of(qp)->modify);
	srnic_attributes_reset(srnic_pairing_of(qp));
	mutex_unlock(&srnic_pairing_of(qp)->modify);
	return 0;
}

int srnic_ib_destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	struct srnic_pairing *pairing = srnic_pairing_of(to_srnic_qp(base));
	int ret;

	srnic_pairing_end(pairing);
	ret = srnic_destroy_qp(base, udata);
	srnic_pairing_free(pairing);
	return ret;
}

/* ---- states ---- */

/*
 * In RTS requests are taken from the queue; one that is begun goes on in any case. notify: raise
 * SQ_DRAINED when those that were begun are done.
 */
static void pause(struct srnic_qp *qp, bool paused, bool notify)
{
	mutex_lock(&qp->tx.mutex);
	WRITE_ONCE(qp->acks->core.paused, paused);
	WRITE_ONCE(qp->acks->draining, notify);
	srnic_tx_kick(qp);
	srnic_tx_unlock(qp);
}

static void reset(struct srnic_pairing *pairing)
{
	srnic_pairing_end(pairing);
	srnic_qp_reset(pairing->qp);
	srnic_attributes_reset(pairing);
}

static void fail(struct srnic_pairing *pairing)
{
	srnic_pairing_end(pairing);
	srnic_qp_fail_and_wait(pairing->qp);
}

/* The attributes are set. */
static void enter(struct srnic_pairing *pairing, enum ib_qp_state to)
{
	struct srnic_qp *qp = pairing->qp;

	qp->ib_state = to;
	switch (to) {
	case IB_QPS_RESET:
		reset(pairing);
		break;
	case IB_QPS_RTR:
		srnic_pairing_begin(pairing);
		break;
	case IB_QPS_RTS:
		pause(qp, false, false);
		break;
	case IB_QPS_SQD:
		pause(qp, true, pairing->attr.en_sqd_async_notify);
		break;
	case IB_QPS_ERR:
		fail(pairing);
		break;
	default:
		break;
	}
}

static int modify(struct srnic_pairing *pairing, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state from = srnic_ib_state_of(pairing->qp);
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;
	int ret;

	lockdep_assert_held(&pairing->modify);
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(from, to, IB_QPT_RC, mask))
		return -EINVAL;
	ret = srnic_attributes_check(attr, mask) ?: srnic_attributes_set(pairing, attr, mask);
	if (ret || !(mask & IB_QP_STATE) || (from == IB_QPS_SQD && to == IB_QPS_SQD))
		return ret;
	pairing->attr.en_sqd_async_notify = mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
					    attr->en_sqd_async_notify;
	enter(pairing, to);
	return 0;
}

int srnic_ib_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct srnic_pairing *pairing = srnic_pairing_of(to_srnic_qp(base));
	int ret = srnic_udata_none(udata);

	if (ret)
		return ret;
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&pairing->modify);
	ret = modify(pairing, attr, mask);
	mutex_unlock(&pairing->modify);
	return ret;
}

/*
 * `rdma resource` asks also while the QP is destroyed, when its number is the first to go; only
 * some kernels exclude that.
 */
int srnic_ib_query_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init)
{
	struct srnic_qp *qp = srnic_number_hold(base);
	struct srnic_pairing *pairing;

	if (!qp)
		return -EINVAL;
	pairing = srnic_pairing_of(qp);
	mutex_lock(&pairing->modify);
	srnic_attributes_query(pairing, attr);
	mutex_unlock(&pairing->modify);
	srnic_query_init_attr(qp, init);
	srnic_qp_put(qp);
	return 0;
}
