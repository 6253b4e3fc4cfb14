// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The frames of the startup phase, in both directions, for any framing: sends ours, reads the
 * peer's to its last byte and not beyond, and finds out which framing an initiator speaks. Their
 * contents are mpa.c's and hello.c's.
 */
#include <linux/moduleparam.h>

#include "connection/ep.h"
#include "connection/frame.h"

static unsigned int mpa_revision = 2;
module_param(mpa_revision, uint, 0644);
MODULE_PARM_DESC(mpa_revision, "MPA revision of Requests: 2, or 1 for peers that know no other");

static const struct srnic_frame_ops *const framings[] = {
	[CORE_FRAMING_MPA] = &srnic_mpa_ops,
	[CORE_FRAMING_RDMATCP] = &srnic_hello_ops,
	[CORE_FRAMING_IB] = &srnic_pair_ops,
};

/* ---- our frames ---- */

void srnic_frame_local(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	lockdep_assert_held(&ep->lock);
	ep->startup->local = (struct core_startup_local) {
		.ird = min_t(u32, offer->ird, SRNIC_MAX_IRD),
		.ord = min_t(u32, offer->ord, SRNIC_MAX_ORD),
		.max_ird = SRNIC_MAX_IRD,
		.crc = READ_ONCE(ep->dev->settings.mpa_crc),
		.markers = READ_ONCE(ep->dev->settings.mpa_markers),
		.large_fpdus = READ_ONCE(ep->dev->settings.mpa_large_fpdus),
		.revision = READ_ONCE(mpa_revision) == 1 ? 1 : 2,
		.p2p = true,
		.rtr = CORE_RTR_ALL,
	};
}

int srnic_frame_request(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	lockdep_assert_held(&ep->lock);
	ep->startup->ops = framings[core_framing_to_connect(READ_ONCE(ep->dev->framings))];
	srnic_frame_local(ep, offer);
	return ep->startup->ops->lay_out_request(ep, offer);
}

int srnic_frame_reply(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	lockdep_assert_held(&ep->lock);
	srnic_frame_local(ep, offer);
	return ep->startup->ops->lay_out_reply(ep, offer);
}

void srnic_frame_refusal(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->startup->ops->lay_out_refusal(ep);
}

void srnic_frame_error(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;

	lockdep_assert_held(&ep->lock);
	startup->out_len = 0;
	startup->out_sent = 0;
	if (startup->ops->lay_out_error)
		startup->ops->lay_out_error(ep);
}

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

/* ---- the peer's frames ---- */

int srnic_frame_fill(struct srnic_ep *ep, u32 want)
{
	struct srnic_startup *startup = ep->startup;

	lockdep_assert_held(&ep->lock);
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

/*
 * An initiator's first byte shows its framing, unless the device has one. 1 when known, 0 if
 * nothing has come, or -errno.
 */
static int find_framing(struct srnic_ep *ep)
{
	enum core_framing framing;
	int ret;

	if (ep->dev->ib) {
		ep->startup->ops = &srnic_pair_ops;
		return 1;
	}
	ret = srnic_frame_fill(ep, 1);
	if (ret <= 0)
		return ret;
	framing = core_framing_of(ep->startup->in[0]);
	if (!srnic_framing_allowed(ep->dev, framing)) {
		ibdev_warn_ratelimited(&ep->dev->base,
				       "%pISpc refused: the framing %s is not allowed here\n",
				       &ep->startup->there, core_framing_traits_of(framing)->name);
		return -EPROTO;
	}
	ep->startup->ops = framings[framing];
	return 1;
}

int srnic_frame_receive(struct srnic_ep *ep, bool reply)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->startup->ops) {
		int ret = find_framing(ep);

		if (ret <= 0)
			return ret;
	}
	return ep->startup->ops->receive(ep, reply);
}

void srnic_frame_describe(const struct srnic_startup *startup, bool reply, struct srnic_offer *out)
{
	startup->ops->describe(startup, reply, out);
}

void srnic_frame_conclude(struct srnic_startup *startup)
{
	startup->ops->conclude(startup);
}
