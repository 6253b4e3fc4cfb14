/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The startup phase of MPA (RFC 5044 7.1, RFC 6581 6 and 9): frames, and what the two ends agree
 * on. Included by core.h.
 */
#ifndef SRNIC_CORE_STARTUP_H
#define SRNIC_CORE_STARTUP_H

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
 * @ord: 14 bits, CORE_MPA_AUTO possible
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
	u8 extended;		/* Flush and Atomic Write (core_pairing.h) */
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

#endif
