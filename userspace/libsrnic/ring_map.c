// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Maps the rings that the kernel has made for a queue, at first or for another size. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "provider.h"

void srnic_unmap_ring(struct srnic_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->mapped);
}

int srnic_map_ring(struct ibv_context *ctx, const struct srnic_ring_map *where,
		   uint32_t smallest_slot, struct srnic_ring *ring)
{
	struct verbs_context *vctx = container_of(ctx, struct verbs_context, context);
	void *map;

	if (!where->size)
		return 0;
	map = mmap(NULL, where->size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
		   where->offset);
	if (map == MAP_FAILED) {
		verbs_err(vctx, "mapping a ring of %llu octets at %#llx failed: errno %d\n",
			  where->size, where->offset, errno);
		return errno;
	}
	if (!srnic_ring_open(ring, map, where->size, smallest_slot)) {
		verbs_err(vctx,
			  "the kernel's ring has a layout that this provider does not know\n");
		munmap(map, where->size);
		return EPROTO;
	}
	madvise(map, where->size, MADV_DONTFORK);
	return 0;
}

static pthread_mutex_t resizing = PTHREAD_MUTEX_INITIALIZER;

int srnic_resize_begin(struct ibv_context *ctx)
{
	if (!(to_context(ctx)->features & SRNIC_FEATURE_RESIZE))
		return EOPNOTSUPP;
	pthread_mutex_lock(&resizing);
	return 0;
}

/* The kernel has written its place to the header of the queue's first ring. */
int srnic_map_next(struct ibv_context *ctx, const struct srnic_ring *of, uint32_t smallest_slot,
		   struct srnic_ring *next)
{
	int err = srnic_map_ring(ctx, &of->hdr->next, smallest_slot, next);

	return err || next->hdr ? err : EPROTO;
}

void srnic_resize_end(struct srnic_ring *unused)
{
	srnic_unmap_ring(unused);
	pthread_mutex_unlock(&resizing);
}
