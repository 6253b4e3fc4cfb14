/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Batches: stream octets that are built but that TCP has not taken yet, in pages of our own which
 * TCP is handed without another copy (MSG_SPLICE_PAGES). One sendmsg carries as many FPDUs as fit.
 * All functions belong to the engine of one QP: tx.mutex held, process context.
 */
#ifndef SRNIC_BATCH_H
#define SRNIC_BATCH_H

#include <linux/bvec.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct mem_cgroup;
struct socket;

#define SRNIC_BATCH_VECS	32
#define SRNIC_BATCH_SPARES 20 /* single pages that hold one FPDU of the largest size, and some */
#define SRNIC_BATCH_POOL	16		/* pages kept for use again */
#define SRNIC_BATCH_MAX                                                                            \
	(64 * 1024) /* octets after which a batch goes out; one FPDU may exceed it */

/**
 * struct srnic_batch - stream octets on their way to TCP
 * @vec: pieces in order; those before @first were taken by TCP. Each holds a page reference
 * @first: pieces of @vec that TCP has taken
 * @num: pieces in @vec, those that TCP has taken included
 * @len: octets not taken yet
 * @frag: where the next octets go: the room behind .offset. Holds a reference of its own
 * @spare: pages reserved for the FPDU being built
 * @num_spare: pages in @spare
 * @pool: pages used before, a reference each. One that nobody else refers to any more, because its
 *	octets were acknowledged and consumed, is used again: it is warm, and costs neither the
 *	allocator nor its zeroing. An idle QP that never had much under way has one or two
 * @num_pool: pages in @pool
 * @pool_lock: protects @pool, @num_pool and @reused, against @give_back alone. Innermost
 * @reused: a page of the pool was used since @give_back looked
 * @give_back: empties a pool that was not used for a second
 * @payer: whose control group pays for the pages; referenced by the QP
 */
struct srnic_batch {
	struct bio_vec vec[SRNIC_BATCH_VECS];
	u32 first, num;
	u32 len;
	struct page_frag frag;
	struct page_frag spare[SRNIC_BATCH_SPARES];
	u32 num_spare;
	struct page_frag pool[SRNIC_BATCH_POOL];
	u32 num_pool;
	bool reused;
	spinlock_t pool_lock;
	struct delayed_work give_back;
	struct mem_cgroup *payer;
};

/* An empty batch, whose pages are charged to payer (NULL: to whoever fills it). */
void srnic_batch_init(struct srnic_batch *batch, struct mem_cgroup *payer);

/*
 * Is there room for one more FPDU of len octets before the batch should go out? An empty batch
 * takes any.
 */
bool srnic_batch_takes(const struct srnic_batch *batch, u32 len);
/*
 * Reserves pages so that the next len octets cannot fail. 0 or -ENOMEM (nothing changed for the
 * stream).
 */
int srnic_batch_reserve(struct srnic_batch *batch, u32 len);
/*
 * The next contiguous room, at most *len octets of it (*len is lowered); within what was reserved.
 */
void *srnic_batch_room(struct srnic_batch *batch, u32 *len);
/* The first len octets of that room are part of the stream now. */
void srnic_batch_commit(struct srnic_batch *batch, u32 len);
/* Takes back what was committed beyond the first keep octets; only what was not sent yet. */
void srnic_batch_truncate(struct srnic_batch *batch, u32 keep);
/*
 * Hands octets to TCP without waiting. Octets taken, 0 if the socket is full, or -errno. more: a
 * batch follows at once.
 */
int srnic_batch_send(struct srnic_batch *batch, struct socket *sock, bool more);
/* Drops everything; the batch is as after srnic_batch_init(). Sleeps. */
void srnic_batch_release(struct srnic_batch *batch);

#endif
