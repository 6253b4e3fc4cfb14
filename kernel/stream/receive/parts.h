/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts of the receive half, for its own files. Socket lock held for all.
 */
#ifndef SRNIC_RECEIVE_PARTS_H
#define SRNIC_RECEIVE_PARTS_H

#include "stream/qp.h"

/* This end's oldest outstanding Read or atomic operation, or NULL. */
static inline struct srnic_outbound_read *srnic_oldest_read(const struct srnic_qp *qp)
{
	return srnic_reads_nth(&qp->outbound, 0);
}

/* Completes the oldest read in error: its memory cannot be written. */
static inline void srnic_fail_oldest_read(struct srnic_qp *qp)
{
	srnic_sq_complete(&qp->sq, srnic_oldest_read(qp)->sq_index, SRNIC_WC_LOC_PROT_ERR, 0);
}

/* ---- feed.c ---- */

#define SRNIC_FEED_RUNS 16

/**
 * struct srnic_feed - a piece of the stream that is being consumed
 * @qp: whose stream
 * @wanted: octets of payload of the FPDU in progress that come next, behind @run; 0: none, or it is
 *	not known
 * @num: of @run
 * @len: octets in @run
 * @run: payload of that FPDU that is not placed yet
 */
struct srnic_feed {
	struct srnic_qp *qp;
	u32 wanted, num, len;
	struct kvec run[SRNIC_FEED_RUNS];
};

/*
 * Consumes a run; drops it after the stream's end. Returns how many octets of payload come next; 0
 * if something else does.
 */
u32 srnic_consume(struct srnic_qp *qp, const u8 *data, u32 len);
/* Keeps what is payload of this run, or consumes what is kept if that is enough; then the rest. */
void srnic_feed_payload(struct srnic_feed *feed, const u8 *data, u32 len);
/* Consumes what is kept. */
void srnic_feed_kept(struct srnic_feed *feed);

/* Consumes the next run of the piece. It must stay until srnic_feed_end(). len is not 0. */
static inline void srnic_feed(struct srnic_feed *feed, const u8 *data, u32 len)
{
	if (feed->wanted)
		srnic_feed_payload(feed, data, len);
	else
		feed->wanted = srnic_consume(feed->qp, data, len);
}

/* After the last run. */
static inline void srnic_feed_end(struct srnic_feed *feed)
{
	if (feed->num)
		srnic_feed_kept(feed);
}

/* ---- placement.c ---- */

/* Places payload where the core says, and reports that to the core. */
enum core_rx_event srnic_place_payload(struct srnic_qp *qp, const struct core_place *at,
				       const u8 *data, u32 n);
/* The same for payload that lies in several runs of memory, n octets together. */
enum core_rx_event srnic_place_runs(struct srnic_qp *qp, const struct core_place *at,
				    const struct kvec *run, u32 num, u32 n);
/* Places bytes of a message in the receive that it has taken. */
enum core_region_verdict srnic_place_receive(struct srnic_qp *qp, const u8 *data, u32 n);
/* Places bytes of the response to the oldest read in its list. */
enum core_region_verdict srnic_place_response(struct srnic_qp *qp, const u8 *data, u32 n);

/* ---- delivery.c ---- */

/* Does what this event of the core asks for. */
void srnic_deliver(struct srnic_qp *qp, enum core_rx_event event);
/*
 * RFC 5044 7.1.2 rule 4: lets a responder send once it has received and validated one FPDU.
 */
void srnic_look_whether_unmuted(struct srnic_qp *qp);
static inline void srnic_unmute_responder(struct srnic_qp *qp)
{
	if (unlikely(!READ_ONCE(qp->tx.validated)))
		srnic_look_whether_unmuted(qp);
}

#endif
