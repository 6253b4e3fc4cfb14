/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between the kernel's C and the protocol core's C++: plain structs, fixed-width
 * types, extern "C" functions. The core decides; it takes no lock, allocates nothing and does no
 * I/O. For the rest it calls its host through the functions under "Callbacks of the core", which
 * the module, or a test's fake, implements.
 *
 * C code must define u8 to u64 before it includes this: no kernel header is included here.
 *
 * All values are in host byte order unless a name says otherwise. Section numbers are those of the
 * RFCs.
 */
#ifndef SRNIC_CORE_H
#define SRNIC_CORE_H

#ifdef __cplusplus
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
extern "C" {
#endif

#include "kernel_ops.h"
#include "core_rdmatcp.h"

struct srnic_send_wqe;
struct srnic_recv_wqe;
struct srnic_sge;

/* ---- MPA startup (RFC 5044 7.1, RFC 6581 6 and 9) ---- */

#define CORE_MPA_HEADER	20	/* octets before the private data */
#define CORE_MPA_ENHANCED 4	/* octets of enhanced data at the start of the private data */
#define CORE_MPA_MAX_PRIVATE	512	/* octets, enhanced data included */
#define CORE_MPA_AUTO		0x3fff	/* RFC 6581 9.1: IRD/ORD negotiation not desired */

/* RTR types (RFC 6581 9.2), one bit each. */
#define CORE_RTR_SEND		(1U << 0)	/* control flag B */
#define CORE_RTR_WRITE		(1U << 1)	/* control flag C */
#define CORE_RTR_READ		(1U << 2)	/* control flag D */
#define CORE_RTR_ALL		7U

enum core_mpa_result {
	CORE_MPA_OK = 0,
	CORE_MPA_BAD_KEY,	/* 7.1.1: no MPA frame, or both are initiators (7.1.2 rule 8) */
	CORE_MPA_BAD_REVISION,
	CORE_MPA_BAD_LENGTH,	/* PD_Length above 512, or S set with fewer than 4 octets */
};

/**
 * struct core_mpa_frame - a decoded MPA Request or Reply frame, without its private data
 * @reply: Reply frame (else Request)
 * @markers: M: the sender of this frame requires markers in what it receives
 * @crc: C: the sender of this frame prefers CRCs
 * @reject: R (replies)
 * @enhanced: S: RFC 6581 data present; @ird, @ord, @p2p and @rtr are valid
 * @large: a reserved bit: its sender makes and takes FPDUs that no TCP segment holds
 * @revision: 1 or 2
 * @private_len: PD_Length, the 4 octets of enhanced data included
 * @ird: 14 bits, CORE_MPA_AUTO possible
 * @ord: likewise
 * @p2p: control flag A
 * @rtr: CORE_RTR_* (0 unless @p2p)
 */
struct core_mpa_frame {
	u8 reply, markers, crc, reject, enhanced, large, revision, p2p, rtr;
	u16 private_len, ird, ord;
};

/*
 * Decodes the first 20 octets, with all checks of them that 7.1.1 and 7.1.2 demand.
 */
enum core_mpa_result core_mpa_parse(const u8 header[CORE_MPA_HEADER], bool expect_reply,
				    struct core_mpa_frame *out);
/* Decodes the enhanced data (RFC 6581 9) into a frame that core_mpa_parse() found @enhanced. */
void core_mpa_parse_enhanced(const u8 data[CORE_MPA_ENHANCED], struct core_mpa_frame *frame);
/*
 * Encodes the header and, if @enhanced, the 4 octets after it. Returns the octets written: 20 or
 * 24.
 */
u32 core_mpa_build(const struct core_mpa_frame *frame, u8 out[CORE_MPA_HEADER + CORE_MPA_ENHANCED]);

/* The local end's input to the negotiation. The second half is for MPA alone. */
struct core_startup_local {
	u16 ird, ord;		/* wanted by the ULP: 0..CORE_MPA_AUTO-1 */
	u16 max_ird;		/* limit of this end */
	u8 crc;			/* false only on the administrator's request (RFC 5044 4.4) */

	u8 markers;		/* this end wants to receive markers */
	u8 large_fpdus;		/* the administrator wishes so; against RFC 5044 4.5 and 7.1.1 */
	u8 revision;		/* 1 or 2: as initiator */
	u8 p2p;			/* as initiator: ask for the peer-to-peer model */
	u8 rtr;			/* CORE_RTR_* that this end can generate or accept */
};

/* MPA error code for errors without their own (RFC 6581 9.3). */
#define CORE_MPA_LOCAL_CATASTROPHIC 5

/* The result of the negotiation. */
struct core_startup_agreed {
	u64 connection_id;	/* RDMA/TCP */
	u32 send_msn, recv_msn;	/* RDMA/TCP: of the first messages after startup */
	u16 ird, ord;		/* to set on the local QP */
	u8 framing;		/* enum core_framing */
	u8 crc;			/* generate and check */
	u8 send_markers, recv_markers;
	u8 long_segments;	/* segments or FPDUs need not fit TCP segments */
	u8 p2p;
	u8 rtr;	/* initiator: the RTR type to generate; responder: types to accept; 0: none */
	u8 error; /* 0, else the MPA error code of RFC 6581 8 that ends the connection */
};

/*
 * The Request frame of an initiator. private_len: the ULP's data alone; the frame's has the total.
 */
void core_mpa_request(const struct core_startup_local *local, u16 private_len,
		      struct core_mpa_frame *out);
/* The responder's decision and its Reply frame. reject: the ULP refuses. */
void core_mpa_respond(const struct core_mpa_frame *request, const struct core_startup_local *local,
		      bool reject, u16 private_len, struct core_mpa_frame *reply,
		      struct core_startup_agreed *out);
/* The initiator's conclusion from the Reply frame. */
void core_mpa_conclude(const struct core_mpa_frame *request, const struct core_mpa_frame *reply,
		       const struct core_startup_local *local, struct core_startup_agreed *out);
/*
 * MULPDU from EMSS (RFC 5044 4.5), never below 128, never above what a 16-bit length allows with
 * its headers (64768).
 */
u32 core_mpa_mulpdu(u32 emss, bool markers);

/* ---- Connections, first SYN to last FIN (RFC 5044 7, RFC 5041 6.2, RFC 5040 6.2) ---- */

/*
 * States of a connection. States before OPERATION are the startup phase. core/connection.cc has
 * the table of transitions.
 */
enum core_conn_state {
	CORE_CONN_CONNECTING,		/* TCP connects */
	CORE_CONN_REQUESTING,		/* TCP takes the Request */
	CORE_CONN_AWAIT_REPLY,
	CORE_CONN_AWAIT_REQUEST,
	CORE_CONN_ANNOUNCED,		/* the consumer has the Request: accept or reject */
	CORE_CONN_REPLYING,		/* TCP takes the Reply that accepts */
	CORE_CONN_CLOSING,		/* TCP takes the last frame: a refusal or a Terminate */
	CORE_CONN_OPERATION,		/* the QP has the stream */
	CORE_CONN_DRAINING,		/* the QP sends what was posted */
	CORE_CONN_LINGER,		/* our FIN is out; the peer's FIN or an ACK is missing */
	CORE_CONN_DEAD,
	CORE_CONN_STATES
};

/* Events that a connection reacts to. */
enum core_conn_input {
	CORE_CONN_NOTHING,
	/* TCP, the peer and time */
	CORE_CONN_TCP_CONNECTED,
	CORE_CONN_FRAME_SENT,		/* TCP has taken the whole frame laid out */
	CORE_CONN_REQUEST,		/* a valid Request is complete */
	CORE_CONN_REPLY_ACCEPTS,	/* a valid Reply is complete, and the two ends agree */
	CORE_CONN_REPLY_REJECTS,
	CORE_CONN_REPLY_UNFIT,		/* accepts, but the two ends cannot agree */
	CORE_CONN_BROKEN,		/* during startup: FIN, reset, invalid frame, no memory */
	CORE_CONN_TCP_CLOSED,		/* both FINs are acked, or there was a reset */
	CORE_CONN_TIMEOUT,		/* the time of core_conn_limit_of() is over */
	/* the consumer */
	CORE_CONN_TOOK_REQUEST,		/* the consumer has the Request */
	CORE_CONN_BUSY,			/* its backlog is full */
	CORE_CONN_ACCEPT,
	CORE_CONN_REJECT,		/* also an accept that failed */
	CORE_CONN_UNDELIVERED,		/* TELL_CONNECTED failed for want of memory */
	/* the QP */
	CORE_CONN_QP_STARTED,
	CORE_CONN_QP_REFUSED,		/* it did not start */
	CORE_CONN_PEER_CLOSED,		/* FIN in full operation */
	CORE_CONN_RESET,		/* RST, timeout, any socket error in full operation */
	CORE_CONN_TERMINATED,		/* a Terminate was sent or received */
	CORE_CONN_FAULT,		/* an error that this framing has no message for */
	CORE_CONN_CLOSE,		/* the consumer closes gracefully */
	CORE_CONN_DRAINED,		/* the QP has sent what was posted before */
	/* in any state */
	CORE_CONN_ABORT,		/* the QP, or the listener of a startup, goes away */
	CORE_CONN_KILL,			/* the device goes away: do not linger */
	CORE_CONN_INPUTS
};

/*
 * Actions, taken in this order. TELL_*: events of iw_cm, "status": with the errno of the input.
 * outcome: the next input.
 */
enum core_conn_action {
	CORE_CONN_COUNT_FAILURE,	/* statistics: a startup failed */
	CORE_CONN_COUNT_RESET,
	CORE_CONN_TELL_DISCONNECT,
	CORE_CONN_START_QP,		/* outcome: QP_STARTED, QP_REFUSED */
	CORE_CONN_DRAIN_QP,		/* it takes no new work requests */
	CORE_CONN_STOP_QP,		/* to error, and off the socket */
	CORE_CONN_FAIL_QP,		/* to error, before it was started */
	CORE_CONN_DROP_QP,		/* the consumer can connect it again */
	CORE_CONN_TELL_REQUEST,		/* outcome: TOOK_REQUEST, BUSY, BROKEN */
	CORE_CONN_LEAVE_LISTENER,	/* another startup may take its place */
	CORE_CONN_TELL_CONNECTED,	/* CONNECT_REPLY; outcome: UNDELIVERED on failure */
	CORE_CONN_TELL_REJECTED,	/* CONNECT_REPLY with the peer's private data */
	CORE_CONN_TELL_FAILED,		/* CONNECT_REPLY, status */
	CORE_CONN_TELL_ESTABLISHED,
	CORE_CONN_TELL_NOT_ESTABLISHED,	/* ESTABLISHED, status */
	CORE_CONN_TELL_CLOSED,		/* CLOSE, status */
	CORE_CONN_MAKE_REFUSAL,		/* lay out a Reply that rejects */
	CORE_CONN_MAKE_TERMINATE,	/* lay out a Terminate, if the framing has one */
	CORE_CONN_PART,			/* release the consumer's objects: no event follows */
	CORE_CONN_SHUT,			/* close TCP's half connection: FIN */
	CORE_CONN_RELEASE,		/* release the socket: resets an open connection */
	CORE_CONN_ACTIONS
};

/* Which timeout bounds a state. */
enum core_conn_limit {
	CORE_CONN_NO_LIMIT,		/* OPERATION, DEAD */
	CORE_CONN_LIMIT_STARTUP,	/* TCP or the peer has to make progress */
	CORE_CONN_LIMIT_REPLY,		/* the peer's consumer has to decide */
	CORE_CONN_LIMIT_ACCEPT,		/* our consumer has to decide */
	CORE_CONN_LIMIT_DRAIN,		/* extended while bytes flow */
	CORE_CONN_LIMIT_LINGER,		/* extended while bytes are acked */
};

/* actions: bits by enum core_conn_action. known: false if the input means nothing in this state. */
struct core_conn_step {
	enum core_conn_state next;
	u32 actions;
	bool known;
};

struct core_conn_step core_conn_next(enum core_conn_state state, enum core_conn_input input);
enum core_conn_limit core_conn_limit_of(enum core_conn_state state);

/* May another connection begin its startup? */
enum core_admission {
	CORE_ADMIT,
	CORE_ADMIT_FOR_OLDEST,		/* yes: the oldest in progress gives way */
	CORE_ADMIT_LATER		/* no: none is old enough yet */
};

/*
 * num: startups in progress, at most limit; age: of the oldest, which counts as idle if it is at
 * least grace.
 */
enum core_admission core_admit(u32 num, u32 limit, u64 age, u64 grace);

/**
 * struct core_patience - a timeout that progress extends, up to a limit
 * @end: when it expires
 * @limit: the latest time for @end
 * @each: time from the last progress seen to @end
 * @progress: the value seen last, in any unit
 *
 * Times are ticks of the caller's clock.
 */
struct core_patience {
	u64 end, limit;
	u32 each;
	u32 progress;
};

void core_patience_begin(struct core_patience *patience, u64 now, u32 each, u32 most, u32 progress);
/* Records progress; true if the timeout has expired nevertheless. */
bool core_patience_over(struct core_patience *patience, u64 now, u32 progress);

/* ---- Markers (RFC 5044 4.2 and 4.3) ---- */

#define CORE_MARKER_LEN	4
#define CORE_MARKER_INTERVAL                                                                       \
	512 /* octets of the stream from one marker's start to the next one's */

/**
 * struct core_markers - position of one direction of a stream between two markers
 * @on: there are markers; otherwise the rest means nothing
 * @left: octets before the next marker; 0: it comes now
 * @back: octets since the start of the current FPDU's ULPDU_Length, markers included; 0: between
 *	two FPDUs
 */
struct core_markers {
	u8 on;
	u16 left;
	u32 back;
};

/* Sets the start of full operation, where a marker comes first. */
void core_markers_start(struct core_markers *markers, bool on);
/* An FPDU is complete; the next marker belongs to the next FPDU. */
void core_markers_end_fpdu(struct core_markers *markers);
/* Passes n octets of an FPDU, at most @left. */
void core_markers_pass(struct core_markers *markers, u32 n);
/* Passes the marker that is due, and writes its correct value. */
void core_markers_build(struct core_markers *markers, u8 out[CORE_MARKER_LEN]);
/* Octets on the wire of the next len octets of an FPDU, including markers among them. */
u32 core_markers_len(const struct core_markers *markers, u32 len);

/* ---- Terminate (RFC 5040 4.8) ---- */

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
 * Decodes a peer's; false if it is shorter than its header control bits say.
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

/* ---- Transmit: FPDUs, step by step (RFC 5041 5.2, RFC 5044 4.1 to 4.4) ---- */

#define CORE_READ_REQUEST_LEN	28	/* RFC 5040 4.4 */

#define CORE_IMMEDIATE_LEN	8	/* RFC 7306 6.2 */
#define CORE_ATOMIC_REQUEST_LEN	52	/* RFC 7306 5.2.1 */
#define CORE_ATOMIC_RESPONSE_LEN	12	/* RFC 7306 5.2.2 */

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
 * Does it, at once as far as anybody can see, and returns the word as it was (RFC 7306 5.3). word:
 * aligned, in host byte order.
 */
u64 core_atomic_execute(const struct core_atomic *op, u64 *word);

/* What a peer has asked of memory here, to be answered in order. */
enum core_asked_kind {
	CORE_ASKED_READ,
	CORE_ASKED_ATOMIC,	/* done: only the response is due */
};

struct core_asked {
	u8 kind;	/* enum core_asked_kind */
	union {
		struct core_read_request read;
		struct core_atomic_response atomic;
	};
};

/* One outgoing message, and how much of it was segmented. */
struct core_tx_msg {
	u8 opcode; /* enum core_msg_opcode; decides tagged or untagged and the queue number */
	u8 done;	/* the segment with L set was built */
	u32 length;	/* octets of payload in the whole message, all from the host */
	u32 sent;	/* octets already segmented */
	u8 solicited;	/* a WRITE that comes with Immediate Data: they are solicited */
	u32 stag;	/* tagged messages; the sink of a READ_RESPONSE, as the request names it */
	u64 to;		/* tagged messages: TO of the first octet */
	u32 msn;	/* untagged messages; RDMA/TCP: all but READ_RESPONSE */
	u32 inv_stag;	/* SEND_INV, SEND_SE_INV */
	/* What RDMAP itself says behind the DDP header; NULL: nothing. */
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

#define CORE_ULPDU_HEAD		(18 + CORE_TERM_MAX)	/* DDP header and RDMAP's own message */
#define CORE_FPDU_HEAD		(2 + CORE_ULPDU_HEAD)
#define CORE_FPDU_TRAILER	7	/* pad, CRC field */

/* The FPDU being built, and the stream's position between markers. Private to the core. */
struct core_fpdu {
	u8 crc;		/* make CRCs */
	u8 stage;
	u8 head_len;	/* octets of @bytes before the payload */
	u8 done;	/* with markers: octets of these and the pad already returned */
	u8 pad;
	u32 offset, payload;
	u32 sum;	/* running CRC32C */
	struct core_markers markers;
	struct core_markers start;	/* @markers before this FPDU */
	u8 marker[CORE_MARKER_LEN];
	u8 bytes[CORE_FPDU_HEAD + CORE_FPDU_TRAILER];
};

/* For streams without a scheduler; else use core_tx_*() below. */
void core_fpdu_init(struct core_fpdu *fpdu, bool crc, bool markers);
/* Begins the FPDU of the next segment of msg, and advances msg. mulpdu: from core_mpa_mulpdu(). */
void core_fpdu_begin(struct core_fpdu *fpdu, struct core_tx_msg *msg, u32 mulpdu);
/* Octets on the wire of the FPDU that core_fpdu_begin() would begin. */
u32 core_fpdu_len(const struct core_fpdu *fpdu, const struct core_tx_msg *msg, u32 mulpdu);
struct core_tx_step core_fpdu_next(struct core_fpdu *fpdu);
void core_fpdu_copied(struct core_fpdu *fpdu, const void *octets, u32 n);
/* Takes the FPDU back: nothing of it may be sent. */
void core_fpdu_abandon(struct core_fpdu *fpdu);
/* Builds an FPDU in one call; payload: of the whole message. Returns its length. */
u32 core_fpdu_build(struct core_fpdu *fpdu, struct core_tx_msg *msg, u32 mulpdu, const u8 *payload,
		    u8 *out);

#define CORE_TERM_FPDU_MAX	(CORE_MARKER_LEN + CORE_FPDU_HEAD + CORE_FPDU_TRAILER)

/*
 * The FPDU of a Terminate that is the only one of its stream (RFC 6581 8). Returns its length.
 */
u32 core_terminate_fpdu(const struct core_terminate *term, bool markers,
			u8 out[CORE_TERM_FPDU_MAX]);

#define CORE_CRC_SEED 0xffffffffU

/* The CRC field from a running CRC32C that started with CORE_CRC_SEED (RFC 5044 4.4). */
void core_crc_field(u32 crc, u8 out[4]);

/* ---- Regions and access (RFC 5041 7.1, RFC 5040 7.2) ---- */

/* Access rights, the numbers of IB_ACCESS_*. */
#define CORE_ACCESS_LOCAL_WRITE	(1U << 0)
#define CORE_ACCESS_REMOTE_WRITE	(1U << 1)
#define CORE_ACCESS_REMOTE_READ	(1U << 2)
#define CORE_ACCESS_REMOTE_ATOMIC	(1U << 3)

/* The grant of an STag: a snapshot, taken while the host holds the region. */
struct core_region {
	u64 base;	/* first valid TO */
	u64 length;	/* bytes */
	u32 pd;		/* protection domain */
	u32 access;	/* CORE_ACCESS_* */
};

enum core_region_verdict {
	CORE_REGION_OK = 0,
	CORE_REGION_INVALID,		/* no such STag, or not valid */
	CORE_REGION_BOUNDS,
	CORE_REGION_ACCESS,
	CORE_REGION_FOREIGN,		/* of another protection domain or stream */
	CORE_REGION_WRAP,
	CORE_REGION_ALIGNMENT,		/* of an atomic operation (RFC 7306 8.2) */
};

/* May a QP of this pd access [to, to + len) with these rights? Checks for overflow. */
enum core_region_verdict core_region_check(const struct core_region *region, u32 pd, u32 access,
					   u64 to, u64 len);

/* A region to be invalidated, valid or not. */
struct core_grant {
	u32 stag;	/* the current STag, or the last one */
	u32 pd;
	u32 qpn;	/* the stream that registered it last; 0: none */
	u8 revocable;	/* a fast-registration region */
};

/* Who asks to invalidate: the consumer, or the @peer of QP @qpn (RFC 5040 5.3). */
struct core_revoker {
	u32 stag;
	u32 pd;
	u32 qpn;
	u8 peer;
};

/*
 * May it be invalidated (RFC 5040 7.2, 8.1.1 rule 7)? Also yes if a region of this stream is
 * invalid already: then nothing is left to do.
 */
enum core_region_verdict core_may_invalidate(const struct core_grant *grant,
					     const struct core_revoker *who);

/*
 * The Terminate for an RDMA Read whose source can no longer be read (RFC 5040 4.8, figures 9 and
 * 10): includes the request with this msn of queue 1, advanced by the octets sent.
 */
void core_terminate_read(const struct core_read_request *request, u32 msn, u32 sent,
			 enum core_region_verdict verdict, struct core_terminate *out);

/* ---- Receive: one incoming stream ---- */

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
 * @crc: check CRCs
 * @markers: check and strip markers
 * @rtr: responder in peer-to-peer mode: RTR types allowed as the first FPDU
 * @swaps: the draft's Swap is allowed to the peer
 * @first_msn: of the peer's first message on each queue; RDMA/TCP: of its first message
 * @framing: enum core_framing
 */
struct core_rx_params {
	void *ctx;
	u64 connection_id;
	u32 pd;
	u32 first_msn;
	u8 framing;
	u8 crc;
	u8 markers;
	u8 rtr;
	u8 swaps;
};

#define CORE_RX_STATE 432

/* Allocated by the host; private to the core. One caller at a time. */
struct core_rx {
	u8 framing;
	u8 state[CORE_RX_STATE] __attribute__((aligned(8)));
};

void core_rx_init(struct core_rx *rx, const struct core_rx_params *params);
/* The next step of the stream. */
struct core_rx_step core_rx_next(struct core_rx *rx);
/* CORE_RX_BYTES: n octets (1..want of the last step) were copied. */
enum core_rx_event core_rx_took(struct core_rx *rx, u32 n);
/* CORE_RX_PLACE: these n octets (1..want of the last step) were placed. */
enum core_rx_event core_rx_placed(struct core_rx *rx, const u8 *data, u32 n);
/*
 * The host could not place: ends the stream with the Terminate that fits the verdict for the
 * segment in progress (CORE_REGION_OK: a local error, RFC 5040 figure 9 type 0). Returns
 * CORE_RX_ERROR.
 */
enum core_rx_event core_rx_fail(struct core_rx *rx, enum core_region_verdict verdict);
/*
 * The Invalidate STag of a delivered Send may not be invalidated (RFC 5040 5.3, 7.2). Returns
 * CORE_RX_ERROR.
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
/* The word as it was at the peer, in host byte order. */
u64 core_rx_original(const struct core_rx *rx);
/*
 * The Terminate to be sent, or the peer's. RDMA/TCP has no error messages: the one that MPA's peers
 * would be sent, without headers.
 */
const struct core_terminate *core_rx_terminate(const struct core_rx *rx);
/* The status of a receive in progress: enum srnic_wc_status. */
u8 core_rx_receive_status(const struct core_rx *rx);
/* RDMA/TCP: what to reset the connection for. */
enum core_rdmatcp_fault core_rx_fault(const struct core_rx *rx);

/* ---- Transmit: scheduling (RFC 5040 5.1 to 5.5) ---- */

struct core_tx_params {
	void *ctx;		/* passed to all callbacks */
	u64 connection_id;	/* RDMA/TCP */
	u32 first_msn;		/* RDMA/TCP: the number of the first message */
	u32 ord;
	u32 slot_size;		/* of the send queue */
	u8 framing;		/* enum core_framing */
	u8 kernel;		/* the consumer is the kernel */
	u8 crc;			/* make CRCs */
	u8 markers;		/* make markers */
	u8 long_segments;	/* or FPDUs: not cut to fit TCP segments */
	u8 initiator;		/* else RFC 5044 7.1.2 rule 4 delays the first send */
	u8 rtr;			/* CORE_RTR_*, as initiator: sent first (RFC 6581 9.2); 0: none */
};

/**
 * struct core_tx - the send scheduler of one stream
 * @fpdus: FPDUs built so far; the host may read this
 * @params: parameters of the stream
 * @mulpdu: octets of the largest ULPDU, or RDMA/TCP segment
 * @held: a responder that has not validated an FPDU yet
 * @stopped: nothing is sent any more, except a Terminate
 * @building: the FPDU is begun
 * @rtr: CORE_RTR_* that has to be sent first
 * @local_active: @local is not completely built
 * @answer_active: @answer is not completely built
 * @answer_next: the next turn is @answer's
 * @of_request: @local belongs to the request that was taken last
 * @tail: CORE_MSG_IMMEDIATE* that follows @local at once, with @immediate; CORE_MSG_NONE
 * @immediate: the Immediate Data of @tail or @local
 * @closing: only @may_take more requests are taken
 * @peer_closed: the peer has closed its half
 * @may_take: requests that may still be taken while @closing
 * @send_msn: MSN of the last message sent to queue 0; RDMA/TCP: of the last message but responses
 * @read_msn: MSN of the last message sent to queue 1
 * @atomic_msn: MSN of the last message sent to queue 3
 * @answered: the peer's reads whose response is built
 * @before: octets of *@turn that were sent before this FPDU
 * @local: the message that this end began: a request, an RTR or a Terminate
 * @answer: the Read or Atomic Response to @asked. It takes turns with @local (@answer_next) by
 *	FPDU, unless both are tagged: then by message
 * @request: the Read Request in @local
 * @atomic: the Atomic Request in @local
 * @asked: what @answer answers
 * @fpdu: the FPDU being built
 * @segment: likewise, RDMA/TCP's
 * @turn: the message of the next FPDU: @local or @answer
 *
 * All but @fpdus is private to the core. One caller at a time.
 */
struct core_tx {
	u64 fpdus;

	struct core_tx_params params;
	u32 mulpdu;
	u8 held;
	u8 stopped;
	u8 building;
	u8 rtr;
	u8 local_active, answer_active, answer_next;
	u8 of_request;
	u8 tail;
	u8 immediate[CORE_IMMEDIATE_LEN];
	u8 closing, peer_closed;
	u32 may_take;
	u32 send_msn, read_msn, atomic_msn;
	u32 answered;
	u32 before;
	struct core_tx_msg *turn;
	struct core_tx_msg local, answer;
	struct core_read_request request;
	struct core_atomic_request atomic;
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
 * comes. Returns the FPDU's octets on the wire; 0: nothing can be sent now. May be called again
 * before core_tx_next().
 */
u32 core_tx_choose(struct core_tx *tx);
/*
 * The next step of the chosen FPDU; call it until the last step. Copy a step's payload before the
 * next call.
 */
struct core_tx_step core_tx_next(struct core_tx *tx);
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

/* ---- Callbacks of the core ---- */

enum core_take { CORE_TAKE_OK = 0, CORE_TAKE_EMPTY, CORE_TAKE_BROKEN };

/* The oldest outstanding RDMA Read that this end issued. */
struct core_read_sink {
	u32 stag;		/* ephemeral STag on the wire */
	u64 to;			/* TO of its first octet */
	u32 length;
	u32 placed;		/* octets placed so far; the host advances it */
	u8 atomic;		/* an atomic operation; @stag is its Request Identifier */
};

/* Snapshot of the region of this STag; false: no such STag, or not valid. */
bool core_host_region(void *ctx, u32 stag, struct core_region *out);
/*
 * Takes the next receive work request; *room: bytes it can hold. CORE_TAKE_BROKEN: its list is
 * invalid.
 */
enum core_take core_host_receive(void *ctx, u32 *room);
/* The oldest outstanding read; false if there is none. */
bool core_host_read_sink(void *ctx, struct core_read_sink *out);
/*
 * Checks the region for CORE_ACCESS_REMOTE_ATOMIC on the eight octets at request->to, and that they
 * are aligned in memory; then core_atomic_execute() on them, and *original.
 */
enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original);
/* Is there room for one more inbound RDMA Read Request (IRD)? */
bool core_host_read_room(void *ctx);
/* Has the peer sent a valid FPDU? A responder asks until it has. */
bool core_host_validated(void *ctx);
/*
 * A private copy of the next send request, or NULL. It stays the next until core_host_take_send().
 */
const struct srnic_send_wqe *core_host_next_send(void *ctx);
/* Takes the request copied last from the queue. The next three functions refer to it. */
void core_host_take_send(void *ctx);
/* May its whole list be used with these local rights (CORE_ACCESS_*)? */
bool core_host_verify_list(void *ctx, u32 access);
/* All its octets are built: it completes when they are sent, unless a response completes it. */
void core_host_built(void *ctx);
/* Completes it with this status (enum srnic_wc_status). */
void core_host_complete(void *ctx, u8 status);
/* Executes SRNIC_OP_LOCAL_INV, SRNIC_OP_REG_MR; false on failure. */
bool core_host_local_invalidate(void *ctx, u32 stag);
bool core_host_register(void *ctx, const struct srnic_send_wqe *wqe);
/* An unpredictable number. */
u32 core_host_random(void *ctx);

enum core_read_kind {
	CORE_READ_REQUEST,	/* the sink is the list of the request taken last */
	CORE_READ_INVALIDATE,	/* the same, and its only entry is invalidated at the end */
	CORE_READ_ATOMIC,	/* an atomic operation; the request taken last is its sink */
	CORE_READ_RTR,		/* without a request (RFC 6581 9.2) */
};

/* Adds an outstanding read. */
void core_host_expect_read(void *ctx, const struct core_read_sink *sink, enum core_read_kind kind);
/* The number of outstanding reads. */
u32 core_host_reads(void *ctx);
/*
 * Are more than `most` reads outstanding? If so, the host runs transmit again when one completes.
 */
bool core_host_wait_for_reads(void *ctx, u32 most);
/* The peer's oldest Read Request not answered yet; false if there is none. */
bool core_host_next_read(void *ctx, struct core_asked *out);
/* The response to it is built. */
void core_host_answered(void *ctx);
/* The stream ends with this Terminate: the host calls core_tx_terminate(). */
void core_host_terminate(void *ctx, const struct core_terminate *term);
/* Running CRC32C (reflected, no final inversion). */
u32 core_host_crc32c(u32 crc, const void *data, u64 len);

/* The same with tables, for hosts without a faster one. */
u32 core_crc32c_table(u32 crc, const void *data, u64 len);

/* ---- Operations of a send queue ---- */

/* The direction of an operation's list. */
enum core_direction {
	CORE_DIRECTION_NONE = 0,	/* it has no list */
	CORE_DIRECTION_OUT,		/* they are sent */
	CORE_DIRECTION_IN,		/* an RDMA Read's response is placed there */
};

/* The handler in core/send.cc for an operation whose turn has come. */
enum core_handler {
	CORE_HANDLE_NOTHING,
	CORE_HANDLE_WRITE,
	CORE_HANDLE_SEND,
	CORE_HANDLE_READ,
	CORE_HANDLE_IMMEDIATE,
	CORE_HANDLE_ATOMIC,
	CORE_HANDLE_LOCAL_INVALIDATE,
	CORE_HANDLE_REGISTER,
};

/**
 * struct core_operation - an operation of a send queue: a row of core/operations.hh
 * @known: there is such an operation
 * @kernel_only: only kernel consumers may post it
 * @may_inline: its payload may be in the slot itself
 * @direction: enum core_direction
 * @remote: it accesses memory of the peer, by remote_addr and rkey
 * @names_stag: imm_inv is an STag, to be invalidated by the peer or here
 * @immediate: Immediate Data follows its message at once
 * @invalidates_sink: the only entry of its list is invalidated when the response is placed
 * @by_response: the peer's response completes it; others complete when sent or done
 * @min_sge: fewest entries of its list
 * @max_sge: most entries of its list
 * @handler: enum core_handler
 * @wire: enum core_msg_opcode; CORE_MSG_NONE: done locally, and nothing is sent
 * @wire_solicited: likewise with SRNIC_WQE_SOLICITED
 */
struct core_operation {
	u8 known, kernel_only, may_inline;
	u8 direction;
	u8 remote, names_stag, immediate, invalidates_sink, by_response;
	u8 min_sge, max_sge;
	u8 handler;
	u8 wire, wire_solicited;
};

/* The row of any opcode (enum srnic_opcode). */
const struct core_operation *core_operation_of(u8 opcode);

/* ---- Rings: validation of user input ---- */

enum core_wqe_verdict {
	CORE_WQE_OK = 0,
	CORE_WQE_BAD_OPCODE,
	CORE_WQE_BAD_SGE,	/* too many entries, or too many or few for this opcode */
	CORE_WQE_BAD_LENGTH,	/* inline beyond the slot, or a total above 2^32-1 */
};

/*
 * Checks a private copy of a send queue slot (slot_size bytes); kernel: the opcodes reserved for
 * kernel consumers are allowed. *length: bytes of payload.
 */
enum core_wqe_verdict core_send_wqe_check(const struct srnic_send_wqe *wqe, u32 slot_size,
					  bool kernel, u32 *length);
/* The same for a receive slot; *room: bytes it can hold. */
enum core_wqe_verdict core_recv_wqe_check(const struct srnic_recv_wqe *wqe, u32 slot_size,
					  u32 *room);
/*
 * Slots published and not taken, 0..entries; a hostile index yields 0.
 */
u32 core_ring_pending(u32 prod, u32 taken, u32 entries);

/* ---- STags (RFC 5040 8.1.1: hard to guess) ---- */

#define CORE_STAG_INDEX_BITS 24

/*
 * Keyed permutation of 24-bit slot indices, and its inverse. An STag is the permuted index << 8 |
 * the 8-bit key.
 */
u32 core_stag_scramble(u32 index, const u64 key[2]);
u32 core_stag_unscramble(u32 scrambled, const u64 key[2]);

#ifdef __cplusplus
}
#endif
#endif
