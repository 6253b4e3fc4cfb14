// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transmit engine of a QP: drains its send queue and the peer's RDMA Reads into batches of FPDUs.
 *
 * One engine at a time (tx.mutex), wherever it is cheapest: in the doorbell's own system call for users, else on the
 * workqueue. A pass is bounded; what remains is requeued. Inbound reads and local work take turns.
 * Payload is copied once, into pages of the engine's own, so a request whose octets are built no longer needs its
 * buffers; it completes when TCP has taken them all (RFC 5040 5.5 rule 14, RFC 5041 5.4).
 */
#include <linux/random.h>
#include <net/tcp.h>

#include "connect.h"
#include "mr.h"
#include "qp.h"
#include "stats.h"

/* Octets after which a pass gives way: enough to pay for itself, little enough not to hold up a doorbell's caller. */
#define PASS_OCTETS	(1024 * 1024)
#define RETRY_DELAY	msecs_to_jiffies(10)	/* after a failed allocation */
#define WAIT_DELAY	msecs_to_jiffies(500)
#define MAX_ROUNDS	8			/* passes on behalf of others before the workqueue takes over */

/* A Terminate at its longest: so short an FPDU has one marker at most. */
#define TERMINATE_OCTETS (SRNIC_FPDU_MAX_HEADER + SRNIC_TERM_MAX + SRNIC_FPDU_MAX_TRAILER + SRNIC_MARKER_LEN)

enum pass {
	PASS_IDLE,	/* nothing to do, or something else will kick: a post, socket space, a read, the first FPDU */
	PASS_MORE,	/* out of budget */
	PASS_RETRY,	/* out of memory */
	PASS_WAIT,	/* a Terminate waits for socket space, but not for ever */
};

static const struct srnic_send_wqe *wqe_of(const struct srnic_tx *tx)
{
	return (const struct srnic_send_wqe *)tx->wqe;
}

static const struct srnic_sge *sges_of(const struct srnic_tx *tx)
{
	return (const struct srnic_sge *)(wqe_of(tx) + 1);
}

/* ---- starting messages ---- */

static void start_message(struct srnic_tx_message *message, struct srnic_tx_msg msg, enum srnic_tx_source source,
			  const void *bytes)
{
	*message = (struct srnic_tx_message) { .active = true, .source = source, .msg = msg, .bytes = bytes };
}

static bool reads_outstanding(struct srnic_qp *qp)
{
	return qp->outbound_tail != smp_load_acquire(&qp->outbound_head);
}

static bool read_room(struct srnic_qp *qp)
{
	return qp->outbound_tail - smp_load_acquire(&qp->outbound_head) < qp->ord;
}

/* A Read Request on the wire carries an ephemeral STag and TO 0: local keys stay secret, sinks may be scattered. */
static struct srnic_outbound_read *start_read(struct srnic_qp *qp, u32 length, u32 source_stag, u64 source_to)
{
	struct srnic_outbound_read *read = &qp->outbound[qp->outbound_tail & (qp->outbound_size - 1)];
	struct srnic_tx *tx = &qp->tx;

