/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queue pairs: the object, its life, and the interfaces between its parts: transmit (engine.c,
 * run.c), receive (rx.c) and the connection (attach.c).
 */
#ifndef SRNIC_QP_H
#define SRNIC_QP_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <rdma/ib_verbs.h>

#include "device/stats.h"
#include "memory/sge.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "srnic.h"
#include "stream/batch.h"
#include "stream/reads.h"
#include "stream/standby.h"

struct srnic_qp_owner;
struct srnic_qp_start;
struct srnic_shortcut;

/*
 * IDLE		no connection yet; receives may be posted
 * RTS		connected
 * TERMINATING	this end found an error: the engine still has a Terminate to send, or to reset
 * ERROR	the stream is over; requests are flushed
 */
enum srnic_qp_state {
	SRNIC_QP_IDLE,
	SRNIC_QP_RTS,
	SRNIC_QP_TERMINATING,
	SRNIC_QP_ERROR,
};

/*
 * Why a connection ended. An error replaces a close; otherwise the first reason counts.
 *
 * NEVER		there has been no connection: nothing replaces this but the move to RTS
 * NONE			it has not ended
 * CLOSED		gracefully, by this end's consumer
 * PEER_CLOSED		by the peer
 * ABORTED		modify_qp(ERROR or RESET), or the device is going away
 * TCP			TCP failed; detail: errno, or 0
 * ERROR		this end found an error; detail: core_terminate_code() of what it is
 * TERMINATE		the peer sent a Terminate; detail: its core_terminate_code()
 * CHECK		a segment failed a check; detail: enum core_rdmatcp_fault
 */
enum srnic_end {
	SRNIC_END_NEVER,
	SRNIC_END_NONE,
	SRNIC_END_CLOSED,
	SRNIC_END_PEER_CLOSED,
	SRNIC_END_ABORTED,
	SRNIC_END_TCP,
	SRNIC_END_ERROR,
	SRNIC_END_TERMINATE,
	SRNIC_END_CHECK,
};

/**
 * struct srnic_tx - the transmit engine of a QP
 * @mutex: its holder is the engine, and owns everything here without another rule and the consumer
 *	side of the send queue. Taken in process context only; the socket lock nests inside
 * @work: runs the engine if the caller may not
 * @standby: has @work's part done by a thread that can wait (standby.h)
 * @again: there may be work that the running engine has not seen; atomic
 * @validated: the peer has sent a valid FPDU (RFC 5044 7.1.2 rule 4); set by the receive half
 * @where: who runs the engine: SRNIC_TX_PASSES_DOORBELL, _WORKER, _THREAD or _ASKER
 * @spent: what its caller has sent, in bytes and FPDU_COST
 * @term_pending: @term is to be sent
 * @last_wqe: LAST_WQE_REACHED was raised for this connection
 * @built: send queue index up to which all bytes are in the batch or sent; those requests complete
 *	once the batch is empty
 * @completed: send queue index up to which requests were completed as sent
 * @term: the Terminate to send; written under state_lock, before state becomes TERMINATING
 * @starved: times in a row that TCP lacked memory, up to 2
 * @term_deadline: jiffies after which an unsent Terminate is dropped
 * @rest: jiffies before which TCP is not asked again if @starved is 2
 * @octets: bytes of this connection given to TCP, or to the peer
 * @batch: bytes built and not yet given away; &srnic_no_batch while idle
 * @core: the send scheduler's state
 * @held: a region that payload is read from; only while fill_batch() runs
 * @cursor: in the list of @wqe
 * @wqe: copy of the slot of the request that was taken last, or may be taken next
 */
struct srnic_tx {
	struct mutex mutex;
	struct delayed_work work;
	struct srnic_standby standby;
	unsigned long again;
	bool validated;
	bool term_pending;
	bool last_wqe;
	enum srnic_counter where;
	u32 spent;
	u32 built;
	u32 completed;
	struct core_terminate term;
	u8 starved;
	unsigned long term_deadline;
	unsigned long rest;
	u64 octets;
	struct srnic_batch *batch;

	struct core_tx core;
	struct srnic_held held;
	struct srnic_sge_cursor cursor;
	struct srnic_send_wqe *wqe;
};

/**
 * struct srnic_rx_half - the receive half of a QP
 *
 * Accessed only with the socket's lock held (sk_data_ready, lock_sock, or by the other end's
 * engine). After @core was stopped under that lock only the engine changes anything: it flushes
 * @receive and clears @refusal.
 *
 * @core: the protocol state of the received stream
 * @receive: the receive request in progress
 * @cursor: in the list of @receive
 * @refusal: the request that the peer's Terminate refuses
 * @held: a region that payload is placed in; only while bytes are consumed
 * @octets: bytes of this connection taken from TCP, or from the peer
 */
