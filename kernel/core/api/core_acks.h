/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Acknowledgements: the numbers of requests, what a peer has done of them and what it refuses
 * (Documentation/ib.rst). Included by core.h.
 */
#ifndef SRNIC_CORE_ACKS_H
#define SRNIC_CORE_ACKS_H

#define CORE_ACK_LEN	8	/* octets of an Ack behind its DDP header */
#define CORE_ACK_FPDU	32	/* octets of its FPDU */

/* Why request Delivered + 1 is refused (ib.rst, "Acks"). */
enum core_syndrome {
	CORE_SYNDROME_NONE = 0,
	CORE_SYNDROME_NOT_READY,	/* no receive is posted; the request may be sent again */
	CORE_SYNDROME_INVALID,		/* invalid request */
	CORE_SYNDROME_ACCESS,		/* remote access error */
	CORE_SYNDROME_OPERATION,	/* remote operation error */
	CORE_SYNDROMES
};

/**
 * struct core_ack - an Ack message
 * @delivered: the number of the last request that is done, and all before it
 * @syndrome: enum core_syndrome
 * @timer: NOT_READY: a code of core_rnr_delay()
 */
struct core_ack {
	u32 delivered;
	u8 syndrome;
	u8 timer;
};

/**
 * struct core_sent - a request that was sent and may have to be sent again
 * @end: octets of the stream up to the end of its last FPDU
 * @index: free-running index in the send queue
 * @send_msn: core_tx.send_msn before it
 * @read_msn: core_tx.read_msn before it
 * @extended_msn: core_tx.extended_msn before it
 * @immediate: the Immediate Data of @tail
 * @handler: enum core_handler
 * @tail: CORE_MSG_IMMEDIATE* that follows its Write; CORE_MSG_NONE
 */
struct core_sent {
	u64 end;
	u32 index;
	u32 send_msn, read_msn, extended_msn;
	u8 immediate[CORE_IMMEDIATE_LEN];
	u8 handler, tail;
};

/* struct core_acks.gone: not known, and of no interest. */
#define CORE_GONE_ALL	(~0ULL)

/* RNR retry count: for ever. */
#define CORE_RNR_FOR_EVER 7

/* Why the QP has to go to the error state. */
enum core_over {
	CORE_OVER_NOT = 0,
	CORE_OVER_FAILED,	/* a request of this end could not be sent, and has completed */
	CORE_OVER_REFUSED,	/* the peer's request is refused for good, and the peer knows */
};

/**
 * struct core_acks - the acknowledgements of one QP, in both directions
 *
 * Numbers are of requests, modulo 2^32; each end's requests have their own. They go on when a
 * stream comes back.
 *
 * Set by the host; those up to @paused may change at any time:
 * @rnr_retry: how often a request is sent again; CORE_RNR_FOR_EVER
 * @min_rnr_timer: what this end asks a peer to wait: a code of core_rnr_delay()
 * @access: CORE_ACCESS_REMOTE_*, CORE_ACCESS_FLUSH_*: what the QP lets its peer do
 * @paused: the engine takes no request that it has not sent before: the QP is not in RTS. Kick it
 *	afterwards
 * @ask_every: every so many requests ask for an Ack, signaled or not; at least 1
 * @sent: a ring of the requests that are not acknowledged, by number
 * @mask: its entries - 1; at least as many as the send queue has
 *
 * The engine's, and what the host sets: two cache lines. The receive half reads @begun, @whole,
 * @said, @probes_answered and @refusals_said:
 * @index: the next request's index in the send queue
 * @was_done: requests before this index have been taken before: their local operations are done
 * @begun: the last request of which an FPDU is built
 * @whole: the last request all of whose FPDUs are built: @begun, or the one before
 * @octets: octets of the stream that are built
 * @fpdu_octets: of them, those of the FPDU that is being built
 * @unasked: requests since the last one that asked for an Ack
 * @said: the last number that an Ack or response said to the peer
 * @probes_answered: of @probes
 * @refusals_said: of @refusals
 * @ack_msn: MSN of the last Ack
 * @ack: what @message says
 * @message: the Ack that is chosen
 * @ack_active: there is one
 * @failing: the request taken last cannot be sent: its enum srnic_wc_status; 0: it can
 * @signaled: the request taken last asks for an Ack
 * @again: the request taken last was taken before
 * @unbegun: the request taken last is neither done nor begun
 * @now: say what was delivered, even if nobody asked
 * @probe: ask the peer by an Ack
 * @first: an initiator's first FPDU is an Ack, so that the responder may send
 * @over: enum core_over
 * @delayed: no request is taken until core_tx_resume()
 * @half_done: the Write is done whose Immediate Data are to be sent again
 * @answer_refused: enum core_syndrome of a response that cannot be built; NONE: there is none.
 *	Seldom written, so it may be in the third line
 *
 * The receive half's, the third cache line. The engine reads @acked, @received, @asked, @probes,
 * @refusals and @refusing:
 * @acked: the last of this end's requests that the peer has acknowledged
 * @acked_end: the index in the send queue behind it
 * @received: requests of the peer that are delivered
 * @asked: the last of these that asked for an Ack
 * @probes: Acks that asked for one
 * @refusals: refused requests of the peer
 * @ack_in_msn: MSN of the peer's next Ack
 * @delay: @rewinding: microseconds to wait
 * @tries: how often the request after @acked was refused
 * @refusing: enum core_syndrome of the request after @received, until it comes again
 *
 * Set by the host, under the lock of receive:
 * @gone: octets of the stream that TCP has delivered. The peer can have done no request that ends
 *	behind them (rule 117). At first CORE_GONE_ALL
 *
 * Both halves', under the lock of receive:
 * @rewinding: the peer was not ready for the request after @acked: the engine has to go back to it
 *
 * Either half's, without a lock:
 * @awaited: the engine waits for @acked to advance
 */
