/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The consumer of a connection, as the files below it see it: operations, and a pointer for their
 * use (srnic_ep.consumer_id). iw_cm's operations are in events.c.
 */
#ifndef SRNIC_CONSUMER_H
#define SRNIC_CONSUMER_H

#include "core/api/core.h"

struct srnic_ep;
struct srnic_qp_start;

/**
 * struct srnic_consumer_ops - an ep's reports to its consumer
 * @lasting: its QPs outlive their streams (Documentation/ib.rst, "Pairing"): a stream has no
 *	graceful end, its QP stays as it was unless its consumer fails it, and the ep gives TCP what
 *	the QP has left to send
 * @request: a peer asks to connect, and the consumer accepts or rejects. TOOK_REQUEST: it decides
 *	later; BUSY: the Reply that refuses is to be sent; ACCEPTED: the Reply is laid out; or
 *	BROKEN, with ep->error. Needs no consumer_id
 * @make_request: TCP is connected: lays out the Request. NOTHING; BROKEN, with ep->error;
 *	REPLY_ACCEPTS: there are no startup frames. NULL: it was laid out before
 * @start: starts the QP on ep->sock; like srnic_qp_start()
 * @connected: the peer has accepted. 0, or an error: the consumer does not know
 * @rejected: the peer has rejected
 * @failed: connecting has failed, with this errno
 * @established: the connection that this end has accepted is in full operation
 * @not_established: the connection that this end has accepted did not start, with this errno
 * @disconnected: the peer, or an error, ends the connection
 * @closed: the connection has ended, with this errno; the last report. The QP has left it
 * @part: releases the consumer's objects and clears consumer_id: no report follows. In any state,
 *	idempotent
 *
 * All with the ep's lock held. Reports come from the ep's work, in the order and number of
 * core/connection.cc. Up to @connected and @established ep->startup has the frames.
 */
struct srnic_consumer_ops {
	bool lasting;
	enum core_conn_input (*request)(struct srnic_ep *ep);
	enum core_conn_input (*make_request)(struct srnic_ep *ep);
	int (*start)(struct srnic_ep *ep, const struct srnic_qp_start *start);
	int (*connected)(struct srnic_ep *ep);
	void (*rejected)(struct srnic_ep *ep);
	void (*failed)(struct srnic_ep *ep, int status);
	void (*established)(struct srnic_ep *ep);
	void (*not_established)(struct srnic_ep *ep, int status);
	void (*disconnected)(struct srnic_ep *ep);
	void (*closed)(struct srnic_ep *ep, int status);
	void (*part)(struct srnic_ep *ep);
};

#endif
