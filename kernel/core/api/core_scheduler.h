/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Transmit: the scheduler of one stream (RFC 5040 5.1 to 5.5). Included by core.h.
 */
#ifndef SRNIC_CORE_SCHEDULER_H
#define SRNIC_CORE_SCHEDULER_H

struct core_tx_params {
	void *ctx;		/* passed to all callbacks */
	union {
		u64 connection_id;	/* RDMA/TCP */
		struct core_acks *acks;	/* of the QP, where requests are acknowledged */
	};
	u32 first_msn;		/* of the first message, if the framing has numbers_agreed */
	u32 ord;
	u32 slot_size;		/* of the send queue */
	u8 framing;		/* enum core_framing */
	u8 kernel;		/* the consumer is the kernel */
	u8 crc;			/* make CRCs */
	u8 markers;		/* make markers */
	u8 long_segments;	/* or FPDUs: not cut to fit TCP segments */
	u8 initiator;		/* else RFC 5044 7.1.2 rule 4 mutes it at first */
	u8 rtr;			/* CORE_RTR_*, as initiator: sent first (RFC 6581 9.2); 0: none */
	u8 extended;		/* Flush and Atomic Write are agreed (core_pairing.h) */
};

/**
 * struct core_tx - the send scheduler of one stream
 * @fpdus: FPDUs built since the host has set this to 0
 * @params: parameters of the stream
 * @mulpdu: octets of the largest ULPDU, or RDMA/TCP segment
 * @muted: a responder that has not validated an FPDU yet (RFC 5044 7.1.2 rule 4)
 * @stopped: nothing is sent any more, except a Terminate
 * @building: the FPDU is begun
 * @rtr: CORE_RTR_* that has to be sent first
 * @local_active: @local is not completely built
 * @answer_active: @answer is not completely built
 * @answer_next: the next turn is @answer's
 * @of_request: @local belongs to the request that was taken last
 * @tail: CORE_MSG_IMMEDIATE* that is sent right behind @local, with @immediate; CORE_MSG_NONE
 * @immediate: the Immediate Data of @tail or @local
 * @closing: only @may_take more requests are taken
 * @peer_closed: the peer has closed its half
 * @may_take: requests that may still be taken while @closing
 * @send_msn: MSN of the last message sent to queue 0; RDMA/TCP: of the last message but responses
 * @read_msn: MSN of the last message sent to queue 1
 * @atomic_msn: MSN of the last message sent to queue 3
 * @extended_msn: MSN of the last message sent to queue 5
 * @answered: the peer's reads whose response is built
 * @before: octets of *@turn that were sent before this FPDU
 * @local: the message that this end began: a request, an RTR or a Terminate
 * @answer: the Read or Atomic Response to @asked. It takes turns with @local (@answer_next) by
 *	FPDU, unless both are tagged: then by message
 * @request: the Read Request in @local
 * @atomic: the Atomic Request in @local
 * @extended: the Extended Request in @local
 * @asked: what @answer answers
 * @fpdu: the FPDU being built
 * @segment: the RDMA/TCP segment being built
 * @turn: the message of the next FPDU: @local, @answer or an Ack
 *
 * All but @fpdus is private to the core. One caller at a time.
 */
struct core_tx {
	u32 fpdus;
	u32 mulpdu;
	struct core_tx_params params;
	u8 muted;
	u8 stopped;
	u8 building;
	u8 rtr;
	u8 local_active, answer_active, answer_next;
	u8 of_request;
	u8 tail;
	u8 immediate[CORE_IMMEDIATE_LEN];
	u8 closing, peer_closed;
	u32 may_take;
	u32 send_msn, read_msn, atomic_msn, extended_msn;
	u32 answered;
	u32 before;
	struct core_tx_msg *turn;
	struct core_tx_msg local, answer;
	union {
		struct core_read_request request;
		struct core_atomic_request atomic;
		struct core_extended extended;
	};
	struct core_asked asked;
	union {
		struct core_fpdu fpdu;
		struct core_segment segment;
	};
};

