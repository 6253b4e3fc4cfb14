/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receive: one incoming stream. Included by core.h.
 */
#ifndef SRNIC_CORE_RECEIVER_H
#define SRNIC_CORE_RECEIVER_H

enum core_rx_kind {
	CORE_RX_BYTES,	/* copy up to @want octets to @into: core_rx_took() */
	CORE_RX_PLACE,	/* place up to @want octets of payload at @place: core_rx_placed() */
	CORE_RX_STOP,	/* the stream is over: drop everything */
};

enum core_place_kind {
	CORE_PLACE_REGION,	/* at TO `to` of region `stag` (RDMA Write) */
	CORE_PLACE_RECEIVE,	/* at offset `to` of the receive in progress */
	CORE_PLACE_READ,	/* at offset `to` of the oldest outstanding read's sink */
};

struct core_place {
	u8 kind;	/* enum core_place_kind */
	u32 stag;
	u64 to;
};

/* want: octets, 0 only with CORE_RX_STOP. Pointers are valid until the next call. */
struct core_rx_step {
	enum core_rx_kind kind;
	u32 want;
	union {
		u8 *into;
		const struct core_place *place;
	};
};

/* An event, and the function that returns its details, until the stream continues. */
enum core_rx_event {
	CORE_RX_MORE = 0,
	CORE_RX_SEND,		/* a Send or Immediate Data was delivered: core_rx_delivered() */
	CORE_RX_WRITE,		/* the last segment of an RDMA Write was placed */
	CORE_RX_READ_REQUEST,	/* a valid one was delivered: core_rx_asked() */
	CORE_RX_ATOMIC_REQUEST,	/* one was delivered, and is done: core_rx_asked() */
	CORE_RX_ATOMIC_RESPONSE, /* of the oldest outstanding read or atomic: core_rx_original() */
	CORE_RX_READ_RESPONSE,	/* the oldest outstanding read is complete */
	CORE_RX_TERMINATE,	/* the peer sent core_rx_terminate(); the stream is over */
	CORE_RX_ERROR,		/* an error: send core_rx_terminate(); the stream is over */
	/* Where requests are acknowledged (core_acks.h): */
	CORE_RX_EXTENDED,	/* a Flush or Atomic Write was delivered, and is done */
	CORE_RX_ACK,		/* the peer acknowledges or refuses requests: core_rx_acked() */
	CORE_RX_REFUSED,	/* the peer's request is refused: core_acks.refusing */
	CORE_RX_FAILED,		/* the sink of the oldest outstanding read: the QP goes to error */
};

/**
 * struct core_rx_message - a delivered Send, or Immediate Data
 * @solicited: with Solicited Event
 * @invalidate: with Invalidate
 * @rtr: the RTR Send of RFC 6581, which consumes no receive
 * @is_immediate: Immediate Data (RFC 7306 6)
 * @has_immediate: a Send that came with Immediate Data, which only RDMA/TCP has
 * @length: bytes; of Immediate Data: those of the RDMA Write right before it, or 0
 * @inv_stag: the STag to invalidate
 * @immediate: the Immediate Data, in the order of the wire
 */
struct core_rx_message {
	u8 solicited, invalidate, rtr, is_immediate, has_immediate;
	u32 length;
	u32 inv_stag;
	u8 immediate[CORE_IMMEDIATE_LEN];
};

#define CORE_FIRST_MSN 1	/* RFC 5041 4.3 */

/**
 * struct core_rx_params - parameters of a stream's receiver
 * @ctx: passed to all callbacks
 * @connection_id: RDMA/TCP's
 * @pd: protection domain of the stream: STags of other domains are foreign
 * @qpn: of the stream: STags of windows that serve other QPs are foreign
 * @crc: check CRCs
 * @markers: check and strip markers
 * @rtr: responder in peer-to-peer mode: RTR types allowed as the first FPDU
 * @extended: Flush and Atomic Write are agreed (core_pairing.h)
 * @swaps: the draft's Swap is allowed to the peer
 * @first_msn: of the peer's first message on each queue; RDMA/TCP: of its first message
 * @framing: enum core_framing
 * @acks: of the QP, where requests are acknowledged
 */
