// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Batches of the stream's bytes: page fragments filled by the engine and spliced into TCP.
 */
#include <linux/bottom_half.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat/sock.h"
#include "memory/copy.h"
#include "srnic.h"
#include "stream/transmit/batch.h"

/* Pieces of a batch: 32 KiB, as TCP's own fragments, or a page if pages are larger. */
#define FRAG_SIZE	max_t(unsigned long, SZ_32K, PAGE_SIZE)
#define FRAG_ORDER	get_order(FRAG_SIZE)

/*
 * Where in a cache line of 64 bytes fragments begin, and the first FPDU of a batch if it is long:
 * payload that follows 16 bytes of headers (RFC 5044 4.1, RFC 5041 4.2) then begins the next line,
 * so that it is copied fastest (memory/copy.c).
 */
#define FRAG_START	48U
#define LONG_FPDU	SZ_4K

struct srnic_batch srnic_no_batch __ro_after_init;

void srnic_batch_init(struct srnic_batch *batch, struct mem_cgroup *payer)
{
	memset(batch, 0, sizeof(*batch));
	batch->payer = payer;
}

static u32 frag_room(const struct page_frag *frag)
{
	return frag->page ? frag->size - frag->offset : 0;
}

static u32 batch_room(const struct srnic_batch *batch)
{
	u32 room = frag_room(&batch->frag);

	for (u32 i = 0; i < batch->num_spare; i++)
		room += frag_room(&batch->spare[i]);
	return room;
}

bool srnic_batch_takes(const struct srnic_batch *batch, u32 len)
{
	if (!batch->len)
		return true;
	return batch->len + len <= SRNIC_BATCH_MAX &&
	       batch->num + batch->num_spare + DIV_ROUND_UP(len, PAGE_SIZE - FRAG_START) + 2 <=
		       SRNIC_BATCH_VECS;
}

/* A fragment of the pool with no other reference left. Takes a reference for the caller. */
static bool frag_reuse(struct srnic_batch *batch, struct page_frag *frag)
{
	for (u32 i = 0; i < batch->num_pool; i++) {
		if (page_ref_count(batch->pool[i].page) != 1)
			continue;
		*frag = batch->pool[i];
		get_page(frag->page);
		return true;
	}
	return false;
}

/* Fragments in the pools of all QPs, and their limit: 64 MiB. */
#define POOLED_MAX (SZ_64M / FRAG_SIZE)
static atomic_t pooled;

static void frag_remember(struct srnic_batch *batch, const struct page_frag *frag)
{
	if (batch->num_pool == SRNIC_BATCH_POOL || atomic_read(&pooled) >= POOLED_MAX)
		return;
	atomic_inc(&pooled);
	get_page(frag->page);
	batch->pool[batch->num_pool++] = *frag;
}

static void empty_pool(struct srnic_batch *batch)
{
	for (u32 i = 0; i < batch->num_pool; i++)
		put_page(batch->pool[i].page);
	atomic_sub(batch->num_pool, &pooled);
	batch->num_pool = 0;
}

/* What follows the bytes that are left, if any. */
static void drop_room(struct srnic_batch *batch)
{
	if (batch->frag.page)
		put_page(batch->frag.page);
	for (u32 i = 0; i < batch->num_spare; i++)
		put_page(batch->spare[i].page);
	batch->frag = (struct page_frag) { };
	batch->num_spare = 0;
}

bool srnic_batch_trim(struct srnic_batch *batch)
{
	bool used = batch->used;

	batch->used = false;
	if (used || batch->num_borrowed)	/* these may need the room */
		return false;
	drop_room(batch);
	empty_pool(batch);
	return !batch->len;
}

static bool frag_alloc(struct page_frag *frag, gfp_t gfp)
{
	const gfp_t whole = SRNIC_BATCH_GFP_NOW | __GFP_COMP | __GFP_NORETRY;

	frag->offset = FRAG_START;
	frag->size = FRAG_SIZE;
	frag->page = alloc_pages(whole, FRAG_ORDER);
	if (frag->page)
		return true;
	frag->size = PAGE_SIZE;
	frag->page = alloc_page(gfp);
	return frag->page;
}

