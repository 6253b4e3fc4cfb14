// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Consumes a stream, a run of memory at a time: hands what is there to the core, and does what it
 * says. Payload of one FPDU that goes on from run to run, as in the packets of a long one, is
 * placed together: one step of the core, one check of the region.
 */
#include "stream/receive/parts.h"

/*
 * The next bytes of an FPDU that is not taken at once. None: the stream is over. *left: octets of
 * payload that are to come behind these.
 */
static struct core_rx_taken take_step(struct srnic_qp *qp, const u8 *data, u32 len, u32 *left)
{
	struct core_rx *core = &qp->rx.core;
	struct core_rx_step step = core_rx_next(core);
	struct core_rx_taken taken = { .n = min(len, step.want) };

	*left = 0;
	if (step.kind == CORE_RX_PLACE) {
		taken.event = srnic_place_payload(qp, step.place, data, taken.n);
		*left = step.want - taken.n;
	} else if (step.kind == CORE_RX_BYTES) {
		memcpy(step.into, data, taken.n);
		taken.event = core_rx_took(core, taken.n);
	}
	return taken;
}

static __always_inline void after_step(struct srnic_qp *qp, enum core_rx_event event)
{
	srnic_held_pause(&qp->rx.held);
	if (event != CORE_RX_MORE)
		srnic_deliver(qp, event);
	else	/* what is complete does not wait for a long message */
		srnic_rq_push_together(&qp->rq);
}

u32 srnic_consume(struct srnic_qp *qp, const u8 *data, u32 len)
{
	u32 left = 0;

	while (len) {
		struct core_rx_taken taken = core_rx_whole(&qp->rx.core, data, len);

		if (taken.n)
			left = 0;
		else
			taken = take_step(qp, data, len, &left);
		if (!taken.n)
			return 0;
		after_step(qp, taken.event);
		if (taken.event != CORE_RX_MORE)
			left = 0;
		data += taken.n;
		len -= taken.n;
	}
	return left;
}

static void consume_each(struct srnic_feed *feed)
{
	for (u32 i = 0; i < feed->num; i++)
		feed->wanted = srnic_consume(feed->qp, feed->run[i].iov_base, feed->run[i].iov_len);
}

/* All of them are payload of the FPDU in progress. */
static void place_together(struct srnic_feed *feed, const struct core_place *place)
{
	enum core_rx_event event =
		srnic_place_runs(feed->qp, place, feed->run, feed->num, feed->len);

	after_step(feed->qp, event);
	if (event != CORE_RX_MORE)
		feed->wanted = 0;
}

/* The core still wants what it wanted when the first of them came: nothing has happened since. */
void srnic_feed_kept(struct srnic_feed *feed)
{
	struct core_rx_step step = core_rx_next(&feed->qp->rx.core);

	if (likely(step.kind == CORE_RX_PLACE && step.want >= feed->len))
		place_together(feed, step.place);
	else
		consume_each(feed);
	feed->num = 0;
	feed->len = 0;
}

void srnic_feed_payload(struct srnic_feed *feed, const u8 *data, u32 len)
{
	u32 n = min(feed->wanted, len);

	feed->run[feed->num++] = (struct kvec) { .iov_base = (void *)data, .iov_len = n };
	feed->len += n;
	feed->wanted -= n;
	if (!feed->wanted || feed->num == ARRAY_SIZE(feed->run))
		srnic_feed_kept(feed);
	if (len > n)
		feed->wanted = srnic_consume(feed->qp, data + n, len - n);
}
