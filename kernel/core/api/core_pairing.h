/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Pairing: how two QPs that their programs connect by hand come to share one stream
 * (Documentation/ib.rst, "Startup", "Pairing"). Included by core.h.
 */
#ifndef SRNIC_CORE_PAIRING_H
#define SRNIC_CORE_PAIRING_H

#define CORE_PAIR_VERSION	1
#define CORE_PAIR_DATA		96	/* octets of private data */
#define CORE_PAIR_FRAME		(CORE_MPA_HEADER + CORE_PAIR_DATA)
/* Features (ib.rst rule 46). */
#define CORE_PAIR_EXTENDED	(1U << 0)	/* Flush and Atomic Write: CORE_MSG_EXTENDED */

#define CORE_PAIR_ANY_ORD	0xffff	/* the ORD is not known yet */

/* Why there is no stream: of a refusal (ib.rst, "Reasons"), or what an initiator found. */
enum core_pair_reason {
	CORE_PAIR_OK = 0,
	CORE_PAIR_NOT_READY,	/* there is no such QP, or it is in RESET, INIT or ERR */
	CORE_PAIR_OTHER_PAIR,	/* it is connected with another QP */
	CORE_PAIR_BUSY,		/* requests unacknowledged, Reads outstanding */
	CORE_PAIR_COUNTS,	/* the counts do not mirror each other */
	CORE_PAIR_STALE,	/* the Request is older than the stream, or meant for an older QP */
	CORE_PAIR_CROSSING,	/* this end's Request is out, and its end is the greater one */
	CORE_PAIR_VERSION_UNKNOWN,
	CORE_PAIR_FEATURES,	/* a feature that one end needs, and the other does not know */
	CORE_PAIR_SHUTDOWN,	/* its device goes away; never said by this end */
	CORE_PAIR_MALFORMED,	/* these private data are not of such a stream */
	CORE_PAIR_REASONS
};

/* One end of a pair. qpn: 24 bits. */
struct core_pair_end {
	u8 gid[16];
	u32 qpn;
};

/**
 * struct core_pair_frame - what a Request or Reply frame says
 * @incarnation: of its sender: random, drawn at RTR; 0: the sender says nothing of itself
 * @peer_incarnation: what the sender has heard last of the receiver's incarnation; 0: nothing
 * @attempt: of its sender: grows with each attempt to connect, and with each stream
 * @peer_attempt: what the sender has heard last of the receiver's attempts
 * @from: its sender
 * @to: its receiver
 * @sent: requests of its sender that its streams have carried
 * @delivered: requests of the receiver that the sender has delivered
 * @features: which its sender knows; of a Reply that accepts: which both ends use
 * @needs: those that its sender does not do without
 * @ird: Reads and atomic operations that its sender takes at a time
 * @ord: how many it will have outstanding at a time, or CORE_PAIR_ANY_ORD
 * @reply: Reply (else Request)
 * @crc: it wants CRCs
 * @reason: of a Reply: enum core_pair_reason, or a number that only a newer release knows
 */
struct core_pair_frame {
	u64 incarnation, peer_incarnation;
	u32 attempt, peer_attempt;
	struct core_pair_end from, to;
	u32 sent, delivered;
	u32 features, needs;
	u16 ird, ord;
	u8 reply, crc, reason;
};

/* Encodes the whole frame, with the header of MPA: CORE_PAIR_FRAME octets. */
void core_pair_build(const struct core_pair_frame *frame, u8 out[CORE_PAIR_FRAME]);
/*
 * Decodes a frame: the header that core_mpa_parse() has accepted, and header->private_len octets.
 * Not OK: why a Request is refused, or a Reply is useless. A Reply that refuses is OK in any
 * version.
 */
enum core_pair_reason core_pair_parse(const struct core_mpa_frame *header, const u8 *private_data,
				      struct core_pair_frame *out);
/*
 * A Reply that refuses, of an end that has no QP to speak for. request: as far as it was decoded;
 * the rest is zero.
 */
void core_pair_refuse(const struct core_pair_frame *request, enum core_pair_reason reason,
		      struct core_pair_frame *reply);

/* A QP's way to its stream. */
enum core_pairing_state {
	CORE_PAIRING_NOT_READY = 0,	/* RESET, INIT, ERR */
	CORE_PAIRING_WAITING,		/* for the time of the next attempt, or for the peer's */
	CORE_PAIRING_CONNECTING,	/* TCP connects; the Request is not sent */
	CORE_PAIRING_REQUESTED,		/* the Request is sent */
	CORE_PAIRING_ATTACHED,		/* there is a stream */
};

/**
 * struct core_pairing - one QP's pairing with another: zeros at first. The caller of each function
 *	has a lock that is the QP's
 * @own: this end
 * @peer: the end that the program wants
 * @incarnation: random, not 0; unpredictable to anybody but the peer
 * @features: those that this end knows
 * @needs: those of them that it does not do without
 * @ird: Reads and atomic operations that it takes at a time
 * @ord: how many it will have outstanding, or CORE_PAIR_ANY_ORD
 * @crc: it wants CRCs
 *
 * The above are set before core_pairing_ready(); @ord may change later. The core's:
 * @peer_incarnation: the peer's, of the stream attached now or last
 * @heard_incarnation: the peer's, as it said last
 * @peer_attempt: the peer's highest, of that stream
 * @heard_attempt: the peer's, as it said last
 * @since: this end's attempt number when it attached that stream
 * @attempt: this end's last; RESET does not set it back
 * @state: enum core_pairing_state
 * @failures: attempts that failed since there was a stream
 * @refusals: attempts since then for which the peer was not ready
 * @crossed: this end has refused the pair while its own Request was out
 * @corrected: this end has tried again at once because a Reply said more of the peer
 */
