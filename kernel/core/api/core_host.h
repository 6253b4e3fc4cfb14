/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The callbacks of the core, which the module or a test implements. Included by core.h.
 */
#ifndef SRNIC_CORE_HOST_H
#define SRNIC_CORE_HOST_H

enum core_take { CORE_TAKE_OK = 0, CORE_TAKE_EMPTY, CORE_TAKE_BROKEN };

/* The oldest outstanding RDMA Read that this end issued. */
struct core_read_sink {
	u32 stag;		/* ephemeral STag on the wire */
	u64 to;			/* TO of its first octet */
	u32 length;
	u32 placed;		/* octets placed so far; the host advances it */
	u8 atomic;		/* an atomic operation; @stag is its Request Identifier */
	u32 number;		/* of the request, where requests are acknowledged (core_acks.h) */
};

/* Snapshot of the region of this STag; false: no such STag, or not valid. */
bool core_host_region(void *ctx, u32 stag, struct core_region *out);
/*
 * Places all payload of a segment, and adds it to the CRC32C *sum, unless that is NULL. A region is
 * checked first, as core_region_check() does for CORE_ACCESS_REMOTE_WRITE: if the verdict is not
 * CORE_REGION_OK, nothing is placed, or added. If this end's own memory cannot be written, what is
 * to be placed there is over.
 */
enum core_region_verdict core_host_place(void *ctx, const struct core_place *at, const u8 *data,
					 u32 n, u32 *sum);
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
/*
 * Checks the region for CORE_ACCESS_REMOTE_WRITE on the eight octets at request->to, and that they
 * are aligned in memory; then core_atomic_write() on them.
 */
enum core_region_verdict core_host_atomic_write(void *ctx, const struct core_extended *request);
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
/* Executes SRNIC_OP_LOCAL_INV, SRNIC_OP_REG_MR, SRNIC_OP_BIND_MW; false on failure. */
bool core_host_local_invalidate(void *ctx, u32 stag);
bool core_host_register(void *ctx, const struct srnic_send_wqe *wqe);
bool core_host_bind(void *ctx, const struct srnic_send_wqe *wqe);
/* An unpredictable number. */
u32 core_host_random(void *ctx);

enum core_read_kind {
	CORE_READ_REQUEST,	/* the sink is the list of the request taken last */
	CORE_READ_INVALIDATE,	/* CORE_READ_REQUEST; the only entry is invalidated at the end */
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

/* core_host_crc32c() with tables, for hosts without a faster way. */
u32 core_crc32c_table(u32 crc, const void *data, u64 len);
/* Fewer octets are not folded. */
#define CORE_CRC_FOLDED	1344
#ifdef __x86_64__
/* core_host_crc32c() with the instruction of SSE 4.2, which the processor must have. */
u32 core_crc32c_sse42(u32 crc, const void *data, u64 len);
/*
 * core_crc32c_sse42() that copies the octets in the same pass, as fast as summing alone. Reads each
 * octet once: the sum is that of the copy.
 */
u32 core_crc32c_copy_sse42(u32 crc, void *to, const void *from, u64 len);
/*
 * The same with AVX2 and VPCLMULQDQ as well, whose registers are the caller's: quicker from
 * CORE_CRC_FOLDED octets on. into_own: nobody else changes the copy meanwhile; else nobody changes
 * the source. The other one is read, or written, once.
 */
u32 core_crc32c_copy_folded(u32 crc, void *to, const void *from, u64 len, bool into_own);
#endif

#endif
