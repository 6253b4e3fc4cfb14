/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Batches: bytes of the stream that are built and not yet gone, in our own pages, or in a region's,
 * which TCP gets without another copy where the kernel can (compat/sock.h). One sendmsg carries as
 * many FPDUs as fit. All functions but srnic_batch_init() are for the engine of one QP: tx.mutex
 * held, process context.
 */
#ifndef SRNIC_BATCH_H
#define SRNIC_BATCH_H

#include <linux/bvec.h>
#include <linux/mm.h>

struct mem_cgroup;
struct socket;

#define SRNIC_BATCH_VECS	32	/* after which a batch takes no more */
#define SRNIC_BATCH_SPARES 20 /* single pages that hold one FPDU of the largest size, and some */
#define SRNIC_BATCH_POOL	16		/* fragments kept for reuse */
/* With what borrowed bytes become in srnic_batch_own(): they may meet the end of each page. */
#define SRNIC_BATCH_ROOM	(SRNIC_BATCH_VECS + SRNIC_BATCH_SPARES + 4)
/* Bytes after which a batch goes out: 64 KiB with headers. One FPDU may exceed it. */
#define SRNIC_BATCH_MAX		(72 * 1024)

/**
 * struct srnic_batch - bytes of the stream on their way to TCP
 * @vec: pieces in order; each from @first on holds a page reference
 * @first: pieces of @vec that TCP has taken
 * @num: pieces in @vec, including those that TCP has taken
 * @len: bytes not taken yet
 * @borrowed: a bit for each of @vec: its page is a region's
 * @num_borrowed: bytes in these. There is always room for them, too
 * @frag: the next bytes go here, from .offset on. Holds its own reference
 * @spare: fragments reserved for the FPDU being built
 * @num_spare: fragments in @spare
 * @pool: fragments for reuse, with one reference each. A fragment with no other reference, because
 *	its bytes were acknowledged and consumed, is free: reuse saves an allocation, and its cache
 *	lines are warm
 * @num_pool: fragments in @pool
 * @used: room was reserved since srnic_batch_trim() was called last
 * @payer: memory control group charged for the pages, or NULL; referenced by the QP
 */
struct srnic_batch {
	struct bio_vec vec[SRNIC_BATCH_ROOM];
	u32 first, num;
	u32 len;
	u64 borrowed;
	u32 num_borrowed;
	struct page_frag frag;
	struct page_frag spare[SRNIC_BATCH_SPARES];
	u32 num_spare;
	struct page_frag pool[SRNIC_BATCH_POOL];
	u32 num_pool;
	bool used;
	struct mem_cgroup *payer;
};

/* What an engine has instead of a batch of its own while it is idle: empty, and never written. */
extern struct srnic_batch srnic_no_batch;

/*
 * The engine runs for file systems and block devices too, so no I/O from its allocations. It
 * retries, so no warning.
 */
#define SRNIC_BATCH_GFP		(GFP_NOIO | __GFP_NOWARN | __GFP_ACCOUNT)
/* For a caller that serves several tenants: does not wait for the memory of one of them. */
#define SRNIC_BATCH_GFP_NOW	(SRNIC_BATCH_GFP & ~__GFP_DIRECT_RECLAIM)

/* Initializes an empty batch. Its pages are charged to payer (NULL: to the current task). */
void srnic_batch_init(struct srnic_batch *batch, struct mem_cgroup *payer);

/*
 * Is there room for one more FPDU of len bytes? Otherwise send the batch first. An empty batch
 * takes any.
 */
bool srnic_batch_takes(const struct srnic_batch *batch, u32 len);
/*
 * Reserves pages so that adding the next len bytes cannot fail. 0 or -ENOMEM (the stream is
 * unchanged). gfp: SRNIC_BATCH_GFP or SRNIC_BATCH_GFP_NOW.
 */
int srnic_batch_reserve(struct srnic_batch *batch, u32 len, gfp_t gfp);
/* Does srnic_batch_reserve() have nothing to do? Else it may sleep, if gfp lets it. */
bool srnic_batch_has_room(const struct srnic_batch *batch, u32 len);
/* For srnic_batch_room(): the fragment is full, and the next one was reserved. */
void srnic_batch_next_frag(struct srnic_batch *batch);
/* For srnic_batch_commit(): the bytes do not follow those before them. */
void srnic_batch_add_piece(struct srnic_batch *batch, u32 len);

/*
 * The next contiguous room; *len is lowered to its size. The caller has reserved the room.
 */
static inline void *srnic_batch_room(struct srnic_batch *batch, u32 *len)
{
	if (unlikely(batch->frag.offset == batch->frag.size))
		srnic_batch_next_frag(batch);
	*len = min(*len, batch->frag.size - batch->frag.offset);
	return page_address(batch->frag.page) + batch->frag.offset;
}

static inline bool srnic_batch_goes_on(const struct srnic_batch *batch)
{
	const struct bio_vec *last;

	if (batch->num == batch->first)
		return false;
	last = &batch->vec[batch->num - 1];
	return last->bv_page == batch->frag.page &&
	       last->bv_offset + last->bv_len == batch->frag.offset;
}

/* Adds the first len bytes of that room to the stream. */
static inline void srnic_batch_commit(struct srnic_batch *batch, u32 len)
{
	if (srnic_batch_goes_on(batch))
		batch->vec[batch->num - 1].bv_len += len;
	else
		srnic_batch_add_piece(batch, len);
	batch->frag.offset += len;
	batch->len += len;
}

/* In so many pieces the next bytes may be borrowed. */
u32 srnic_batch_may_borrow(const struct srnic_batch *batch);
/*
 * Adds bytes to the stream that stay where they are, of a page that has a user meanwhile. Takes a
 * reference. The caller has reserved room for them, and has the batch handed over, or calls
 * srnic_batch_own(), before whoever owns the bytes may change them: before it leaves the engine,
 * or, of what is kept, in srnic_kept_end().
 */
void srnic_batch_borrow(struct srnic_batch *batch, const struct bio_vec *bytes);
/* Copies what is borrowed to the batch's own pages. The number of bytes. */
u32 srnic_batch_own(struct srnic_batch *batch);
/* Removes all but the first keep bytes not yet taken by TCP. */
void srnic_batch_truncate(struct srnic_batch *batch, u32 keep);
/*
 * Gives bytes to TCP without waiting for room. Returns the bytes taken, 0 if the socket is full, or
 * -errno. more: a batch follows at once. wait: it may wait for memory of the socket's control
 * group.
 */
int srnic_batch_send(struct srnic_batch *batch, struct socket *sock, bool more, bool wait);
/*
 * Gives back the pages that hold no bytes of the stream if no room was reserved since the last
 * call. All pools share one limit, so an idle QP must not keep its fragments from busy ones. True
 * if nothing is left, so that the batch may go, too; else call it again later.
 */
bool srnic_batch_trim(struct srnic_batch *batch);
/* The first len bytes are gone, to TCP or to the other end (shortcut.h). */
void srnic_batch_taken(struct srnic_batch *batch, u32 len);
/* Drops everything; the batch is then as after srnic_batch_init(). */
void srnic_batch_release(struct srnic_batch *batch);

#endif
