/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The frames of startup, in ep->startup, for any framing.
 */
#ifndef SRNIC_FRAME_H
#define SRNIC_FRAME_H

#include <linux/types.h>

#include "core/api/core.h"

struct srnic_ep;
struct srnic_offer;
struct srnic_startup;

/**
 * struct srnic_frame_ops - the frames of one framing
 * @lay_out_request: -EINVAL: the private data does not fit. Does nothing if the consumer lays it
 *	out when TCP is connected
 * @lay_out_reply: NULL if the consumer does that. -EINVAL: the private data does not fit; -EPROTO:
 *	startup->agreed has an error
 * @lay_out_refusal: with startup->refusal: up to 255 bytes, which always fit
 * @lay_out_error: the last message of an initiator that cannot agree. NULL: the framing has none
 * @receive: reads and decodes the peer's; returns as srnic_frame_receive()
 * @describe: sets *out to what a decoded frame offers
 * @conclude: sets startup->agreed, from both frames of an initiator
 *
 * All with the ep's lock held.
 */
struct srnic_frame_ops {
	int (*lay_out_request)(struct srnic_ep *ep, const struct srnic_offer *offer);
	int (*lay_out_reply)(struct srnic_ep *ep, const struct srnic_offer *offer);
	void (*lay_out_refusal)(struct srnic_ep *ep);
	void (*lay_out_error)(struct srnic_ep *ep);
	int (*receive)(struct srnic_ep *ep, bool reply);
	void (*describe)(const struct srnic_startup *startup, bool reply, struct srnic_offer *out);
	void (*conclude)(struct srnic_startup *startup);
};

extern const struct srnic_frame_ops srnic_mpa_ops, srnic_hello_ops, srnic_pair_ops;

/* Unless noted, all of these are called in process context with the ep's lock held. */

/* Sets what this end offers or asks for. */
void srnic_frame_local(struct srnic_ep *ep, const struct srnic_offer *offer);
/* Lays out the Request. -EINVAL: the private data does not fit. */
int srnic_frame_request(struct srnic_ep *ep, const struct srnic_offer *offer);
/*
 * Lays out the Reply to the Request. -EINVAL: the private data does not fit; -EPROTO:
 * startup->agreed has an error.
 */
int srnic_frame_reply(struct srnic_ep *ep, const struct srnic_offer *offer);
/*
 * Lays out the Reply that refuses (RFC 5044 7.1.2 rule 2), with startup->refusal: up to 255 bytes,
 * which always fit.
 */
void srnic_frame_refusal(struct srnic_ep *ep);
/* Lays out the last message of an initiator that cannot agree, if there is one: agreed.error. */
void srnic_frame_error(struct srnic_ep *ep);
/* Sends the frame laid out: 1 when TCP has all of it, 0 when some is left, or -errno. */
int srnic_frame_send(struct srnic_ep *ep);
/*
 * Reads the first `want` bytes of the peer's frame: 1 when all are there, 0 when some are missing,
 * or -errno.
 */
int srnic_frame_fill(struct srnic_ep *ep, u32 want);
/*
 * Reads the peer's frame and not a byte beyond it: 1 when complete and valid, 0 if not complete, or
 * -errno. A frame with too much private data for iw_cm counts as improperly formatted (RFC 5044
 * 7.1.2 rule 9).
 */
int srnic_frame_receive(struct srnic_ep *ep, bool reply);
/* Sets *out to what a received frame offers. */
void srnic_frame_describe(const struct srnic_startup *startup, bool reply, struct srnic_offer *out);
/* Sets startup->agreed, of an initiator with both frames. */
void srnic_frame_conclude(struct srnic_startup *startup);

/* pair.c: lays out the frame that the consumer decided on. */
void srnic_pair_lay_out(struct srnic_startup *startup, const struct core_pair_frame *frame);

#endif
