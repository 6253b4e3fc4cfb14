// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sends datagrams: the transmit engine of a QP of type UD (Documentation/ib.rst rules 84 to 89). It
 * copies each request once from the send queue, checks the copy and its memory, and gives the
 * datagram to UDP, which copies the payload. Then the request is complete.
 *
 * The engine runs where those of streams do (stream/transmit/run.c), always in process context. It
 * never stands by.
 */
#include <rdma/ib_addr.h>

#include "datagram/ah.h"
#include "datagram/port.h"
#include "datagram/send.h"
#include "stream/state.h"
#include "stream/transmit/requests.h"
#include "stream/transmit/stall.h"
#include "stream/transmit/transmit.h"

/* Datagrams in a pass. A doorbell's caller, or others of the device, are not kept for longer. */
#define DATAGRAMS_PER_PASS	256

enum ib_mtu srnic_active_mtu(const struct srnic_dev *dev)
{
	return iboe_get_mtu(READ_ONCE(dev->netdev->mtu)) ?: IB_MTU_256;
}

/* ---- one request ---- */

static u8 gather(struct srnic_qp *qp, u32 length)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	struct srnic_sge_list list =
		srnic_qp_list(qp, &qp->tx.held, srnic_tx_sges(&qp->tx), wqe->num_sge);
	struct srnic_sge_cursor cursor = { };
	enum core_region_verdict verdict;

	if (wqe->flags & SRNIC_WQE_INLINE) {
		memcpy(qp->datagrams->payload, wqe + 1, length);
		return SRNIC_WC_SUCCESS;
	}
	verdict = srnic_sges_gather(&list, &cursor, qp->datagrams->payload, length);
	srnic_held_drop(&qp->tx.held);
	return verdict == CORE_REGION_OK ? SRNIC_WC_SUCCESS : SRNIC_WC_LOC_PROT_ERR;
}

/* Checks the request, and copies its payload. *header: the datagram that it becomes. */
static u8 prepare(struct srnic_qp *qp, struct core_datagram *header)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	const struct core_datagram_sender sender = {
		.qpn = qp->base.qp_num,
		.qkey = qp->datagrams->qkey,
		.mtu = ib_mtu_enum_to_int(srnic_active_mtu(qp->dev)),
	};
	u32 length;
	u8 status;

	if (core_send_wqe_check(wqe, qp->sq.ring.slot_size, !qp->user, &length) != CORE_WQE_OK)
		return SRNIC_WC_LOC_QP_OP_ERR;
	status = core_datagram_of_request(wqe, length, &sender, header);
	return status != SRNIC_WC_SUCCESS ? status : gather(qp, length);
}

/*
 * A worker serves others as well: the streams of storage, which the last worker of a host without
 * memory may have to serve alone.
 */
static bool may_wait(const struct srnic_qp *qp)
{
	return qp->tx.runner == SRNIC_RUNNER_DOORBELL;
}

static int transmit(struct srnic_qp *qp, struct srnic_outgoing *out,
		    const struct core_datagram *header)
{
	u8 octets[CORE_DATAGRAM_HEADER];

	core_datagram_build(header, octets);
	out->of_kernel = !qp->user;
	out->octets[0] = (struct kvec) { .iov_base = octets, .iov_len = sizeof(octets) };
	out->octets[1] = (struct kvec) {
		.iov_base = qp->datagrams->payload, .iov_len = header->payload,
	};
	return srnic_datagram_transmit(qp->dev, out, may_wait(qp));
}

/* Nobody acknowledges a datagram: one that cannot be sent is lost, as on the way (rule 89). */
static void count(struct srnic_qp *qp, const struct core_datagram *header, int error)
{
	srnic_qp_count(qp, error ? SRNIC_TX_DATAGRAMS_LOST : SRNIC_TX_DATAGRAMS, 1);
	if (!error)
		srnic_qp_count(qp, SRNIC_TX_DATAGRAM_OCTETS, header->payload);
}

/* *status: with which the request that was copied completes. -EAGAIN: it has to wait. */
static int send_request(struct srnic_qp *qp, u8 *status)
{
	struct core_datagram header;
	struct srnic_outgoing out;
	int ret;

	*status = prepare(qp, &header);
	if (*status != SRNIC_WC_SUCCESS)
		return 0;
	ret = srnic_ah_path(qp->dev, srnic_tx_wqe(&qp->tx)->rkey, qp->pd, &out.path, &out.hops);
	if (ret == -ENOENT) {
		*status = SRNIC_WC_LOC_QP_OP_ERR;
		return 0;
	}
	if (!ret)
		ret = transmit(qp, &out, &header);
	if (ret == -EAGAIN)
		return ret;
	if (ret == -ENOMEM)
		return -EAGAIN;
	count(qp, &header, ret);
	return 0;
}

/* ---- the queue ---- */

/* Doorbell protocol (srnic-abi.h): sets the flag before it reads the ring again. */
static bool go_idle(struct srnic_qp *qp)
{
	u32 *state = &qp->sq.ring.hdr->state;

	WRITE_ONCE(*state, SRNIC_SQ_NEED_DOORBELL);
	smp_mb();	/* flag before prod; pairs with the producer's, prod before flag */
	if (!qp->datagrams->sends || !srnic_request_pending(qp))
		return true;
	WRITE_ONCE(*state, 0);
	return false;
}

/* SQE: requests are flushed, those that are posted later as well. */
static enum engine_result flush(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->sq.ring.hdr->state, SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR);
	smp_mb();	/* state before prod; as in srnic_tx_flush() */
	return srnic_sq_flush(&qp->sq, srnic_tx_flush_of(qp)) ? ENGINE_IDLE : ENGINE_RETRY;
}

/* False if it has to wait. */
static bool send_next(struct srnic_qp *qp)
{
	u8 status;

	if (send_request(qp, &status)) {
		srnic_tx_stalled(qp, SRNIC_TX_SOCKET_FULL);
		return false;
	}
	srnic_request_take(qp);
	if (status != SRNIC_WC_SUCCESS)
		qp->datagrams->broken = true;
	srnic_sq_complete(&qp->sq, qp->sq.taken - 1, status, 0);
	return true;
}

enum engine_result srnic_datagram_send(struct srnic_qp *qp)
{
	struct srnic_datagrams *datagrams = qp->datagrams;

	lockdep_assert_held(&qp->tx.mutex);
	WRITE_ONCE(qp->sq.ring.hdr->state, 0);
	for (int n = 0; n < DATAGRAMS_PER_PASS; n++) {
		if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
			return ENGINE_MORE;
		if (datagrams->broken)
			return flush(qp);
		if (datagrams->sends && srnic_request_next(qp)) {
			if (!send_next(qp))
				return ENGINE_RETRY;
		} else if (go_idle(qp)) {
			return ENGINE_IDLE;
		}
	}
	return ENGINE_MORE;
}
