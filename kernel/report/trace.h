/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints: what connections, QPs, transmit engines, the receive half and CQs do, and why. While
 * they are off each costs a branch that is patched out; Documentation/tracing.rst shows how to use
 * them. The core has none: what it decides shows where the shell does it. Only trace.c knows the
 * objects that are traced: this header is included by their own files.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM srnic

#if !defined(SRNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRNIC_TRACE_H

#include <linux/tracepoint.h>

#include "core/api/core.h"

struct srnic_cq;
struct srnic_cqe;
struct srnic_dev;
struct srnic_qp;

/* The start of a device's name. */
#ifndef SRNIC_TRACE_NAME
#define SRNIC_TRACE_NAME 16
#endif

/* ---- numbers, for tools that print what they read from the ring buffer ---- */

TRACE_DEFINE_ENUM(SRNIC_QP_IDLE);
TRACE_DEFINE_ENUM(SRNIC_QP_RTS);
TRACE_DEFINE_ENUM(SRNIC_QP_TERMINATING);
TRACE_DEFINE_ENUM(SRNIC_QP_ERROR);

#define srnic_show_qp_state(state)			\
	__print_symbolic(state,				\
		{ SRNIC_QP_IDLE, "IDLE" },		\
		{ SRNIC_QP_RTS, "RTS" },		\
		{ SRNIC_QP_TERMINATING, "TERMINATING" }, \
		{ SRNIC_QP_ERROR, "ERROR" })

TRACE_DEFINE_ENUM(CORE_CONN_CONNECTING);
TRACE_DEFINE_ENUM(CORE_CONN_REQUESTING);
TRACE_DEFINE_ENUM(CORE_CONN_AWAIT_REPLY);
TRACE_DEFINE_ENUM(CORE_CONN_AWAIT_REQUEST);
TRACE_DEFINE_ENUM(CORE_CONN_ANNOUNCED);
TRACE_DEFINE_ENUM(CORE_CONN_REPLYING);
TRACE_DEFINE_ENUM(CORE_CONN_CLOSING);
TRACE_DEFINE_ENUM(CORE_CONN_OPERATION);
TRACE_DEFINE_ENUM(CORE_CONN_DRAINING);
TRACE_DEFINE_ENUM(CORE_CONN_FINISHING);
TRACE_DEFINE_ENUM(CORE_CONN_LINGER);
TRACE_DEFINE_ENUM(CORE_CONN_DEAD);

#define srnic_show_conn_state(state)			\
	__print_symbolic(state,				\
		{ CORE_CONN_CONNECTING, "CONNECTING" },	\
		{ CORE_CONN_REQUESTING, "REQUESTING" },	\
		{ CORE_CONN_AWAIT_REPLY, "AWAIT_REPLY" }, \
		{ CORE_CONN_AWAIT_REQUEST, "AWAIT_REQUEST" }, \
		{ CORE_CONN_ANNOUNCED, "ANNOUNCED" },	\
		{ CORE_CONN_REPLYING, "REPLYING" },	\
		{ CORE_CONN_CLOSING, "CLOSING" },	\
		{ CORE_CONN_OPERATION, "OPERATION" },	\
		{ CORE_CONN_DRAINING, "DRAINING" },	\
		{ CORE_CONN_FINISHING, "FINISHING" },	\
		{ CORE_CONN_LINGER, "LINGER" },		\
		{ CORE_CONN_DEAD, "DEAD" })

