// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Attributes of QPs that are connected by hand.
 */
#include "pairing/attributes.h"
#include "pairing/port.h"
#include "stream/kick/kick.h"
#include "stream/state.h"

#define MAX_QPN		0xffffff
#define MAX_CODE	31	/* of times: 5 bits */
#define MAX_RETRIES	7	/* 3 bits */

enum ib_qp_state srnic_ib_state_of(const struct srnic_qp *qp)
{
	u32 state = READ_ONCE(qp->state);

	return state == SRNIC_QP_ERROR || state == SRNIC_QP_TERMINATING ? IB_QPS_ERR :
									 qp->ib_state;
}

/* ---- the border ---- */

static bool fits(u32 value, u32 most, int mask, int bit)
{
	return !(mask & bit) || value <= most;
}

static bool path_fits(const struct rdma_ah_attr *attr)
{
	return attr->type == RDMA_AH_ATTR_TYPE_ROCE && rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
}

int srnic_attributes_check(const struct ib_qp_attr *attr, int mask)
{
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE))
		return -EOPNOTSUPP;
	if (mask & IB_QP_AV && !path_fits(&attr->ah_attr))
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU && (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096))
		return -EINVAL;
	return fits(attr->pkey_index, 0, mask, IB_QP_PKEY_INDEX) &&
	       fits(attr->dest_qp_num, MAX_QPN, mask, IB_QP_DEST_QPN) &&
	       fits(attr->max_rd_atomic, SRNIC_MAX_ORD, mask, IB_QP_MAX_QP_RD_ATOMIC) &&
	       fits(attr->max_dest_rd_atomic, SRNIC_MAX_IRD, mask, IB_QP_MAX_DEST_RD_ATOMIC) &&
	       fits(attr->timeout, MAX_CODE, mask, IB_QP_TIMEOUT) &&
	       fits(attr->min_rnr_timer, MAX_CODE, mask, IB_QP_MIN_RNR_TIMER) &&
	       fits(attr->retry_cnt, MAX_RETRIES, mask, IB_QP_RETRY_CNT) &&
	       fits(attr->rnr_retry, MAX_RETRIES, mask, IB_QP_RNR_RETRY) ? 0 : -EINVAL;
}

/* ---- what the engines and the core use of them; tx.mutex held ---- */

static void set_access(struct srnic_qp *qp, u32 access)
{
	qp->access_flags = access;
	WRITE_ONCE(qp->acks->core.access, access);
}

/* Of a stream that began before the program has said how many Reads it will have outstanding. */
static void set_ord(struct srnic_pairing *pairing, u32 ord)
{
	struct srnic_qp *qp = pairing->qp;

	pairing->core.ord = ord;
	if (!qp->sock)
		return;
	qp->outbound.most = min_t(u32, qp->outbound.most, ord);
	core_tx_set_ord(&qp->tx.core, qp->outbound.most);
}

static void set_times(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_TIMEOUT)
		WRITE_ONCE(qp->ack_timeout, attr->timeout);
	if (mask & IB_QP_RETRY_CNT)
		WRITE_ONCE(qp->retry_cnt, attr->retry_cnt);
	if (mask & IB_QP_RNR_RETRY)
		WRITE_ONCE(qp->acks->core.rnr_retry, attr->rnr_retry);
	if (mask & IB_QP_MIN_RNR_TIMER)
		WRITE_ONCE(qp->acks->core.min_rnr_timer, attr->min_rnr_timer);
}

static void apply(struct srnic_pairing *pairing, const struct ib_qp_attr *attr, int mask)
{
	lockdep_assert_held(&pairing->qp->tx.mutex);
	if (mask & IB_QP_ACCESS_FLAGS)
		set_access(pairing->qp, attr->qp_access_flags);
	if (mask & IB_QP_DEST_QPN)
		pairing->core.peer.qpn = attr->dest_qp_num;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		pairing->core.ird = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		set_ord(pairing, attr->max_rd_atomic);
	set_times(pairing->qp, attr, mask);
}

/* ---- what the program gets back; pairing->modify held ---- */

static void remember(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn & MAX_QPN;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn & MAX_QPN;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
}

/* The entry of the GID table is the RDMA core's to keep, and to put into a query. */
static void remember_path(struct ib_qp_attr *to, const struct rdma_ah_attr *path)
{
	to->ah_attr = *path;
	to->ah_attr.grh.sgid_attr = NULL;
}

/* ---- all of it ---- */

static int set_path(struct srnic_pairing *pairing, const struct rdma_ah_attr *attr)
{
	struct srnic_qp *qp = pairing->qp;
	struct srnic_path path;
	union ib_gid here;
	int ret = srnic_path_of(attr, qp->dev->netdev, &path, &here);

	if (ret)
		return ret;
	srnic_set_port(&path.there, htons(srnic_pairing_port));
	mutex_lock(&qp->tx.mutex);
	pairing->path = path;
	pairing->core.own.qpn = qp->base.qp_num;
	memcpy(pairing->core.own.gid, here.raw, sizeof(here.raw));
	memcpy(pairing->core.peer.gid, rdma_ah_read_grh(attr)->dgid.raw, sizeof(here.raw));
	pairing->core.crc = READ_ONCE(qp->dev->settings.mpa_crc);
	srnic_tx_unlock(qp);
	remember_path(&pairing->attr, attr);
	return 0;
}

int srnic_attributes_set(struct srnic_pairing *pairing, const struct ib_qp_attr *attr, int mask)
{
	int ret = mask & IB_QP_AV ? set_path(pairing, &attr->ah_attr) : 0;

	lockdep_assert_held(&pairing->modify);
	if (ret)
		return ret;
	remember(&pairing->attr, attr, mask);
	mutex_lock(&pairing->qp->tx.mutex);
	apply(pairing, attr, mask);
	srnic_tx_unlock(pairing->qp);
	return 0;
}

void srnic_attributes_reset(struct srnic_pairing *pairing)
{
	const struct ib_qp_attr none = { .port_num = 1 };
	int all = IB_QP_ACCESS_FLAGS | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
		  IB_QP_MIN_RNR_TIMER | IB_QP_DEST_QPN | IB_QP_MAX_DEST_RD_ATOMIC;

	lockdep_assert_held(&pairing->modify);
	pairing->attr = none;
	mutex_lock(&pairing->qp->tx.mutex);
	apply(pairing, &none, all);
	pairing->core.ord = CORE_PAIR_ANY_ORD;
	srnic_tx_unlock(pairing->qp);
}

void srnic_attributes_query(struct srnic_pairing *pairing, struct ib_qp_attr *attr)
{
	struct srnic_qp *qp = pairing->qp;

	lockdep_assert_held(&pairing->modify);
	*attr = pairing->attr;
	attr->qp_state = srnic_ib_state_of(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    core_acks_unacknowledged(&qp->acks->core);
}
