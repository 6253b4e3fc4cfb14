/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between the kernels that srnic builds for (6.5 and later). The rest of the driver is
 * written for 6.12; only this folder checks kernel versions.
 */
#ifndef SRNIC_COMPAT_H
#define SRNIC_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}

static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline struct page *ib_virt_dma_to_page(u64 dma_addr)
{
	return virt_to_page((void *)(uintptr_t)dma_addr);
}
#endif

/* A timer on CLOCK_MONOTONIC, relative. */
static inline void srnic_compat_hrtimer(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#else
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define srnic_compat_run_worker(...) kthread_create_worker(0, __VA_ARGS__)
#else
#define srnic_compat_run_worker(...) kthread_run_worker(0, __VA_ARGS__)
#endif

/*
 * GID 0. Since 6.6 rdma_cm finds an iWARP device by its interface, and the GID is ours to choose: a
 * link-local one whose lower half is never zero, as rdma-core's tests want. Before 6.6 rdma_cm
 * looks for the interface's hardware address.
 */
static inline void srnic_compat_gid(const struct ib_device *base, const struct net_device *netdev,
				    union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	gid->global.subnet_prefix = cpu_to_be64(0xfe80ULL << 48);
	gid->global.interface_id = base->node_guid;
#else
	memcpy(gid->raw, netdev->dev_addr, min_t(size_t, netdev->addr_len, sizeof(gid->raw)));
#endif
}

/*
 * Call between ib_alloc_device() and ib_register_device(). A new ib_device starts in the initial
 * namespace. If each device belongs to one namespace ("exclusive"), it must be the interface's
 * namespace; later kernels may do this themselves.
 */
static inline void srnic_compat_set_net(struct ib_device *base, struct net *net)
{
	if (!rdma_dev_access_netns(base, net))
		write_pnet(&base->coredev.rdma_net, net);
}

#endif
