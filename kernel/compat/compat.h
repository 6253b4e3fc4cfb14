/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between the kernels that srnic builds for: 6.1 and later. The rest of the driver is
 * written for the newest of them. Signatures are chosen by what the kernel's headers have
 * (SRNIC_HAS_*, made by the script probe), because distributions take interfaces of later kernels
 * into older ones: releases named here are those of kernel.org. What a kernel does, which no header
 * shows, is in behaviour.h. Names begin with srnic_compat, because stable kernels get functions of
 * later ones.
 */
#ifndef SRNIC_COMPAT_H
#define SRNIC_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/hrtimer.h>
#include <linux/if_vlan.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/workqueue.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "compat/behaviour.h"
#include "compat/found.h"

/* ---- memory ---- */

/*
 * Of a variable on the stack of a hot path: kernels that clear all variables
 * (CONFIG_INIT_STACK_ALL_ZERO) leave it alone. Compilers have it since gcc 12 and clang 8.
 */
#if __has_attribute(__uninitialized__)
#define SRNIC_COMPAT_UNINITIALIZED __attribute__((__uninitialized__))
#else
#define SRNIC_COMPAT_UNINITIALIZED
#endif

/* Since 6.3 vm_flags is read-only: its functions take the locks that changes need. */
static inline void srnic_compat_vm_flags(struct vm_area_struct *vma, unsigned long set,
					 unsigned long clear)
{
#ifdef SRNIC_HAS_VM_FLAGS_MOD
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* What a "DMA" address of a device without DMA points to. 6.3 has ib_virt_dma_to_ptr(). */
static inline void *srnic_compat_virt_dma(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

/* Since 6.2 the functions that take the buffer's lock have names of their own. */
static inline int srnic_compat_dmabuf_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
#ifdef SRNIC_HAS_DMABUF_UNLOCKED
	return dma_buf_vmap_unlocked(dmabuf, map);
#else
	return dma_buf_vmap(dmabuf, map);
#endif
}

static inline void srnic_compat_dmabuf_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
#ifdef SRNIC_HAS_DMABUF_UNLOCKED
	dma_buf_vunmap_unlocked(dmabuf, map);
#else
	dma_buf_vunmap(dmabuf, map);
#endif
}

/* Since 6.13 a namespace of exported symbols is a string. */
#ifdef SRNIC_HAS_STRING_NS
#define SRNIC_COMPAT_NS(name) MODULE_IMPORT_NS(#name)
#else
#define SRNIC_COMPAT_NS(name) MODULE_IMPORT_NS(name)
#endif

/* ---- timers and workers ---- */

/* A timer on CLOCK_MONOTONIC, relative. 6.13 sets up timer and function in one call. */
static inline void srnic_compat_hrtimer(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *))
{
#ifdef SRNIC_HAS_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#endif
}

