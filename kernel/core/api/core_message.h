/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Messages: their opcodes, and what they carry besides payload (RFC 5040 4, RFC 7306). Included by
 * core.h.
 */
#ifndef SRNIC_CORE_MESSAGE_H
#define SRNIC_CORE_MESSAGE_H

#define CORE_READ_REQUEST_LEN	28	/* RFC 5040 4.4 */

#define CORE_IMMEDIATE_LEN	8	/* RFC 7306 6.2 */
#define CORE_ATOMIC_REQUEST_LEN	52	/* RFC 7306 5.2.1 */
#define CORE_ATOMIC_RESPONSE_LEN	12	/* RFC 7306 5.2.2 */
#define CORE_EXTENDED_LEN	24	/* ib.rst, "Flush and Atomic Write" */

/* RDMAP opcodes (RFC 5040 figure 4). */
enum core_msg_opcode {
	CORE_MSG_WRITE = 0,
	CORE_MSG_READ_REQUEST = 1,
	CORE_MSG_READ_RESPONSE = 2,
	CORE_MSG_SEND = 3,
	CORE_MSG_SEND_INV = 4,
	CORE_MSG_SEND_SE = 5,
	CORE_MSG_SEND_SE_INV = 6,
	CORE_MSG_TERMINATE = 7,
	CORE_MSG_IMMEDIATE = 8,	/* RFC 7306 figure 2 */
	CORE_MSG_IMMEDIATE_SE = 9,
	CORE_MSG_ATOMIC_REQUEST = 10,
	CORE_MSG_ATOMIC_RESPONSE = 11,
	CORE_MSG_ACK = 12,	/* ib.rst */
	CORE_MSG_SEND_IMM = 13,
	CORE_MSG_SEND_SE_IMM = 14,
	CORE_MSG_EXTENDED = 15,
	CORE_MSG_NONE = 0xff,
};

/* The fields of an RDMA Read Request (RFC 5040 4.4). */
struct core_read_request {
	u32 sink_stag, length, source_stag;
	u64 sink_to, source_to;
};

/* Atomic operation codes (RFC 7306 figure 5); SWAP is draft-ietf-storm-rdmap-ext-01's. */
enum core_atomic_code {
	CORE_ATOMIC_FETCH_ADD = 0,
	CORE_ATOMIC_SWAP = 1,
	CORE_ATOMIC_CMP_SWAP = 2,
};

/**
 * struct core_atomic - an atomic operation (RFC 7306 5.1)
 * @code: enum core_atomic_code
 * @data: to add, or to swap in
 * @mask: FETCH_ADD: the top bits of fields, out of which nothing is carried; CMP_SWAP: the bits to
 *	swap
 * @compare: CMP_SWAP: with what
 * @compare_mask: CMP_SWAP: the bits to compare
 */
struct core_atomic {
	u8 code;
	u64 data, mask;
	u64 compare, compare_mask;
};

/* What an Atomic Request asks for (RFC 7306 5.2.1). */
struct core_atomic_request {
	u32 id, stag;
	u64 to;
	struct core_atomic op;
};

/* An Atomic Response (RFC 7306 5.2.2): the identifier of its request, and the word as it was. */
struct core_atomic_response {
	u32 id;
	u64 original;
};

/*
 * Executes it atomically, and returns the word as it was before (RFC 7306 5.3). word: aligned, in
 * host byte order.
 */
u64 core_atomic_execute(const struct core_atomic *op, u64 *word);

/*
 * Stores the eight octets at once, after everything that was stored before (ib.rst). word: aligned.
 */
void core_atomic_write(const u8 data[8], u64 *word);

/* Codes of an Extended Request (ib.rst, "Flush and Atomic Write"). */
enum core_extended_code {
	CORE_EXTENDED_FLUSH = 1,
	CORE_EXTENDED_ATOMIC_WRITE = 2,
};

#define CORE_FLUSH_GLOBAL	(1U << 0)	/* it is visible to all that read memory */
#define CORE_FLUSH_PERSISTENT	(1U << 1)	/* and outlasts a loss of power */

/* The octets at @to, or all of the region. */
enum core_flush_level { CORE_FLUSH_RANGE = 0, CORE_FLUSH_REGION = 1 };

/**
 * struct core_extended - an Extended Request, valid if ib::is_valid() says so
 * @code: enum core_extended_code
 * @type: FLUSH: CORE_FLUSH_GLOBAL, CORE_FLUSH_PERSISTENT or both
 * @level: FLUSH: enum core_flush_level
 * @stag: of the region
 * @to: of the first octet; a flushed REGION has none
 * @length: FLUSH: octets of a RANGE
 * @data: ATOMIC_WRITE: the octets, as they lie in memory
 */
struct core_extended {
	u8 code, type, level;
	u32 stag;
	u64 to;
	union {
		u64 length;
		u8 data[8];
	};
};

/* A request of the peer for memory of this end. They are answered in order. */
enum core_asked_kind {
	CORE_ASKED_READ,
	CORE_ASKED_ATOMIC,	/* done: only the response is due */
};

struct core_asked {
	u8 kind;	/* enum core_asked_kind */
	u32 number;	/* of the request, where requests are acknowledged (core_acks.h) */
	union {
		struct core_read_request read;
		struct core_atomic_response atomic;
	};
};

/* One outgoing message, and how much of it was segmented. */
struct core_tx_msg {
	u8 opcode; /* enum core_msg_opcode; decides tagged or untagged and the queue number */
	u8 done;	/* the segment with L set was built */
	u8 control;	/* ib.rst: bits of RDMAP's control octet */
	u8 solicited;	/* a WRITE that comes with Immediate Data: they are solicited */
	u32 length;	/* octets of payload in the whole message, all from the host */
	u32 sent;	/* octets already segmented */
	u32 stag;	/* tagged messages; the sink of a READ_RESPONSE, as the request names it */
	u64 to;		/* tagged messages: TO of the first octet */
	u32 msn;	/* untagged messages; RDMA/TCP: all but READ_RESPONSE */
	u32 inv_stag;	/* SEND_INV, SEND_SE_INV; SEND_IMM, SEND_SE_IMM: Immediate Data */
	/* RDMAP's own part, behind the DDP header; NULL: none. */
	union {
		const void *own;
		const struct core_read_request *request;	/* READ_REQUEST */
		const struct core_terminate *term;		/* TERMINATE */
		/*
		 * IMMEDIATE, IMMEDIATE_SE: CORE_IMMEDIATE_LEN octets. RDMA/TCP: they may also come
		 * with a WRITE or SEND*.
		 */
		const u8 *immediate;
		const struct core_atomic_request *atomic;		/* ATOMIC_REQUEST */
		const struct core_atomic_response *original;	/* ATOMIC_RESPONSE */
		const struct core_ack *ack;			/* ACK */
		const struct core_extended *extended;		/* EXTENDED */
	};
};

/**
 * struct core_tx_step - the next octets of the stream: @len at @bytes, then @payload of a message
 * @bytes: the core's own octets, valid until the next call
 * @len: how many; 0: none
 * @payload: octets of payload after them, to be copied and passed to core_tx_copied(); 0: none
 * @offset: of this payload in the message
 * @response: the message is the response to the peer's oldest read, else the request taken last
 * @last: the FPDU ends with this step
 */
struct core_tx_step {
	const u8 *bytes;
	u32 len;
	u32 payload;
	u32 offset;
	u8 response;
	u8 last;
};

#endif
