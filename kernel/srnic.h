/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The device, one ib_device on top of one net_device, and declarations that all files share.
 */
#ifndef SRNIC_H
#define SRNIC_H

#include <linux/netdevice.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "place.h"
#include "port_map.h"
#include "settings.h"
#include "core/api/core.h"

/* Device limits, as query_device reports them. Limits of the ring formats are in srnic-abi.h. */
#define SRNIC_MAX_QP		65536
#define SRNIC_MAX_QP_WR		16384
#define SRNIC_MAX_CQ		65536
#define SRNIC_MAX_CQE		(1 << 20)
#define SRNIC_MAX_MR		(1 << 20)
#define SRNIC_MAX_MW		(1 << 20)
#define SRNIC_MAX_PD		65536
#define SRNIC_MAX_AH		65536
#define SRNIC_MAX_GROUPS	256	/* multicast */
#define SRNIC_MAX_GROUP_QPS	64	/* in one of them */
#define SRNIC_MAX_SRQ		65536
#define SRNIC_MAX_SRQ_WR	16384
#define SRNIC_MAX_IRD		128
#define SRNIC_MAX_ORD		128
#define SRNIC_MAX_FAST_REG	1024	/* pages */
#define SRNIC_MAX_MR_SIZE	(1ULL << 39)

struct srnic_datagram_socket;
struct srnic_listener_member;
struct srnic_stats;

/**
 * struct srnic_dev_connections - the connections of a device (connection/connections.c)
 * @lock: irqsave; protects @eps, @num, @refused, @leaving, @open, @dying. Innermost
 * @eps: eps that have not ended yet; an ep leaves the list before it drops its own reference
 * @num: eps not freed yet
 * @refused: eps that linger before they have reached full operation: rejected, or rejecting
 * @leaving: eps that send what a QP has left, or wait for the peer to close afterwards
 * @open: all clients have the device: rdma_cm is neither adding nor removing it
 * @dying: new connections are refused
 * @idle: woken when @num becomes 0
 * @announced: incoming connections that the consumer may still accept or reject, by the number that
 *	iw_cm keeps as provider_data
 * @next_announced: where the search for a free number starts
 * @ports: sysfs port_map: which TCP ports carry which RDMA ports
 */
struct srnic_dev_connections {
	spinlock_t lock;
	struct list_head eps;
	u32 num;
	u32 refused;
	u32 leaving;
	bool open;
	bool dying;
	wait_queue_head_t idle;
	struct xarray announced;
	u32 next_announced;
	struct srnic_port_map ports;
};

/**
 * struct srnic_dev_gids - the GIDs of a device of type srnic_ib (device/gids.c)
 * @rescan: work; while it is queued it has a reference to the device
 * @stale: an address has left, and its GID may not
 */
struct srnic_dev_gids {
	struct work_struct rescan;
	bool stale;
};

/**
 * struct srnic_dev_listening - a device of type srnic_ib on the port of these devices
 *	(pairing/port.c). Under srnic_listeners_lock
 * @members: of the listening sockets for IPv4 and IPv6; NULL: it does not listen there
 * @place: where it listens
 */
struct srnic_dev_listening {
	struct srnic_listener_member *members[2];
	struct srnic_place place;
};

/**
 * struct srnic_dev_datagrams - a device of type srnic_ib and the UDP port of these devices
 * @lock: protects @sockets. Held for reading while a datagram is sent, which may sleep
 * @sockets: for IPv4 and IPv6; NULL: none. Changes need the lock of datagram/port.c as well
 * @place: where it has them; under that lock
 * @groups: struct srnic_group; under that lock
 * @num_groups: of them, at most SRNIC_MAX_GROUPS
 * @ahs: struct srnic_ah by number: users' from 1 to SRNIC_MAX_AH, and as many of the kernel behind.
 *	Its lock, with interrupts off, keeps an address handle while it is used: destroy_ah erases
 *	the entry under it. Innermost
 * @next_ah: where the search for a user's free number starts
 * @next_kernel_ah: likewise of the kernel
 */
struct srnic_dev_datagrams {
	struct rw_semaphore lock;
	struct srnic_datagram_socket *sockets[2];
	struct srnic_place place;
	struct list_head groups;
	u32 num_groups;
	struct xarray ahs;
	u32 next_ah;
	u32 next_kernel_ah;
};

