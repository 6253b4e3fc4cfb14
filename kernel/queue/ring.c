// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of rings, and mapping it into user space.
 *
 * An exported ring's memory belongs to its mmap handle: srnic_ring_free() only removes the handle,
 * so an mmap in progress finishes on live memory. Page references of the mappings keep the pages
 * until the last munmap.
 *
 * Rings can be large and any user may create them, so they are charged to their creator's memory
 * control group.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/compat.h"
#include "queue/ring.h"

#define MAX_ENTRIES	(1U << 24)
#define SLOT_ALIGN	32

struct srnic_mmap_entry {
	struct rdma_user_mmap_entry base;
	void *memory;
};

int srnic_ring_alloc(struct srnic_ring *ring, u32 min_entries, u32 slot_size)
{
	BUILD_BUG_ON(sizeof(struct srnic_ring_hdr) != SRNIC_RING_SLOTS_OFFSET);
	slot_size = ALIGN(slot_size, SLOT_ALIGN);
	if (min_entries > MAX_ENTRIES || slot_size > U16_MAX)
		return -ENOMEM;
	ring->entries = roundup_pow_of_two(max(min_entries, 1U));
	ring->slot_size = slot_size;
	ring->size = PAGE_ALIGN(SRNIC_RING_SLOTS_OFFSET + (size_t)ring->entries * slot_size);
	ring->entry = NULL;
	ring->hdr = __vmalloc(ring->size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!ring->hdr)
		return -ENOMEM;
	ring->slots = ring->hdr + 1;
	ring->hdr->magic = SRNIC_RING_MAGIC;
	ring->hdr->version = SRNIC_RING_VERSION;
	ring->hdr->slot_size = slot_size;
	ring->hdr->entries = ring->entries;
	return 0;
}

int srnic_ring_export(struct srnic_ring *ring, struct ib_ucontext *context,
		      struct srnic_ring_map *where)
{
	struct srnic_mmap_entry *entry;
	int err;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->memory = ring->hdr;
	err = rdma_user_mmap_entry_insert(context, &entry->base, ring->size);
	if (err) {
		kfree(entry);
		return err;
	}
	ring->entry = entry;
	where->offset = rdma_user_mmap_get_offset(&entry->base);
	where->size = ring->size;
	return 0;
}

void srnic_ring_free(struct srnic_ring *ring)
{
	if (ring->entry)
		rdma_user_mmap_entry_remove(&ring->entry->base);
	else
		vfree(ring->hdr);
	ring->entry = NULL;
	ring->hdr = NULL;
	ring->slots = NULL;
}

static int map_pages(struct vm_area_struct *vma, void *memory)
{
	unsigned long at;
	int err = 0;

	srnic_compat_vm_flags(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	for (at = vma->vm_start; at < vma->vm_end && !err; at += PAGE_SIZE, memory += PAGE_SIZE)
		err = vm_insert_page(vma, at, vmalloc_to_page(memory));
	return err;
}

/*
 * The lookup checks that the mapping is shared and has exactly the ring's size and offset. Mappings
 * are never executable.
 */
int srnic_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EINVAL;
	entry = rdma_user_mmap_entry_get(context, vma);
	if (!entry)
		return -EINVAL;
	err = map_pages(vma, container_of(entry, struct srnic_mmap_entry, base)->memory);
	rdma_user_mmap_entry_put(entry);
	return err;
}

void srnic_mmap_free(struct rdma_user_mmap_entry *base)
{
	struct srnic_mmap_entry *entry = container_of(base, struct srnic_mmap_entry, base);

	vfree(entry->memory);
	kfree(entry);
}
