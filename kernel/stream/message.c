// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Messages: how send work requests, the peer's RDMA Reads and the RTR of RFC 6581 9.2 become what
 * the engine sends, and whose turn it is (RFC 5040 5.1 to 5.3 and 5.5). The engine alone calls
 * this.
 */
#include <linux/random.h>

#include "memory/mr.h"
#include "stream/tx.h"

/* ---- starting messages ---- */

void srnic_message_start(struct srnic_tx_message *message, struct core_tx_msg msg,
			 enum srnic_tx_source source, const void *bytes)
{
	*message = (struct srnic_tx_message) { .active = true, .source = source, .msg = msg, .bytes = bytes };
}

static bool read_room(struct srnic_qp *qp)
{
	return qp->outbound_tail - smp_load_acquire(&qp->outbound_head) < qp->ord;
}

/*
 * A Read Request on the wire carries an ephemeral STag and TO 0: local keys stay secret, sinks may
 * be scattered.
 */
static struct srnic_outbound_read *start_read(struct srnic_qp *qp, u32 length, u32 source_stag,
					      u64 source_to)
{
	struct srnic_outbound_read *read =
		&qp->outbound[qp->outbound_tail & (qp->outbound_size - 1)];
	struct srnic_tx *tx = &qp->tx;

	*read = (struct srnic_outbound_read) {
		.sink = { .stag = get_random_u32() | 1, .length = length },
	};
	core_read_request_build(&(struct core_read_request) {
		.sink_stag = read->sink.stag,
		.length = length,
		.source_stag = source_stag,
		.source_to = source_to,
	}, tx->control);
	srnic_message_start(&tx->local, (struct core_tx_msg) {
		.opcode = CORE_RDMAP_READ_REQUEST,
		.length = CORE_READ_REQUEST_LEN,
		.msn = ++tx->read_msn,
	}, SRNIC_SOURCE_BYTES, tx->control);
	return read;
}

static void publish_read(struct srnic_qp *qp)
{
	smp_store_release(&qp->outbound_tail, qp->outbound_tail + 1);
}

/* RFC 6581 9.2: the initiator's first FPDU in peer-to-peer mode. */
static void start_rtr(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	tx->want_rtr = false;
	switch (tx->rtr) {
	case CORE_RTR_READ:
		/* Known hardware insists on STags that are not zero, also for no data. */
		start_read(qp, 0, 1, 0)->rtr = true;
		publish_read(qp);
		break;
	case CORE_RTR_WRITE:
		srnic_message_start(&tx->local,
				    (struct core_tx_msg){.opcode = CORE_RDMAP_WRITE, .stag = 1},
				    SRNIC_SOURCE_BYTES, NULL);
		break;
	default:
		srnic_message_start(&tx->local, (struct core_tx_msg) { .opcode = CORE_RDMAP_SEND,
									.msn = ++tx->send_msn },
				    SRNIC_SOURCE_BYTES, NULL);
		break;
	}
}

static bool start_response(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (qp->inbound_head == smp_load_acquire(&qp->inbound_tail))
		return false;
	tx->response = qp->inbound[qp->inbound_head & (qp->inbound_size - 1)];
	srnic_message_start(&tx->answer, (struct core_tx_msg) {
		.opcode = CORE_RDMAP_READ_RESPONSE,
		.stag = tx->response.sink_stag,
		.to = tx->response.sink_to,
		.length = tx->response.length,
	}, SRNIC_SOURCE_REGION, NULL);
	return true;
}

/* ---- send work requests ---- */

static u8 send_opcode(const struct srnic_send_wqe *wqe)
{
	bool solicited = wqe->flags & SRNIC_WQE_SOLICITED;

	if (wqe->opcode == SRNIC_OP_SEND_INV)
		return solicited ? CORE_RDMAP_SEND_SE_INV : CORE_RDMAP_SEND_INV;
	return solicited ? CORE_RDMAP_SEND_SE : CORE_RDMAP_SEND;
}

static void start_payload(struct srnic_qp *qp, struct core_tx_msg msg)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);

	srnic_message_start(&qp->tx.local, msg,
			    wqe->flags & SRNIC_WQE_INLINE ? SRNIC_SOURCE_BYTES : SRNIC_SOURCE_SGES,
			    wqe + 1);
}