/* Initializes a timer on the stack, for tests; end with destroy_hrtimer_on_stack(). */
static inline void srnic_compat_hrtimer_on_stack(struct hrtimer *timer,
						 enum hrtimer_restart (*function)(struct hrtimer *))
{
#ifdef SRNIC_HAS_HRTIMER_SETUP
	hrtimer_setup_on_stack(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init_on_stack(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#endif
}

/* Since 6.17 alloc_workqueue() has a flag for the kind that is its default; 7.2 warns without. */
#ifdef SRNIC_HAS_WQ_PERCPU
#define SRNIC_COMPAT_PERCPU WQ_PERCPU
#else
#define SRNIC_COMPAT_PERCPU 0
#endif

/* In 6.14 a worker that is created does not run yet, and another function also starts it. */
#ifdef SRNIC_HAS_RUN_WORKER
#define srnic_compat_run_worker(...) kthread_run_worker(0, __VA_ARGS__)
#else
#define srnic_compat_run_worker(...) kthread_create_worker(0, __VA_ARGS__)
#endif

/* ---- verbs ---- */

/* The last argument of create_cq is the provider's data alone before 6.11, then all attributes. */
#ifdef SRNIC_HAS_CQ_ATTRS
#define srnic_compat_cq_attrs uverbs_attr_bundle
#else
#define srnic_compat_cq_attrs ib_udata
#endif

/* Likewise that of reg_user_mr_dmabuf, since 6.12. */
#ifdef SRNIC_HAS_DMABUF_ATTRS
#define srnic_compat_dmabuf_attrs uverbs_attr_bundle
#else
#define srnic_compat_dmabuf_attrs ib_udata
#endif

/* NULL: a CQ of the kernel. */
static inline struct ib_udata *srnic_compat_cq_udata(struct srnic_compat_cq_attrs *attrs)
{
#ifdef SRNIC_HAS_CQ_ATTRS
	return attrs ? &attrs->driver_udata : NULL;
#else
	return attrs;
#endif
}

/* 7.2 renames the verb that resizes a user's CQ, and has its argument unsigned. */
#ifdef SRNIC_HAS_RESIZE_USER_CQ
#define srnic_compat_resize_cq resize_user_cq
#else
#define srnic_compat_resize_cq resize_cq
#endif
#ifdef SRNIC_HAS_RESIZE_UNSIGNED
#define srnic_compat_cqe unsigned int
#else
#define srnic_compat_cqe int
#endif

/* An initializer of struct ib_device_ops. A driver can add details of SRQs since 6.7. */
#ifdef SRNIC_HAS_FILL_RES_SRQ
#define SRNIC_COMPAT_FILL_RES_SRQ(...) .fill_res_srq_entry = __VA_ARGS__,
#else
#define SRNIC_COMPAT_FILL_RES_SRQ(...)
#endif

/* Since 6.2 the RDMA core knows Flush and Atomic Write: rights and capabilities for them. */
#ifdef SRNIC_HAS_FLUSH
#define SRNIC_COMPAT_FLUSH		true
#define SRNIC_COMPAT_ACCESS_FLUSH	IB_ACCESS_FLUSH_GLOBAL
#define SRNIC_COMPAT_CAN_FLUSH		(IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE)
#else
#define SRNIC_COMPAT_FLUSH		false
#define SRNIC_COMPAT_ACCESS_FLUSH	0
#define SRNIC_COMPAT_CAN_FLUSH		0
#endif

/* Pins user memory. 7.2 has several functions of the kind, this one by address. */
static inline struct ib_umem *srnic_compat_umem(struct ib_device *base, unsigned long start,
						size_t length, int access)
{
#ifdef SRNIC_HAS_UMEM_VA
	return ib_umem_get_va(base, start, length, access);
#else
	return ib_umem_get(base, start, length, access);
#endif
}

/*
 * GID 0. Since 6.6 rdma_cm finds an iWARP device by its interface, and the GID is ours to choose.
 * rdma-core's tests skip one whose lower half is zero; one that has both halves is an address of
 * InfiniBand (AF_IB) for libfabric, by which rdma_cm does not connect. Before 6.6 rdma_cm looks for
 * the interface's hardware address.
 */
static inline void srnic_compat_gid(const struct ib_device *base, const struct net_device *netdev,
				    union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
#ifdef SRNIC_COMPAT_CMA_BY_INTERFACE
	gid->global.interface_id = base->node_guid;
#else
	memcpy(gid->raw, netdev->dev_addr, min_t(size_t, netdev->addr_len, sizeof(gid->raw)));
#endif
}

/* Does rdma_cm find a device on netdev? Before 6.6 not if its hardware address is missing or 0. */
static inline bool srnic_compat_found(const struct net_device *netdev)
{
#ifdef SRNIC_COMPAT_CMA_BY_INTERFACE
	return true;
#else
	return memchr_inv(netdev->dev_addr, 0, netdev->addr_len);
#endif
}

/*
 * Does a device on netdev serve the addresses of owner, another interface, as rdma_cm has it
 * (cma_validate_port())? Since 6.6 if one is a VLAN on the other; before, if their hardware
 * addresses are the same.
 */
static inline bool srnic_compat_serves(const struct net_device *netdev,
				       const struct net_device *owner)
{
#ifdef SRNIC_COMPAT_CMA_BY_INTERFACE
	return (is_vlan_dev(owner) && vlan_dev_real_dev(owner) == netdev) ||
	       (is_vlan_dev(netdev) && vlan_dev_real_dev(netdev) == owner);
#else
	return owner->addr_len && owner->addr_len == netdev->addr_len &&
	       !memcmp(owner->dev_addr, netdev->dev_addr, owner->addr_len);
#endif
}

/* The interface has another hardware address: the RDMA core is to ask for GID 0 again. */
static inline void srnic_compat_gid_changed(struct ib_device *base)
{
#ifndef SRNIC_COMPAT_CMA_BY_INTERFACE
	struct ib_event event = {
		.device = base,
		.event = IB_EVENT_GID_CHANGE,
		.element.port_num = 1,
	};

	ib_dispatch_event(&event);
#endif
}

/*
 * The RDMA core removes all GIDs that are addresses of the interface, or made of its hardware
 * address; a port is RoCE. Before 6.12 it cannot, and the GIDs stay as long as the device.
 */
static inline void srnic_compat_forget_gids(struct ib_device *base, struct net_device *netdev)
{
#ifdef SRNIC_HAS_DEL_NETDEV_GIDS
	roce_del_all_netdev_gids(base, 1, netdev);
#endif
}

/*
 * Since 6.14 the RDMA core reports ports that go up and down, too, but not for bonds; its function
 * reports once what both find.
 */
static inline void srnic_compat_port_event(struct ib_device *base, struct net_device *netdev,
					   enum ib_event_type type)
{
#ifdef SRNIC_HAS_PORT_STATE_EVENT
	ib_dispatch_port_state_event(base, netdev);
#else
	ib_dispatch_event(&(struct ib_event){
		.device = base,
		.event = type,
		.element.port_num = 1,
	});
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