void core_tx_init(struct core_tx *tx, const struct core_tx_params *params);
/* Makes further FPDUs fit TCP segments of this size (RFC 5044 4.5). */
void core_tx_set_emss(struct core_tx *tx, u32 emss);
/*
 * Chooses the next FPDU: begins a message if needed, and does local operations when their turn
 * comes, some of them at a time. Returns the FPDU's octets on the wire; 0: nothing can be sent now,
 * or not before the next call, if core_tx_may_take() and requests are posted. May be called again
 * before core_tx_next().
 */
u32 core_tx_choose(struct core_tx *tx);
/*
 * The next step of the chosen FPDU; call it until the last step. Copy a step's payload before the
 * next call.
 */
struct core_tx_step core_tx_next(struct core_tx *tx);
/*
 * The CRC32C that the step's payload is added to, or NULL: none is, or not a CRC32C. A host that
 * can do so while it copies adds the payload here, and does not call core_tx_copied().
 */
u32 *core_tx_sum(struct core_tx *tx);
/* n octets of payload were copied; octets: the copy, which the CRC covers. */
void core_tx_copied(struct core_tx *tx, const void *octets, u32 n);
/*
 * The host cannot read the payload, and must drop what it has copied of this FPDU. Ends the stream
 * with the Terminate of RFC 5040 7.1 case 1, or 7.2 rule 4 for a read.
 */
void core_tx_fail(struct core_tx *tx, enum core_region_verdict verdict);
/*
 * RFC 5040 5.4: chooses one Terminate, between two FPDUs, with nothing after it. Returns the octets
 * of its FPDU; 0: it must not be sent (RFC 5044 7.1.2 rule 4). term must stay valid until it is
 * built.
 */
u32 core_tx_terminate(struct core_tx *tx, const struct core_terminate *term);
/*
 * Closes the stream gracefully (RFC 5041 6.2.1): requests posted before and the peer's reads are
 * still sent. peer: the peer has closed its half. Called again if it does so later.
 */
void core_tx_close(struct core_tx *tx, u32 posted, bool peer);
/* Is all of that built, and is no read of this end outstanding that may still complete? */
bool core_tx_closed(struct core_tx *tx);
/* May requests be taken? */
bool core_tx_may_take(struct core_tx *tx);

/* ---- Where requests are acknowledged (core_acks.h) ---- */

/*
 * Does the engine have to go back, because the peer was not ready for a request? Not if that has
 * failed meanwhile (core_tx_over()). Between two FPDUs, when core_tx_choose() returns 0. Then the
 * host, with the lock of receive, goes back as *how says and calls core_tx_rewind().
 */
bool core_tx_must_rewind(const struct core_tx *tx, struct core_rewind *how);
void core_tx_rewind(struct core_tx *tx);
/* core_rewind.delay is over: requests are taken again. */
void core_tx_resume(struct core_tx *tx);
/* Fewer reads may be outstanding than core_tx_params.ord. */
void core_tx_set_ord(struct core_tx *tx, u32 ord);
/* core_acks_owed() has lasted for 10 ms. */
void core_tx_ack_now(struct core_tx *tx);
/* The peer may have vanished: asks it for an Ack. */
void core_tx_probe(struct core_tx *tx);
/* Has the QP to go to the error state? When core_tx_choose() returns 0. */
enum core_over core_tx_over(const struct core_tx *tx);
/*
 * The index in the send queue of the next request of which no FPDU is built: the one that was taken
 * last, if it only waited. When the stream is over and nothing is unacknowledged. Then the host
 * forgets its outstanding reads, goes back to this index, and calls core_acks_start() with it for
 * the next stream.
 */
u32 core_tx_next_request(const struct core_tx *tx);
/*
 * The last Ack of an end that leaves the stream, of all that it has delivered: writes its FPDU to
 * out, and returns its octets. 0: nothing may be sent, because a Terminate was, or because a
 * responder has received nothing. Between two FPDUs, when the receive half is stopped and the
 * peer's reads are still queued. All that was built before has to be sent before it; nothing is
 * built after it.
 */
u32 core_tx_last_ack(struct core_tx *tx, u8 out[CORE_ACK_FPDU]);

#endif