struct core_acks {
	u8 rnr_retry, min_rnr_timer;
	u16 access;
	u8 paused;
	u8 over, delayed, half_done;
	u32 ask_every;
	u32 mask;
	struct core_sent *sent;

	u32 index, was_done;
	u32 begun, whole;
	u64 octets;
	u32 fpdu_octets;
	u32 unasked;
	u32 said;
	u32 probes_answered, refusals_said;
	u32 ack_msn;
	struct core_ack ack;
	struct core_tx_msg message;
	u8 ack_active, failing, signaled, again, unbegun, now, probe, first;

	u8 answer_refused;
	u32 acked, acked_end;
	u32 received, asked;
	u32 probes, refusals;
	u32 ack_in_msn;
	u32 delay;
	u8 tries, refusing;

	u64 gone;
	u8 rewinding, awaited;
};

/*
 * Numbers begin: the first request of each end has number 1. What the host sets is kept.
 */
void core_acks_init(struct core_acks *acks);
/*
 * A stream begins, and the numbers go on. index: of the next request in the send queue; behind a
 * stream that came before, core_tx_next_request() of that one. Nothing may be unacknowledged.
 * Before core_tx_init() and core_rx_init().
 */
void core_acks_start(struct core_acks *acks, u32 index);
/*
 * Is a request of this end not acknowledged, or begun, or to be sent again? Or must the QP fail?
 * Then the stream cannot be replaced by another one. For the engine.
 */
bool core_acks_unacknowledged(const struct core_acks *acks);
/*
 * Is a request of the peer refused for good, or has one of this end failed? Then the QP goes to the
 * error state, also if the stream ends before the peer knows. For the engine.
 */
bool core_acks_must_fail(const struct core_acks *acks);
/*
 * Has this end delivered what it has not said, whether or not the peer has asked? Then
 * core_tx_ack_now() is due within 10 ms. For both halves.
 */
bool core_acks_owed(const struct core_acks *acks);
/*
 * Is all that there is to say to the peer an Ack, of at most so many requests? Not so if it has
 * asked by an Ack (rule 16), or is refused something. For both halves.
 */
bool core_acks_only_asked(const struct core_acks *acks, u32 most);

/* Whether the engine waits for @acked to advance: the receive half kicks it then. */
bool core_acks_awaited(const struct core_acks *acks);

/* What an Ack or a response of the peer does. */
enum core_acked_kind {
	CORE_ACKED,		/* requests are done */
	CORE_ACKED_AGAIN,	/* and one has to be sent again: run the engine */
	CORE_ACKED_REFUSED,	/* and one fails: the QP goes to the error state */
};

/**
 * struct core_acked - what an Ack or a response of the peer means for the send queue
 * @kind: enum core_acked_kind
 * @status: REFUSED: of the request at @end, enum srnic_wc_status
 * @end: requests before this index of the send queue are done, but for those that a response
 *	completes
 */
struct core_acked {
	u8 kind, status;
	u32 end;
};

/**
 * struct core_rewind - how the host goes back to a request
 * @index: the next request to be taken from the send queue. None from there on is done
 * @reads: the newest of outstanding reads to forget: they are issued again
 * @delay: microseconds until core_tx_resume()
 */
struct core_rewind {
	u32 index;
	u32 reads;
	u32 delay;
};

/* The time of a 5-bit RNR NAK timer code in microseconds: 10 to 655360. */
u32 core_rnr_delay(u8 code);
/*
 * How long a request may stay unacknowledged, in microseconds: the local ACK timeout, 4.096 us
 * times two to the power of a 5-bit code, for each of retries + 1 attempts; at least two seconds.
 * 0: for ever.
 */
u64 core_ack_timeout(u8 code, u8 retries);

#endif
