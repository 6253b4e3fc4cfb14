/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A queue pair as an object: what it is made of, references and lookup. Its halves are described in
 * transmit/tx.h and receive/rx.h.
 */
#ifndef SRNIC_QP_H
#define SRNIC_QP_H

#include <linux/net.h>
#include <rdma/ib_verbs.h>

#include "report/counters.h"
#include "memory/sge.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "srnic.h"
#include "stream/reads.h"
#include "stream/receive/rx.h"
#include "stream/sock_callbacks.h"
#include "stream/transmit/tx.h"

struct srnic_acks;
struct srnic_datagrams;
struct srnic_qp_owner;
struct srnic_shortcut;

/* Of more the RDMA core would allocate 4,096. So without the kernel's debugging it has no more. */
#define SRNIC_QP_BYTES	2048

/**
 * struct srnic_qp - a queue pair, of at most SRNIC_QP_BYTES
 * @base: the core's part; its qp_num is the index in srnic_dev.qps
 * @dev: its device
 * @pd: number of its protection domain
 * @users: references of the verbs object, iw_cm, the connection, the batch, lookups and a CQ's
 *	overrun; destroy_qp waits until it is 0
 * @state: enum srnic_qp_state. Only a reset moves it back, and with @acks the end of a stream.
 *	Written under @state_lock
 * @state_lock: irqsave spinlock; protects @state, @owner, @end. Innermost
 * @end: why the last connection ended: srnic_end_of() and srnic_end_detail()
 * @access_flags: for query_qp only: a peer's rights depend on the STag
 * @owner: the connection, or NULL; referenced. See struct srnic_qp_owner for its rules
 * @sock: the socket while connected; changes under tx.mutex and with the callbacks off
 * @cap: capacities granted at creation
 * @ib_state: the state that modify_qp asked for last, for query_qp while IDLE; INIT at first
 * @ack_timeout: what the consumer gave rdma_cm or modify_qp; 0: nothing. With @retry_cnt it sets
 *	the time after which a peer counts as gone (srnic_qp_watch_peer())
 * @retry_cnt: the retries that the consumer asked for; 7 by default
 * @event_raised: this connection has raised its async event
 * @user: user space posts and polls; else a kernel consumer
 * @silent: its user is destroying it, or it is of type srnic_ib and being reset: no more
 *	completions, nor LAST_WQE_REACHED, for a CQ that others may need all of
 * @markers: the peer of this connection sends markers
 * @shortcut_used: bytes of this connection went to the peer without TCP (transmit/shortcut.h)
 * @shortcut: what finds the peer for that, or NULL; under tx.mutex
 * @datagrams: of a QP of type UD, which has no stream: srnic_datagrams_of()
 * @acks: the acknowledgements, or NULL: requests complete when they are sent (stream/acks.h)
 * @sq: the send queue; the holder of tx.mutex is its engine
 * @rq: the receive queue
 * @stats: the counts that it adds to: dev->stats, or the counter that it is bound to
 *	(device/counter.c). Read with preemption off
 * @payer: memory control group of the user that created it, charged for reads and batches, and
 *	distinguishing tenants (kick/asker.h); or NULL
 * @tx: the transmit half
 * @rx: the receive half
 * @own_callbacks: those that the socket had before, restored by srnic_qp_stop()
 * @sends: this QP as a user of its send CQ
 * @receives: this QP as a user of its receive CQ
 * @inbound: reads of the peer, and atomic operations, which are done: what is to be answered
 *	(reads.h). Its most are the IRD
 * @outbound: reads and atomic operations issued here. The engine awaits it while the head of the
 *	send queue waits for a read to complete (ORD, fence); the receive half then kicks the
 *	engine. Its most are the ORD
 */
struct srnic_qp {
	struct ib_qp base;
	struct srnic_dev *dev;
	u32 pd;
	refcount_t users;
	spinlock_t state_lock;
	u32 state;
	u32 end;
	u32 access_flags;
	struct srnic_qp_owner *owner;
	struct socket *sock;
	struct ib_qp_cap cap;
	u8 ib_state;
	u8 ack_timeout, retry_cnt;
	bool event_raised;
	bool user;
	bool silent;
	bool markers;
	bool shortcut_used;
	union {
		struct srnic_shortcut *shortcut;
		struct srnic_datagrams *datagrams;
	};
	struct srnic_acks *acks;
	struct srnic_stats __percpu *stats;
	struct mem_cgroup *payer;

	struct srnic_sq sq;
	struct srnic_rq rq;
	struct srnic_cq_user sends, receives;

	struct srnic_reads inbound, outbound;

	struct srnic_tx tx;
	struct srnic_rx_half rx;

	struct srnic_sock_callbacks own_callbacks;
};

static inline struct srnic_qp *to_srnic_qp(struct ib_qp *base)
{
	return container_of(base, struct srnic_qp, base);
}

/* Counts what this QP did. Any context. */
static inline void srnic_qp_count(struct srnic_qp *qp, enum srnic_counter counter, u64 n)
{
	preempt_disable();	/* srnic_counter_dealloc() waits for this */
	this_cpu_add(READ_ONCE(qp->stats)->count[counter], n);
	preempt_enable();
}

/* A number that changes when bytes of this connection go out or come in. Any context. */
static inline u32 srnic_qp_bytes(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->tx.bytes) + READ_ONCE(qp->rx.bytes);
}

/* For what this QP, or its peer, does with regions and windows. */
static inline struct core_requester srnic_qp_requester(const struct srnic_qp *qp)
{
	return (struct core_requester) { .pd = qp->pd, .qpn = qp->base.qp_num };
}

/* peer: the QP's peer asks to invalidate the STag; else its consumer does. */
static inline struct core_revoker srnic_qp_revoker(const struct srnic_qp *qp, u32 stag, bool peer)
{
	return (struct core_revoker) {
		.stag = stag, .pd = qp->pd, .qpn = qp->base.qp_num, .peer = peer,
	};
}

/* A list of local memory, as this QP's work requests may name it. held: of the half that copies. */
static inline struct srnic_sge_list srnic_qp_list(const struct srnic_qp *qp,
						  struct srnic_held *held,
						  const struct srnic_sge *sge, u32 num)
{
	return (struct srnic_sge_list) {
		.held = held,
		.sge = sge,
		.num = num,
		.pd = qp->pd,
		.kernel = !qp->user,
	};
}

/* ---- qp.c ---- */

/* Lookup by number with a reference; NULL if there is none. Process context. */
struct srnic_qp *srnic_qp_find(struct srnic_dev *dev, u32 qpn);
void srnic_qp_hold(struct srnic_qp *qp);
void srnic_qp_put(struct srnic_qp *qp);
/* Returns when the last reference is gone. Sleeps. */
void srnic_qp_wait_for_references(struct srnic_qp *qp);
/*
 * Zeroed memory for kfree(), or NULL; charged to the QP's creator if gfp says so. Process context.
 */
void *srnic_qp_zalloc(const struct srnic_qp *qp, size_t size, gfp_t gfp);

/* References of iw_cm. */
void srnic_iw_add_ref(struct ib_qp *qp);
void srnic_iw_rem_ref(struct ib_qp *qp);
struct ib_qp *srnic_iw_get_qp(struct ib_device *dev, int qpn);

#endif
