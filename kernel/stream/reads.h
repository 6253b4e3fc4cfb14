/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The queues of outstanding RDMA Reads and atomic operations (RFC 5040 5.2.1, 5.2.2; RFC 7306 5):
 * the peer's, which this end is to answer, and this end's own, which the peer is to answer.
 *
 * queue	entry				producer	consumer	at most
 * inbound	struct core_asked		receive half	engine		IRD
 * outbound	struct srnic_outbound_read	engine		receive half	ORD, or the RTR
 *
 * One producer and one consumer, without a lock: each owns one index and publishes it with a
 * release, which the other acquires. The engine holds tx.mutex, the receive half the socket's lock.
 */
#ifndef SRNIC_READS_H
#define SRNIC_READS_H

#include "core/api/core.h"
#include "memory/sge.h"

/**
 * struct srnic_reads - a queue of outstanding reads
 * @entries: the entries, or NULL between connections
 * @stride: bytes from one entry to the next
 * @size: number of entries: a power of two, so that the indices may wrap
 * @most: entries that may be outstanding; of the last connection where there is none
 * @head: index of the oldest entry; the consumer's
 * @tail: index of the next new entry; the producer's
 * @awaited: the producer waits for entries to be popped; see srnic_reads_await()
 */
struct srnic_reads {
	void *entries;
	u16 stride, size;
	u32 head, tail;
	bool awaited;
	u16 most;
};

/* An RDMA Read or atomic operation that this end issued and whose response is not complete. */
struct srnic_outbound_read {
	struct core_read_sink sink;
	struct srnic_sge_cursor cursor;
	u32 sq_index;		/* its srnic_sq_track */
	u32 inv_stag;		/* READ_INV: invalidated when the response is complete */
	bool invalidate;
	bool rtr;		/* the RTR of RFC 6581: has no work request */
	u8 num_sge;
	struct srnic_sge sge[];	/* qp->cap.max_send_sge */
};

/*
 * Allocates a queue for `most` entries of `stride` bytes, all zeros, with indices 0. Frees
 * one that is there already. 0 or -ENOMEM. May sleep; charges the active memory control group.
 */
int srnic_reads_alloc(struct srnic_reads *reads, u16 most, u16 stride);
/* No stream may use the queue. Idempotent. May sleep. */
void srnic_reads_free(struct srnic_reads *reads);

static inline void *srnic_reads_at(const struct srnic_reads *reads, u32 index)
{
	return reads->entries + (size_t)(index & (reads->size - 1)) * reads->stride;
}

/* ---- the producer ---- */

/* Entries that the consumer has not popped. */
static inline u32 srnic_reads_count(const struct srnic_reads *reads)
{
	/* acquire: pairs with srnic_reads_pop(): the consumer is done with what has left */
	return reads->tail - smp_load_acquire(&reads->head);
}

/* The entry to fill before srnic_reads_push(). The queue must have room. */
static inline void *srnic_reads_next(const struct srnic_reads *reads)
{
	return srnic_reads_at(reads, reads->tail);
}

static inline void srnic_reads_push(struct srnic_reads *reads)
{
	/* release: the entry before the index; pairs with srnic_reads_nth() */
	smp_store_release(&reads->tail, reads->tail + 1);
}

/*
 * Are there more than `most` entries? Then srnic_reads_awaited() is true for the consumer when it
 * pops one of them, until the producer cancels.
 */
static inline bool srnic_reads_await(struct srnic_reads *reads, u32 most)
{
	WRITE_ONCE(reads->awaited, true);
	smp_mb();	/* awaited before head; pairs with srnic_reads_awaited() */
	if (srnic_reads_count(reads) > most)
		return true;
	WRITE_ONCE(reads->awaited, false);
	return false;
}

/* Takes the newest entries back. The consumer is kept out. */
static inline void srnic_reads_forget(struct srnic_reads *reads, u32 entries)
{
	smp_store_release(&reads->tail, reads->tail - entries);	/* pairs with srnic_reads_nth() */
}

static inline void srnic_reads_cancel_await(struct srnic_reads *reads)
{
	WRITE_ONCE(reads->awaited, false);
}

/* Has the producer found too many entries, and not cancelled since? */
static inline bool srnic_reads_awaiting(const struct srnic_reads *reads)
{
	return READ_ONCE(reads->awaited);
}

/* ---- the consumer ---- */

/* The n-th oldest entry, from 0; NULL if there are not so many. */
static inline void *srnic_reads_nth(const struct srnic_reads *reads, u32 n)
{
	/* acquire: the entries before the index; pairs with srnic_reads_push() */
	if (n >= smp_load_acquire(&reads->tail) - reads->head)
		return NULL;
	return srnic_reads_at(reads, reads->head + n);
}

/* The entry with this index, counted from the start of the connection; NULL if it is not there. */
static inline void *srnic_reads_find(const struct srnic_reads *reads, u32 index)
{
	return srnic_reads_nth(reads, index - reads->head);
}

/* Removes the oldest entry, which must exist. */
static inline void srnic_reads_pop(struct srnic_reads *reads)
{
	/* release: the entry's last use before its slot is free; pairs with srnic_reads_count() */
	smp_store_release(&reads->head, reads->head + 1);
}

/* After srnic_reads_pop(): does the producer wait for that? */
static inline bool srnic_reads_awaited(const struct srnic_reads *reads)
{
	smp_mb();	/* head before awaited; pairs with srnic_reads_await() */
	return READ_ONCE(reads->awaited);
}

#endif