struct core_pairing {
	struct core_pair_end own, peer;
	u64 incarnation;
	u32 features, needs;
	u16 ird, ord;
	u8 crc;

	u64 peer_incarnation, heard_incarnation;
	u32 peer_attempt, heard_attempt;
	u32 since, attempt;
	u8 state, failures, refusals, crossed, corrected;
};

/**
 * struct core_pair_counts - how far a QP's requests are
 * @sent: its requests: core_acks.whole
 * @delivered: the peer's: core_acks.received
 * @idle: none of its requests is unacknowledged: no half of a Send is out, and no Read outstanding
 *
 * If there is a stream, nothing may be sent or delivered on it from when these are read until it
 * is replaced.
 */
struct core_pair_counts {
	u32 sent, delivered;
	bool idle;
};

/**
 * struct core_pair_agreed - the parameters of a stream
 * @features: which both ends use
 * @ird: Reads and atomic operations that this end has to take at a time
 * @ord: how many it may have outstanding
 * @crc: generate and check CRCs
 * @muted: this end sends nothing before it has received a valid FPDU (ib.rst, "Pairing"); else it
 *	sends an Ack at once, if nothing else
 */
struct core_pair_agreed {
	u32 features;
	u16 ird, ord;
	u8 crc, muted;
};

/* The QP enters RTR: a new incarnation. The next thing to do is core_pairing_connect(). */
void core_pairing_ready(struct core_pairing *pairing);
/* Does this Request name the pair? Else it is refused, whatever the counts are. */
bool core_pairing_is_named(const struct core_pairing *pairing,
			   const struct core_pair_frame *request);
/* Is this QP connected with itself? Then its connection has no startup frames. */
bool core_pairing_is_itself(const struct core_pairing *pairing);
/*
 * The connection of such a QP is open: what is agreed for its stream. False: the attempt is over,
 * end the connection.
 */
bool core_pairing_attach_itself(struct core_pairing *pairing, u32 attempt,
				struct core_pair_agreed *agreed);
/* The QP leaves RTR and RTS: RESET, ERR, destruction. The caller ends its stream or attempt. */
void core_pairing_reset(struct core_pairing *pairing);

/*
 * TCP may connect: it is time. Returns the number of the attempt; 0: do not connect, because there
 * is a stream or an attempt, or the QP is not idle.
 */
u32 core_pairing_connect(struct core_pairing *pairing, const struct core_pair_counts *counts);
/*
 * This attempt's Request is being sent. False: the attempt is over, end its connection. The lock is
 * held until the Request is sent or the attempt has failed.
 */
bool core_pairing_request(struct core_pairing *pairing, u32 attempt,
			  const struct core_pair_counts *counts, struct core_pair_frame *request);
/*
 * The responder's decision, its Reply and, if it accepts, what is agreed. Then the pairing is
 * attached to the connection that brought the Request; the caller first drops the stream or
 * attempt that it had before.
 */
enum core_pair_reason core_pairing_respond(struct core_pairing *pairing,
					   const struct core_pair_counts *counts,
					   const struct core_pair_frame *request,
					   struct core_pair_frame *reply,
					   struct core_pair_agreed *agreed);

/* What an initiator does with the Reply. */
enum core_pair_conclusion {
	CORE_PAIR_ATTACH,	/* to this connection */
	CORE_PAIR_RETRY,	/* end the connection, and try again */
	CORE_PAIR_LEAVE,	/* end the connection: it is no longer the QP's attempt */
};

/**
 * struct core_pair_outcome - the end of an attempt
 * @agreed: ATTACH
 * @wait: RETRY: milliseconds until the next core_pairing_connect()
 * @conclusion: enum core_pair_conclusion
 * @reason: RETRY: enum core_pair_reason, or a number that only the peer knows
 */
struct core_pair_outcome {
	struct core_pair_agreed agreed;
	u32 wait;
	u8 conclusion, reason;
};

/* The initiator's conclusion from a Reply. random: any number, for the time to wait. */
void core_pairing_conclude(struct core_pairing *pairing, u32 attempt,
			   const struct core_pair_counts *counts,
			   const struct core_pair_frame *reply, u32 random,
			   struct core_pair_outcome *out);
/*
 * An attempt ends without a Reply of use: timeout, reset, no route, no address. reason: of
 * core_pair_parse(), or OK if there is nothing to parse. out: RETRY or LEAVE.
 */
void core_pairing_failed(struct core_pairing *pairing, u32 attempt, enum core_pair_reason reason,
			 u32 random, struct core_pair_outcome *out);
/*
 * TCP has lost the attached stream while the QP was idle; a QP that was not idle goes to the error
 * state.
 * Returns milliseconds until core_pairing_connect().
 */
u32 core_pairing_lost(struct core_pairing *pairing, u32 random);

#endif
