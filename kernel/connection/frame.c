// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The MPA startup frames of a connection (RFC 5044 7.1.1, RFC 6581 6 to 9): builds ours from the
 * core's decisions and sends them, and reads the peer's to its last byte and not beyond.
 */
#include <linux/moduleparam.h>

#include "connection/ep.h"

static unsigned int mpa_revision = 2;
module_param(mpa_revision, uint, 0644);
MODULE_PARM_DESC(mpa_revision, "MPA revision of Requests: 2, or 1 for peers that know no other");

/* ---- our frames ---- */

void srnic_frame_local(struct srnic_ep *ep, const struct iw_cm_conn_param *param)
{
	lockdep_assert_held(&ep->lock);
	ep->startup->local = (struct core_mpa_local) {
		.ird = min_t(u32, param->ird, SRNIC_MAX_IRD),
		.ord = min_t(u32, param->ord, SRNIC_MAX_ORD),
		.max_ird = SRNIC_MAX_IRD,
		.crc = READ_ONCE(ep->dev->crc),
		.markers = READ_ONCE(ep->dev->markers),
		.revision = READ_ONCE(mpa_revision) == 1 ? 1 : 2,
		.p2p = true,
		.rtr = CORE_RTR_ALL,
	};
}

static bool fits(u32 private_len, bool enhanced)
{
	return private_len <= CORE_MPA_MAX_PRIVATE - (enhanced ? CORE_MPA_ENHANCED : 0);
}

/* Lays out our frame with its private data; fits() has checked the room. */
static void lay_out(struct srnic_startup *startup, const struct core_mpa_frame *frame,
		    const void *private, u32 len)
{
	u32 header = core_mpa_build(frame, startup->out);

	memcpy(startup->out + header, private, len);
	startup->out_len = header + len;
	startup->out_sent = 0;
}

int srnic_frame_request(struct srnic_ep *ep, const struct iw_cm_conn_param *param)
{
	struct srnic_startup *startup = ep->startup;
	u32 len = param->private_data_len;

	lockdep_assert_held(&ep->lock);
	srnic_frame_local(ep, param);
	if (!fits(len, startup->local.revision == 2))
		return -EINVAL;
	core_mpa_request(&startup->local, len, &startup->request);
	lay_out(startup, &startup->request, param->private_data, len);
	return 0;
}

int srnic_frame_reply(struct srnic_ep *ep, const struct iw_cm_conn_param *param)
{
	struct srnic_startup *startup = ep->startup;
	u32 len = param->private_data_len;

	lockdep_assert_held(&ep->lock);
	srnic_frame_local(ep, param);
	if (!fits(len, startup->request.enhanced))
		return -EINVAL;
	core_mpa_respond(&startup->request, &startup->local, false, len, &startup->reply,
			 &startup->agreed);
	if (startup->agreed.error)
		return -EPROTO;
	lay_out(startup, &startup->reply, param->private_data, len);
	return 0;
}

void srnic_frame_refusal(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;

	lockdep_assert_held(&ep->lock);
	core_mpa_respond(&startup->request, &startup->local, true, startup->refusal_len,
			 &startup->reply, &startup->agreed);
	lay_out(startup, &startup->reply, startup->refusal, startup->refusal_len);
}

void srnic_frame_terminate(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	struct core_terminate term = { .layer = CORE_LAYER_LLP, .code = startup->agreed.error };

	lockdep_assert_held(&ep->lock);
	startup->out_len = core_terminate_fpdu(&term, startup->agreed.send_markers, startup->out);
	startup->out_sent = 0;
}

/* ---- sending and receiving ---- */

int srnic_frame_send(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;

	lockdep_assert_held(&ep->lock);
	while (startup->out_sent < startup->out_len) {
		int ret = srnic_sock_send(ep->sock, startup->out + startup->out_sent,
					  startup->out_len - startup->out_sent);
		if (ret == -EAGAIN)
			return 0;
		if (ret < 0)
			return ret;
		startup->out_sent += ret;
	}
	return 1;
}

/*
 * Reads the first `want` bytes of the frame: 1 when all are there, 0 when some are missing, or
 * -errno.
 */
static int fill_in(struct srnic_ep *ep, u32 want)
{
	struct srnic_startup *startup = ep->startup;

	while (startup->received < want) {
		int ret = srnic_sock_recv(ep->sock, startup->in + startup->received,
					  want - startup->received);

		if (ret == -EAGAIN)
			return 0;
		if (ret < 0)
			return ret;
		startup->received += ret;
	}
	return 1;
}

u8 *srnic_frame_private(struct srnic_startup *startup, const struct core_mpa_frame *frame, u32 *len)
{
	u32 skip = frame->enhanced ? CORE_MPA_ENHANCED : 0;

	*len = frame->private_len - skip;
	return startup->in + CORE_MPA_HEADER + skip;
}

int srnic_frame_receive(struct srnic_ep *ep, bool reply)
{
	struct srnic_startup *startup = ep->startup;
	struct core_mpa_frame *frame = reply ? &startup->reply : &startup->request;
	int ret = fill_in(ep, CORE_MPA_HEADER);
	u32 len;

	lockdep_assert_held(&ep->lock);
	if (ret <= 0)
		return ret;
	if (core_mpa_parse(startup->in, reply, frame) || frame->private_len > CORE_MPA_MAX_PRIVATE)
		return -EPROTO;
	srnic_frame_private(startup, frame, &len);
	if (len > U8_MAX)
		return -EPROTO;
	ret = fill_in(ep, CORE_MPA_HEADER + frame->private_len);
	if (ret > 0 && frame->enhanced)
		core_mpa_parse_enhanced(startup->in + CORE_MPA_HEADER, frame);
	return ret;
}