	*read = (struct srnic_outbound_read) {
		.sink = { .stag = get_random_u32() | 1, .length = length },
	};
	srnic_read_request_build(&(struct srnic_read_request) {
		.sink_stag = read->sink.stag,
		.length = length,
		.source_stag = source_stag,
		.source_to = source_to,
	}, tx->control);
	start_message(&tx->local, (struct srnic_tx_msg) {
		.opcode = SRNIC_RDMAP_READ_REQUEST,
		.length = SRNIC_READ_REQUEST_LEN,
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
	case SRNIC_RTR_READ:
		/* Known hardware insists on STags that are not zero, also for no data. */
		start_read(qp, 0, 1, 0)->rtr = true;
		publish_read(qp);
		break;
	case SRNIC_RTR_WRITE:
		start_message(&tx->local, (struct srnic_tx_msg) { .opcode = SRNIC_RDMAP_WRITE, .stag = 1 },
			      SRNIC_SOURCE_BYTES, NULL);
		break;
	default:
		start_message(&tx->local, (struct srnic_tx_msg) { .opcode = SRNIC_RDMAP_SEND, .msn = ++tx->send_msn },
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
	start_message(&tx->answer, (struct srnic_tx_msg) {
		.opcode = SRNIC_RDMAP_READ_RESPONSE,
		.stag = tx->response.sink_stag,
		.to = tx->response.sink_to,
		.length = tx->response.length,
	}, SRNIC_SOURCE_REGION, NULL);
	return true;
}

static u8 send_opcode(const struct srnic_send_wqe *wqe)
{
	bool solicited = wqe->flags & SRNIC_WQE_SOLICITED;

	if (wqe->opcode == SRNIC_OP_SEND_INV)
		return solicited ? SRNIC_RDMAP_SEND_SE_INV : SRNIC_RDMAP_SEND_INV;
	return solicited ? SRNIC_RDMAP_SEND_SE : SRNIC_RDMAP_SEND;
}

static void start_payload(struct srnic_qp *qp, struct srnic_tx_msg msg)
{
	struct srnic_tx *tx = &qp->tx;

	start_message(&tx->local, msg, wqe_of(tx)->flags & SRNIC_WQE_INLINE ? SRNIC_SOURCE_BYTES : SRNIC_SOURCE_SGES,
		      wqe_of(tx) + 1);
}

static void start_wqe_read(struct srnic_qp *qp, u32 index, u32 length)
{
	const struct srnic_send_wqe *wqe = wqe_of(&qp->tx);
	struct srnic_outbound_read *read = start_read(qp, length, wqe->rkey, wqe->remote_addr);

	read->sq_index = index;
	read->num_sge = wqe->num_sge;
	memcpy(read->sge, sges_of(&qp->tx), wqe->num_sge * sizeof(read->sge[0]));
	if (wqe->opcode == SRNIC_OP_READ_INV) {
		read->invalidate = true;
		read->inv_stag = read->sge[0].lkey;
	}
	publish_read(qp);
}

/* Requests that never reach the wire are done when their turn comes. */
static u8 do_local(struct srnic_qp *qp)
{
	const struct srnic_send_wqe *wqe = wqe_of(&qp->tx);
	struct srnic_mr *mr;

	if (wqe->opcode == SRNIC_OP_LOCAL_INV)
		return srnic_mr_invalidate(qp->dev, qp->pd, wqe->imm_inv, 0) == SRNIC_REGION_OK ?
		       SRNIC_WC_SUCCESS : SRNIC_WC_LOC_PROT_ERR;
	mr = to_srnic_mr((struct ib_mr *)(uintptr_t)wqe->arg[0]);
	return srnic_mr_register(mr, qp->pd, qp->base.qp_num, wqe->arg[1] >> 32, (u32)wqe->arg[1]) ?
	       SRNIC_WC_LOC_PROT_ERR : SRNIC_WC_SUCCESS;
}

/* RFC 5040 7.1 case 1: an error found while creating a message; the Terminate goes out instead of it. */
static void refuse_wqe(struct srnic_qp *qp, u32 index, u8 status)
{
	srnic_sq_complete(qp, index, status, 0);
	srnic_qp_terminate(qp, &(struct srnic_terminate) { .layer = SRNIC_LAYER_RDMAP });
}

static u8 verify_wqe(struct srnic_qp *qp)
{
	const struct srnic_send_wqe *wqe = wqe_of(&qp->tx);
	bool read = wqe->opcode == SRNIC_OP_READ || wqe->opcode == SRNIC_OP_READ_INV;

	if (srnic_sges_verify(qp, sges_of(&qp->tx), wqe->num_sge, read ? SRNIC_ACCESS_LOCAL_WRITE : 0))
		return SRNIC_WC_LOC_PROT_ERR;
	return read && !qp->ord ? SRNIC_WC_LOC_QP_OP_ERR : SRNIC_WC_SUCCESS;
}

static void start_wqe(struct srnic_qp *qp, u32 index, u32 length)
{
	struct srnic_tx *tx = &qp->tx;
	const struct srnic_send_wqe *wqe = wqe_of(tx);
	u8 status;

	switch (wqe->opcode) {
	case SRNIC_OP_WRITE:
		start_payload(qp, (struct srnic_tx_msg) { .opcode = SRNIC_RDMAP_WRITE, .stag = wqe->rkey,
							  .to = wqe->remote_addr, .length = length });
		return;
	case SRNIC_OP_SEND:
	case SRNIC_OP_SEND_INV:
		start_payload(qp, (struct srnic_tx_msg) { .opcode = send_opcode(wqe), .msn = ++tx->send_msn,
							  .inv_stag = wqe->imm_inv, .length = length });
		return;
	case SRNIC_OP_READ:
	case SRNIC_OP_READ_INV:
		start_wqe_read(qp, index, length);
		return;
	}
	status = do_local(qp);
	if (status == SRNIC_WC_SUCCESS)
		srnic_sq_complete(qp, index, status, 0);
	else
		refuse_wqe(qp, index, status);
	tx->built = qp->sq_taken;
}

/*
 * Must the request that is next wait for a read to complete (ORD, fence)? The flag is set before the state is read once
 * more, the receive half completes the read before it reads the flag: so one of them notices.
 */
static bool must_wait(struct srnic_qp *qp)
{
	const struct srnic_send_wqe *wqe = wqe_of(&qp->tx);
	bool fence = wqe->flags & SRNIC_WQE_FENCE;
	bool read = wqe->opcode == SRNIC_OP_READ || wqe->opcode == SRNIC_OP_READ_INV;

	if (!qp->ord || (!fence && !read))
		return false;
	WRITE_ONCE(qp->tx.read_stall, true);
	smp_mb();
	if ((fence && reads_outstanding(qp)) || (read && !read_room(qp)))
		return true;
	WRITE_ONCE(qp->tx.read_stall, false);
	return false;
}

/*
 * Whoever counts right has seen a request completed before he posts another in its place; only a producer index that
 * lies is held up by the second condition, which keeps the window of srnic_sq_track at one ring.
 */
static bool sq_pending(struct srnic_qp *qp)
{
	if (qp->tx.closing && qp->sq_taken == qp->tx.close_at)
		return false;
	return srnic_ring_pending(smp_load_acquire(&qp->sq.hdr->prod), qp->sq_taken, qp->sq.entries) &&
	       qp->sq_taken - READ_ONCE(qp->sq_done) < qp->sq.entries;
}

/* Takes the next send queue slot: copies it once, validates the copy, uses the copy. False if there is none to take now. */
static bool take_wqe(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 index = qp->sq_taken, length = 0;
	u8 status;

	if (!sq_pending(qp))
		return false;
	memcpy(tx->wqe, srnic_ring_slot(&qp->sq, index), qp->sq.slot_size);
	if ((tx->answer.active && wqe_of(tx)->opcode == SRNIC_OP_WRITE) || must_wait(qp))
		return false;
	srnic_sq_track(qp, index, wqe_of(tx));
	qp->sq_taken++;
	if (srnic_send_wqe_check(wqe_of(tx), qp->sq.slot_size, !qp->user, &length) != SRNIC_WQE_OK)
		status = SRNIC_WC_LOC_QP_OP_ERR;
	else
		status = verify_wqe(qp);
	if (status == SRNIC_WC_SUCCESS)
		start_wqe(qp, index, length);
	else
		refuse_wqe(qp, index, status);
	return true;
}

static struct srnic_tx_message *local_message(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (!tx->local.active && tx->want_rtr)
		start_rtr(qp);
	while (!tx->local.active && READ_ONCE(qp->state) == SRNIC_QP_RTS && take_wqe(qp))
		;
	return tx->local.active ? &tx->local : NULL;
}

/* Receivers tell untagged messages from tagged ones, but not all of them two tagged ones from each other. */
static struct srnic_tx_message *answer_message(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (tx->local.active && tx->local.msg.opcode == SRNIC_RDMAP_WRITE)
		return NULL;
	return tx->answer.active || start_response(qp) ? &tx->answer : NULL;
}

/* The message that the next FPDU is of; NULL if there is nothing to be sent now. */
static struct srnic_tx_message *next_message(struct srnic_qp *qp)
{
	if (qp->tx.answer_next)
		return answer_message(qp) ?: local_message(qp);
	return local_message(qp) ?: answer_message(qp);
}

static void finish_message(struct srnic_qp *qp, struct srnic_tx_message *message)
{
	message->active = false;
	if (message->source == SRNIC_SOURCE_REGION)
		smp_store_release(&qp->inbound_head, qp->inbound_head + 1);
	else
		qp->tx.built = qp->sq_taken;
}

/* ---- building FPDUs ---- */

static enum srnic_region_verdict fetch(struct srnic_qp *qp, struct srnic_tx_message *message, u32 offset, void *dst,
				       u32 n)
{
	struct srnic_tx *tx = &qp->tx;

	switch (message->source) {
	case SRNIC_SOURCE_SGES:
		return srnic_sges_gather(qp, sges_of(tx), wqe_of(tx)->num_sge, &message->cursor, dst, n);
	case SRNIC_SOURCE_REGION:
		return srnic_region_read(qp->dev, qp->pd, false, tx->response.source_stag, SRNIC_ACCESS_REMOTE_READ,
					 tx->response.source_to + offset, dst, n);
	default:
		memcpy(dst, message->bytes + offset, n);
		return SRNIC_REGION_OK;
	}
}

static void put_bytes(struct srnic_batch *batch, const u8 *src, u32 len)
{
	while (len) {
		u32 n = len;
		void *at = srnic_batch_room(batch, &n);

		memcpy(at, src, n);
		srnic_batch_commit(batch, n);
		src += n;
		len -= n;
	}
}

/*
 * RFC 5044 4.3: puts the marker that comes now, if there is one. Of the next len octets of the FPDU returns how many may
 * follow before another one.
 */
static u32 up_to_marker(struct srnic_tx *tx, u32 len, u32 *crc)
{
	u8 marker[SRNIC_MARKER_LEN];

	if (likely(!tx->markers.on))
		return len;
	if (!tx->markers.left) {
		srnic_markers_build(&tx->markers, marker);
		if (tx->crc)
			*crc = srnic_host_crc32c(*crc, marker, sizeof(marker));
		put_bytes(&tx->batch, marker, sizeof(marker));
	}
	len = min_t(u32, len, tx->markers.left);
	srnic_markers_pass(&tx->markers, len);
	return len;
}

/* Octets of the FPDU that its CRC covers, from the kernel's memory. */
static void put_covered(struct srnic_tx *tx, const u8 *src, u32 len, u32 *crc)
{
	while (len) {
		u32 n = up_to_marker(tx, len, crc);

		if (tx->crc)
			*crc = srnic_host_crc32c(*crc, src, n);
		put_bytes(&tx->batch, src, n);
		src += n;
		len -= n;
	}
}

/*
 * Payload between two markers. It is read once, into the batch, and the CRC taken over the copy: it is right whatever the
 * user does meanwhile.
 */
static enum srnic_region_verdict put_span(struct srnic_qp *qp, struct srnic_tx_message *message, u32 offset, u32 len,
					  u32 *crc)
{
	struct srnic_batch *batch = &qp->tx.batch;

	while (len) {
		u32 n = len;
		void *at = srnic_batch_room(batch, &n);
		enum srnic_region_verdict verdict = fetch(qp, message, offset, at, n);

		if (verdict != SRNIC_REGION_OK)
			return verdict;
		if (qp->tx.crc)
			*crc = srnic_host_crc32c(*crc, at, n);
		srnic_batch_commit(batch, n);
		offset += n;
		len -= n;
	}
	return SRNIC_REGION_OK;
}

static enum srnic_region_verdict put_payload(struct srnic_qp *qp, struct srnic_tx_message *message, u32 offset, u32 len,
					     u32 *crc)
{
	enum srnic_region_verdict verdict = SRNIC_REGION_OK;

	while (len && verdict == SRNIC_REGION_OK) {
		u32 n = up_to_marker(&qp->tx, len, crc);

		verdict = put_span(qp, message, offset, n, crc);
		offset += n;
		len -= n;
	}
	return verdict;
}

/* No marker splits the pad, or the CRC field; one between the two belongs to this FPDU (RFC 5044 4.4). */
static void put_trailer(struct srnic_tx *tx, u32 pad, u32 crc)
{
	u8 trailer[SRNIC_FPDU_MAX_TRAILER] = { };

	put_covered(tx, trailer, pad, &crc);
	up_to_marker(tx, 4, &crc);
	if (tx->crc)
		srnic_crc_field(crc, trailer);
	put_bytes(&tx->batch, trailer, 4);
	srnic_markers_end_fpdu(&tx->markers);
}

/* Memory that was there when the message started and is not any more: RFC 5040 7.1 case 1, or 7.2 rule 4 for a read. */
static void payload_gone(struct srnic_qp *qp, struct srnic_tx_message *message, u32 offset,
			 enum srnic_region_verdict verdict)
{
	struct srnic_terminate term;

	message->active = false;
	if (message->source != SRNIC_SOURCE_REGION) {
		refuse_wqe(qp, qp->sq_taken - 1, SRNIC_WC_LOC_PROT_ERR);
		return;
	}
	/* The MSN: requests are counted from 1, inbound_head from 0. */
	srnic_terminate_read(&qp->tx.response, qp->inbound_head + 1, offset, verdict, &term);
	srnic_qp_terminate(qp, &term);
}

/* Adds one FPDU. The caller has reserved room for it. */
static void build_fpdu(struct srnic_qp *qp, struct srnic_tx_message *message, u32 mulpdu)
{
	struct srnic_tx *tx = &qp->tx;
	u8 header[SRNIC_FPDU_MAX_HEADER];
	struct srnic_tx_seg seg = srnic_tx_next(&message->msg, mulpdu, header);
	struct srnic_markers markers = tx->markers;
	u32 keep = tx->batch.len, crc = SRNIC_CRC_SEED;
	enum srnic_region_verdict verdict;

	put_covered(tx, header, seg.header_len, &crc);
	verdict = put_payload(qp, message, seg.offset, seg.payload, &crc);
	if (verdict != SRNIC_REGION_OK) {
		srnic_batch_truncate(&tx->batch, keep);
		tx->markers = markers;
		payload_gone(qp, message, seg.offset, verdict);
		return;
	}
	put_trailer(tx, seg.pad, crc);
	tx->fpdus++;
	if (message->msg.done)
		finish_message(qp, message);
}

/*
 * Fills the batch. Returns PASS_MORE if it stopped for want of room, PASS_RETRY for want of memory, PASS_IDLE if there is
 * nothing left to build.
 */
static enum pass build_batch(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 mulpdu = srnic_mpa_mulpdu(READ_ONCE(tcp_sk(qp->sock->sk)->mss_cache), tx->markers.on);

	while (READ_ONCE(qp->state) == SRNIC_QP_RTS && !READ_ONCE(tx->held)) {
		struct srnic_tx_message *message = next_message(qp);
		u32 len;

		if (!message)
			return PASS_IDLE;
		len = srnic_markers_len(&tx->markers, srnic_tx_next_len(&message->msg, mulpdu));
		if (!srnic_batch_takes(&tx->batch, len))
			return PASS_MORE;
		if (srnic_batch_reserve(&tx->batch, len))
			return PASS_RETRY;
		build_fpdu(qp, message, mulpdu);
		tx->answer_next = message == &tx->local;
	}
	return PASS_IDLE;
}

/* ---- passes ---- */

/* Tells TCP. True when it has taken the whole batch; what was built is complete then. */
static bool send_batch(struct srnic_qp *qp, bool more)
{
	struct srnic_tx *tx = &qp->tx;

	while (tx->batch.len) {
		int ret = srnic_batch_send(&tx->batch, qp->sock, more);

		if (!ret)
			return false;
		if (ret < 0) {
			srnic_qp_fail(qp);
			srnic_ep_over(qp->ep, SRNIC_OVER_RESET);
			return false;
		}
		srnic_count(qp->dev, SRNIC_TX_OCTETS, ret);
	}
	if (tx->fpdus) {
		srnic_count(qp->dev, SRNIC_TX_FPDUS, tx->fpdus);
		tx->fpdus = 0;
	}
	if (tx->completed != tx->built) {
		srnic_sq_complete_sent(qp, tx->completed, tx->built);
		tx->completed = tx->built;
	}
	return true;
}

/* srnic-abi.h, doorbell protocol. True if the engine may go idle. */
static bool go_idle(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->sq.hdr->state, SRNIC_SQ_NEED_DOORBELL);
	smp_mb();
	if (READ_ONCE(qp->tx.read_stall) || READ_ONCE(qp->tx.held) || !sq_pending(qp))
		return true;
	WRITE_ONCE(qp->sq.hdr->state, 0);
	return false;
}

static enum pass pass_connected(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 octets = 0;
	enum pass built;

	WRITE_ONCE(qp->sq.hdr->state, 0);
	WRITE_ONCE(tx->read_stall, false);
	do {
		if (!send_batch(qp, false))
			return PASS_IDLE;
		built = build_batch(qp);
		octets += tx->batch.len;
		if (!send_batch(qp, built == PASS_MORE))
			return PASS_IDLE;
		if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
			return PASS_MORE;
		if (built == PASS_RETRY)
			return PASS_RETRY;
	} while (octets < PASS_OCTETS && (built == PASS_MORE || !go_idle(qp)));
	return built == PASS_MORE || octets >= PASS_OCTETS ? PASS_MORE : PASS_IDLE;
}

/*
 * RFC 5040 5.4: one Terminate, at an FPDU boundary, then nothing more; then the LLP is closed gracefully (6.2.1). Even
 * that FPDU is not a responder's to send before it has validated one (RFC 5044 7.1.2 rule 4).
 */
static enum pass pass_terminating(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (READ_ONCE(tx->held))
		tx->term_pending = false;
	if (tx->term_pending && send_batch(qp, true)) {
		if (srnic_batch_reserve(&tx->batch, TERMINATE_OCTETS))
			return PASS_RETRY;
		tx->term_pending = false;
		start_message(&tx->local, (struct srnic_tx_msg) {
			.opcode = SRNIC_RDMAP_TERMINATE,
			.length = srnic_terminate_build(&tx->term, tx->control),
			.msn = 1,
		}, SRNIC_SOURCE_BYTES, tx->control);
		build_fpdu(qp, &tx->local, srnic_mpa_mulpdu(0, false));
		srnic_count(qp->dev, SRNIC_TX_TERMINATES, 1);
	}
	if (!tx->term_pending && send_batch(qp, false)) {
		srnic_qp_fail(qp);
		srnic_ep_over(qp->ep, SRNIC_OVER_TERMINATED);
		return PASS_IDLE;
	}
	if (time_before(jiffies, tx->term_deadline))
		return PASS_WAIT;
	srnic_qp_fail(qp);
	srnic_ep_over(qp->ep, SRNIC_OVER_RESET);
	return PASS_IDLE;
}

/* From here on nothing lands any more and nothing completes well: only then may a flush say that all is over. */
static void silence_rx(struct srnic_qp *qp)
{
	if (!qp->sock)
		return;
	lock_sock(qp->sock->sk);
	qp->rx.core.over = true;
	if (qp->rx.wqe_active)
		srnic_rq_complete(qp, NULL, SRNIC_WC_FLUSH_ERR);
	release_sock(qp->sock->sk);
}

/* Everything queued completes in error; what is posted later makes its poster ring (srnic-abi.h, SRNIC_QUEUE_ERROR). */
static void flush(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->sq.hdr->state, SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR);
	if (qp->rq.hdr)
		WRITE_ONCE(qp->rq.hdr->state, SRNIC_QUEUE_ERROR);
	smp_mb();
	silence_rx(qp);
	srnic_sq_flush(qp);
	srnic_rq_flush(qp);
	srnic_qp_last_wqe(qp);
}

static enum pass pass(struct srnic_qp *qp)
{
	switch (smp_load_acquire(&qp->state)) {
	case SRNIC_QP_RTS:
		return qp->sock ? pass_connected(qp) : PASS_IDLE;
	case SRNIC_QP_TERMINATING:
		flush(qp);
		return qp->sock ? pass_terminating(qp) : PASS_IDLE;
	case SRNIC_QP_ERROR:
		flush(qp);
		return PASS_IDLE;
	default:
		return PASS_IDLE;
	}
}

/*
 * Whoever has something for the engine sets `again` before it tries the mutex; the engine reads `again` after it has
 * dropped the mutex: so either the newcomer gets the mutex or the engine sees the flag.
 */
static void run(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	enum pass result = PASS_IDLE;
	int rounds = 0;

	while (result == PASS_IDLE && test_bit(0, &tx->again) && mutex_trylock(&tx->mutex)) {
		clear_bit(0, &tx->again);
		smp_mb__after_atomic();
		result = pass(qp);
		mutex_unlock(&tx->mutex);
		smp_mb();
		if (result == PASS_IDLE && ++rounds == MAX_ROUNDS)
			result = PASS_MORE;
	}
	if (result == PASS_IDLE)
		return;
	set_bit(0, &tx->again);
	if (result == PASS_MORE)
		mod_delayed_work(srnic_wq, &tx->work, 0);
	else	/* a kick that is queued already goes first */
		queue_delayed_work(srnic_wq, &tx->work, result == PASS_RETRY ? RETRY_DELAY : WAIT_DELAY);
}

/* What there is to do is visible before the flag: pairs with the engine, which clears the flag and then looks. */
static void ask_again(struct srnic_tx *tx)
{
	smp_mb__before_atomic();
	set_bit(0, &tx->again);
	smp_mb__after_atomic();
}

void srnic_tx_run(struct srnic_qp *qp)
{
	ask_again(&qp->tx);
	run(qp);
}

void srnic_tx_kick(struct srnic_qp *qp)
{
	ask_again(&qp->tx);
	mod_delayed_work(srnic_wq, &qp->tx.work, 0);
}

void srnic_tx_unlock(struct srnic_qp *qp)
{
	mutex_unlock(&qp->tx.mutex);
	smp_mb();
	if (test_bit(0, &qp->tx.again))
		srnic_tx_kick(qp);
}

static void tx_work(struct work_struct *work)
{
	run(container_of(to_delayed_work(work), struct srnic_qp, tx.work));
}

void srnic_tx_init(struct srnic_qp *qp)
{
	mutex_init(&qp->tx.mutex);
	INIT_DELAYED_WORK(&qp->tx.work, tx_work);
	qp->sq.hdr->state = SRNIC_SQ_NEED_DOORBELL;
}

void srnic_tx_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	struct srnic_tx *tx = &qp->tx;