static void start_wqe_read(struct srnic_qp *qp, u32 index, u32 length)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	struct srnic_outbound_read *read = start_read(qp, length, wqe->rkey, wqe->remote_addr);

	read->sq_index = index;
	read->num_sge = wqe->num_sge;
	memcpy(read->sge, srnic_tx_sges(&qp->tx), wqe->num_sge * sizeof(read->sge[0]));
	if (wqe->opcode == SRNIC_OP_READ_INV) {
		read->invalidate = true;
		read->inv_stag = read->sge[0].lkey;
	}
	publish_read(qp);
}

/* Requests that never reach the wire are done when their turn comes. */
static u8 do_local(struct srnic_qp *qp)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	struct srnic_mr *mr;

	if (wqe->opcode == SRNIC_OP_LOCAL_INV)
		return srnic_mr_invalidate(qp->dev, qp->pd, wqe->imm_inv, 0) == CORE_REGION_OK ?
		       SRNIC_WC_SUCCESS : SRNIC_WC_LOC_PROT_ERR;
	mr = to_srnic_mr((struct ib_mr *)(uintptr_t)wqe->arg[0]);
	return srnic_mr_register(mr, qp->pd, qp->base.qp_num, wqe->arg[1] >> 32, (u32)wqe->arg[1]) ?
	       SRNIC_WC_LOC_PROT_ERR : SRNIC_WC_SUCCESS;
}

/*
 * RFC 5040 7.1 case 1: an error found while creating a message; the Terminate goes out instead of
 * it.
 */
static void refuse_wqe(struct srnic_qp *qp, u32 index, u8 status)
{
	srnic_sq_complete(&qp->sq, index, status, 0);
	srnic_qp_terminate(qp, &(struct core_terminate) { .layer = CORE_LAYER_RDMAP });
}

static u8 verify_wqe(struct srnic_qp *qp)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	struct srnic_sge_list list = srnic_qp_list(qp, srnic_tx_sges(&qp->tx), wqe->num_sge);
	bool read = wqe->opcode == SRNIC_OP_READ || wqe->opcode == SRNIC_OP_READ_INV;

	if (srnic_sges_verify(&list, read ? CORE_ACCESS_LOCAL_WRITE : 0))
		return SRNIC_WC_LOC_PROT_ERR;
	return read && !qp->ord ? SRNIC_WC_LOC_QP_OP_ERR : SRNIC_WC_SUCCESS;
}

static void start_wqe(struct srnic_qp *qp, u32 index, u32 length)
{
	struct srnic_tx *tx = &qp->tx;
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(tx);
	u8 status;

	switch (wqe->opcode) {
	case SRNIC_OP_WRITE:
		start_payload(qp, (struct core_tx_msg){.opcode = CORE_RDMAP_WRITE,
						       .stag = wqe->rkey,
						       .to = wqe->remote_addr,
						       .length = length});
		return;
	case SRNIC_OP_SEND:
	case SRNIC_OP_SEND_INV:
		start_payload(qp, (struct core_tx_msg){.opcode = send_opcode(wqe),
						       .msn = ++tx->send_msn,
						       .inv_stag = wqe->imm_inv,
						       .length = length});
		return;
	case SRNIC_OP_READ:
	case SRNIC_OP_READ_INV:
		start_wqe_read(qp, index, length);
		return;
	}
	status = do_local(qp);
	if (status == SRNIC_WC_SUCCESS)
		srnic_sq_complete(&qp->sq, index, status, 0);
	else
		refuse_wqe(qp, index, status);
	tx->built = qp->sq.taken;
}

/*
 * Must the request that is next wait for a read to complete (ORD, fence)? The flag is set before
 * the state is read once more, the receive half completes the read before it reads the flag: so one
 * of them notices.
 */
static bool must_wait(struct srnic_qp *qp)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	bool fence = wqe->flags & SRNIC_WQE_FENCE;
	bool read = wqe->opcode == SRNIC_OP_READ || wqe->opcode == SRNIC_OP_READ_INV;

	if (!qp->ord || (!fence && !read))
		return false;
	WRITE_ONCE(qp->tx.read_stall, true);
	smp_mb();
	if ((fence && srnic_reads_outstanding(qp)) || (read && !read_room(qp)))
		return true;
	WRITE_ONCE(qp->tx.read_stall, false);
	return false;
}

