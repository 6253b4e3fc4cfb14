/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Access to regions by STag: copying between a region and kernel memory, atomic operations, and the
 * checks before them.
 */
#ifndef SRNIC_ACCESS_H
#define SRNIC_ACCESS_H

#include <linux/bvec.h>
#include <linux/uio.h>

#include "memory/held.h"

/**
 * struct srnic_region_access - which bytes, and what the requester may do
 * @to: tagged offset of the first byte
 * @stag: the region's STag, or local_dma_lkey
 * @requester: the QP, and its protection domain; a local access needs no QP
 * @rights: CORE_ACCESS_* that the region must grant; 0: a local read
 * @kernel: a kernel consumer's own request, which may use local_dma_lkey
 */
struct srnic_region_access {
	u64 to;
	u32 stag;
	struct core_requester requester;
	u32 rights;
	bool kernel;
};

/*
 * Copies between regions and kernel memory, in pieces of at most 64 KiB. For each piece it checks
 * the STag, the PD, the access rights and the bounds (core) before it copies. The last region stays
 * held, for 64 KiB. Not with hard interrupts disabled. Rights: CORE_ACCESS_LOCAL_WRITE or
 * CORE_ACCESS_REMOTE_WRITE to write into a region; 0 or CORE_ACCESS_REMOTE_READ to read from one. A
 * length of 0 checks nothing.
 */
enum core_region_verdict srnic_region_write(struct srnic_held *held,
					    const struct srnic_region_access *access,
					    const void *src, u32 len);
enum core_region_verdict srnic_region_read(struct srnic_held *held,
					   const struct srnic_region_access *access,
					   void *dst, u32 len);
/*
 * srnic_region_write() of bytes that lie in several runs of memory, @len together: with one check
 * if they are at most 64 KiB.
 */
enum core_region_verdict srnic_region_write_runs(struct srnic_held *held,
						 const struct srnic_region_access *access,
						 const struct kvec *run, u32 num, u32 len);
/*
 * Where the first of @len bytes at the access are, checked as for a read: in at most @most pages,
 * which the caller refers to before it drops the region. The number of pages; 0 if nobody may read
 * them, which a copy then reports, or if the first is in no page that one can refer to. len is not
 * 0. Not with hard interrupts disabled.
 */
u32 srnic_region_locate(struct srnic_held *held, const struct srnic_region_access *access, u32 len,
			struct bio_vec *out, u32 most);
/*
 * An atomic operation of a peer on the eight bytes at @to; rights: CORE_ACCESS_REMOTE_ATOMIC.
 * CORE_REGION_ALIGNMENT if they are not aligned in memory. Not with hard interrupts disabled.
 */
enum core_region_verdict srnic_region_atomic(struct srnic_held *held,
					     const struct srnic_region_access *access,
					     const struct core_atomic *op, u64 *original);
/*
 * Stores the eight bytes at @to at once; rights: CORE_ACCESS_REMOTE_WRITE. The rest as
 * srnic_region_atomic().
 */
enum core_region_verdict srnic_region_atomic_write(struct srnic_held *held,
						   const struct srnic_region_access *access,
						   const u8 data[8]);
/* Only the check, for a whole transfer before it begins. */
enum core_region_verdict srnic_region_verify(struct srnic_held *held,
					     const struct srnic_region_access *access, u64 len);
/* A snapshot for the core; false if no VALID region has this STag. */
bool srnic_region_snapshot(struct srnic_held *held, u32 stag, struct core_region *out);

#endif
