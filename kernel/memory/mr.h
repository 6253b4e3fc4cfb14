/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory regions: STags, what they grant, and copying to and from their pages.
 */
#ifndef SRNIC_MR_H
#define SRNIC_MR_H

#include <linux/refcount.h>
#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>

#include "srnic.h"

enum srnic_mr_state {
	SRNIC_MR_INVALID,	/* grants nothing: before REG_MR or after invalidation */
	SRNIC_MR_VALID,
};

/**
 * struct srnic_mr - a region
 * @base: lkey and rkey are equal: the STag
 * @umem: a user's pinned memory; NULL for kernel consumers
 * @index: its dense slot in srnic_dev.mrs
 * @users: holders (srnic_mr_hold) plus one for the verbs object. A holder keeps bottom halves off,
 *	so it never sleeps, no softirq of its CPU interrupts it, and it sees a new @state soon
 * @freed: completed when @users reaches 0; dereg waits for it
 * @state: enum srnic_mr_state; becomes VALID with a release, so that fields below are stable while
 *	VALID
 * @pd: number of its protection domain; changes only while INVALID with no holder
 * @access: the IB_ACCESS_* granted; changes like @pd
 * @stag: its current STag; changes only while INVALID, before the wait for holders
 * @qpn: the QP that registered it (fast registration); changes like @pd
 * @dma: all of kernel memory: TOs are kernel virtual addresses, @pieces is unused
 * @zero_based: TOs begin at 0, also when other memory is registered again
 * @fast_reg: made by alloc_mr: REG_MR and LOCAL_INV apply
 * @iova: first valid TO; changes like @pd
 * @length: bytes granted; changes like @pd
 * @offset: offset of @iova in the first piece
 * @piece_shift: a piece has 1 << @piece_shift bytes
 * @num_pieces: how many of @pieces are in use
 * @max_pieces: the room of a fast-registration region
 * @pieces: addresses of the memory, in pieces of equal size
 * @rcu: frees it after concurrent lookups
 */
struct srnic_mr {
	struct ib_mr base;
	struct ib_umem *umem;
	u32 index;
	u32 stag;
	refcount_t users;
	struct completion freed;
	u32 state;
	u32 pd;
	u32 access;
	u32 qpn;
	bool dma;
	bool zero_based;
	bool fast_reg;
	u64 iova;
	u64 length;
	u32 offset;
	u32 piece_shift;
	u32 num_pieces;
	u32 max_pieces;
	void **pieces;
	struct rcu_head rcu;
};

static inline struct srnic_mr *to_srnic_mr(struct ib_mr *base)
{
	return container_of(base, struct srnic_mr, base);
}

/**
 * struct srnic_held - a region that stays held from one copy to the next, which need not look it up
 * @dev: of its regions
 * @mr: the region, or NULL. Bottom halves are off meanwhile
 * @stag: the STag that was looked up last; 0, which no region has, before
 * @slot: of @stag in srnic_dev.mrs, which takes longer to find out than to look there
 * @left: bytes that may be copied before it has to be dropped
 * @sum: what is copied is added to this CRC32C (core_host_crc32c()); NULL: to none. Set for the
 *	time of a copy
 *
 * Who has one calls srnic_held_drop() before it sleeps, invalidates a region, calls a consumer in
 * the kernel or does anything else that takes long.
 */
struct srnic_held {
	struct srnic_dev *dev;
	struct srnic_mr *mr;
	u32 stag, slot;
	u32 left;
	u32 *sum;
};

/* No region is held then. */
void srnic_held_drop(struct srnic_held *held);
/* Before other work that takes a while: drops it if it was held for long, or must go. */
void srnic_held_pause(struct srnic_held *held);

/*
 * Copies between regions and kernel memory, in pieces of at most 64 KiB. For each piece it checks
 * the STag, the PD, the access rights and the bounds (core) before it copies. The last region stays
 * held, for 64 KiB. Not with hard interrupts disabled. access: CORE_ACCESS_LOCAL_WRITE or
 * CORE_ACCESS_REMOTE_WRITE to write into a region; 0 or CORE_ACCESS_REMOTE_READ to read from one.
 * local_dma_lkey is accepted only if kernel is true. A length of 0 checks nothing.
 */
enum core_region_verdict srnic_region_write(struct srnic_held *held, u32 pd, bool kernel, u32 stag,
					    u32 access, u64 to, const void *src, u32 len);
enum core_region_verdict srnic_region_read(struct srnic_held *held, u32 pd, bool kernel, u32 stag,
					   u32 access, u64 to, void *dst, u32 len);
/*
 * An atomic operation on the eight bytes at `to`, by a peer, with CORE_ACCESS_REMOTE_ATOMIC:
 * CORE_REGION_ALIGNMENT if they are not aligned in memory. Not with hard interrupts disabled.
 */
enum core_region_verdict srnic_region_atomic(struct srnic_held *held, u32 pd, u32 stag, u64 to,
					     const struct core_atomic *op, u64 *original);
/* Only the check, for a whole transfer before it begins. */
enum core_region_verdict srnic_region_verify(struct srnic_held *held, u32 pd, bool kernel, u32 stag,
					     u32 access, u64 to, u64 len);
/* A snapshot for the core; false if no VALID region has this STag. */
bool srnic_region_snapshot(struct srnic_held *held, u32 stag, struct core_region *out);

/*
 * REG_MR and invalidation (kernel consumers). After srnic_mr_invalidate() has returned
 * CORE_REGION_OK no byte is placed under this STag. Not with hard interrupts disabled; spins while
 * another CPU finishes its copy. peer_qpn: 0 for the consumer itself; else the QP whose peer asks.
 * core_may_invalidate() decides.
 */
enum core_region_verdict srnic_mr_invalidate(struct srnic_dev *dev, u32 pd, u32 stag, u32 peer_qpn);
/* mr: of a request; the consumer may have deregistered the region since. */
int srnic_mr_register(struct srnic_dev *dev, struct srnic_mr *mr, u32 pd, u32 qpn, u32 key,
		      u32 access);

/* verbs */
struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				struct ib_udata *udata);
struct ib_mr *srnic_rereg_user_mr(struct ib_mr *mr, int flags, u64 start, u64 length, u64 iova,
				  int access, struct ib_pd *pd, struct ib_udata *udata);
struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int srnic_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset);
int srnic_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);

#endif