static bool frag_get(struct srnic_batch *batch, struct page_frag *frag, gfp_t gfp)
{
	struct mem_cgroup *payer;
	bool found;

	if (frag_reuse(batch, frag))
		return true;
	payer = set_active_memcg(batch->payer);
	found = frag_alloc(frag, gfp);
	set_active_memcg(payer);
	if (found)
		frag_remember(batch, frag);
	return found;
}

bool srnic_batch_has_room(const struct srnic_batch *batch, u32 len)
{
	return batch_room(batch) >= batch->num_borrowed + len;
}

static void begin_at_start(struct page_frag *frag)
{
	u32 offset = round_down(frag->offset + 63 - FRAG_START, 64) + FRAG_START;

	frag->offset = min(offset, frag->size);
}

int srnic_batch_reserve(struct srnic_batch *batch, u32 len, gfp_t gfp)
{
	batch->used = true;
	if (!batch->len && len >= LONG_FPDU)
		begin_at_start(&batch->frag);
	while (!srnic_batch_has_room(batch, len)) {
		if (batch->num_spare == SRNIC_BATCH_SPARES ||
		    !frag_get(batch, &batch->spare[batch->num_spare], gfp))
			return -ENOMEM;
		batch->num_spare++;
	}
	return 0;
}

void srnic_batch_next_frag(struct srnic_batch *batch)
{
	if (batch->frag.page)
		put_page(batch->frag.page);
	batch->frag = batch->spare[0];
	batch->num_spare--;
	memmove(&batch->spare[0], &batch->spare[1], batch->num_spare * sizeof(batch->spare[0]));
}

void srnic_batch_add_piece(struct srnic_batch *batch, u32 len)
{
	const struct page_frag *frag = &batch->frag;

	get_page(frag->page);
	batch->vec[batch->num++] = (struct bio_vec) {
		.bv_page = frag->page, .bv_len = len, .bv_offset = frag->offset,
	};
}

/* ---- borrowed bytes ---- */

u32 srnic_batch_may_borrow(const struct srnic_batch *batch)
{
	u32 taken = batch->num + batch->num_spare + 3;

	return taken < SRNIC_BATCH_VECS ? SRNIC_BATCH_VECS - taken : 0;
}

void srnic_batch_borrow(struct srnic_batch *batch, const struct bio_vec *bytes)
{
	BUILD_BUG_ON(BITS_PER_TYPE(batch->borrowed) < SRNIC_BATCH_ROOM);
	get_page(bytes->bv_page);
	batch->borrowed |= BIT_ULL(batch->num);
	batch->vec[batch->num++] = *bytes;
	batch->len += bytes->bv_len;
	batch->num_borrowed += bytes->bv_len;
}

static bool is_borrowed(const struct srnic_batch *batch, u32 n)
{
	return batch->borrowed & BIT_ULL(n);
}

/* Of piece n, so many bytes are no longer in the batch. */
static void less_borrowed(struct srnic_batch *batch, u32 n, u32 len)
{
	if (is_borrowed(batch, n))
		batch->num_borrowed -= len;
}

static void drop_piece(struct srnic_batch *batch, u32 n)
{
	put_page(batch->vec[n].bv_page);
	batch->borrowed &= ~BIT_ULL(n);
}

static void add_copy(struct srnic_batch *batch, const struct bio_vec *bytes)
{
	const u8 *from = page_address(bytes->bv_page) + bytes->bv_offset;
	u32 len = bytes->bv_len, n;

	for (; len; from += n, len -= n) {
		void *room;

		n = len;
		room = srnic_batch_room(batch, &n);
		srnic_copy(room, from, n);
		srnic_batch_commit(batch, n);
	}
	put_page(bytes->bv_page);
}

static void keep(struct srnic_batch *batch, const struct bio_vec *bytes)
{
	batch->vec[batch->num++] = *bytes;
	batch->len += bytes->bv_len;
}

/*
 * Only what a batch takes may be borrowed (srnic_batch_takes()). Not inline, because some kernels
 * clear what is on the stack.
 */