TRACE_DEFINE_ENUM(CORE_CONN_TCP_CONNECTED);
TRACE_DEFINE_ENUM(CORE_CONN_FRAME_SENT);
TRACE_DEFINE_ENUM(CORE_CONN_REQUEST);
TRACE_DEFINE_ENUM(CORE_CONN_REPLY_ACCEPTS);
TRACE_DEFINE_ENUM(CORE_CONN_REPLY_REJECTS);
TRACE_DEFINE_ENUM(CORE_CONN_REPLY_UNFIT);
TRACE_DEFINE_ENUM(CORE_CONN_BROKEN);
TRACE_DEFINE_ENUM(CORE_CONN_TCP_CLOSED);
TRACE_DEFINE_ENUM(CORE_CONN_TIMEOUT);
TRACE_DEFINE_ENUM(CORE_CONN_TOOK_REQUEST);
TRACE_DEFINE_ENUM(CORE_CONN_BUSY);
TRACE_DEFINE_ENUM(CORE_CONN_ACCEPTED);
TRACE_DEFINE_ENUM(CORE_CONN_ACCEPT);
TRACE_DEFINE_ENUM(CORE_CONN_REJECT);
TRACE_DEFINE_ENUM(CORE_CONN_UNDELIVERED);
TRACE_DEFINE_ENUM(CORE_CONN_QP_STARTED);
TRACE_DEFINE_ENUM(CORE_CONN_QP_REFUSED);
TRACE_DEFINE_ENUM(CORE_CONN_PEER_CLOSED);
TRACE_DEFINE_ENUM(CORE_CONN_RESET);
TRACE_DEFINE_ENUM(CORE_CONN_TERMINATED);
TRACE_DEFINE_ENUM(CORE_CONN_FAULT);
TRACE_DEFINE_ENUM(CORE_CONN_CLOSE);
TRACE_DEFINE_ENUM(CORE_CONN_DRAINED);
TRACE_DEFINE_ENUM(CORE_CONN_DETACH);
TRACE_DEFINE_ENUM(CORE_CONN_ABORT);
TRACE_DEFINE_ENUM(CORE_CONN_KILL);

#define srnic_show_conn_input(input)			\
	__print_symbolic(input,				\
		{ CORE_CONN_TCP_CONNECTED, "TCP_CONNECTED" }, \
		{ CORE_CONN_FRAME_SENT, "FRAME_SENT" },	\
		{ CORE_CONN_REQUEST, "REQUEST" },	\
		{ CORE_CONN_REPLY_ACCEPTS, "REPLY_ACCEPTS" }, \
		{ CORE_CONN_REPLY_REJECTS, "REPLY_REJECTS" }, \
		{ CORE_CONN_REPLY_UNFIT, "REPLY_UNFIT" }, \
		{ CORE_CONN_BROKEN, "BROKEN" },		\
		{ CORE_CONN_TCP_CLOSED, "TCP_CLOSED" },	\
		{ CORE_CONN_TIMEOUT, "TIMEOUT" },	\
		{ CORE_CONN_TOOK_REQUEST, "TOOK_REQUEST" }, \
		{ CORE_CONN_BUSY, "BUSY" },		\
		{ CORE_CONN_ACCEPTED, "ACCEPTED" },	\
		{ CORE_CONN_ACCEPT, "ACCEPT" },		\
		{ CORE_CONN_REJECT, "REJECT" },		\
		{ CORE_CONN_UNDELIVERED, "UNDELIVERED" }, \
		{ CORE_CONN_QP_STARTED, "QP_STARTED" },	\
		{ CORE_CONN_QP_REFUSED, "QP_REFUSED" },	\
		{ CORE_CONN_PEER_CLOSED, "PEER_CLOSED" }, \
		{ CORE_CONN_RESET, "RESET" },		\
		{ CORE_CONN_TERMINATED, "TERMINATED" },	\
		{ CORE_CONN_FAULT, "FAULT" },		\
		{ CORE_CONN_CLOSE, "CLOSE" },		\
		{ CORE_CONN_DRAINED, "DRAINED" },	\
		{ CORE_CONN_DETACH, "DETACH" },		\
		{ CORE_CONN_ABORT, "ABORT" },		\
		{ CORE_CONN_KILL, "KILL" })

