/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between C and the core for RDMA/TCP (draft-williams-rdmatcp-00, bound to verbs by
 * Documentation/rdmatcp.rst). Included by core.h.
 */
#ifndef SRNIC_CORE_RDMATCP_H
#define SRNIC_CORE_RDMATCP_H

struct core_startup_local;
struct core_startup_agreed;

/* The check that a segment of the peer failed. Nothing is sent: the connection is reset. */
enum core_rdmatcp_fault {
	CORE_RDMATCP_FINE = 0,
	CORE_RDMATCP_VERSION,
	CORE_RDMATCP_CONNECTION_ID,
	CORE_RDMATCP_NUMBER,		/* not the next message; a response to no read */
	CORE_RDMATCP_BITS,		/* begin, end or type do not fit what came before */
	CORE_RDMATCP_LENGTH,		/* of the segment, or RDMA Length */
	CORE_RDMATCP_OFFSET,		/* data or buffer: octets are missing or come twice */
	CORE_RDMATCP_CONTROL,		/* control data */
	CORE_RDMATCP_CRC,
	CORE_RDMATCP_BUFFER_ID,		/* no such buffer, or another one than before */
	CORE_RDMATCP_BOUNDS,
	CORE_RDMATCP_ACCESS,		/* rights; a buffer of another protection domain */
	CORE_RDMATCP_NO_BUFFER,		/* no receive is posted, or more reads than agreed */
	CORE_RDMATCP_TOO_LONG,		/* for its receive */
	CORE_RDMATCP_LOCAL,		/* not the peer's */
	CORE_RDMATCP_FAULTS
};

/**
 * struct core_segment - the RDMA/TCP segment being built. Private to the core
 * @connection_id: of all segments of the stream
 * @crc: make CRCs
 * @in_payload: the next step is the last one
 * @head_len: octets of @bytes before the payload
 * @pad: octets of zeros after it
 * @offset: of the payload in its message
 * @payload: how many octets
 * @sum: running CRC-32
 * @bytes: header and control data; pad and CRC
 */
struct core_segment {
	u64 connection_id;
	u8 crc, in_payload, head_len, pad;
	u32 offset, payload;
	u32 sum;
	u8 bytes[32 + 28 + 8];
};

/* ---- Startup: the first message of each end ---- */

/* The framing of an initiator whose stream begins with this octet. */
enum core_framing core_framing_of(u8 first);

#define CORE_HELLO_HEAD		24	/* octets that contain its length */
#define CORE_HELLO_MAX_PRIVATE	255
#define CORE_HELLO_MAX		(CORE_HELLO_HEAD + 255 * 4 + 256 + 4)	/* padded, with a CRC */

enum core_hello_kind {
	CORE_HELLO_CONNECT = 1,		/* the initiator's */
	CORE_HELLO_ACCEPT = 2,		/* the responder's */
	CORE_HELLO_REJECT = 3,
};

/**
 * struct core_hello - the first message of an end
 * @connection_id: chosen by the initiator, repeated by the responder
 * @number: the message's; those that follow count on from it
 * @private_len: octets of the consumer's private data, which are the payload
 * @ird: reads of the peer that its sender takes at a time
 * @ord: its own reads outstanding at a time; ACCEPT: no more than the initiator's @ird
 * @kind: enum core_hello_kind
 * @crc: its sender wants CRCs; they are off only if neither does
 * @long_segments: its sender prefers segments longer than TCP's
 */
struct core_hello {
	u64 connection_id;
	u32 number;
	u16 private_len;
	u16 ird, ord;
	u8 kind, crc;
	u8 long_segments;
};

/* Encodes the whole segment, and returns its octets. */
u32 core_hello_build(const struct core_hello *hello, const u8 *private_data,
		     u8 out[CORE_HELLO_MAX]);
/*
 * Octets of the whole segment that begins so, at most CORE_HELLO_MAX; 0: it is no first message.
 */
u32 core_hello_len(const u8 head[CORE_HELLO_HEAD]);
/*
 * Decodes the whole segment, len octets as core_hello_len() said. Its private data are in octets,
 * from *private_data on.
 */
enum core_rdmatcp_fault core_hello_parse(const u8 *octets, u32 len, struct core_hello *out,
					 const u8 **private_data);

/*
 * The first message of an initiator. random: unpredictable, for its connection ID and number.
 */
void core_hello_connect(const struct core_startup_local *local, u16 private_len,
			const u64 random[2], struct core_hello *out);
/* The responder's decision and its first message. reject: the consumer refuses. */
void core_hello_respond(const struct core_hello *connect, const struct core_startup_local *local,
			bool reject, u16 private_len, u64 random, struct core_hello *reply,
			struct core_startup_agreed *out);
/* The initiator's conclusion from a reply that accepts: out->error is 0, or not. */
void core_hello_conclude(const struct core_hello *connect, const struct core_hello *reply,
			 const struct core_startup_local *local, struct core_startup_agreed *out);

#endif
