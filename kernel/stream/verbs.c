// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs of queue pairs: creation, what modify_qp does to a connection, query and destruction.
 */
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <rdma/uverbs_ioctl.h>

#include "queue/cq.h"
#include "queue/srq.h"
#include "stream/acks.h"
#include "stream/attach.h"
#include "stream/datagrams.h"
#include "stream/kick/kick.h"
#include "stream/kick/standby.h"
#include "stream/number.h"
#include "stream/overdue.h"
#include "stream/peer_timeout.h"
#include "stream/state.h"
#include "stream/transmit/transmit.h"
#include "stream/verbs.h"
#include "udata.h"

/* ---- a CQ that has lost a completion ---- */

/* There is no stream to end. */
static void fail_datagrams(struct srnic_datagrams *datagrams)
{
	srnic_datagrams_close(datagrams);
	if (READ_ONCE(datagrams->qp->state) == SRNIC_QP_RTS)
		srnic_qp_event(datagrams->qp, IB_EVENT_QP_FATAL);
	srnic_qp_fail(datagrams->qp);
}

/*
 * The CQ has lost a completion, so later ones would leave a gap: end the stream. Until the QP is
 * detached only its memory is safe. The reference has destroy_qp wait before it cancels the work
 * that this kicks; where none is left, the QP has failed already.
 */
static void overrun(struct srnic_qp *qp)
{
	struct srnic_datagrams *datagrams = srnic_datagrams_of(qp);

	if (!refcount_inc_not_zero(&qp->users))
		return;
	if (datagrams)
		fail_datagrams(datagrams);
	else
		srnic_qp_host_error(qp, CORE_HOST_LOCAL);
	if (qp->acks && srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_ERROR, NULL))
		srnic_tx_kick(qp);	/* it has left its stream meanwhile */
	srnic_qp_put(qp);
}

static void sends_overrun(struct srnic_cq_user *user)
{
	overrun(container_of(user, struct srnic_qp, sends));
}

static void receives_overrun(struct srnic_cq_user *user)
{
	overrun(container_of(user, struct srnic_qp, receives));
}

static void attach_cqs(struct srnic_qp *qp)
{
	qp->sends.overrun = sends_overrun;
	qp->receives.overrun = receives_overrun;
	srnic_cq_attach(qp->sq.cq, &qp->sends);
	srnic_cq_attach(qp->rq.cq, &qp->receives);
}

static void detach_cqs(struct srnic_qp *qp)
{
	srnic_cq_detach(qp->sq.cq, &qp->sends);
	srnic_cq_detach(qp->rq.cq, &qp->receives);
}

/* ---- creation and destruction ---- */

/* What may be posted depends on the framing, which of devices with several is known later. */
static void set_framing(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->sq.framing, qp->dev->ib ? CORE_FRAMING_IB : CORE_FRAMING_MPA);
}

/* Default of a QP's retry_cnt: the maximum of IBTA. */
#define RETRIES 7

/* With an SRQ the capacities of receives are ignored, as in ibv_create_qp(3). */
static bool cap_fits(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	return cap->max_send_wr <= SRNIC_MAX_QP_WR && cap->max_send_sge <= SRNIC_MAX_SGE &&
	       cap->max_inline_data <= SRNIC_MAX_INLINE &&
	       (attr->srq ||
		(cap->max_recv_wr <= SRNIC_MAX_QP_WR && cap->max_recv_sge <= SRNIC_MAX_SGE));
}

static bool has_type(const struct srnic_dev *dev, enum ib_qp_type type)
{
	return type == IB_QPT_RC || (dev->ib && (type == IB_QPT_UD || type == IB_QPT_GSI));
}

static int check_attr(const struct srnic_dev *dev, const struct ib_qp_init_attr *attr,
		      struct ib_udata *udata)
{
	if (!has_type(dev, attr->qp_type) || attr->create_flags)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq || !cap_fits(attr))
		return -EINVAL;
	if (udata && udata->outlen < offsetofend(struct srnic_create_qp_resp, rq))
		return -EINVAL;
	return srnic_udata_no_request(udata);
}