TRACE_DEFINE_ENUM(SRNIC_TX_PASSES_DOORBELL);
TRACE_DEFINE_ENUM(SRNIC_TX_PASSES_WORKER);
TRACE_DEFINE_ENUM(SRNIC_TX_PASSES_THREAD);
TRACE_DEFINE_ENUM(SRNIC_TX_PASSES_ASKER);

#define srnic_show_where(where)				\
	__print_symbolic(where,				\
		{ SRNIC_TX_PASSES_DOORBELL, "doorbell" }, \
		{ SRNIC_TX_PASSES_WORKER, "worker" },	\
		{ SRNIC_TX_PASSES_THREAD, "thread" },	\
		{ SRNIC_TX_PASSES_ASKER, "asker" })

TRACE_DEFINE_ENUM(SRNIC_TX_ORD_STALLS);
TRACE_DEFINE_ENUM(SRNIC_TX_SOCKET_FULL);
TRACE_DEFINE_ENUM(SRNIC_TX_NO_MEMORY);

#define srnic_show_stall(why)				\
	__print_symbolic(why,				\
		{ SRNIC_TX_ORD_STALLS, "reads" },	\
		{ SRNIC_TX_SOCKET_FULL, "socket full" }, \
		{ SRNIC_TX_NO_MEMORY, "no memory" })

TRACE_DEFINE_ENUM(SRNIC_RX_DATAGRAMS_MALFORMED);
TRACE_DEFINE_ENUM(SRNIC_RX_DATAGRAMS_NO_QP);
TRACE_DEFINE_ENUM(SRNIC_RX_DATAGRAMS_QKEY);
TRACE_DEFINE_ENUM(SRNIC_RX_DATAGRAMS_NO_RECEIVE);
TRACE_DEFINE_ENUM(SRNIC_RX_DATAGRAMS_TOO_LONG);

#define srnic_show_drop(why)				\
	__print_symbolic(why,				\
		{ SRNIC_RX_DATAGRAMS_MALFORMED, "malformed" }, \
		{ SRNIC_RX_DATAGRAMS_NO_QP, "no QP" },	\
		{ SRNIC_RX_DATAGRAMS_QKEY, "Q_Key" },	\
		{ SRNIC_RX_DATAGRAMS_NO_RECEIVE, "no receive" }, \
		{ SRNIC_RX_DATAGRAMS_TOO_LONG, "too long" })

TRACE_DEFINE_ENUM(ENGINE_IDLE);
TRACE_DEFINE_ENUM(ENGINE_MORE);
TRACE_DEFINE_ENUM(ENGINE_RETRY);
TRACE_DEFINE_ENUM(ENGINE_WAIT);

#define srnic_show_result(result)			\
	__print_symbolic(result,			\
		{ ENGINE_IDLE, "idle" },		\
		{ ENGINE_MORE, "more" },		\
		{ ENGINE_RETRY, "retry" },		\
		{ ENGINE_WAIT, "wait" })

TRACE_DEFINE_ENUM(CORE_SYNDROME_NOT_READY);
TRACE_DEFINE_ENUM(CORE_SYNDROME_INVALID);
TRACE_DEFINE_ENUM(CORE_SYNDROME_ACCESS);
TRACE_DEFINE_ENUM(CORE_SYNDROME_OPERATION);

#define srnic_show_syndrome(syndrome)			\
	__print_symbolic(syndrome,			\
		{ CORE_SYNDROME_NOT_READY, "receiver not ready" }, \
		{ CORE_SYNDROME_INVALID, "invalid request" }, \
		{ CORE_SYNDROME_ACCESS, "remote access error" }, \
		{ CORE_SYNDROME_OPERATION, "remote operation error" })