	tx->crc = start->agreed.crc;
	srnic_markers_start(&tx->markers, start->agreed.send_markers);
	tx->held = !start->initiator;
	tx->rtr = start->agreed.rtr;
	tx->want_rtr = start->initiator && start->agreed.p2p && start->agreed.rtr;
	tx->send_msn = 0;
	tx->read_msn = 0;
	tx->read_stall = false;
	tx->term_pending = false;
	tx->last_wqe = false;
	tx->closing = tx->peer_closed = false;
	tx->local.active = tx->answer.active = false;
	tx->fpdus = 0;
	tx->built = tx->completed = qp->sq_taken;
}

bool srnic_tx_closed(struct srnic_qp *qp)
{
	const struct srnic_tx *tx = &qp->tx;
	enum srnic_qp_state state = READ_ONCE(qp->state);

	if (state != SRNIC_QP_RTS)
		return state != SRNIC_QP_TERMINATING;
	if (tx->peer_closed ? READ_ONCE(tx->held) : reads_outstanding(qp))
		return tx->peer_closed;
	return !tx->batch.len && !tx->local.active && !tx->answer.active && qp->sq_taken == tx->close_at &&
	       qp->inbound_head == smp_load_acquire(&qp->inbound_tail);
}

void srnic_tx_release(struct srnic_qp *qp)
{
	srnic_batch_release(&qp->tx.batch);
}