static int alloc_acks(struct srnic_qp *qp)
{
	int ret = srnic_acks_alloc(qp);

	if (!ret)
		srnic_overdue_init(qp);
	return ret;
}

static int alloc_queues(struct srnic_qp *qp)
{
	const struct ib_qp_cap *cap = &qp->cap;
	int ret;

	ret = srnic_sq_alloc(&qp->sq, cap->max_send_wr,
			     max_t(u32, cap->max_send_sge * sizeof(struct srnic_sge),
				   cap->max_inline_data));
	if (ret)
		return ret;
	qp->tx.wqe = kzalloc(qp->sq.ring.slot_size, GFP_KERNEL_ACCOUNT);
	if (!qp->tx.wqe)
		return -ENOMEM;
	ret = srnic_rq_alloc(&qp->rq, cap->max_recv_wr, cap->max_recv_sge) ?:
	      srnic_receive_alloc(&qp->rx.receive, &qp->rq);
	if (ret || !qp->dev->ib)
		return ret;
	return srnic_has_datagrams(&qp->base) ? srnic_datagrams_alloc(qp) : alloc_acks(qp);
}

static void free_queues(struct srnic_qp *qp)
{
	mem_cgroup_put(qp->payer);
	if (qp->acks)
		srnic_overdue_stop(qp);
	srnic_acks_free(qp);
	srnic_datagrams_free(qp);
	kfree(qp->tx.wqe);
	srnic_sq_free(&qp->sq);
	srnic_receive_free(&qp->rx.receive);
	srnic_rq_free(&qp->rq);
	srnic_qp_free_reads(qp);
}

/* Reports the capacities of the rings and slots, which may be more than was asked for. */
static void report_caps(struct srnic_qp *qp, struct ib_qp_init_attr *attr)
{
	u32 list = qp->sq.ring.slot_size - sizeof(struct srnic_send_wqe);

	qp->cap.max_send_wr = qp->sq.ring.entries;
	qp->cap.max_send_sge = min_t(u32, list / sizeof(struct srnic_sge), SRNIC_MAX_SGE);
	qp->cap.max_inline_data = min_t(u32, list, SRNIC_MAX_INLINE);
	if (qp->rq.recv.ring.hdr)
		qp->cap.max_recv_wr = qp->rq.recv.ring.entries;
	attr->cap = qp->cap;
}

static int export_queues(struct srnic_qp *qp, struct ib_udata *udata)
{
	struct srnic_create_qp_resp resp = { .qp_num = qp->base.qp_num };
	struct srnic_ucontext *context =
		rdma_udata_to_drv_context(udata, struct srnic_ucontext, base);
	int ret;

	ret = srnic_ring_export(&qp->sq.ring, &context->base, &resp.sq);
	if (!ret && qp->rq.recv.ring.hdr)
		ret = srnic_ring_export(&qp->rq.recv.ring, &context->base, &resp.rq);
	return ret ?: srnic_udata_respond(udata, &resp, sizeof(resp));
}

static void init_qp(struct srnic_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	qp->dev = to_srnic_dev(qp->base.device);
	qp->stats = qp->dev->stats;
	qp->pd = to_srnic_pd(qp->base.pd)->id;
	qp->user = udata;
	qp->sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->sq.cq = to_srnic_cq(attr->send_cq);
	qp->rq.cq = to_srnic_cq(attr->recv_cq);
	qp->rq.srq = attr->srq ? to_srnic_srq(attr->srq) : NULL;
	qp->cap = attr->cap;
	if (qp->rq.srq) {
		qp->cap.max_recv_wr = 0;
		qp->cap.max_recv_sge = 0;
	}
	qp->ib_state = qp->dev->ib ? IB_QPS_RESET : IB_QPS_INIT;
	qp->retry_cnt = RETRIES;
	refcount_set(&qp->users, 1);
	spin_lock_init(&qp->state_lock);
}

/* QP 1, which each device of type srnic_ib has all the time, does not count. */
static bool counts(const struct srnic_qp *qp)
{
	return qp->base.qp_type != IB_QPT_GSI;
}

