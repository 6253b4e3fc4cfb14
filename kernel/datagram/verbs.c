// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs of QPs of type UD: creation, states, attributes and destruction.
 */
#include "datagram/port.h"
#include "datagram/receive.h"
#include "datagram/send.h"
#include "datagram/verbs.h"
#include "stream/datagrams.h"
#include "stream/kick/kick.h"
#include "stream/number.h"
#include "stream/state.h"
#include "stream/transmit/transmit.h"
#include "stream/verbs.h"
#include "udata.h"

#define MAX_PSN		0xffffff

static struct srnic_datagrams *datagrams_of(struct ib_qp *base)
{
	return to_srnic_qp(base)->datagrams;
}

/* ---- creation and destruction ---- */

int srnic_ud_create_qp(struct ib_qp *base, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	int ret = srnic_create_qp(base, attr, udata);

	if (ret)
		return ret;
	datagrams_of(base)->send = srnic_datagram_send;
	datagrams_of(base)->attr.port_num = 1;
	ret = srnic_datagram_add_receiver(datagrams_of(base));
	if (ret)
		srnic_destroy_qp(base, udata);
	return ret;
}

int srnic_ud_destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	srnic_datagram_remove_receiver(datagrams_of(base));
	return srnic_destroy_qp(base, udata);
}

/*
 * The RDMA core has checked that it is a QP of type UD, and a group. Only a QP that has left all
 * groups is destroyed. RoCE has no LIDs.
 */
int srnic_ud_attach_mcast(struct ib_qp *base, union ib_gid *gid, u16 lid)
{
	return srnic_datagram_attach(datagrams_of(base), gid);
}

int srnic_ud_detach_mcast(struct ib_qp *base, union ib_gid *gid, u16 lid)
{
	return srnic_datagram_detach(datagrams_of(base), gid);
}

/* ---- states; tx.mutex held for most ---- */

static enum ib_qp_state state_of(const struct srnic_datagrams *datagrams)
{
	if (READ_ONCE(datagrams->qp->state) == SRNIC_QP_ERROR)
		return IB_QPS_ERR;
	return READ_ONCE(datagrams->broken) ? IB_QPS_SQE : datagrams->qp->ib_state;
}

static void reset(struct srnic_datagrams *datagrams)
{
	srnic_datagrams_close(datagrams);
	srnic_qp_reset(datagrams->qp);
	mutex_lock(&datagrams->qp->tx.mutex);
	datagrams->sends = false;
	WRITE_ONCE(datagrams->broken, false);
	srnic_tx_unlock(datagrams->qp);
	datagrams->attr = (struct ib_qp_attr) { .port_num = 1 };
}

static void begin_to_receive(struct srnic_datagrams *datagrams)
{
	struct srnic_qp *qp = datagrams->qp;

	mutex_lock(&qp->tx.mutex);
	qp->event_raised = false;
	if (srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_RTS, NULL))
		srnic_datagrams_open(datagrams);
	srnic_tx_unlock(qp);
}

/* From SQE only when all is flushed, so that nothing posted before is sent. */
static int begin_to_send(struct srnic_datagrams *datagrams)
{
	struct srnic_qp *qp = datagrams->qp;
	int ret = 0;

	mutex_lock(&qp->tx.mutex);
	if (datagrams->broken && !srnic_sq_flush(&qp->sq, srnic_tx_flush_of(qp)))
		ret = -EBUSY;
	if (!ret) {
		WRITE_ONCE(datagrams->broken, false);
		datagrams->sends = true;
		srnic_tx_kick(qp);
	}
	srnic_tx_unlock(qp);
	return ret;
}

/* What was taken from the queue was sent under tx.mutex: it is drained at once. */
static void pause(struct srnic_datagrams *datagrams)
{
	struct srnic_qp *qp = datagrams->qp;
	struct ib_event event = { .device = qp->base.device, .element.qp = &qp->base,
				  .event = IB_EVENT_SQ_DRAINED };

	mutex_lock(&qp->tx.mutex);
	datagrams->sends = false;
	srnic_tx_unlock(qp);
	if (datagrams->attr.en_sqd_async_notify && qp->base.event_handler)
		qp->base.event_handler(&event, qp->base.qp_context);
}

static void fail(struct srnic_datagrams *datagrams)
{
	srnic_datagrams_close(datagrams);
	srnic_qp_fail_and_wait(datagrams->qp);
}

/* The attributes are set. */
static int enter(struct srnic_datagrams *datagrams, enum ib_qp_state to)
{
	int ret = to == IB_QPS_RTS ? begin_to_send(datagrams) : 0;

	if (ret)
		return ret;
	datagrams->qp->ib_state = to;
	switch (to) {
	case IB_QPS_RESET:
		reset(datagrams);
		break;
	case IB_QPS_RTR:
		begin_to_receive(datagrams);
		break;
	case IB_QPS_SQD:
		pause(datagrams);
		break;
	case IB_QPS_ERR:
		fail(datagrams);
		break;
	default:
		break;
	}
	return 0;
}

/* ---- attributes ---- */

static void set_qkey(struct srnic_datagrams *datagrams, u32 qkey)
{
	mutex_lock(&datagrams->qp->tx.mutex);
	spin_lock_bh(&datagrams->receiving);
	datagrams->qkey = qkey;
	spin_unlock_bh(&datagrams->receiving);
	srnic_tx_unlock(datagrams->qp);
}

static void set_attributes(struct srnic_datagrams *datagrams, const struct ib_qp_attr *attr,
			   int mask)
{
	struct ib_qp_attr *to = &datagrams->attr;

	if (mask & IB_QP_PORT)
		to->port_num = attr->port_num;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn & MAX_PSN;
	if (mask & IB_QP_QKEY) {
		to->qkey = attr->qkey;
		set_qkey(datagrams, attr->qkey);
	}
	to->en_sqd_async_notify = mask & IB_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify;
}

static int modify(struct srnic_datagrams *datagrams, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state from = state_of(datagrams);
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;

	lockdep_assert_held(&datagrams->modify);
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(from, to, datagrams->qp->base.qp_type, mask))
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
	set_attributes(datagrams, attr, mask);
	if (!(mask & IB_QP_STATE) || (from == IB_QPS_SQD && to == IB_QPS_SQD))
		return 0;
	return enter(datagrams, to);
}

int srnic_ud_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct srnic_datagrams *datagrams = datagrams_of(base);
	int ret = srnic_udata_none(udata);

	if (ret)
		return ret;
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&datagrams->modify);
	ret = modify(datagrams, attr, mask);
	mutex_unlock(&datagrams->modify);
	return ret;
}

/* `rdma resource` asks also while the QP is destroyed, as of other QPs (pairing/verbs.c). */
int srnic_ud_query_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init)
{
	struct srnic_qp *qp = srnic_number_hold(base);

	if (!qp)
		return -EINVAL;
	mutex_lock(&qp->datagrams->modify);
	*attr = qp->datagrams->attr;
	attr->qp_state = state_of(qp->datagrams);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->path_mig_state = IB_MIG_MIGRATED;
	mutex_unlock(&qp->datagrams->modify);
	srnic_query_init_attr(qp, init);
	srnic_qp_put(qp);
	return 0;
}