/**
 * struct srnic_dev - one RDMA device
 * @base: the core's part; allocated by ib_alloc_device, freed by the core after dealloc_driver
 * @netdev: the interface below; the device holds a reference until dealloc_driver
 * @netdev_tracker: tracks that reference
 * @qps: struct ib_qp by number. An entry is erased, under the xarray's lock, before its QP is
 *	freed: to use more than the address, take a reference under that lock (srnic_qp_find())
 * @num_qps: number of QPs but QP 1, at most SRNIC_MAX_QP
 * @mrs: regions and windows by dense index (24 bits). An entry is erased before it is freed;
 *	readers use RCU
 * @next_qpn: where the search for a free QP number starts
 * @next_mr: where the search for a free index starts
 * @num_mrs: number of regions, at most SRNIC_MAX_MR
 * @num_mws: number of windows, at most SRNIC_MAX_MW
 * @stag_key: key of the STag permutation, random per device
 * @stats: counters, per CPU (report/counters.h)
 * @counters: struct srnic_stats __percpu of `rdma statistic qp`, by the counter's id (counter.c)
 * @counters_lock: see counter.c
 * @former: what such counters that are gone had counted; under @counters_lock
 * @standby: thread of the engines that stand by (stream/kick/standby.c)
 * @patience: ns that this thread may take; only tests change it
 * @pd_ids: numbers of PDs; a QP may use a region if both have the same
 * @cq_ids: numbers of CQs, as rdma-resource and user space see them
 * @srq_ids: numbers of SRQs, as rdma-resource and user space see them
 * @framings: bits by enum core_framing; read by connection setup. Type srnic: sysfs framing
 * @settings: the other settings but the port map. A device that does not have one has zero
 * @index: small number, unique among the module's devices
 * @ib: type srnic_ib: Documentation/ib.rst; never changes
 * @port_event: the last event of its port, enum ib_event_type; 0: none. Under rtnl
 * @gids: type srnic_ib: its GIDs
 * @listening: type srnic_ib: where it listens
 * @datagrams: type srnic_ib: its datagrams
 * @connections: its connections
 */
struct srnic_dev {
	struct ib_device base;
	struct net_device *netdev;
	netdevice_tracker netdev_tracker;
	struct xarray qps;
	atomic_t num_qps;
	struct xarray mrs;
	atomic_t num_mrs;
	atomic_t num_mws;
	u32 next_qpn;
	u32 next_mr;
	u64 stag_key[2];
	struct srnic_stats __percpu *stats;
	struct xarray counters;
	struct mutex counters_lock;
	struct srnic_stats *former;
	struct kthread_worker *standby;
	u32 patience;
	struct ida pd_ids;
	struct ida cq_ids;
	struct ida srq_ids;
	u32 framings;
	struct srnic_settings settings;
	int index;
	bool ib;
	int port_event;
	struct srnic_dev_gids gids;
	struct srnic_dev_listening listening;
	struct srnic_dev_datagrams datagrams;
	struct srnic_dev_connections connections;
};

static inline struct srnic_dev *to_srnic_dev(struct ib_device *base)
{
	return container_of(base, struct srnic_dev, base);
}

/* The type of link, as `rdma link add` has it. */
static inline const char *srnic_type(const struct srnic_dev *dev)
{
	return dev->ib ? "srnic_ib" : "srnic";
}

/* May connections be framed so? Connects use core_framing_to_connect(). */
static inline bool srnic_framing_allowed(const struct srnic_dev *dev, enum core_framing framing)
{
	return READ_ONCE(dev->framings) & BIT(framing);
}

static inline enum ib_atomic_cap srnic_atomic_cap(const struct srnic_dev *dev)
{
	return core_framings_have_atomics(READ_ONCE(dev->framings)) ? IB_ATOMIC_GLOB :
								      IB_ATOMIC_NONE;
}

struct srnic_pd {
	struct ib_pd base;
	u32 id;			/* compared with core_region.pd */
};

static inline struct srnic_pd *to_srnic_pd(struct ib_pd *base)
{
	return container_of(base, struct srnic_pd, base);
}

/**
 * struct srnic_ah - an address handle (datagram/ah.c)
 * @base: the core's part, which keeps the GID's entry
 * @number: names it in requests; never 0
 * @attr: what it was made of; its GID's entry is that of @base
 */
struct srnic_ah {
	struct ib_ah base;
	u32 number;
	struct rdma_ah_attr attr;
};

static inline struct srnic_ah *to_srnic_ah(struct ib_ah *base)
{
	return container_of(base, struct srnic_ah, base);
}

struct srnic_ucontext {
	struct ib_ucontext base;
};

static inline struct srnic_ucontext *to_srnic_ucontext(struct ib_ucontext *base)
{
	return container_of(base, struct srnic_ucontext, base);
}

/*
 * No entry is left. xa_empty() is stricter: a failed allocation may leave empty nodes, which
 * xa_destroy() frees.
 */
static inline bool srnic_xa_vacant(struct xarray *xa)
{
	unsigned long index = 0;

	return !xa_find(xa, &index, ULONG_MAX, XA_PRESENT);
}

/*
 * Runs transmit passes, connection events and other work that cannot run in the caller's context.
 * Lives as long as the module.
 */
extern struct workqueue_struct *srnic_wq;

#endif