TRACE_DEFINE_ENUM(CORE_PAIR_OK);
TRACE_DEFINE_ENUM(CORE_PAIR_NOT_READY);
TRACE_DEFINE_ENUM(CORE_PAIR_OTHER_PAIR);
TRACE_DEFINE_ENUM(CORE_PAIR_BUSY);
TRACE_DEFINE_ENUM(CORE_PAIR_COUNTS);
TRACE_DEFINE_ENUM(CORE_PAIR_STALE);
TRACE_DEFINE_ENUM(CORE_PAIR_CROSSING);
TRACE_DEFINE_ENUM(CORE_PAIR_VERSION_UNKNOWN);
TRACE_DEFINE_ENUM(CORE_PAIR_FEATURES);
TRACE_DEFINE_ENUM(CORE_PAIR_SHUTDOWN);
TRACE_DEFINE_ENUM(CORE_PAIR_MALFORMED);

#define srnic_show_pairing(reason)			\
	__print_symbolic(reason,			\
		{ CORE_PAIR_OK, "no answer" },		\
		{ CORE_PAIR_NOT_READY, "not ready" },	\
		{ CORE_PAIR_OTHER_PAIR, "other pair" },	\
		{ CORE_PAIR_BUSY, "busy" },		\
		{ CORE_PAIR_COUNTS, "counts" },		\
		{ CORE_PAIR_STALE, "stale" },		\
		{ CORE_PAIR_CROSSING, "crossing" },	\
		{ CORE_PAIR_VERSION_UNKNOWN, "version" }, \
		{ CORE_PAIR_FEATURES, "features" },	\
		{ CORE_PAIR_SHUTDOWN, "shutting down" }, \
		{ CORE_PAIR_MALFORMED, "malformed" })

TRACE_DEFINE_ENUM(CORE_RX_SEND);
TRACE_DEFINE_ENUM(CORE_RX_WRITE);
TRACE_DEFINE_ENUM(CORE_RX_READ_REQUEST);
TRACE_DEFINE_ENUM(CORE_RX_ATOMIC_REQUEST);
TRACE_DEFINE_ENUM(CORE_RX_ATOMIC_RESPONSE);
TRACE_DEFINE_ENUM(CORE_RX_READ_RESPONSE);
TRACE_DEFINE_ENUM(CORE_RX_TERMINATE);
TRACE_DEFINE_ENUM(CORE_RX_ERROR);
TRACE_DEFINE_ENUM(CORE_RX_EXTENDED);

#define srnic_show_message(event)			\
	__print_symbolic(event,				\
		{ CORE_RX_SEND, "Send" },		\
		{ CORE_RX_WRITE, "Write" },		\
		{ CORE_RX_READ_REQUEST, "Read Request" }, \
		{ CORE_RX_ATOMIC_REQUEST, "Atomic Request" }, \
		{ CORE_RX_ATOMIC_RESPONSE, "Atomic Response" }, \
		{ CORE_RX_READ_RESPONSE, "Read Response" }, \
		{ CORE_RX_EXTENDED, "Extended Request" }, \
		{ CORE_RX_TERMINATE, "Terminate" },	\
		{ CORE_RX_ERROR, "error" })

TRACE_DEFINE_ENUM(SRNIC_OP_WRITE);
TRACE_DEFINE_ENUM(SRNIC_OP_SEND);
TRACE_DEFINE_ENUM(SRNIC_OP_SEND_INV);
TRACE_DEFINE_ENUM(SRNIC_OP_READ);
TRACE_DEFINE_ENUM(SRNIC_OP_RECV);
TRACE_DEFINE_ENUM(SRNIC_OP_WRITE_IMM);
TRACE_DEFINE_ENUM(SRNIC_OP_IMM);
TRACE_DEFINE_ENUM(SRNIC_OP_FETCH_ADD);
TRACE_DEFINE_ENUM(SRNIC_OP_CMP_SWAP);
TRACE_DEFINE_ENUM(SRNIC_OP_SWAP);
TRACE_DEFINE_ENUM(SRNIC_OP_LOCAL_INV);
TRACE_DEFINE_ENUM(SRNIC_OP_BIND_MW);

