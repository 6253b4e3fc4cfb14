/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs (RFC 5044 4): markers, and building them step by step. Included by core.h.
 */
#ifndef SRNIC_CORE_FPDU_H
#define SRNIC_CORE_FPDU_H

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

/* ---- FPDUs, step by step (RFC 5041 5.2, RFC 5044 4.1 to 4.4) ---- */

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

#endif