static void count_less(struct srnic_qp *qp)
{
	if (counts(qp))
		atomic_dec(&qp->dev->num_qps);
}

static int count_more(struct srnic_qp *qp)
{
	if (!counts(qp) || atomic_inc_return(&qp->dev->num_qps) <= SRNIC_MAX_QP)
		return 0;
	count_less(qp);
	return -ENOMEM;
}

int srnic_create_qp(struct ib_qp *base, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	int ret = check_attr(to_srnic_dev(base->device), attr, udata);

	if (ret)
		return ret;
	init_qp(qp, attr, udata);
	ret = count_more(qp);
	if (ret)
		return ret;
	qp->payer = udata ? get_mem_cgroup_from_mm(current->mm) : NULL;
	ret = alloc_queues(qp);
	if (ret)
		goto free;
	srnic_tx_init(qp);
	set_framing(qp);
	/* Lookups find the QP only at the end: no references before creation has succeeded. */
	ret = srnic_number_reserve(qp);
	if (ret < 0)
		goto free;
	qp->sq.qp_num = base->qp_num;
	qp->rq.qp_num = base->qp_num;
	report_caps(qp, attr);
	ret = udata ? export_queues(qp, udata) : 0;
	if (ret)
		goto release;
	attach_cqs(qp);
	srnic_number_publish(qp);
	return 0;
release:
	srnic_number_release(qp);
free:
	free_queues(qp);
	count_less(qp);
	return ret;
}

/* A Terminate that is due goes out before. */
static void fail_locked(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	srnic_tx_last_terminate(qp);
	srnic_qp_fail(qp);
}

static void fail(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.mutex);
	fail_locked(qp);
	srnic_tx_unlock(qp);
}

int srnic_destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(base);

	WRITE_ONCE(qp->silent, qp->user);
	fail(qp);
	srnic_qp_stop(qp, NULL);
	srnic_number_release(qp);
	srnic_qp_put(qp);
	srnic_qp_wait_for_references(qp);
	srnic_standby_exit(qp);
	cancel_delayed_work_sync(&qp->tx.work);
	detach_cqs(qp);	/* nobody completes any more */
	free_queues(qp);
	count_less(qp);
	return 0;
}

/* ---- modify and query ---- */

/*
 * From any state back to IDLE, where the QP can be connected. Flushes what is still posted: the
 * engine may not have done so yet, and does nothing for an IDLE QP. Nothing completes by a reset of
 * type srnic_ib.
 */
void srnic_qp_reset(struct srnic_qp *qp)
{
	bool silent = qp->acks || srnic_datagrams_of(qp);

	WRITE_ONCE(qp->silent, silent);
	fail(qp);
	srnic_qp_stop(qp, NULL);
	mutex_lock(&qp->tx.mutex);
	if (qp->state == SRNIC_QP_ERROR) {	/* unless another reset was faster */
		srnic_tx_flush(qp, silent ? SRNIC_FLUSH_DROP : SRNIC_FLUSH_LOSE);
		if (qp->acks)
			srnic_acks_reset(qp);
		qp->tx.last_wqe = false;
		qp->ack_timeout = 0;
		qp->retry_cnt = RETRIES;
		set_framing(qp);
		WRITE_ONCE(qp->sq.ring.hdr->state, SRNIC_SQ_NEED_DOORBELL);
		if (qp->rq.recv.ring.hdr)
			WRITE_ONCE(qp->rq.recv.ring.hdr->state, 0);
		srnic_qp_move(qp, BIT(SRNIC_QP_ERROR), SRNIC_QP_IDLE, NULL);
		WRITE_ONCE(qp->silent, false);
	}
	srnic_tx_unlock(qp);
}

/* All with tx.mutex held, so that it ends one connection and not the next one too. */
void srnic_qp_fail_and_wait(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.mutex);
	fail_locked(qp);
	if (qp->sock) {
		lock_sock(qp->sock->sk);
		release_sock(qp->sock->sk);
	}
	srnic_qp_disconnect(qp, CORE_CONN_ABORT);
	srnic_tx_unlock(qp);
}

