/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Terminates (RFC 5040 4.8): their contents, and their meaning at either end. Included by core.h.
 */
#ifndef SRNIC_CORE_TERMINATE_H
#define SRNIC_CORE_TERMINATE_H

#define CORE_TERM_MAX (4 + 2 + 18 + 28) /* octets of the Terminate header with all headers in it */

enum core_layer { CORE_LAYER_RDMAP = 0, CORE_LAYER_DDP = 1, CORE_LAYER_LLP = 2 };

/**
 * struct core_terminate - a Terminate message, to be sent or as received
 * @layer: figure 9, 4 bits
 * @etype: error type, 4 bits
 * @code: error code
 * @has_ddp: M and D bits: @ddp_len and @ddp valid
 * @has_rdmap: R bit: @read_request valid
 * @ddp_header_len: 14 or 18
 * @ddp_len: DDP segment length
 * @ddp: the terminated segment's DDP header, as it came
 * @read_request: the 28 octets of a terminated RDMA Read Request header, as they came
 */
struct core_terminate {
	u8 layer, etype, code;
	u8 has_ddp, has_rdmap;
	u8 ddp_header_len;
	u16 ddp_len;
	u8 ddp[18];
	u8 read_request[28];
};

/* Encodes the Terminate header. Returns its length, at most CORE_TERM_MAX. */
u32 core_terminate_build(const struct core_terminate *term, u8 out[CORE_TERM_MAX]);
/*
 * Decodes a peer's; false if it is shorter than its header control bits announce.
 */
bool core_terminate_parse(const u8 *data, u32 len, struct core_terminate *out);

/* layer << 12 | error type << 8 | error code: srnic_cqe.vendor_err. */
u32 core_terminate_code(const struct core_terminate *term);

/* Errors that the host finds and a Terminate reports. */
enum core_host_error {
	CORE_HOST_LOCAL,	/* its own memory or queues (RFC 5040 figure 9) */
	CORE_HOST_LLP_LOST,	/* the peer closed in the middle of something (RFC 5044 8) */
};

void core_terminate_of_host(enum core_host_error what, struct core_terminate *out);

/* Whose error this end's Terminate reports, for the counters. */
enum core_fault { CORE_FAULT_OWN, CORE_FAULT_PEER, CORE_FAULT_CRC };

enum core_fault core_terminate_fault(const struct core_terminate *sent);

enum core_stream_event {
	CORE_STREAM_FATAL,		/* IB_EVENT_QP_FATAL */
	CORE_STREAM_ACCESS_ERROR,	/* IB_EVENT_QP_ACCESS_ERR: a buffer it may not use */
	CORE_STREAM_REQUEST_ERROR,	/* IB_EVENT_QP_REQ_ERR: an illegal message */
};

/* The event for the consumer of the end that sends this Terminate. A received one is FATAL. */
enum core_stream_event core_terminate_event(const struct core_terminate *sent);
/* The status of a receive in progress at the end that sends it: enum srnic_wc_status. */
u8 core_terminate_receive_status(const struct core_terminate *sent);

/* The kind of this end's request that a peer refused. */
enum core_refused {
	CORE_REFUSED_NOTHING,	/* none that may be outstanding, or not in the Terminate */
	CORE_REFUSED_READ,		/* or an atomic operation */
	CORE_REFUSED_WRITE,
	CORE_REFUSED_ATOMIC,		/* the oldest atomic operation */
};

/**
 * struct core_refusal - the request of this end that a received Terminate refuses
 * @what: enum core_refused
 * @status: the request completes with this enum srnic_wc_status
 * @msn: CORE_REFUSED_READ: of the RDMA Read or Atomic Request
 */
struct core_refusal {
	u8 what, status;
	u32 msn;
};

struct core_refusal core_terminate_refusal(const struct core_terminate *received);

#endif