struct srnic_rx_half {
	struct core_rx core;
	struct srnic_receive receive;
	struct srnic_sge_cursor cursor;
	struct core_refusal refusal;
	struct srnic_held held;
	u64 octets;
};

/**
 * struct srnic_qp - a queue pair. Of more than 2,048 octets the RDMA core would allocate 4,096:
 * without debugging it has 2,048 on x86-64 in Linux 7.2, and less before
 * @base: the core's part; its qp_num is the index in srnic_dev.qps
 * @dev: its device
 * @pd: number of its protection domain
 * @users: references of the verbs object, iw_cm, the connection, the batch, lookups and a CQ's
 *	overrun; destroy_qp waits until it is 0
 * @state: enum srnic_qp_state. Only a reset moves it back. Written under @state_lock
 * @state_lock: irqsave spinlock; protects @state, @owner, @end. Innermost
 * @end: why the last connection ended: srnic_end_of() and srnic_end_detail()
 * @access_flags: for query_qp only: a peer's rights depend on the STag
 * @owner: the connection, or NULL; referenced. See struct srnic_qp_owner for its rules
 * @sock: the socket while connected; changes under tx.mutex and with the callbacks off
 * @cap: capacities granted at creation
 * @ib_state: the state that modify_qp asked for last, for query_qp while IDLE; INIT at first
 * @ack_timeout: what the consumer told rdma_cm or modify_qp; 0: nothing. With @retry_cnt it sets
 *	the time after which a peer counts as gone (srnic_qp_watch_peer())
 * @retry_cnt: the retries that the consumer asked for; 7 by default
 * @event_raised: this connection has raised its async event
 * @user: user space posts and polls; else a kernel consumer
 * @silent: the user is destroying it: no more completions, nor LAST_WQE_REACHED, for a CQ that
 *	others may need all of
 * @markers: the peer of this connection sends markers
 * @shortcut_used: bytes of this connection went to the peer without TCP (shortcut.h)
 * @shortcut: what finds the peer for that, or NULL; under tx.mutex
 * @sq: the send queue; the holder of tx.mutex is its engine
 * @rq: the receive queue
 * @stats: where it counts: dev->stats, or the counter that it is bound to (device/counter.c). Read
 *	with preemption off
 * @payer: memory control group of the user who created it, charged for reads and batches, and
 *	distinguishing tenants (asker.h); or NULL
 * @tx: the transmit half
 * @rx: the receive half
 * @old_data_ready: the socket's own callback, restored by srnic_qp_stop()
 * @old_state_change: likewise
 * @old_write_space: likewise
 * @old_error_report: likewise
 * @sends: this QP as a user of its send CQ
 * @receives: this QP as a user of its receive CQ
 * @ird: most outstanding reads of the peer
 * @ord: most outstanding reads of this end
 * @inbound: reads of the peer, and atomic operations, which are done: what is to be answered
 *	(reads.h)
 * @outbound: reads and atomic operations issued here. The engine awaits it while the head of the
 *	send queue waits for a read to complete (ORD, fence); the receive half then kicks the engine
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
	struct srnic_shortcut *shortcut;

	struct srnic_sq sq;
	struct srnic_rq rq;
	struct srnic_cq_user sends, receives;

	u32 ird, ord;
	struct srnic_reads inbound, outbound;
	struct srnic_stats __percpu *stats;
	struct mem_cgroup *payer;

	struct srnic_tx tx;
	struct srnic_rx_half rx;

	/* the socket's own callbacks, restored by srnic_qp_stop() */
	void (*old_data_ready)(struct sock *sk);
	void (*old_state_change)(struct sock *sk);
	void (*old_write_space)(struct sock *sk);
	void (*old_error_report)(struct sock *sk);
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
static inline u32 srnic_qp_octets(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->tx.octets) + READ_ONCE(qp->rx.octets);
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

/* srnic_qp.end and its parts: one word, so that they are read together. */
static inline u32 srnic_end_word(enum srnic_end end, u16 detail)
{
	return (u32)end << 16 | detail;
}

static inline enum srnic_end srnic_end_of(u32 end)
{
	return end >> 16;
}

static inline u16 srnic_end_detail(u32 end)
{
	return end;
}

/* ---- qp.c: the object ---- */

/* Lookup by number with a reference; NULL if there is none. Process context. */
struct srnic_qp *srnic_qp_find(struct srnic_dev *dev, u32 qpn);
void srnic_qp_hold(struct srnic_qp *qp);
void srnic_qp_put(struct srnic_qp *qp);
/*
 * Zeroed memory for kfree(), or NULL; charged to who created the QP if gfp says so. Process
 * context.
 */
void *srnic_qp_zalloc(const struct srnic_qp *qp, size_t size, gfp_t gfp);

