// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive half of a QP: pulls bytes out of the TCP socket, or takes them from the other end's
 * engine (transmit/shortcut.c), for feed.c to consume.
 *
 * Runs from sk_data_ready, in softirq or from release_sock, possibly inside this QP's own sendmsg;
 * or in the other engine, with BHs off. So it takes no lock that is held across sendmsg, never
 * sleeps and never allocates. Other rules for qp->rx are at struct srnic_rx_half. The transmit
 * engine answers reads and sends Terminates.
 */
#include <net/tcp.h>

#include "report/trace.h"
#include "stream/acks.h"
#include "stream/receive/parts.h"
#include "stream/receive/receive.h"
#include "stream/start.h"
#include "stream/state.h"
#include "stream/transmit/kept.h"

/* An skb with memory of a device, which the CPU cannot read: the stream is lost. */
static void unreadable(struct srnic_qp *qp)
{
	core_rx_stop(&qp->rx.core);
	srnic_qp_host_error(qp, CORE_HOST_LOCAL);
}

/* A span of an skb: bytes to pass before it, and bytes in it that are left. */
struct span {
	u32 before, left;
};

/* The next size bytes of the skb are these. */
static void feed_span(struct srnic_feed *feed, struct span *span, const u8 *data, u32 size)
{
	u32 pass = min(span->before, size), n = min(span->left, size - pass);

	if (n)
		srnic_feed(feed, data + pass, n);
	span->before -= pass;
	span->left -= n;
}

/*
 * Fragment *i and those behind it that continue it in memory, because TCP keeps the pages of a
 * large block one by one. Passes them; NULL if the CPU cannot read them.
 */
static const u8 *next_run(const struct skb_shared_info *shared, u32 *i, u32 *size)
{
	const u8 *at = skb_frag_address(&shared->frags[*i]);

	if (!at)
		return NULL;
	*size = skb_frag_size(&shared->frags[*i]);
	while (++*i < shared->nr_frags && skb_frag_address(&shared->frags[*i]) == at + *size)
		*size += skb_frag_size(&shared->frags[*i]);
	return at;
}

/* False if the CPU cannot read some of it. Skbs in an skb's list have no such list. */
static bool feed_skb(struct srnic_feed *feed, struct sk_buff *skb, struct span *span)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	u32 i = 0, size;

	feed_span(feed, span, skb->data, skb_headlen(skb));
	while (i < shared->nr_frags && span->left) {
		const u8 *at = next_run(shared, &i, &size);

		if (!at)
			return false;
		feed_span(feed, span, at, size);
	}
	return true;
}

/*
 * A user's receives in one piece of the stream complete together, at its end. Those of a kernel
 * consumer do not: its handler may do much with each.
 */
static void begin_piece(struct srnic_qp *qp, struct srnic_feed *feed,
			struct srnic_rq_together *together)
{
	feed->qp = qp;
	feed->wanted = 0;
	feed->num = 0;
	feed->len = 0;
	if (qp->user)
		srnic_rq_begin_together(&qp->rq, together);
}

static void end_piece(struct srnic_qp *qp, struct srnic_feed *feed)
{
	srnic_feed_end(feed);
	srnic_held_drop(&qp->rx.held);
	srnic_rq_end_together(&qp->rq);
}

static int rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset, size_t len)
{
	struct srnic_qp *qp = desc->arg.data;
	struct span span = { .before = offset, .left = len };
	struct srnic_rq_together together SRNIC_COMPAT_UNINITIALIZED;
	struct srnic_feed feed SRNIC_COMPAT_UNINITIALIZED;
	struct sk_buff *part;
	bool readable;

	trace_srnic_rx_segment(qp, len);
	begin_piece(qp, &feed, &together);
	readable = feed_skb(&feed, skb, &span);
	skb_walk_frags(skb, part)
		readable = readable && feed_skb(&feed, part, &span);
	end_piece(qp, &feed);
	if (unlikely(!readable || span.left))
		unreadable(qp);
	return len;
}

/*
 * Urgent bytes stay in the stream and mean nothing to MPA, but tcp_read_sock() would stop at one
 * for good.
 */
static void forget_urgent(struct sock *sk)
{
	if (unlikely(tcp_sk(sk)->urg_data))
		WRITE_ONCE(tcp_sk(sk)->urg_data, 0);
}

/*
 * Returns the FPDUs so far. A QP in error processes no more bytes, but still takes them, so that
 * closing sends FIN and not RST.
 */
static u64 begin_run(struct srnic_qp *qp, const struct sock *sk)
{
	lockdep_assert(lockdep_sock_is_held(sk));
	if (qp->acks) {
		srnic_kept_look(qp, sk);
		srnic_ride_begin_run(&qp->acks->ride);
	}
	if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
		core_rx_stop(&qp->rx.core);
	return core_rx_fpdus(&qp->rx.core);
}

static void end_run(struct srnic_qp *qp, u64 fpdus, u32 bytes)
{
	srnic_unmute_responder(qp);
	WRITE_ONCE(qp->rx.bytes, qp->rx.bytes + bytes);
	fpdus = core_rx_fpdus(&qp->rx.core) - fpdus;
	trace_srnic_rx_batch(qp, bytes, fpdus);
	srnic_qp_count(qp, SRNIC_RX_BATCHES, 1);
	srnic_qp_count(qp, SRNIC_RX_OCTETS, bytes);
	srnic_qp_count(qp, SRNIC_RX_FPDUS, fpdus);
	if (qp->acks)
		srnic_acks_end_run(qp);
}

void srnic_rx_run(struct srnic_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };
	u64 fpdus = begin_run(qp, sk);
	int bytes;

	forget_urgent(sk);
	if (qp->acks)
		srnic_acks_begin_run(sk);
	bytes = tcp_read_sock(sk, &desc, rx_actor);
	if (bytes > 0)
		end_run(qp, fpdus, bytes);
}

void srnic_rx_take(struct srnic_qp *qp, struct sock *sk, const struct bio_vec *vec, u32 num)
{
	u64 fpdus = begin_run(qp, sk);
	struct srnic_rq_together together SRNIC_COMPAT_UNINITIALIZED;
	struct srnic_feed feed SRNIC_COMPAT_UNINITIALIZED;
	u32 bytes = 0;

	begin_piece(qp, &feed, &together);
	for (u32 i = 0; i < num; i++) {
		srnic_feed(&feed, page_address(vec[i].bv_page) + vec[i].bv_offset, vec[i].bv_len);
		bytes += vec[i].bv_len;
	}
	end_piece(qp, &feed);
	end_run(qp, fpdus, bytes);
}

void srnic_rx_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	bool numbered = core_framing_traits_of(start->agreed.framing)->numbers_agreed;
	struct core_rx_params params = {
		.ctx = qp,
		.acks = qp->acks ? &qp->acks->core : NULL,
		.pd = qp->pd,
		.qpn = qp->base.qp_num,
		.framing = start->agreed.framing,
		.connection_id = start->agreed.connection_id,
		.first_msn = numbered ? start->agreed.recv_msn : CORE_FIRST_MSN,
		.crc = start->agreed.crc,
		.markers = start->agreed.recv_markers,
		.swaps = READ_ONCE(qp->dev->settings.rdmap_swap),
		.rtr = start->initiator ? 0 : start->agreed.rtr,
		.extended = start->agreed.extended,
	};

	qp->rx.receive.active = qp->rx.receive.again;
	qp->rx.refusal = (struct core_refusal) { };
	qp->rx.bytes = 0;
	qp->markers = params.markers;
	srnic_rq_update_seen(&qp->rq);
	core_rx_init(&qp->rx.core, &params);
}
