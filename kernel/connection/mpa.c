// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The MPA startup frames of a connection (RFC 5044 7.1.1, RFC 6581 6 to 9): lays out ours as the
 * core decides, and decodes the peer's.
 */
#include "connection/ep.h"
#include "connection/frame.h"
#include "report/terminate.h"

/* ---- our frames ---- */

static bool fits(u32 private_len, bool enhanced)
{
	return private_len <= CORE_MPA_MAX_PRIVATE - (enhanced ? CORE_MPA_ENHANCED : 0);
}

/* fits() has checked the room. */
static void mpa_lay_out(struct srnic_startup *startup, const struct core_mpa_frame *frame,
			const void *private, u32 len)
{
	u32 header = core_mpa_build(frame, startup->out);

	memcpy(startup->out + header, private, len);
	startup->out_len = header + len;
	startup->out_sent = 0;
}

static int mpa_lay_out_request(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	struct srnic_startup *startup = ep->startup;
	u32 len = offer->private_len;

	if (!fits(len, startup->local.revision == 2))
		return -EINVAL;
	core_mpa_request(&startup->local, len, &startup->mpa.request);
	mpa_lay_out(startup, &startup->mpa.request, offer->private_data, len);
	return 0;
}

static int mpa_lay_out_reply(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	struct srnic_startup *startup = ep->startup;
	u32 len = offer->private_len;

	if (!fits(len, startup->mpa.request.enhanced))
		return -EINVAL;
	core_mpa_respond(&startup->mpa.request, &startup->local, false, len, &startup->mpa.reply,
			 &startup->agreed);
	if (startup->agreed.error)
		return -EPROTO;
	mpa_lay_out(startup, &startup->mpa.reply, offer->private_data, len);
	return 0;
}

static void mpa_lay_out_refusal(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;

	core_mpa_respond(&startup->mpa.request, &startup->local, true, startup->refusal_len,
			 &startup->mpa.reply, &startup->agreed);
	mpa_lay_out(startup, &startup->mpa.reply, startup->refusal, startup->refusal_len);
}

/* RFC 6581 8: a Terminate, the only FPDU that the initiator sends. */
static void mpa_lay_out_error(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	struct core_terminate term = { .layer = CORE_LAYER_LLP, .code = startup->agreed.error };

	srnic_count(ep->dev, SRNIC_TX_TERMINATES, 1);
	srnic_terminate_at_startup(&ep->dev->base, &term);
	startup->out_len = core_terminate_fpdu(&term, startup->agreed.send_markers, startup->out);
	startup->out_sent = 0;
}

/* ---- the peer's frames ---- */

static u32 own_len(const struct core_mpa_frame *frame)
{
	return CORE_MPA_HEADER + (frame->enhanced ? CORE_MPA_ENHANCED : 0);
}

static int mpa_receive(struct srnic_ep *ep, bool reply)
{
	struct srnic_startup *startup = ep->startup;
	struct core_mpa_frame *frame = reply ? &startup->mpa.reply : &startup->mpa.request;
	u32 len;
	int ret = srnic_frame_fill(ep, CORE_MPA_HEADER);

	if (ret <= 0)
		return ret;
	if (core_mpa_parse(startup->in, reply, frame) || frame->private_len > CORE_MPA_MAX_PRIVATE)
		return -EPROTO;
	len = CORE_MPA_HEADER + frame->private_len;
	if (len - own_len(frame) > U8_MAX)
		return -EPROTO;
	ret = srnic_frame_fill(ep, len);
	if (ret > 0 && frame->enhanced)
		core_mpa_parse_enhanced(startup->in + CORE_MPA_HEADER, frame);
	return ret;
}

static void mpa_describe(const struct srnic_startup *startup, bool reply, struct srnic_offer *out)
{
	const struct core_mpa_frame *frame = reply ? &startup->mpa.reply : &startup->mpa.request;
	u32 own = own_len(frame);

	*out = (struct srnic_offer) {
		.rejects = frame->reject,
		.ird = frame->enhanced ? frame->ird : CORE_MPA_AUTO,
		.ord = frame->enhanced ? frame->ord : CORE_MPA_AUTO,
		.private_data = startup->in + own,
		.private_len = CORE_MPA_HEADER + frame->private_len - own,
	};
}

static void mpa_conclude(struct srnic_startup *startup)
{
	core_mpa_conclude(&startup->mpa.request, &startup->mpa.reply, &startup->local,
			  &startup->agreed);
}

const struct srnic_frame_ops srnic_mpa_ops = {
	.lay_out_request = mpa_lay_out_request,
	.lay_out_reply = mpa_lay_out_reply,
	.lay_out_refusal = mpa_lay_out_refusal,
	.lay_out_error = mpa_lay_out_error,
	.receive = mpa_receive,
	.describe = mpa_describe,
	.conclude = mpa_conclude,
};