/*
 * Moves to another state; false if the current state is not in the mask `from`. term: for
 * TERMINATING. Any context.
 */
bool srnic_qp_move(struct srnic_qp *qp, u32 from, enum srnic_qp_state to,
		   const struct core_terminate *term);
#define SRNIC_QP_ANY_BUT(state) (~(1U << (state)))
/* Records why the connection ends, by the rule at enum srnic_end. Any context. */
void srnic_qp_note_end(struct srnic_qp *qp, enum srnic_end end, u16 detail);
/* The same with state_lock held. */
void srnic_qp_note_end_locked(struct srnic_qp *qp, enum srnic_end end, u16 detail);
/* Moves to ERROR without a Terminate and lets the engine flush. Any context. */
void srnic_qp_fail(struct srnic_qp *qp);
/* Moves to TERMINATING with this Terminate; does nothing unless the QP is RTS. Any context. */
void srnic_qp_terminate(struct srnic_qp *qp, const struct core_terminate *term);
/* The same for an error that the core did not find. */
void srnic_qp_host_error(struct srnic_qp *qp, enum core_host_error what);
/* Raises an async event, once per connection. Any context. */
void srnic_qp_event(struct srnic_qp *qp, enum ib_event_type type);
/*
 * Raises, once per connection, the event that a QP in error takes no more from its SRQ. tx.mutex
 * held.
 */
void srnic_qp_last_wqe(struct srnic_qp *qp);

/* ---- engine.c, run.c: the transmit engine ---- */

void srnic_tx_init(struct srnic_qp *qp);
/* Resets the engine for a new connection (tx.mutex held). */
void srnic_tx_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/* Runs the engine now, for a bounded time; the workqueue does the rest. Process context. */
void srnic_tx_run(struct srnic_qp *qp);
/* The same in the device's thread. */
void srnic_tx_run_thread(struct srnic_qp *qp);
/* The same for a user's doorbell: in a burst the engine stands by afterwards (srnic-abi.h). */
void srnic_tx_doorbell(struct srnic_qp *qp);
/*
 * Flushes everything queued; who posts later must ring the doorbell (srnic-abi.h,
 * SRNIC_QUEUE_ERROR). False if some of it waits for room in a CQ: then call it again. tx.mutex
 * held, the state ERROR or TERMINATING.
 */
bool srnic_tx_flush(struct srnic_qp *qp, enum srnic_flush how);
/* Queues the engine. Any context. by: the caller's name, for the trace. */
void srnic_tx_kick_by(struct srnic_qp *qp, const char *by);
#define srnic_tx_kick(qp) srnic_tx_kick_by(qp, __func__)
/*
 * The same for what more of its kind may follow. The socket's lock held, and BHs off unless
 * tx.mutex is held.
 */
void srnic_tx_soon_by(struct srnic_qp *qp, const char *by);
#define srnic_tx_soon(qp) srnic_tx_soon_by(qp, __func__)
/*
 * Before the QP fails or is destroyed: gives a pending Terminate to TCP, if TCP has room, because
 * the engine would not send it later (RFC 5040 6.2.1). Does not wait for room. tx.mutex held.
 */
void srnic_tx_last_terminate(struct srnic_qp *qp);
/*
 * Unlocks tx.mutex for a holder that did not run the engine, and repeats a kick that found it
 * locked.
 */
void srnic_tx_unlock(struct srnic_qp *qp);
/* Is everything sent that srnic_qp_close() waits for? (tx.mutex held) */
bool srnic_tx_closed(struct srnic_qp *qp);
/*
 * Frees the batch and drops its reference (tx.mutex held); no engine builds any more. Sleeps.
 */
void srnic_tx_release(struct srnic_qp *qp);

/* ---- rx.c: the receive half ---- */

void srnic_rx_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/* Consumes the socket's receive queue. Socket lock held. */
void srnic_rx_run(struct srnic_qp *qp, struct sock *sk);
/* Consumes these bytes, which come next in the stream. Socket lock held, BHs off. */
void srnic_rx_take(struct srnic_qp *qp, struct sock *sk, const struct bio_vec *vec, u32 num);
/*
 * Sets the status of the Write that the peer's Terminate refused, if it is not complete, for the
 * flush that follows. tx.mutex held, the receive half stopped.
 */
void srnic_rx_blame_write(struct srnic_qp *qp);

/* ---- post.c: posting ---- */

/* wr NULL: a user's doorbell. */
int srnic_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int srnic_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

/* ---- verbs ---- */

int srnic_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int srnic_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int srnic_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int srnic_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
void srnic_iw_add_ref(struct ib_qp *qp);
void srnic_iw_rem_ref(struct ib_qp *qp);
struct ib_qp *srnic_iw_get_qp(struct ib_device *dev, int qpn);

#endif
