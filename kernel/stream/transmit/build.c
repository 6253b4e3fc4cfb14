// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fills the engine's batch with the bytes that the core selects (core/scheduler.cc): the core's
 * own, and payload from the message's memory.
 */
#include "memory/access.h"
#include "stream/acks.h"
#include "stream/transmit/batch.h"
#include "stream/transmit/build.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/requests.h"
#include "stream/transmit/shortcut.h"

/* What is read is added to held->sum. */
static enum core_region_verdict read_inline(struct srnic_qp *qp, u32 offset, void *dst, u32 n)
{
	u32 *sum = qp->tx.held.sum;

	memcpy(dst, (const u8 *)(srnic_tx_wqe(&qp->tx) + 1) + offset, n);
	if (sum)
		*sum = core_host_crc32c(*sum, dst, n);
	return CORE_REGION_OK;
}

/* The source of the peer's oldest Read. */
static enum core_region_verdict read_source(struct srnic_qp *qp, u32 offset, void *dst, u32 n)
{
	const struct core_read_request *asked = &srnic_tx_oldest_asked(qp)->read;
	const struct srnic_region_access access = {
		.to = asked->source_to + offset,
		.stag = asked->source_stag,
		.requester = srnic_qp_requester(qp),
		.rights = CORE_ACCESS_REMOTE_READ,
	};

	return srnic_region_read(&qp->tx.held, &access, dst, n);
}

static enum core_region_verdict read_payload(struct srnic_qp *qp, bool response, u32 offset,
					     void *dst, u32 n)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);
	struct srnic_sge_list list;

	if (response)
		return read_source(qp, offset, dst, n);
	if (wqe->flags & SRNIC_WQE_INLINE)
		return read_inline(qp, offset, dst, n);
	list = srnic_qp_list(qp, &qp->tx.held, srnic_tx_sges(&qp->tx), wqe->num_sge);
	return srnic_sges_gather(&list, &qp->tx.cursor, dst, n);
}

/*
 * Reads payload once, into the batch. The CRC is that of the copy, so it is right even if the user
 * changes the payload meanwhile.
 */
static enum core_region_verdict copy_payload(struct srnic_qp *qp, const struct core_tx_step *step,
					     u32 done, u32 len)
{
	struct srnic_tx *tx = &qp->tx;

	while (len) {
		enum core_region_verdict verdict;
		u32 n = len;
		void *at = srnic_batch_room(tx->batch, &n);

		verdict = read_payload(qp, step->response, step->offset + done, at, n);
		if (verdict != CORE_REGION_OK)
			return verdict;
		if (!tx->held.sum)
			core_tx_copied(&tx->core, at, n);
		srnic_qp_count(qp, SRNIC_TX_COPIED, n);
		srnic_batch_commit(tx->batch, n);
		done += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

/* ---- payload that stays in its region ---- */

/* Below this a copy costs less than a piece more. */
#define BORROW_MIN	2048U

/*
 * Only where the batch goes to the other end's region at once, or the payload is kept, and nothing
 * is summed. Not the source of a Read, which its owner may invalidate meanwhile: then it must not
 * be read any more.
 */
static bool may_borrow(const struct srnic_qp *qp, const struct core_tx_step *step)
{
	const struct srnic_tx *tx = &qp->tx;

	return step->payload >= BORROW_MIN && !step->response && !tx->core.params.crc &&
	       !(srnic_tx_wqe(tx)->flags & SRNIC_WQE_INLINE) &&
	       (srnic_kept_wanted(qp) || srnic_shortcut_expected(qp));
}

#define PAGES_AT_ONCE	17U	/* of 64 KiB, wherever they begin */

/* The bytes that were borrowed, of the next `len` of the list; 0: those of its entry are copied. */
static u32 borrow(struct srnic_qp *qp, const struct srnic_sge_list *list, u32 len)
{
	struct srnic_batch *batch = qp->tx.batch;
	u32 most = min(srnic_batch_may_borrow(batch), PAGES_AT_ONCE), before = batch->len, num;
	struct bio_vec pages[PAGES_AT_ONCE];

	if (!most)
		return 0;
	num = srnic_sges_locate(list, &qp->tx.cursor, len, BORROW_MIN, pages, most);
	for (u32 i = 0; i < num; i++)
		srnic_batch_borrow(batch, &pages[i]);
	return batch->len - before;
}

/* Of each entry of the list what can be borrowed, and copies of the rest. */
static enum core_region_verdict borrow_payload(struct srnic_qp *qp,
					       const struct core_tx_step *step)
{
	const struct srnic_sge_list list = srnic_qp_list(qp, &qp->tx.held, srnic_tx_sges(&qp->tx),
							 srnic_tx_wqe(&qp->tx)->num_sge);
	enum core_region_verdict verdict = CORE_REGION_OK;
	u32 done = 0;

	while (done < step->payload && verdict == CORE_REGION_OK) {
		u32 n = borrow(qp, &list, step->payload - done);

		if (!n) {
			n = min(step->payload - done, srnic_sges_contiguous(&list, &qp->tx.cursor));
			if (!n)
				return CORE_REGION_BOUNDS;
			verdict = copy_payload(qp, step, done, n);
		}
		done += n;
	}
	return verdict;
}

static enum core_region_verdict put_payload(struct srnic_qp *qp, const struct core_tx_step *step)
{
	enum core_region_verdict verdict;

	if (may_borrow(qp, step))
		return borrow_payload(qp, step);
	srnic_held_sums(&qp->tx.held, core_tx_sum(&qp->tx.core), step->payload);
	verdict = copy_payload(qp, step, 0, step->payload);
	qp->tx.held.sum = NULL;
	return verdict;
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

void srnic_build_fpdu(struct srnic_qp *qp)
{
	enum core_region_verdict verdict = CORE_REGION_OK;
	struct srnic_tx *tx = &qp->tx;
	u32 keep = tx->batch->len;
	struct core_tx_step step;

	lockdep_assert_held(&qp->tx.mutex);
	do {
		step = core_tx_next(&tx->core);
		put_bytes(tx->batch, step.bytes, step.len);
		if (step.payload)
			verdict = put_payload(qp, &step);
		if (unlikely(verdict != CORE_REGION_OK)) {
			srnic_batch_truncate(tx->batch, keep);
			core_tx_fail(&tx->core, verdict);
			if (step.response && qp->acks)
				srnic_acks_source_gone(qp, srnic_tx_oldest_asked(qp)->number);
			return;
		}
	} while (!step.last);
}
