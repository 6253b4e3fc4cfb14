/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rings (include/uapi/rdma/srnic-abi.h): the memory of a queue, shared with user space or private
 * to the kernel.
 */
#ifndef SRNIC_RING_H
#define SRNIC_RING_H

#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>

struct srnic_mmap_entry;

/**
 * struct srnic_ring - the kernel's view of one ring
 * @hdr: the shared header. Only prod, cons, burst and state are read back, each with one atomic
 *	access, and none is trusted
 * @slots: slot 0: behind @hdr, or in the ring that a resize has made (queue/resize.h)
 * @entries: the kernel's own copy; never read from @hdr
 * @slot_size: the kernel's own copy; never read from @hdr
 * @size: bytes of the whole mapping, page-aligned
 * @entry: the mmap handle of a user ring
 */
struct srnic_ring {
	struct srnic_ring_hdr *hdr;
	void *slots;
	u32 entries;
	u32 slot_size;
	size_t size;
	struct srnic_mmap_entry *entry;
};

static inline void *srnic_ring_slot(const struct srnic_ring *ring, u32 index)
{
	return (u8 *)ring->slots + (size_t)(index & (ring->entries - 1)) * ring->slot_size;
}

/*
 * Allocates at least min_entries slots (rounded up to a power of two), zeroed. May sleep. 0 or
 * -ENOMEM.
 */
int srnic_ring_alloc(struct srnic_ring *ring, u32 min_entries, u32 slot_size);
/* Lets the user context map the ring, at *where. 0 or -errno. */
int srnic_ring_export(struct srnic_ring *ring, struct ib_ucontext *context,
		      struct srnic_ring_map *where);
/*
 * Frees a ring; pages that a process still maps live until it unmaps them. May be called for a ring
 * that was not allocated.
 */
void srnic_ring_free(struct srnic_ring *ring);

/* The mmap verb, and the end of an mmap handle. */
int srnic_mmap(struct ib_ucontext *context, struct vm_area_struct *vma);
void srnic_mmap_free(struct rdma_user_mmap_entry *entry);

/* Writes a kernel consumer's list into a slot; the caller has checked that it fits. */
static inline void srnic_ring_fill_sges(struct srnic_sge *to, const struct ib_sge *from, int num)
{
	for (int i = 0; i < num; i++)
		to[i] = (struct srnic_sge) {
			.addr = from[i].addr,
			.length = from[i].length,
			.lkey = from[i].lkey,
		};
}

#endif
