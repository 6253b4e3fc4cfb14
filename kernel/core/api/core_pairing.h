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
	CORE_PAIR_SHUTDOWN,	/* the device goes away */
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

#endif
