// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The startup frames of QPs that are connected by hand (Documentation/ib.rst, "Startup"): decodes
 * the peer's, and encodes ours, which the consumer decides on (pairing/).
 */
#include "connection/ep.h"
#include "connection/frame.h"

/* ---- our frames ---- */

static_assert(CORE_PAIR_FRAME <= SRNIC_FRAME_MAX);

void srnic_pair_lay_out(struct srnic_startup *startup, const struct core_pair_frame *frame)
{
	core_pair_build(frame, startup->out);
	startup->out_len = CORE_PAIR_FRAME;
	startup->out_sent = 0;
}

/* Rule 59: it is decided on when it is sent. */
static int pair_lay_out_request(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	return 0;
}

static void pair_lay_out_refusal(struct srnic_ep *ep)
{
	srnic_pair_lay_out(ep->startup, &ep->startup->pair.reply);
}

/* ---- the peer's frames ---- */

/*
 * Rule 44: what is no frame of MPA ends the connection; a frame with a wrong revision or length has
 * a fault, and no more of it is read.
 */
static int parse_header(struct srnic_startup *startup, bool reply, struct core_mpa_frame *header)
{
	switch (core_mpa_parse(startup->in, reply, header)) {
	case CORE_MPA_OK:
		return 0;
	case CORE_MPA_BAD_KEY:
		return -EPROTO;
	default:
		startup->pair.fault = CORE_PAIR_MALFORMED;
		return 0;
	}
}

static int pair_receive(struct srnic_ep *ep, bool reply)
{
	struct srnic_startup *startup = ep->startup;
	struct core_pair_frame *frame = reply ? &startup->pair.reply : &startup->pair.request;
	struct core_mpa_frame header;
	int ret = srnic_frame_fill(ep, CORE_MPA_HEADER);

	if (ret <= 0)
		return ret;
	startup->pair.fault = CORE_PAIR_OK;
	ret = parse_header(startup, reply, &header);
	if (ret || startup->pair.fault != CORE_PAIR_OK)
		return ret ?: 1;
	ret = srnic_frame_fill(ep, CORE_MPA_HEADER + header.private_len);
	if (ret > 0)
		startup->pair.fault =
			core_pair_parse(&header, startup->in + CORE_MPA_HEADER, frame);
	return ret;
}

/* The consumer decides; nothing is rejected or agreed before. */
static void pair_describe(const struct srnic_startup *startup, bool reply, struct srnic_offer *out)
{
	*out = (struct srnic_offer) { };
}

static void pair_conclude(struct srnic_startup *startup)
{
	startup->agreed = (struct core_startup_agreed) { .framing = CORE_FRAMING_IB };
}

const struct srnic_frame_ops srnic_pair_ops = {
	.lay_out_request = pair_lay_out_request,
	.lay_out_refusal = pair_lay_out_refusal,
	.receive = pair_receive,
	.describe = pair_describe,
	.conclude = pair_conclude,
};