/* Others as their number. */
#define srnic_show_opcode(opcode)			\
	__print_symbolic(opcode,			\
		{ SRNIC_OP_WRITE, "Write" },		\
		{ SRNIC_OP_SEND, "Send" },		\
		{ SRNIC_OP_SEND_INV, "Send with Invalidate" }, \
		{ SRNIC_OP_READ, "Read" },		\
		{ SRNIC_OP_RECV, "receive" },		\
		{ SRNIC_OP_WRITE_IMM, "Write with Immediate" }, \
		{ SRNIC_OP_IMM, "Immediate Data" },	\
		{ SRNIC_OP_FETCH_ADD, "FetchAdd" },	\
		{ SRNIC_OP_CMP_SWAP, "CmpSwap" },	\
		{ SRNIC_OP_SWAP, "Swap" },		\
		{ SRNIC_OP_LOCAL_INV, "invalidation" },	\
		{ SRNIC_OP_BIND_MW, "window" })

/* ---- connections and QPs ---- */

/* A connection takes a step. qp 0: it has none yet. */
TRACE_EVENT(srnic_conn_state,
	TP_PROTO(const struct srnic_dev *dev, const struct srnic_qp *qp, const void *conn,
		 int from, int input, int to, int status),
	TP_ARGS(dev, qp, conn, from, input, to, status),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(const void *, conn)
		__field(int, from)
		__field(int, input)
		__field(int, to)
		__field(int, status)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&dev->base.dev), SRNIC_TRACE_NAME);
		__entry->qp = qp ? qp->base.qp_num : 0;
		__entry->conn = conn;
		__entry->from = from;
		__entry->input = input;
		__entry->to = to;
		__entry->status = status;
	),
	TP_printk("%s qp %u connection %p: %s -> %s by %s, status %d", __entry->dev, __entry->qp,
		  __entry->conn, srnic_show_conn_state(__entry->from),
		  srnic_show_conn_state(__entry->to), srnic_show_conn_input(__entry->input),
		  __entry->status)
);

TRACE_EVENT(srnic_qp_state,
	TP_PROTO(const struct srnic_qp *qp, u32 from, u32 to),
	TP_ARGS(qp, from, to),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s qp %u: %s -> %s", __entry->dev, __entry->qp,
		  srnic_show_qp_state(__entry->from), srnic_show_qp_state(__entry->to))
);

DECLARE_EVENT_CLASS(srnic_terminate,
	TP_PROTO(const struct srnic_qp *qp, const struct core_terminate *term, const char *words),
	TP_ARGS(qp, term, words),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, code)
		__array(char, words, 64)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->layer = term->layer;
		__entry->etype = term->etype;
		__entry->code = term->code;
		strscpy(__entry->words, words, sizeof(__entry->words));
	),
	TP_printk("%s qp %u: layer %u type %u code %u: %s", __entry->dev, __entry->qp,
		  __entry->layer, __entry->etype, __entry->code, __entry->words)
);

DEFINE_EVENT(srnic_terminate, srnic_terminate_sent,
	TP_PROTO(const struct srnic_qp *qp, const struct core_terminate *term, const char *words),
	TP_ARGS(qp, term, words));
DEFINE_EVENT(srnic_terminate, srnic_terminate_received,
	TP_PROTO(const struct srnic_qp *qp, const struct core_terminate *term, const char *words),
	TP_ARGS(qp, term, words));

/* ---- the transmit engine ---- */

/* A user's doorbell, or a kernel consumer's post. pending: requests not taken by the engine. */
TRACE_EVENT(srnic_tx_post,
	TP_PROTO(struct srnic_qp *qp),
	TP_ARGS(qp),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(bool, user)
		__field(u32, pending)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->user = qp->user;
		__entry->pending = srnic_sq_pending(&qp->sq);
	),
	TP_printk("%s qp %u: %s, %u pending", __entry->dev, __entry->qp,
		  __entry->user ? "doorbell" : "post", __entry->pending)
);