struct core_rx_params {
	void *ctx;
	struct core_acks *acks;
	u64 connection_id;
	u32 pd;
	u32 qpn;
	u32 first_msn;
	u8 framing;
	u8 crc;
	u8 markers;
	u8 rtr;
	u8 swaps;
	u8 extended;
};

#define CORE_RX_STATE 384

/* Allocated by the host; private to the core. One caller at a time. */
struct core_rx {
	u8 framing;
	u8 state[CORE_RX_STATE] __attribute__((aligned(8)));
};

void core_rx_init(struct core_rx *rx, const struct core_rx_params *params);
/* What was taken at once: so many octets, and what came of them. */
struct core_rx_taken {
	u32 n;
	enum core_rx_event event;
};

/*
 * Takes the next FPDU of the stream at once, if it begins in the first of these octets and ends in
 * them. Its payload is placed by core_host_place(). Else n is 0: take the next octets in steps.
 */
struct core_rx_taken core_rx_whole(struct core_rx *rx, const u8 *data, u32 n);
/* The next step of the stream. */
struct core_rx_step core_rx_next(struct core_rx *rx);
/* CORE_RX_BYTES: n octets (1..want of the last step) were copied. */
enum core_rx_event core_rx_took(struct core_rx *rx, u32 n);
/*
 * The CRC32C that payload placed next is added to, or NULL: none is, or not a CRC32C. A host that
 * can do so while it copies adds the payload here, and passes no data to core_rx_placed().
 */
u32 *core_rx_sum(struct core_rx *rx);
/*
 * CORE_RX_PLACE: these n octets (1..want of the last step) were placed. data NULL: and added to
 * core_rx_sum().
 */
enum core_rx_event core_rx_placed(struct core_rx *rx, const u8 *data, u32 n);
/*
 * The host could not place: ends the stream with the Terminate that fits the verdict for the
 * segment in progress (CORE_REGION_OK: a local error, RFC 5040 figure 9 type 0). Returns
 * CORE_RX_ERROR; where requests are acknowledged CORE_RX_REFUSED or CORE_RX_FAILED.
 */
enum core_rx_event core_rx_fail(struct core_rx *rx, enum core_region_verdict verdict);
/*
 * The Invalidate STag of a delivered Send may not be invalidated (RFC 5040 5.3, 7.2). Returns
 * CORE_RX_ERROR; where requests are acknowledged CORE_RX_REFUSED.
 */
enum core_rx_event core_rx_fail_invalidate(struct core_rx *rx, enum core_region_verdict verdict);
/* Ends the stream: from now on every step is CORE_RX_STOP. */
void core_rx_stop(struct core_rx *rx);
/* Is the stream between two FPDUs, and no untagged message unfinished? Or over? */
bool core_rx_between(const struct core_rx *rx);
/* Complete, valid FPDUs so far. */
u64 core_rx_fpdus(const struct core_rx *rx);
const struct core_rx_message *core_rx_delivered(const struct core_rx *rx);
const struct core_asked *core_rx_asked(const struct core_rx *rx);
/*
 * The host has done what the last event asks for: the peer's request counts as delivered. After
 * each SEND, WRITE, READ_REQUEST, ATOMIC_REQUEST and EXTENDED where requests are acknowledged.
 */
void core_rx_done(struct core_rx *rx);
/* ACK, READ_RESPONSE and ATOMIC_RESPONSE, where requests are acknowledged. */
const struct core_acked *core_rx_acked(const struct core_rx *rx);
/* The word as it was at the peer, in host byte order. */
u64 core_rx_original(const struct core_rx *rx);
/*
 * The Terminate to be sent, or the peer's. If the framing has none: the one that an MPA peer would
 * get, without headers.
 */
const struct core_terminate *core_rx_terminate(const struct core_rx *rx);
/* The status of a receive in progress: enum srnic_wc_status. */
u8 core_rx_receive_status(const struct core_rx *rx);
/* RDMA/TCP: what to reset the connection for. */
enum core_rdmatcp_fault core_rx_fault(const struct core_rx *rx);

#endif
