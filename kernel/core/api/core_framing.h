/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Framings: the wire formats of a connection, and what each of them has. Included by core.h.
 */
#ifndef SRNIC_CORE_FRAMING_H
#define SRNIC_CORE_FRAMING_H

/* How the octets of a stream are framed: a connection's wire format. */
enum core_framing {
	CORE_FRAMING_MPA = 0,		/* RFC 5044, with DDP and RDMAP */
	CORE_FRAMING_RDMATCP,		/* draft-williams-rdmatcp-00 */
	CORE_FRAMING_IB,		/* MPA, DDP and RDMAP with acknowledgements (ib.rst) */
};

/**
 * struct core_framing_traits - what a framing has: a row of core/framings.hh
 * @name: for administrators
 * @terminate: a Terminate reports errors to the peer (RFC 5040 4.8); else the connection is reset
 * @atomics: there are messages for atomic operations (RFC 7306 5)
 * @immediate_payload: Immediate Data may come with payload, as a Send (rdmatcp.rst, "Control
 *	data"); else never (RFC 7306 6)
 * @immediate_in_send: a Send with Immediate Data is a message of its own (ib.rst); else Immediate
 *	Data are the message
 * @immediate_in_write: a Write has its Immediate Data in its last segment; else they are a message
 *	of their own, right behind it
 * @numbers_by_queue: each queue numbers its own messages (RFC 5041 4.3); else one sequence numbers
 *	all messages but responses (draft-williams-rdmatcp-00 3.4)
 * @numbers_writes: Writes are numbered as well
 * @numbers_agreed: the startup frames agree on the first numbers; else they are CORE_FIRST_MSN
 * @sink_stag: a Read Request names an STag for its sink, which the response repeats (RFC 5040 4.4);
 *	else the response names the request's number (draft-williams-rdmatcp-00 3.4)
 * @mutes_responder: the responder sends nothing before it has validated an FPDU (RFC 5044 7.1.2
 *	rule 4)
 * @interleaves_tagged: segments of a Write and of a Read Response may alternate
 * @acknowledges: requests complete when the peer acknowledges them, and may be refused (ib.rst)
 */
struct core_framing_traits {
	const char *name;
	u8 terminate;
	u8 atomics;
	u8 immediate_payload, immediate_in_send, immediate_in_write;
	u8 numbers_by_queue, numbers_writes, numbers_agreed;
	u8 sink_stag;
	u8 mutes_responder;
	u8 interleaves_tagged;
	u8 acknowledges;
};

const struct core_framing_traits *core_framing_traits_of(enum core_framing framing);

/* ---- Sets of framings: bits by enum core_framing, at least one ---- */

/* The framing of a connection that this end initiates. */
enum core_framing core_framing_to_connect(u32 framings);
/* Has any of them atomic operations? */
bool core_framings_have_atomics(u32 framings);
/* May Immediate Data come with payload, whichever of them is used? */
bool core_framings_have_immediate_payload(u32 framings);

#endif