static noinline void copy_borrowed(struct srnic_batch *batch)
{
	struct bio_vec vec[SRNIC_BATCH_VECS];
	u64 borrowed = batch->borrowed >> batch->first;
	u32 num = batch->num - batch->first;

	if (WARN_ON_ONCE(num > ARRAY_SIZE(vec)))
		return;
	memcpy(vec, &batch->vec[batch->first], num * sizeof(vec[0]));
	batch->first = 0;
	batch->num = 0;
	batch->len = 0;
	batch->borrowed = 0;
	batch->num_borrowed = 0;
	for (u32 i = 0; i < num; i++)
		if (borrowed & BIT_ULL(i))
			add_copy(batch, &vec[i]);
		else
			keep(batch, &vec[i]);
}

u32 srnic_batch_own(struct srnic_batch *batch)
{
	u32 copied = batch->num_borrowed;

	if (unlikely(copied))
		copy_borrowed(batch);
	return copied;
}

/* ---- what leaves it ---- */

void srnic_batch_truncate(struct srnic_batch *batch, u32 keep)
{
	while (batch->len > keep) {
		struct bio_vec *last = &batch->vec[batch->num - 1];
		u32 cut = min(last->bv_len, batch->len - keep);

		last->bv_len -= cut;
		batch->len -= cut;
		less_borrowed(batch, batch->num - 1, cut);
		if (!last->bv_len)
			drop_piece(batch, --batch->num);
	}
}

void srnic_batch_taken(struct srnic_batch *batch, u32 len)
{
	batch->len -= len;
	while (len) {
		struct bio_vec *vec = &batch->vec[batch->first];
		u32 n = min(len, vec->bv_len);

		vec->bv_offset += n;
		vec->bv_len -= n;
		len -= n;
		less_borrowed(batch, batch->first, n);
		if (!vec->bv_len)
			drop_piece(batch, batch->first++);
	}
	if (!batch->len) {
		batch->first = 0;
		batch->num = 0;
	}
}

/* Segments after which TCP handles its backlog, and may give back what was charged for it. */
#define SEGMENTS	16
/* At least what TCP charges for one besides its payload. */
#define SEGMENT_HEAD	SZ_2K

/* So much of len that TCP makes no more segments of it: they are short if the peer's window is. */
static u32 segments_length(const struct sock *sk, u32 len)
{
	u32 half = READ_ONCE(tcp_sk(sk)->max_window) / 2;
	u32 segment = max(min(half, sk->sk_gso_max_size), READ_ONCE(tcp_sk(sk)->mss_cache));

	return min(len, SEGMENTS / 2 * segment);
}

/*
 * Charges this many bytes in advance to the socket's memory control group. TCP itself would wait
 * until that group has reclaimed memory, or has lost a process; with bottom halves off a charge
 * exceeds the group's limit instead (gfp_memcg_charge()).
 */
static void charge(struct sock *sk, u32 size)
{
	local_bh_disable();
	sk_wmem_schedule(sk, size);
	local_bh_enable();
}

/*
 * Exceeds the limit not by much: beyond the pool a batch has new pages, which were charged without
 * that (SRNIC_BATCH_GFP_NOW). What arrived meanwhile is charged when the socket is released.
 */
static int send_without_waiting(struct sock *sk, struct msghdr *msg)
{
	u32 len = segments_length(sk, msg_data_left(msg));
	int ret;

	iov_iter_truncate(&msg->msg_iter, len);
	lock_sock(sk);
	charge(sk, len + SEGMENTS * SEGMENT_HEAD);
	ret = tcp_sendmsg_locked(sk, msg, len);
	charge(sk, READ_ONCE(sk->sk_backlog.len) + SZ_64K);	/* and some may still arrive */
	release_sock(sk);
	return ret;
}

int srnic_batch_send(struct srnic_batch *batch, struct socket *sock, bool more, bool wait)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | SRNIC_COMPAT_SPLICE |
			     (more ? MSG_MORE : 0),
	};
	int ret;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &batch->vec[batch->first],
		      batch->num - batch->first, batch->len);
	ret = wait ? sock_sendmsg(sock, &msg) : send_without_waiting(sock->sk, &msg);
	if (ret == -EAGAIN)
		return 0;
	if (ret > 0)
		srnic_batch_taken(batch, ret);
	return ret;
}

void srnic_batch_release(struct srnic_batch *batch)
{
	srnic_batch_truncate(batch, 0);
	drop_room(batch);
	empty_pool(batch);
	srnic_batch_init(batch, batch->payer);
}