/* A QP whose connection is not in operation yet has nothing to close. */
static bool connected(const struct srnic_qp *qp)
{
	u32 state = READ_ONCE(qp->state);

	return state == SRNIC_QP_RTS || state == SRNIC_QP_TERMINATING;
}

/* RFC 5041 6.2.1: what is posted from now on is flushed. */
static void close_gracefully(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.mutex);
	if (connected(qp)) {
		core_tx_close(&qp->tx.core, srnic_sq_pending(&qp->sq), false);
		srnic_qp_disconnect(qp, CORE_CONN_CLOSE);
	}
	srnic_tx_unlock(qp);
}

static int modify_state(struct srnic_qp *qp, enum ib_qp_state to)
{
	switch (to) {
	case IB_QPS_RESET:
		srnic_qp_reset(qp);
		return 0;
	case IB_QPS_INIT:
		return READ_ONCE(qp->state) == SRNIC_QP_IDLE ? 0 : -EINVAL;
	case IB_QPS_RTR:
		/*
		 * rdma_cm asks for RTR before it accepts; an iWARP QP gets there, and to RTS, by
		 * connecting.
		 */
		return READ_ONCE(qp->state) <= SRNIC_QP_RTS ? 0 : -EINVAL;
	case IB_QPS_RTS:
		return READ_ONCE(qp->state) == SRNIC_QP_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		close_gracefully(qp);
		return 0;
	case IB_QPS_ERR:
		srnic_qp_fail_and_wait(qp);
		return 0;
	default:
		return -EINVAL;
	}
}

static void modify_timeout(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	mutex_lock(&qp->tx.mutex);
	if (mask & IB_QP_TIMEOUT)
		qp->ack_timeout = attr->timeout & 0x1f;
	if (mask & IB_QP_RETRY_CNT)
		qp->retry_cnt = attr->retry_cnt & 7;
	if (qp->sock)
		srnic_qp_watch_peer(qp);
	srnic_tx_unlock(qp);
}

int srnic_modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	int ret = srnic_udata_none(udata);

	if (ret)
		return ret;
	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_STATE)
		ret = modify_state(qp, attr->qp_state);
	if (ret)
		return ret;
	if (mask & IB_QP_STATE)
		qp->ib_state = attr->qp_state;
	if (mask & IB_QP_ACCESS_FLAGS) {
		qp->access_flags = attr->qp_access_flags;
		if (qp->acks)
			WRITE_ONCE(qp->acks->core.access, attr->qp_access_flags);
	}
	if (mask & (IB_QP_TIMEOUT | IB_QP_RETRY_CNT))
		modify_timeout(qp, attr, mask);
	return 0;
}

static enum ib_qp_state ib_state_of(struct srnic_qp *qp)
{
	switch (READ_ONCE(qp->state)) {
	case SRNIC_QP_RTS:
		return IB_QPS_RTS;
	case SRNIC_QP_TERMINATING:
		return IB_QPS_SQE;
	case SRNIC_QP_ERROR:
		return IB_QPS_ERR;
	default:
		return qp->ib_state == IB_QPS_INIT || qp->ib_state == IB_QPS_RTR ?
			       qp->ib_state : IB_QPS_RESET;
	}
}

void srnic_query_init_attr(const struct srnic_qp *qp, struct ib_qp_init_attr *init)
{
	const struct ib_qp *base = &qp->base;

	memset(init, 0, sizeof(*init));
	init->qp_context = base->qp_context;
	init->event_handler = base->event_handler;
	init->send_cq = base->send_cq;
	init->recv_cq = base->recv_cq;
	init->srq = base->srq;
	init->qp_type = base->qp_type;
	init->sq_sig_type = qp->sq.sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = qp->cap;
}

int srnic_query_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct srnic_qp *qp = to_srnic_qp(base);

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = ib_state_of(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->qp_access_flags = qp->access_flags;
	attr->max_rd_atomic = qp->outbound.most;
	attr->max_dest_rd_atomic = qp->inbound.most;
	attr->timeout = qp->ack_timeout;
	attr->retry_cnt = qp->retry_cnt;
	attr->port_num = 1;
	srnic_query_init_attr(qp, init);
	return 0;
}