/*
 * Whoever counts right has seen a request completed before he posts another in its place; only a
 * producer index that lies is held up by the second condition, which keeps the window of
 * srnic_sq_track at one ring.
 */
bool srnic_message_pending(struct srnic_qp *qp)
{
	if (qp->tx.closing && qp->sq.taken == qp->tx.close_at)
		return false;
	return srnic_sq_pending(&qp->sq) &&
	       qp->sq.taken - READ_ONCE(qp->sq.done) < qp->sq.ring.entries;
}

/*
 * Takes the next send queue slot: copies it once, validates the copy, uses the copy. False if there
 * is none to take now.
 */
static bool take_wqe(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 index = qp->sq.taken, length = 0;
	u8 status;

	if (!srnic_message_pending(qp))
		return false;
	memcpy(tx->wqe, srnic_ring_slot(&qp->sq.ring, index), qp->sq.ring.slot_size);
	if ((tx->answer.active && srnic_tx_wqe(tx)->opcode == SRNIC_OP_WRITE) || must_wait(qp))
		return false;
	srnic_sq_track(&qp->sq, index, srnic_tx_wqe(tx));
	qp->sq.taken++;
	if (core_send_wqe_check(srnic_tx_wqe(tx), qp->sq.ring.slot_size, !qp->user, &length) !=
	    CORE_WQE_OK)
		status = SRNIC_WC_LOC_QP_OP_ERR;
	else
		status = verify_wqe(qp);
	if (status == SRNIC_WC_SUCCESS)
		start_wqe(qp, index, length);
	else
		refuse_wqe(qp, index, status);
	return true;
}

/* ---- taking turns ---- */

static struct srnic_tx_message *local_message(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (!tx->local.active && tx->want_rtr)
		start_rtr(qp);
	while (!tx->local.active && READ_ONCE(qp->state) == SRNIC_QP_RTS && take_wqe(qp))
		;
	return tx->local.active ? &tx->local : NULL;
}

/*
 * Receivers tell untagged messages from tagged ones, but not all of them two tagged ones from each
 * other.
 */
static struct srnic_tx_message *answer_message(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (tx->local.active && tx->local.msg.opcode == CORE_RDMAP_WRITE)
		return NULL;
	return tx->answer.active || start_response(qp) ? &tx->answer : NULL;
}

struct srnic_tx_message *srnic_message_next(struct srnic_qp *qp)
{
	if (qp->tx.answer_next)
		return answer_message(qp) ?: local_message(qp);
	return local_message(qp) ?: answer_message(qp);
}

/* ---- one FPDU of a message ---- */

static void finish_message(struct srnic_qp *qp, struct srnic_tx_message *message)
{
	message->active = false;
	if (message->source == SRNIC_SOURCE_REGION)
		smp_store_release(&qp->inbound_head, qp->inbound_head + 1);
	else
		qp->tx.built = qp->sq.taken;
}

/*
 * Memory that was there when the message started and is not any more: RFC 5040 7.1 case 1, or 7.2
 * rule 4 for a read.
 */
static void payload_gone(struct srnic_qp *qp, struct srnic_tx_message *message, u32 offset,
			 enum core_region_verdict verdict)
{
	struct core_terminate term;

	message->active = false;
	if (message->source != SRNIC_SOURCE_REGION) {
		refuse_wqe(qp, qp->sq.taken - 1, SRNIC_WC_LOC_PROT_ERR);
		return;
	}
	/* The MSN: requests are counted from 1, inbound_head from 0. */
	core_terminate_read(&qp->tx.response, qp->inbound_head + 1, offset, verdict, &term);
	srnic_qp_terminate(qp, &term);
}

void srnic_message_build(struct srnic_qp *qp, struct srnic_tx_message *message, u32 mulpdu)
{
	u8 header[CORE_FPDU_MAX_HEADER];
	struct core_tx_seg seg = core_tx_next(&message->msg, mulpdu, header);
	enum core_region_verdict verdict = srnic_fpdu_put(qp, message, header, &seg);

	if (verdict != CORE_REGION_OK) {
		payload_gone(qp, message, seg.offset, verdict);
		return;
	}
	qp->tx.fpdus++;
	if (message->msg.done)
		finish_message(qp, message);
}