/*
 * A function wants the engine to look for work, and leaves that to a worker or to the thread: the
 * wake-up after a stall, for one.
 */
TRACE_EVENT(srnic_tx_kick,
	TP_PROTO(const struct srnic_qp *qp, int where, const char *by),
	TP_ARGS(qp, where, by),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(int, where)
		__array(char, by, 32)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->where = where;
		strscpy(__entry->by, by, sizeof(__entry->by));
	),
	TP_printk("%s qp %u: %s, by %s", __entry->dev, __entry->qp,
		  srnic_show_where(__entry->where), __entry->by)
);

/* A pass of the engine has ended. octets: bytes given to TCP so far. */
TRACE_EVENT(srnic_tx_pass,
	TP_PROTO(const struct srnic_qp *qp, int where, int result),
	TP_ARGS(qp, where, result),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(int, where)
		__field(int, result)
		__field(u64, octets)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->where = where;
		__entry->result = result;
		__entry->octets = qp->tx.bytes;
	),
	TP_printk("%s qp %u: %s, %s, %llu octets in all", __entry->dev, __entry->qp,
		  srnic_show_where(__entry->where), srnic_show_result(__entry->result),
		  __entry->octets)
);

/* Why a pass takes no more requests or bytes. left: bytes built that TCP has not taken. */
TRACE_EVENT(srnic_tx_stall,
	TP_PROTO(struct srnic_qp *qp, int why),
	TP_ARGS(qp, why),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(int, why)
		__field(u32, left)
		__field(u32, pending)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->why = why;
		__entry->left = qp->tx.batch->len;
		__entry->pending = srnic_sq_pending(&qp->sq);
	),
	TP_printk("%s qp %u: %s, %u octets to send, %u pending", __entry->dev, __entry->qp,
		  srnic_show_stall(__entry->why), __entry->left, __entry->pending)
);

/* TCP has taken bytes. left: those of the batch that it has not taken. */
TRACE_EVENT(srnic_tx_batch,
	TP_PROTO(const struct srnic_qp *qp, u32 taken),
	TP_ARGS(qp, taken),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, taken)
		__field(u32, left)
		__field(u32, fpdus)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->taken = taken;
		__entry->left = qp->tx.batch->len;
		__entry->fpdus = qp->tx.core.fpdus;
	),
	TP_printk("%s qp %u: %u octets taken, %u left, %u FPDUs", __entry->dev, __entry->qp,
		  __entry->taken, __entry->left, __entry->fpdus)
);

/* ---- the receive half ---- */

/* What TCP has received in one piece: a segment, or several that were merged. */
TRACE_EVENT(srnic_rx_segment,
	TP_PROTO(const struct srnic_qp *qp, u32 octets),
	TP_ARGS(qp, octets),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, octets)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->octets = octets;
	),
	TP_printk("%s qp %u: %u octets", __entry->dev, __entry->qp, __entry->octets)
);

/* All bytes that TCP had were taken. fpdus: how many FPDUs became complete. */
TRACE_EVENT(srnic_rx_batch,
	TP_PROTO(const struct srnic_qp *qp, u32 octets, u32 fpdus),
	TP_ARGS(qp, octets, fpdus),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, octets)
		__field(u32, fpdus)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->octets = octets;
		__entry->fpdus = fpdus;
	),
	TP_printk("%s qp %u: %u octets, %u FPDUs", __entry->dev, __entry->qp, __entry->octets,
		  __entry->fpdus)
);

/* A message is complete, or the stream ends here. */
TRACE_EVENT(srnic_rx_message,
	TP_PROTO(const struct srnic_qp *qp, int event),
	TP_ARGS(qp, event),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(int, event)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->event = event;
	),
	TP_printk("%s qp %u: %s", __entry->dev, __entry->qp, srnic_show_message(__entry->event))
);

