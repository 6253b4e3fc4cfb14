/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A memory region as an object, or a memory window, which is one more kind of entry in the table of
 * regions (memory/window.c).
 */
#ifndef SRNIC_MR_H
#define SRNIC_MR_H

#include <linux/iosys-map.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>

#include "srnic.h"

enum srnic_mr_state {
	SRNIC_MR_INVALID,	/* grants nothing: before REG_MR or after invalidation */
	SRNIC_MR_VALID,
};

/**
 * struct srnic_mr - a region. What it grants changes only while it is INVALID with no holder: @pd,
 * @access, @qpn, @iova, @length and what describes the memory
 * @base: the core's part; lkey and rkey are equal: the STag
 * @umem: a user's pinned memory; NULL for kernel consumers
 * @dmabuf: another driver's memory, instead of @umem
 * @dmabuf_map: where it is mapped
 * @release: gives back what else it has when it is freed, and may sleep; NULL: nothing
 * @index: its dense slot in srnic_dev.mrs
 * @users: holders (srnic_mr_hold) plus one for the verbs object. A holder keeps bottom halves off,
 *	so it never sleeps, no softirq of its CPU interrupts it, and it sees a new @state soon
 * @freed: completed when @users reaches 0; dereg waits for it
 * @state: enum srnic_mr_state; becomes VALID with a release, so that fields below are stable while
 *	VALID
 * @pd: number of its protection domain
 * @access: the IB_ACCESS_* granted
 * @stag: its current STag; changes only while INVALID, before the wait for holders
 * @qpn: the QP that registered it (fast registration), or bound it (a window of type 2)
 * @dma: all of kernel memory: TOs are kernel virtual addresses, @pieces is unused
 * @zero_based: TOs begin at 0, also when other memory is registered again
 * @fast_reg: made by alloc_mr: REG_MR and LOCAL_INV apply
 * @window: enum ib_mw_type of a window; 0: a region. Set before it is in the table
 * @bindable: a region: the number of windows that are bound to it; -1: none may be
 * @binding: a window: held while it is bound, unbound or invalidated, BHs off. Never taken by a
 *	holder
 * @bound_to: a window: the region that it counts in; its @pieces are the region's. Under @binding
 * @iova: first valid TO
 * @length: bytes granted
 * @offset: offset of @iova in the first piece
 * @piece_shift: a piece has 1 << @piece_shift bytes
 * @num_pieces: how many of @pieces are in use
 * @max_pieces: the room of a fast-registration region
 * @pieces: addresses of the memory, in pieces of equal size, or of those in @ends
 * @ends: of a region with gaps (IB_MR_TYPE_SG_GAPS): how many bytes there are up to the end of each
 *	piece, which is of any size; NULL: @piece_shift is the size of all
 * @rcu: frees it after concurrent lookups
 */
struct srnic_mr {
	struct ib_mr base;
	struct ib_umem *umem;
	struct dma_buf *dmabuf;
	struct iosys_map dmabuf_map;
	void (*release)(struct srnic_mr *mr);
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
	u8 window;
	atomic_t bindable;
	spinlock_t binding;
	struct srnic_mr *bound_to;
	u64 iova;
	u64 length;
	u32 offset;
	u32 piece_shift;
	u32 num_pieces;
	u32 max_pieces;
	void **pieces;
	u64 *ends;
	struct rcu_head rcu;
};

static inline struct srnic_mr *to_srnic_mr(struct ib_mr *base)
{
	return container_of(base, struct srnic_mr, base);
}

#endif
