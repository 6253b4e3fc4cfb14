/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The consumer of a connection, as the files below it see it: operations, and a pointer for their
 * use (srnic_ep.consumer_id). iw_cm's operations are in events.c.
 */
#ifndef SRNIC_CONSUMER_H
#define SRNIC_CONSUMER_H

struct srnic_ep;

/**
 * struct srnic_consumer_ops - an ep's reports to its consumer
 * @request: a peer asks to connect; the consumer then accepts or rejects. 0; -ENOMEM: its backlog
 *	is full; or another error. Needs no consumer_id
 * @connected: the peer has accepted. 0, or an error: the consumer does not know
 * @rejected: the peer has rejected
 * @failed: connecting has failed, with this errno
 * @established: the connection that this end has accepted is in full operation
 * @not_established: the connection that this end has accepted did not start, with this errno
 * @disconnected: the peer, or an error, ends the connection
 * @closed: the connection has ended, with this errno; the last report
 * @part: releases the consumer's objects and clears consumer_id: no report follows. In any state,
 *	idempotent
 *
 * All with the ep's lock held. Reports come from the ep's work, in the order and number of
 * core/connection.cc. Up to @connected and @established ep->startup has the frames.
 */
struct srnic_consumer_ops {
	int (*request)(struct srnic_ep *ep);
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
