/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Regions, access and invalidation (RFC 5041 7.1, RFC 5040 7.2), and STags (RFC 5040 8.1.1).
 * Included by core.h.
 */
#ifndef SRNIC_CORE_REGION_H
#define SRNIC_CORE_REGION_H

/* Access rights, the numbers of IB_ACCESS_*. */
#define CORE_ACCESS_LOCAL_WRITE	(1U << 0)
#define CORE_ACCESS_REMOTE_WRITE	(1U << 1)
#define CORE_ACCESS_REMOTE_READ	(1U << 2)
#define CORE_ACCESS_REMOTE_ATOMIC	(1U << 3)
#define CORE_ACCESS_MW_BIND	(1U << 4)	/* of a region: windows may be bound to it */
#define CORE_ACCESS_ZERO_BASED	(1U << 5)	/* of a request to bind: TOs begin at 0 */
#define CORE_ACCESS_FLUSH_GLOBAL	(1U << 8)
#define CORE_ACCESS_FLUSH_PERSISTENT	(1U << 9)

/* The grant of an STag: a snapshot, taken while the host holds the region or window. */
struct core_region {
	u64 base;	/* first valid TO */
	u64 length;	/* bytes */
	u32 pd;		/* protection domain */
	u32 access;	/* CORE_ACCESS_* */
	u32 qpn;	/* a window that serves this QP alone; 0: any of @pd */
	u8 window;	/* for peers only: its STag is no key for local memory */
};

/* The QP of an access, or the QP whose peer asks. */
struct core_requester {
	u32 pd;
	u32 qpn;
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

/* Those of a peer. */
#define CORE_REMOTE_RIGHTS                                                                         \
	(CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC)

/*
 * May it access [to, to + len) with these rights? RFC 5041 7.1, tagged checks 1 to 5 (RFC 5040 7.2
 * demands them for the source of an RDMA Read), and 8.2: an STag is for the streams of a protection
 * domain, or for one stream. Bounds come last: a peer learns them only of a region that it may use.
 * A zero-length segment is never checked (5.2), so callers ask only if there is payload.
 *
 * Inline, because each copy asks.
 */
#ifdef __cplusplus
constexpr
#else
static inline
#endif
enum core_region_verdict core_region_check(const struct core_region *region,
					   struct core_requester requester, u32 access, u64 to,
					   u64 len)
{
	u64 end = 0;

	if (region->pd != requester.pd || (region->qpn && region->qpn != requester.qpn))
		return CORE_REGION_FOREIGN;
	if ((region->access & access) != access ||
	    (region->window && !(access & CORE_REMOTE_RIGHTS)))
		return CORE_REGION_ACCESS;
	if (__builtin_add_overflow(to, len, &end))
		return CORE_REGION_WRAP;
	if (to < region->base || len > region->length || to - region->base > region->length - len)
		return CORE_REGION_BOUNDS;
	return CORE_REGION_OK;
}

/* A region to be invalidated, valid or not. */
struct core_grant {
	u32 stag;	/* the current STag, or the last one */
	u32 pd;
	u32 qpn;	/* the stream that registered or bound it last; 0: none */
	u8 revocable;	/* a fast-registration region, or a window of type 2 */
	u8 of_qp;	/* a window that is bound: QP @qpn alone may, its consumer or its peer */
};

/* The source of an invalidation: the consumer or, with @peer, the peer of a QP (RFC 5040 5.3). */
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
					     const struct core_revoker *revoker);

/* ---- memory windows (verbs; RFC 5040 has STags only) ---- */

enum core_window_type {
	CORE_WINDOW_1 = 1,	/* for all QPs of its PD; bound anew, or to nothing */
	CORE_WINDOW_2 = 2,	/* for the QP that binds it; invalidated, then bound again */
};

/* A window, as it is before the request. */
struct core_window {
	u32 pd;
	u8 type;	/* enum core_window_type */
	u8 bound;
};

/* A request to bind one (SRNIC_OP_BIND_MW). */
struct core_bind {
	u64 to;		/* the first byte, as the region counts */
	u64 length;	/* 0: bind it to nothing */
	u32 stag;	/* of the window from then on */
	u32 region;	/* the region's STag */
	u32 access;	/* CORE_ACCESS_* of the window */
	struct core_requester requester; /* the QP of the request */
};

/* May this QP bind the window so? If there is a length, core_region_may_bind() decides, too. */
bool core_window_may_bind(const struct core_window *window, const struct core_bind *bind);
/* May a window be bound to this part of the region? */
bool core_region_may_bind(const struct core_region *region, const struct core_bind *bind);

/*
 * The Terminate for an RDMA Read whose source can no longer be read (RFC 5040 4.8, figures 9 and
 * 10): includes the request with this msn of queue 1, advanced by the octets sent.
 */
void core_terminate_read(const struct core_read_request *request, u32 msn, u32 sent,
			 enum core_region_verdict verdict, struct core_terminate *out);

/* ---- STags (RFC 5040 8.1.1: hard to guess) ---- */

#define CORE_STAG_INDEX_BITS 24

/*
 * Keyed permutation of 24-bit slot indices, and its inverse. An STag is the permuted index << 8 |
 * the 8-bit key.
 */
u32 core_stag_scramble(u32 index, const u64 key[2]);
u32 core_stag_unscramble(u32 scrambled, const u64 key[2]);

#endif