/* ---- acknowledgements, and pairing ---- */

/* A request of the peer is refused: its number, and enum core_syndrome. */
TRACE_EVENT(srnic_refused,
	TP_PROTO(const struct srnic_qp *qp, u32 request, u32 syndrome),
	TP_ARGS(qp, request, syndrome),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, request)
		__field(u32, syndrome)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->request = request;
		__entry->syndrome = syndrome;
	),
	TP_printk("%s qp %u: request %u, %s", __entry->dev, __entry->qp, __entry->request,
		  srnic_show_syndrome(__entry->syndrome))
);

/* The engine goes back, because the peer was not ready. index: in the send queue. */
TRACE_EVENT(srnic_rewind,
	TP_PROTO(const struct srnic_qp *qp, u32 index, u32 delay),
	TP_ARGS(qp, index, delay),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, index)
		__field(u32, delay)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->index = index;
		__entry->delay = delay;
	),
	TP_printk("%s qp %u: to entry %u, after %u us", __entry->dev, __entry->qp,
		  __entry->index, __entry->delay)
);

/* An attempt to find a stream has failed; the next one is after so many ms. */
TRACE_EVENT(srnic_pairing,
	TP_PROTO(const struct srnic_qp *qp, u32 reason, int error, u32 wait),
	TP_ARGS(qp, reason, error, wait),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, reason)
		__field(int, error)
		__field(u32, wait)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = qp->base.qp_num;
		__entry->reason = reason;
		__entry->error = error;
		__entry->wait = wait;
	),
	TP_printk("%s qp %u: %s (%d), again after %u ms", __entry->dev, __entry->qp,
		  srnic_show_pairing(__entry->reason), __entry->error, __entry->wait)
);

/* ---- datagrams ---- */

/* A datagram is dropped; why: a counter. qp: the number that it names; 0: it is malformed. */
TRACE_EVENT(srnic_datagram_dropped,
	TP_PROTO(const struct srnic_dev *device, u32 qp, u32 why),
	TP_ARGS(device, qp, why),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(u32, why)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&device->base.dev), SRNIC_TRACE_NAME);
		__entry->qp = qp;
		__entry->why = why;
	),
	TP_printk("%s qp %u: %s", __entry->dev, __entry->qp, srnic_show_drop(__entry->why))
);

/* ---- CQs ---- */

/* Without the wr_id: those of kernel consumers are addresses. */
TRACE_EVENT(srnic_completion,
	TP_PROTO(const struct srnic_cq *cq, const struct srnic_cqe *cqe),
	TP_ARGS(cq, cqe),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(u32, qp)
		__field(int, cq)
		__field(u32, opcode)
		__field(u32, status)
		__field(u32, octets)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&cq->base.device->dev), SRNIC_TRACE_NAME);
		__entry->qp = cqe->qp_num;
		__entry->cq = cq->id;
		__entry->opcode = cqe->opcode;
		__entry->status = cqe->status;
		__entry->octets = cqe->byte_len;
	),
	TP_printk("%s qp %u cq %d: %s, status %u, %u octets", __entry->dev, __entry->qp,
		  __entry->cq, srnic_show_opcode(__entry->opcode), __entry->status,
		  __entry->octets)
);

/* The CQ was armed: its consumer is woken. */
TRACE_EVENT(srnic_cq_event,
	TP_PROTO(const struct srnic_cq *cq),
	TP_ARGS(cq),
	TP_STRUCT__entry(
		__array(char, dev, SRNIC_TRACE_NAME)
		__field(int, cq)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&cq->base.device->dev), SRNIC_TRACE_NAME);
		__entry->cq = cq->id;
	),
	TP_printk("%s cq %d", __entry->dev, __entry->cq)
);

#endif

/* Found by -I of this module's folder. */
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH report
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
