// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The first messages of an RDMA/TCP connection (Documentation/rdmatcp.rst, "Startup"): lays out
 * ours as the core decides, and decodes the peer's.
 */
#include <linux/random.h>

#include "connection/ep.h"
#include "connection/frame.h"

/* ---- our messages ---- */

static_assert(CORE_HELLO_MAX_PRIVATE == U8_MAX);	/* iw_cm's limit */

static void hello_lay_out(struct srnic_startup *startup, const struct core_hello *hello,
			  const void *private)
{
	startup->out_len = core_hello_build(hello, private, startup->out);
	startup->out_sent = 0;
}

static int hello_lay_out_request(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	struct srnic_startup *startup = ep->startup;
	u64 random[2];

	if (offer->private_len > U8_MAX)
		return -EINVAL;
	get_random_bytes(random, sizeof(random));
	core_hello_connect(&startup->local, offer->private_len, random,
			   &startup->hello.request);
	hello_lay_out(startup, &startup->hello.request, offer->private_data);
	return 0;
}

static void respond(struct srnic_startup *startup, bool reject, const void *private, u32 len)
{
	core_hello_respond(&startup->hello.request, &startup->local, reject, len, get_random_u64(),
			   &startup->hello.reply, &startup->agreed);
	hello_lay_out(startup, &startup->hello.reply, private);
}

static int hello_lay_out_reply(struct srnic_ep *ep, const struct srnic_offer *offer)
{
	if (offer->private_len > U8_MAX)
		return -EINVAL;
	respond(ep->startup, false, offer->private_data, offer->private_len);
	return 0;
}

static void hello_lay_out_refusal(struct srnic_ep *ep)
{
	respond(ep->startup, true, ep->startup->refusal, ep->startup->refusal_len);
}

/* ---- the peer's messages ---- */

static bool may_be(u8 kind, bool reply)
{
	return reply ? kind == CORE_HELLO_ACCEPT || kind == CORE_HELLO_REJECT :
		       kind == CORE_HELLO_CONNECT;
}

static int hello_receive(struct srnic_ep *ep, bool reply)
{
	struct srnic_startup *startup = ep->startup;
	struct core_hello *hello = reply ? &startup->hello.reply : &startup->hello.request;
	int ret = srnic_frame_fill(ep, CORE_HELLO_HEAD);
	u32 len;

	if (ret <= 0)
		return ret;
	len = core_hello_len(startup->in);
	if (!len)
		return -EPROTO;
	ret = srnic_frame_fill(ep, len);
	if (ret <= 0)
		return ret;
	if (core_hello_parse(startup->in, len, hello, &startup->hello.private_data) ||
	    !may_be(hello->kind, reply))
		return -EPROTO;
	return 1;
}

static void hello_describe(const struct srnic_startup *startup, bool reply, struct srnic_offer *out)
{
	const struct core_hello *hello = reply ? &startup->hello.reply : &startup->hello.request;

	*out = (struct srnic_offer) {
		.rejects = hello->kind == CORE_HELLO_REJECT,
		.ird = hello->ird,
		.ord = hello->ord,
		.private_data = startup->hello.private_data,
		.private_len = hello->private_len,
	};
}

static void hello_conclude(struct srnic_startup *startup)
{
	core_hello_conclude(&startup->hello.request, &startup->hello.reply, &startup->local,
			    &startup->agreed);
}

const struct srnic_frame_ops srnic_hello_ops = {
	.lay_out_request = hello_lay_out_request,
	.lay_out_reply = hello_lay_out_reply,
	.lay_out_refusal = hello_lay_out_refusal,
	.receive = hello_receive,
	.describe = hello_describe,
	.conclude = hello_conclude,
};
