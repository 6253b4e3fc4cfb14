// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * FPDUs in the engine's batch (RFC 5044 4.1 to 4.4): the header that the core made, payload from
 * wherever the message has it, markers, pad and CRC.
 */
#include "stream/batch.h"
#include "memory/mr.h"
#include "stream/tx.h"

static enum core_region_verdict fetch(struct srnic_qp *qp, struct srnic_tx_message *message,
				      u32 offset, void *dst, u32 n)
{
	struct srnic_tx *tx = &qp->tx;
	struct srnic_sge_list list;

	switch (message->source) {
	case SRNIC_SOURCE_SGES:
		list = srnic_qp_list(qp, srnic_tx_sges(tx), srnic_tx_wqe(tx)->num_sge);
		return srnic_sges_gather(&list, &message->cursor, dst, n);
	case SRNIC_SOURCE_REGION:
		return srnic_region_read(qp->dev, qp->pd, false, tx->response.source_stag,
					 CORE_ACCESS_REMOTE_READ, tx->response.source_to + offset,
					 dst, n);
	default:
		memcpy(dst, message->bytes + offset, n);
		return CORE_REGION_OK;
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
 * RFC 5044 4.3: puts the marker that comes now, if there is one. Of the next len octets of the FPDU
 * returns how many may follow before another one.
 */
static u32 up_to_marker(struct srnic_tx *tx, u32 len, u32 *crc)
{
	u8 marker[CORE_MARKER_LEN];

	if (likely(!tx->markers.on))
		return len;
	if (!tx->markers.left) {
		core_markers_build(&tx->markers, marker);
		if (tx->crc)
			*crc = core_host_crc32c(*crc, marker, sizeof(marker));
		put_bytes(&tx->batch, marker, sizeof(marker));
	}
	len = min_t(u32, len, tx->markers.left);
	core_markers_pass(&tx->markers, len);
	return len;
}

/* Octets of the FPDU that its CRC covers, from the kernel's memory. */
static void put_covered(struct srnic_tx *tx, const u8 *src, u32 len, u32 *crc)
{
	while (len) {
		u32 n = up_to_marker(tx, len, crc);

		if (tx->crc)
			*crc = core_host_crc32c(*crc, src, n);
		put_bytes(&tx->batch, src, n);
		src += n;
		len -= n;
	}
}

/*
 * Payload between two markers. It is read once, into the batch, and the CRC taken over the copy: it
 * is right whatever the user does meanwhile.
 */
static enum core_region_verdict put_span(struct srnic_qp *qp, struct srnic_tx_message *message,
					 u32 offset, u32 len, u32 *crc)
{
	struct srnic_batch *batch = &qp->tx.batch;

	while (len) {
		u32 n = len;
		void *at = srnic_batch_room(batch, &n);
		enum core_region_verdict verdict = fetch(qp, message, offset, at, n);

		if (verdict != CORE_REGION_OK)
			return verdict;
		if (qp->tx.crc)
			*crc = core_host_crc32c(*crc, at, n);
		srnic_batch_commit(batch, n);
		offset += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

static enum core_region_verdict put_payload(struct srnic_qp *qp, struct srnic_tx_message *message,
					    u32 offset, u32 len, u32 *crc)
{
	enum core_region_verdict verdict = CORE_REGION_OK;

	while (len && verdict == CORE_REGION_OK) {
		u32 n = up_to_marker(&qp->tx, len, crc);

		verdict = put_span(qp, message, offset, n, crc);
		offset += n;
		len -= n;
	}
	return verdict;
}

/*
 * No marker splits the pad, or the CRC field; one between the two belongs to this FPDU (RFC 5044
 * 4.4).
 */
static void put_trailer(struct srnic_tx *tx, u32 pad, u32 crc)
{
	u8 trailer[CORE_FPDU_MAX_TRAILER] = { };

	put_covered(tx, trailer, pad, &crc);
	up_to_marker(tx, 4, &crc);
	if (tx->crc)
		core_crc_field(crc, trailer);
	put_bytes(&tx->batch, trailer, 4);
	core_markers_end_fpdu(&tx->markers);
}

enum core_region_verdict srnic_fpdu_put(struct srnic_qp *qp, struct srnic_tx_message *message,
					const u8 *header, const struct core_tx_seg *seg)
{
	struct srnic_tx *tx = &qp->tx;
	struct core_markers markers = tx->markers;
	u32 keep = tx->batch.len, crc = CORE_CRC_SEED;
	enum core_region_verdict verdict;

	put_covered(tx, header, seg->header_len, &crc);
	verdict = put_payload(qp, message, seg->offset, seg->payload, &crc);
	if (verdict == CORE_REGION_OK) {
		put_trailer(tx, seg->pad, crc);
	} else {
		srnic_batch_truncate(&tx->batch, keep);
		tx->markers = markers;
	}
	return verdict;
}
