// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: iw_cm's connect, accept and reject, the MPA startup phase of both roles (RFC 5044 7.1, RFC 6581 6 to 10),
 * and the end of a connection in whatever way it comes (RFC 5044 7.2). What a frame means is decided in the core; who
 * owns and references an ep, and its states, are told in connect.h.
 */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "compat/iwcm-net.h"
#include "connect.h"
#include "qp.h"
#include "stats.h"

static unsigned int startup_timeout = 10;
module_param(startup_timeout, uint, 0644);
MODULE_PARM_DESC(startup_timeout, "Seconds for TCP to connect, and for each MPA startup frame to come or go");

static unsigned int reply_timeout = 30;
module_param(reply_timeout, uint, 0644);
MODULE_PARM_DESC(reply_timeout, "Seconds to wait for the peer's consumer to accept");

static unsigned int accept_timeout = 120;
module_param(accept_timeout, uint, 0644);
MODULE_PARM_DESC(accept_timeout, "Seconds for the local consumer to accept or reject");

static unsigned int mpa_revision = 2;
module_param(mpa_revision, uint, 0644);
MODULE_PARM_DESC(mpa_revision, "MPA revision to ask for as initiator: 2, or 1 for peers that close on what RFC 6581 added");

#define MAX_SECONDS		3600U
#define DRAIN_SECONDS		1
#define DRAIN_MAX_SECONDS	60
#define DRAIN_POLL		msecs_to_jiffies(4)
#define LINGER_SECONDS		3
#define LINGER_EXTENSIONS	20

/* What a step of the machine says when it did not fail: come back when something happens, or at once. */
enum step { WAIT = 0, ONWARD = 1 };

/* ---- references and the work ---- */

static void free_ep(struct kref *ref)
{
	struct srnic_ep *ep = container_of(ref, struct srnic_ep, ref);
	struct srnic_dev_connections *conns = &ep->dev->connections;
	unsigned long flags;

	kfree(ep);
	spin_lock_irqsave(&conns->lock, flags);
	if (!--conns->num)
		wake_up_all(&conns->idle);
	spin_unlock_irqrestore(&conns->lock, flags);
}

void srnic_ep_get(struct srnic_ep *ep)
{
	kref_get(&ep->ref);
}

void srnic_ep_put(struct srnic_ep *ep)
{
	kref_put(&ep->ref, free_ep);
}

/* Has the machine run soon. Any context; the caller's reference keeps the ep while this runs. */
static void kick(struct srnic_ep *ep)
{
	srnic_ep_get(ep);
	if (mod_delayed_work(srnic_wq, &ep->work, 0))
		srnic_ep_put(ep);	/* it was pending with a reference of its own */
}

static void wake(struct srnic_watch *watch)
{
	kick(container_of(watch, struct srnic_ep, watch));
}

void srnic_ep_over(struct srnic_ep *ep, enum srnic_over why)
{
	if (why == SRNIC_OVER_ABORT)
		WRITE_ONCE(ep->hurry, true);
	if (!atomic_cmpxchg(&ep->over, 0, 1 + why))
		kick(ep);
}

static void set_deadline(struct srnic_ep *ep, unsigned int seconds)
{
	ep->timed = true;
	ep->deadline = jiffies + min(seconds, MAX_SECONDS) * HZ;
}

static bool expired(const struct srnic_ep *ep)
{
	return ep->timed && time_after_eq(jiffies, ep->deadline);
}

/* Arms the timer, unless the work is pending anyway: then it comes back here. */
static void arm(struct srnic_ep *ep)
{
	unsigned long now = jiffies;

	if (!ep->timed)
		return;
	srnic_ep_get(ep);
	if (!queue_delayed_work(srnic_wq, &ep->work, time_after(ep->deadline, now) ? ep->deadline - now : 0))
		srnic_ep_put(ep);
}

/* ---- creation and death ---- */

static void ep_work(struct work_struct *work);

/* Makes it one of the device's, unless that goes. */
static int enlist(struct srnic_ep *ep)
{
	struct srnic_dev_connections *conns = &ep->dev->connections;
	unsigned long flags;
	int ret = -ENODEV;

	spin_lock_irqsave(&conns->lock, flags);
	if (!conns->dying) {
		list_add_tail(&ep->link, &conns->eps);
		conns->num++;
		ret = 0;
	}
	spin_unlock_irqrestore(&conns->lock, flags);
	return ret;
}

static void free_unlisted(struct srnic_ep *ep)
{
	if (ep->net)
		put_net(ep->net);
	kfree(ep->startup);
	kfree(ep);
}

/* Locked, and with a reference of the caller's: unlock_put() lets the machine go. */
static struct srnic_ep *create(struct srnic_dev *dev, struct net *net, enum srnic_ep_state state)
{
	struct srnic_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	INIT_DELAYED_WORK(&ep->work, ep_work);
	ep->watch.wake = wake;
	ep->dev = dev;
	ep->state = state;
	ep->net = maybe_get_net(net);
	ep->startup = kzalloc(sizeof(*ep->startup), GFP_KERNEL);
	srnic_ep_get(ep);
	mutex_lock(&ep->lock);
	if (ep->startup)
		ret = ep->net ? enlist(ep) : -ENETDOWN;
	if (!ret)
		return ep;
	mutex_unlock(&ep->lock);
	free_unlisted(ep);
	return ERR_PTR(ret);
}

static void unlock_put(struct srnic_ep *ep)
{
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
}

/* The QP that srnic_connect_abandon() finds it by; its reference comes along and the former one's is given back. */
static void set_qp(struct srnic_ep *ep, struct srnic_qp *qp)
{
	struct srnic_qp *old = ep->qp;

	spin_lock_irq(&ep->dev->connections.lock);
	ep->qp = qp;
	spin_unlock_irq(&ep->dev->connections.lock);
	if (old)
		srnic_qp_put(old);
}

/* Ends the time in which accept and reject can find it. */
static void forget_announcement(struct srnic_ep *ep)
{
	if (!ep->announced_id)
		return;
	xa_erase(&ep->dev->connections.announced, ep->announced_id);
	ep->announced_id = 0;
	srnic_ep_put(ep);	/* never the last one */
}

/* Lets go of the consumer's objects: no event follows. */
static void part(struct srnic_ep *ep)
{
	struct srnic_listen *listen = ep->listen;

	forget_announcement(ep);
	if (ep->cm_id)
		ep->cm_id->rem_ref(ep->cm_id);
	ep->cm_id = NULL;
	set_qp(ep, NULL);
	WRITE_ONCE(ep->listen, NULL);
	if (listen)
		srnic_listen_done(listen);
}

/* The end. The caller still has a reference. A connection that is not over is reset. */
static void die(struct srnic_ep *ep)
{
	part(ep);
	if (ep->sock) {
		srnic_sock_unwatch(ep->sock, &ep->watch);
		srnic_sock_release(ep->sock);
	}
	ep->sock = NULL;
	put_net(ep->net);
	kfree(ep->startup);
	ep->startup = NULL;
	ep->timed = false;
	ep->state = SRNIC_EP_DEAD;
	spin_lock_irq(&ep->dev->connections.lock);
	list_del_init(&ep->link);
	spin_unlock_irq(&ep->dev->connections.lock);
	srnic_ep_put(ep);
}

/* ---- events (the ep's work only, cm_id valid) ---- */

static int notify(struct srnic_ep *ep, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event event = { .event = type, .status = status };

	return ep->cm_id->event_handler(ep->cm_id, &event);
}

static u8 clamp_depth(u16 depth, u16 max)
{
	return min_t(u16, depth, max);	/* SRNIC_MPA_AUTO (not told) becomes the most that there is */
}

/*
 * RFC 6581 9.1: the consumer learns the peer's IRD and ORD. rdma_cm calls what the event has as ird the consumer's
 * initiator depth, which is bounded by the peer's IRD, and what it has as ord its responder resources.
 */
static void tell_depths(struct iw_cm_event *event, const struct srnic_mpa_frame *peer)
{
	event->ird = peer->enhanced ? clamp_depth(peer->ird, SRNIC_MAX_ORD) : SRNIC_MAX_ORD;
	event->ord = peer->enhanced ? clamp_depth(peer->ord, SRNIC_MAX_IRD) : SRNIC_MAX_IRD;
}

/* The consumer's part of a received frame's private data. */
static u8 *private_of(struct srnic_startup *startup, const struct srnic_mpa_frame *frame, u32 *len)
{
	u32 skip = frame->enhanced ? SRNIC_MPA_ENHANCED : 0;

	*len = frame->private_len - skip;
	return startup->in + SRNIC_MPA_HEADER + skip;
}

/* A failed connect(). rdma_cm takes over the addresses, so these stay the consumer's own. */
static void report_failure(struct srnic_ep *ep, int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = ep->cm_id->local_addr,
		.remote_addr = ep->cm_id->remote_addr,
	};

	ep->cm_id->event_handler(ep->cm_id, &event);
}

/* The peer's answer to connect(). -ENOMEM: not delivered, since iw_cm could not copy the private data. */
static int report_reply(struct srnic_ep *ep, int status)
{
	struct srnic_startup *startup = ep->startup;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = status ? ep->cm_id->local_addr : ep->local,
		.remote_addr = status ? ep->cm_id->remote_addr : ep->remote,
	};
	u32 len;

	tell_depths(&event, &startup->reply);
	event.private_data = private_of(startup, &startup->reply, &len);
	event.private_data_len = len;
	return ep->cm_id->event_handler(ep->cm_id, &event);
}

static void report_established(struct srnic_ep *ep)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
		.ird = clamp_depth(ep->startup->agreed.ord, SRNIC_MAX_ORD),
		.ord = clamp_depth(ep->startup->agreed.ird, SRNIC_MAX_IRD),
	};

	ep->cm_id->event_handler(ep->cm_id, &event);
}

/* ---- frames ---- */

/* Lays out a frame of ours with its private data; room was checked by fits(). */
static void lay_out(struct srnic_startup *startup, const struct srnic_mpa_frame *frame, const void *private, u32 len)
{
	u32 header = srnic_mpa_build(frame, startup->out);

	memcpy(startup->out + header, private, len);
	startup->out_len = header + len;
	startup->out_sent = 0;
}

static bool fits(u32 private_len, bool enhanced)
{
	return private_len <= SRNIC_MPA_MAX_PRIVATE - (enhanced ? SRNIC_MPA_ENHANCED : 0);
}

/* 1 when TCP has all of the frame, 0 when some is left, or -errno. */
static int flush_out(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;

	while (startup->out_sent < startup->out_len) {
		int ret = srnic_sock_send(ep->sock, startup->out + startup->out_sent,
					  startup->out_len - startup->out_sent);
		if (ret == -EAGAIN)
			return 0;
		if (ret < 0)
			return ret;
		startup->out_sent += ret;
	}
	return 1;
}

/* Reads up to `want` octets of the frame in all: 1 when they are there, 0 when some are missing, or -errno. */
static int fill_in(struct srnic_ep *ep, u32 want)
{
	struct srnic_startup *startup = ep->startup;

	while (startup->received < want) {
		int ret = srnic_sock_recv(ep->sock, startup->in + startup->received, want - startup->received);

		if (ret == -EAGAIN)
			return 0;
		if (ret < 0)
			return ret;
		startup->received += ret;
	}
	return 1;
}

/*
 * Reads the peer's frame and not an octet beyond it: 1 when it is complete and valid, 0, or -errno. One whose private
 * data iw_cm cannot carry counts as improperly formatted (RFC 5044 7.1.2 rule 9).
 */
static int read_frame(struct srnic_ep *ep, bool reply)
{
	struct srnic_startup *startup = ep->startup;
	struct srnic_mpa_frame *frame = reply ? &startup->reply : &startup->request;
	int ret = fill_in(ep, SRNIC_MPA_HEADER);
	u32 len;

	if (ret <= 0)
		return ret;
	if (srnic_mpa_parse(startup->in, reply, frame) || frame->private_len > SRNIC_MPA_MAX_PRIVATE)
		return -EPROTO;
	private_of(startup, frame, &len);
	if (len > U8_MAX)
		return -EPROTO;
	ret = fill_in(ep, SRNIC_MPA_HEADER + frame->private_len);
	if (ret > 0 && frame->enhanced)
		srnic_mpa_parse_enhanced(startup->in + SRNIC_MPA_HEADER, frame);
	return ret;
}

static void init_local(struct srnic_ep *ep, const struct iw_cm_conn_param *param)
{
	ep->startup->local = (struct srnic_mpa_local) {
		.ird = min_t(u32, param->ird, SRNIC_MAX_IRD),
		.ord = min_t(u32, param->ord, SRNIC_MAX_ORD),
		.max_ird = SRNIC_MAX_IRD,
		.crc = READ_ONCE(ep->dev->crc),
		.markers = READ_ONCE(ep->dev->markers),
		.revision = READ_ONCE(mpa_revision) == 1 ? 1 : 2,
		.p2p = true,
		.rtr = SRNIC_RTR_ALL,
	};
}

/* ---- ending ---- */

/* What is in startup->out goes out, then the connection is closed. The consumer is done with it. */
static void close_after_frame(struct srnic_ep *ep)
{
	part(ep);
	ep->state = SRNIC_EP_CLOSING;
	set_deadline(ep, startup_timeout);
}

/* The Reply that refuses (RFC 5044 7.1.2 rule 2). */
static void refuse(struct srnic_ep *ep, const void *private, u32 len)
{
	struct srnic_startup *startup = ep->startup;

	srnic_mpa_respond(&startup->request, &startup->local, true, len, &startup->reply, &startup->agreed);
	lay_out(startup, &startup->reply, private, len);
	close_after_frame(ep);
}

/* The initiator cannot go on: a Terminate as RFC 6581 8 wants it, in the only FPDU that this end ever sends. */
static void terminate(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	struct srnic_terminate term = { .layer = SRNIC_LAYER_LLP, .code = startup->agreed.error };
	struct srnic_tx_msg msg = { .opcode = SRNIC_RDMAP_TERMINATE, .msn = 1 };
	u32 marker = startup->agreed.send_markers ? 4 : 0;
	u8 payload[SRNIC_TERM_MAX];
	struct srnic_tx_seg seg;
	u32 len;

	srnic_count(ep->dev, SRNIC_STARTUP_FAILURES, 1);
	/* RFC 5044 7.1.2 rule 7: the first marker is all zero. */
	memset(startup->out, 0, marker);
	msg.length = srnic_terminate_build(&term, payload);
	seg = srnic_tx_next(&msg, srnic_mpa_mulpdu(0, false), startup->out + marker);
	len = marker + seg.header_len;
	memcpy(startup->out + len, payload, seg.payload);
	memset(startup->out + len + seg.payload, 0, seg.pad);
	len += seg.payload + seg.pad;
	srnic_crc_field(srnic_host_crc32c(SRNIC_CRC_SEED, startup->out, len), startup->out + len);
	startup->out_len = len + 4;
	startup->out_sent = 0;
	close_after_frame(ep);
}

/* Closes our half and waits for the peer's, with nothing but the socket in hand. */
static void linger(struct srnic_ep *ep)
{
	part(ep);
	srnic_sock_unwatch(ep->sock, &ep->watch);
	srnic_sock_watch(ep->sock, &ep->watch);
	kernel_sock_shutdown(ep->sock, SHUT_WR);
	ep->unacked = srnic_sock_unacked(ep->sock);
	ep->state = SRNIC_EP_LINGER;
	set_deadline(ep, LINGER_SECONDS);
}

/* The QP's stream is over. Its consumer hears of it before the socket has come to its end. */
static void finish(struct srnic_ep *ep, enum srnic_over why)
{
	if (why == SRNIC_OVER_RESET)
		srnic_count(ep->dev, SRNIC_RESETS, 1);
	srnic_qp_stop(ep->qp, ep);
	if (ep->up)
		notify(ep, IW_CM_EVENT_CLOSE, why == SRNIC_OVER_RESET ? -ECONNRESET : 0);
	ep->up = false;
	linger(ep);
}

/* No time may be lost: the QP, the consumer or the device goes. */
static bool hurried(const struct srnic_ep *ep)
{
	return READ_ONCE(ep->hurry) || READ_ONCE(ep->killed);
}

/* A local close gets more time while octets of ours still get through. */
static void extend_drain(struct srnic_ep *ep)
{
	u32 unacked = srnic_sock_unacked(ep->sock);

	if (unacked != ep->unacked && time_before(jiffies, ep->drain_start + DRAIN_MAX_SECONDS * HZ))
		ep->drain_end = jiffies + DRAIN_SECONDS * HZ;
	ep->unacked = unacked;
}

static bool drained(struct srnic_ep *ep, enum srnic_over why)
{
	if (why == SRNIC_OVER_CLOSE)
		extend_drain(ep);
	return hurried(ep) || time_after_eq(jiffies, ep->drain_end) || srnic_sock_closed(ep->sock) ||
	       srnic_qp_closed(ep->qp, ep);
}

static void drain(struct srnic_ep *ep, enum srnic_over why)
{
	srnic_qp_close(ep->qp, ep, why == SRNIC_OVER_PEER_CLOSED);
	ep->unacked = srnic_sock_unacked(ep->sock);
	ep->drain_start = jiffies;
	ep->drain_end = jiffies + DRAIN_SECONDS * HZ;
	ep->state = SRNIC_EP_DRAINING;
}

/* A state could not be left as it wanted: the events that are owed, then the end. */
static void fail(struct srnic_ep *ep, int err)
{
	if (ep->state < SRNIC_EP_OPERATION)
		srnic_count(ep->dev, SRNIC_STARTUP_FAILURES, 1);
	switch (ep->state) {
	case SRNIC_EP_CONNECTING:
	case SRNIC_EP_REQUESTING:
	case SRNIC_EP_AWAIT_REPLY:
		report_failure(ep, err);
		break;
	case SRNIC_EP_REPLYING:
		/* accept() said that it works: only so can iw_cm be told that it did not. */
		if (READ_ONCE(ep->qp->state) == SRNIC_QP_IDLE)
			srnic_qp_stop(ep->qp, NULL);
		notify(ep, IW_CM_EVENT_ESTABLISHED, err);
		notify(ep, IW_CM_EVENT_CLOSE, err);
		break;
	default:
		break;
	}
	die(ep);
}

/* ---- into full operation ---- */

static int start_qp(struct srnic_ep *ep, bool initiator)
{
	struct srnic_qp_start start = {
		.ep = ep,
		.sock = ep->sock,
		.agreed = ep->startup->agreed,
		.initiator = initiator,
	};

	/* What comes from here on waits in the socket until the QP looks. */
	srnic_sock_unwatch(ep->sock, &ep->watch);
	return srnic_qp_start(ep->qp, &start);
}

static void enter_operation(struct srnic_ep *ep)
{
	srnic_count(ep->dev, SRNIC_CONNECTS, 1);
	ep->state = SRNIC_EP_OPERATION;
	ep->timed = false;
	kfree(ep->startup);
	ep->startup = NULL;
}

static int operate_initiator(struct srnic_ep *ep)
{
	int ret = start_qp(ep, true);

	if (ret) {
		ep->startup->agreed.error = SRNIC_MPA_LOCAL_CATASTROPHIC;
		report_failure(ep, ret);
		terminate(ep);
		return ONWARD;
	}
	ret = report_reply(ep, 0);
	ep->up = !ret;
	if (ret) {
		report_failure(ep, ret);
		srnic_ep_over(ep, SRNIC_OVER_ABORT);
	}
	enter_operation(ep);
	return ONWARD;
}

static int operate_responder(struct srnic_ep *ep)
{
	int ret = start_qp(ep, false);

	if (ret)
		return ret;
	forget_announcement(ep);
	report_established(ep);
	ep->up = true;
	enter_operation(ep);
	return ONWARD;
}

/* ---- steps: one per state, run under ep->lock; ONWARD, WAIT or -errno for fail() ---- */

static int step_connecting(struct srnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	int ret;

	switch (inet_sk_state_load(sk)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return WAIT;
	case TCP_CLOSE:
		return sock_error(sk) ?: -ECONNREFUSED;
	}
	ret = srnic_sock_names(ep->sock, &ep->local, &ep->remote);
	if (ret)
		return ret;
	ep->state = SRNIC_EP_REQUESTING;
	set_deadline(ep, startup_timeout);
	return ONWARD;
}

static int step_requesting(struct srnic_ep *ep)
{
	int ret = flush_out(ep);

	if (ret <= 0)
		return ret;
	ep->state = SRNIC_EP_AWAIT_REPLY;
	set_deadline(ep, reply_timeout);
	return ONWARD;
}

static int step_await_reply(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	int ret = read_frame(ep, true);

	if (ret <= 0)
		return ret;
	if (startup->reply.reject) {
		if (report_reply(ep, -ECONNREFUSED))
			report_failure(ep, -ECONNREFUSED);
		linger(ep);
		return ONWARD;
	}
	srnic_mpa_conclude(&startup->request, &startup->reply, &startup->local, &startup->agreed);
	if (!startup->agreed.error)
		return operate_initiator(ep);
	report_failure(ep, -EPROTO);
	terminate(ep);
	return ONWARD;
}

/* Hands the connection to the consumer, under a number by which accept and reject find it for as long as it is there. */
static int announce(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	struct srnic_dev_connections *conns = &ep->dev->connections;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
	};
	u32 len;
	int ret;

	ret = xa_alloc_cyclic(&conns->announced, &ep->announced_id, ep, XA_LIMIT(1, INT_MAX), &conns->next_announced,
			      GFP_KERNEL);
	if (ret < 0) {
		ep->announced_id = 0;
		return ret;
	}
	srnic_ep_get(ep);
	tell_depths(&event, &startup->request);
	event.provider_data = (void *)(unsigned long)ep->announced_id;
	event.private_data = private_of(startup, &startup->request, &len);
	event.private_data_len = len;
	return srnic_listen_announce(ep->listen, &event);
}

static int step_await_request(struct srnic_ep *ep)
{
	int ret = read_frame(ep, false);

	if (ret <= 0)
		return ret;
	ret = announce(ep);
	if (ret == -ENOMEM) {	/* the consumer's backlog is full: it would refuse */
		refuse(ep, NULL, 0);
		return ONWARD;
	}
	if (ret < 0)
		return ret;
	srnic_listen_done(ep->listen);
	WRITE_ONCE(ep->listen, NULL);
	ep->state = SRNIC_EP_ANNOUNCED;
	set_deadline(ep, accept_timeout);
	return ONWARD;
}

static int step_announced(struct srnic_ep *ep)
{
	return srnic_sock_peer_gone(ep->sock) ? -ECONNRESET : WAIT;
}

static int step_replying(struct srnic_ep *ep)
{
	int ret = flush_out(ep);

	return ret > 0 ? operate_responder(ep) : ret;
}

static int step_closing(struct srnic_ep *ep)
{
	int ret = flush_out(ep);

	if (ret <= 0)
		return ret;
	linger(ep);
	return ONWARD;
}

static int step_operation(struct srnic_ep *ep)
{
	int over = atomic_read(&ep->over);
	enum srnic_over why;

	if (!over)
		return WAIT;
	why = over - 1;
	if (ep->up && why != SRNIC_OVER_ABORT && why != SRNIC_OVER_CLOSE)
		notify(ep, IW_CM_EVENT_DISCONNECT, 0);
	if (!hurried(ep) && (why == SRNIC_OVER_PEER_CLOSED || why == SRNIC_OVER_CLOSE))
		drain(ep, why);
	else
		finish(ep, why);
	return ONWARD;
}

static int step_draining(struct srnic_ep *ep)
{
	enum srnic_over why = atomic_read(&ep->over) - 1;

	if (drained(ep, why)) {
		finish(ep, why);
		return ONWARD;
	}
	ep->timed = true;
	ep->deadline = jiffies + DRAIN_POLL;
	return WAIT;
}

/* While octets of ours still get through, they get more time. */
static void extend(struct srnic_ep *ep)
{
	u32 unacked = srnic_sock_unacked(ep->sock);

	if (unacked >= ep->unacked || ep->extensions >= LINGER_EXTENSIONS)
		return;
	ep->unacked = unacked;
	ep->extensions++;
	set_deadline(ep, LINGER_SECONDS);
}

static int step_linger(struct srnic_ep *ep)
{
	if (srnic_sock_discard(ep->sock))
		kick(ep);
	if (srnic_sock_closed(ep->sock) || READ_ONCE(ep->killed))
		return -ECONNRESET;	/* not an error here: all there is left to do is to die */
	if (expired(ep))
		extend(ep);
	return WAIT;
}

static int step_dead(struct srnic_ep *ep)
{
	return WAIT;
}

static int (*const steps[])(struct srnic_ep *ep) = {
	[SRNIC_EP_CONNECTING] = step_connecting,
	[SRNIC_EP_REQUESTING] = step_requesting,
	[SRNIC_EP_AWAIT_REPLY] = step_await_reply,
	[SRNIC_EP_AWAIT_REQUEST] = step_await_request,
	[SRNIC_EP_ANNOUNCED] = step_announced,
	[SRNIC_EP_REPLYING] = step_replying,
	[SRNIC_EP_CLOSING] = step_closing,
	[SRNIC_EP_OPERATION] = step_operation,
	[SRNIC_EP_DRAINING] = step_draining,
	[SRNIC_EP_LINGER] = step_linger,
	[SRNIC_EP_DEAD] = step_dead,
};

/* Startup may be told to stop from outside: the QP goes, the listener goes, the device goes. */
static bool stopped(const struct srnic_ep *ep)
{
	return ep->state < SRNIC_EP_OPERATION && atomic_read(&ep->over);
}

static void run(struct srnic_ep *ep)
{
	int ret;

	do {
		ret = stopped(ep) ? -ECONNABORTED : steps[ep->state](ep);
		if (ret == WAIT && expired(ep))
			ret = -ETIMEDOUT;
		if (ret < 0)
			fail(ep, ret);
	} while (ret == ONWARD);
	arm(ep);
}

static void ep_work(struct work_struct *work)
{
	struct srnic_ep *ep = container_of(to_delayed_work(work), struct srnic_ep, work);
	unsigned int noio = memalloc_noio_save();	/* storage may wait for this very connection */

	mutex_lock(&ep->lock);
	run(ep);
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	memalloc_noio_restore(noio);
}

/* ---- connect ---- */

/*
 * A QP number is no secret, and iw_cm asks for no more: a user's QP is connected by the process that created it, a kernel
 * consumer's by way of the id that has it.
 */
static bool may_connect(const struct iw_cm_id *id, const struct srnic_qp *qp)
{
	if (!qp->user)
		return srnic_iwcm_qp(id) == &qp->base;
	return same_thread_group(qp->base.res.task, current);
}

/* The consumer's QP, referenced and set, if it can still be connected. */
static int take_qp(struct srnic_ep *ep, const struct iw_cm_id *id, u32 qpn)
{
	struct srnic_qp *qp = srnic_qp_find(ep->dev, qpn);

	if (!qp)
		return -EINVAL;
	if (!may_connect(id, qp)) {
		srnic_qp_put(qp);
		return -EPERM;
	}
	/* In this order: a QP that fails in between is seen here, or sees the ep in srnic_connect_abandon(). */
	set_qp(ep, qp);
	if (READ_ONCE(qp->state) != SRNIC_QP_IDLE)
		return -EINVAL;
	qp->ack_timeout = srnic_iwcm_ack_timeout(id);
	return 0;
}

/* A link-local address means the device's own link. */
static void scope(struct sockaddr_storage *addr, const struct net_device *netdev)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6 && !in6->sin6_scope_id &&
	    ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = netdev->ifindex;
}

/* iw_cm's mapped addresses: where a port mapper is at work that is where the peer really listens, else they are equal. */
static int open_connection(struct srnic_ep *ep, const struct iw_cm_id *id)
{
	int ret = srnic_sock_create(ep->net, id->m_remote_addr.ss_family, &ep->sock);

	if (ret)
		return ret;
	if (id->tos_set)
		srnic_sock_set_tos(ep->sock, id->tos);
	ep->local = id->m_local_addr;
	ep->remote = id->m_remote_addr;
	scope(&ep->local, ep->dev->netdev);
	scope(&ep->remote, ep->dev->netdev);
	srnic_sock_watch(ep->sock, &ep->watch);
	return srnic_sock_connect(ep->sock, &ep->local, &ep->remote);
}

static int connect_locked(struct srnic_ep *ep, struct iw_cm_id *id, const struct iw_cm_conn_param *param)
{
	struct srnic_startup *startup = ep->startup;
	int ret = take_qp(ep, id, param->qpn);

	if (ret)
		return ret;
	init_local(ep, param);
	if (!fits(param->private_data_len, startup->local.revision == 2))
		return -EINVAL;
	srnic_mpa_request(&startup->local, param->private_data_len, &startup->request);
	lay_out(startup, &startup->request, param->private_data, param->private_data_len);
	ret = open_connection(ep, id);
	if (ret)
		return ret;
	id->add_ref(id);
	ep->cm_id = id;
	set_deadline(ep, startup_timeout);
	kick(ep);
	return 0;
}

int srnic_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct srnic_dev *dev = to_srnic_dev(id->device);
	int family = id->m_remote_addr.ss_family;
	struct srnic_ep *ep;
	int ret;

	if ((family != AF_INET && family != AF_INET6) || family != id->m_local_addr.ss_family)
		return -EAFNOSUPPORT;
	ep = create(dev, dev_net(dev->netdev), SRNIC_EP_CONNECTING);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = connect_locked(ep, id, param);
	if (ret)
		die(ep);
	unlock_put(ep);
	return ret;
}

/* ---- accept and reject ---- */

int srnic_ep_passive(struct srnic_dev *dev, struct srnic_listen *listen, struct socket *sock)
{
	struct srnic_ep *ep = create(dev, sock_net(sock->sk), SRNIC_EP_AWAIT_REQUEST);

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	WRITE_ONCE(ep->listen, listen);
	ep->sock = sock;
	srnic_sock_names(sock, &ep->local, &ep->remote);
	init_local(ep, &(struct iw_cm_conn_param) {});
	srnic_sock_watch(sock, &ep->watch);
	set_deadline(ep, startup_timeout);
	kick(ep);
	unlock_put(ep);
	return 0;
}

/* The connection that iw_cm means, locked and referenced; NULL if it is gone: the peer or the time. */
static struct srnic_ep *find_announced(struct iw_cm_id *id)
{
	struct srnic_dev_connections *conns = &to_srnic_dev(id->device)->connections;
	struct srnic_ep *ep;

	xa_lock(&conns->announced);
	ep = xa_load(&conns->announced, (unsigned long)id->provider_data);
	if (ep)
		srnic_ep_get(ep);
	xa_unlock(&conns->announced);
	if (ep)
		mutex_lock(&ep->lock);
	return ep;
}

static int build_reply(struct srnic_ep *ep, const struct iw_cm_conn_param *param)
{
	struct srnic_startup *startup = ep->startup;
	u32 len = param->private_data_len;

	init_local(ep, param);
	if (!fits(len, startup->request.enhanced))
		return -EINVAL;
	srnic_mpa_respond(&startup->request, &startup->local, false, len, &startup->reply, &startup->agreed);
	if (startup->agreed.error)
		return -EPROTO;
	lay_out(startup, &startup->reply, param->private_data, len);
	return 0;
}

static int accept_locked(struct srnic_ep *ep, struct iw_cm_id *id, const struct iw_cm_conn_param *param)
{
	int ret;

	if (srnic_sock_peer_gone(ep->sock))
		return -ECONNRESET;
	ret = take_qp(ep, id, param->qpn) ?: build_reply(ep, param);
	if (ret)
		return ret;
	id->add_ref(id);
	ep->cm_id = id;
	ep->state = SRNIC_EP_REPLYING;
	set_deadline(ep, startup_timeout);
	return 0;
}

/*
 * From an error on iw_cm does not call us again for this connection, so the peer gets its refusal here. A second accept
 * before the first one is done ends it without further events, as iw_cm then expects.
 */
int srnic_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct srnic_ep *ep = find_announced(id);
	int ret = -EINVAL;

	if (!ep)
		return -ECONNRESET;
	if (ep->state == SRNIC_EP_ANNOUNCED) {
		ret = accept_locked(ep, id, param);
		if (ret)
			refuse(ep, NULL, 0);
		kick(ep);
	} else if (ep->state == SRNIC_EP_REPLYING) {
		die(ep);
	} else {
		ret = -ECONNRESET;
	}
	unlock_put(ep);
	return ret;
}

int srnic_reject(struct iw_cm_id *id, const void *pdata, u8 len)
{
	struct srnic_ep *ep = find_announced(id);

	if (!ep)
		return 0;
	if (ep->state == SRNIC_EP_ANNOUNCED) {
		refuse(ep, pdata, len);
		kick(ep);
	} else if (ep->state == SRNIC_EP_REPLYING) {
		die(ep);
	}
	unlock_put(ep);
	return 0;
}

/* ---- from outside: the QP, the listener, the device ---- */

/* Ends those connections of a device that a predicate picks, by what only the list's lock protects. */
static void end_matching(struct srnic_dev *dev, bool (*match)(const struct srnic_ep *ep, const void *key),
			 const void *key)
{
	struct srnic_dev_connections *conns = &dev->connections;
	unsigned long flags;
	struct srnic_ep *ep;

	spin_lock_irqsave(&conns->lock, flags);
	list_for_each_entry(ep, &conns->eps, link)
		if (match(ep, key))
			srnic_ep_over(ep, SRNIC_OVER_ABORT);
	spin_unlock_irqrestore(&conns->lock, flags);
}

static bool has_qp(const struct srnic_ep *ep, const void *qp)
{
	return ep->qp == qp;
}

void srnic_connect_abandon(struct srnic_qp *qp)
{
	end_matching(qp->dev, has_qp, qp);
}

static bool has_listen(const struct srnic_ep *ep, const void *listen)
{
	return READ_ONCE(ep->listen) == listen;
}

void srnic_ep_end_startups(struct srnic_dev *dev, const struct srnic_listen *listen)
{
	end_matching(dev, has_listen, listen);
}

void srnic_connect_dev_init(struct srnic_dev *dev)
{
	struct srnic_dev_connections *conns = &dev->connections;

	spin_lock_init(&conns->lock);
	INIT_LIST_HEAD(&conns->eps);
	init_waitqueue_head(&conns->idle);
	xa_init_flags(&conns->announced, XA_FLAGS_ALLOC1);
}

static void kill_all(struct srnic_dev_connections *conns)
{
	struct srnic_ep *ep;

	spin_lock_irq(&conns->lock);
	conns->dying = true;
	list_for_each_entry(ep, &conns->eps, link) {
		WRITE_ONCE(ep->killed, true);
		srnic_ep_over(ep, SRNIC_OVER_ABORT);
		kick(ep);	/* also those whose stream was over before */
	}
	spin_unlock_irq(&conns->lock);
}

static bool all_gone(struct srnic_dev_connections *conns)
{
	bool gone;

	/* The lock: whoever frees the last one is done with the device. */
	spin_lock_irq(&conns->lock);
	gone = !conns->num;
	spin_unlock_irq(&conns->lock);
	return gone;
}

void srnic_connect_dev_exit(struct srnic_dev *dev)
{
	struct srnic_dev_connections *conns = &dev->connections;

	kill_all(conns);
	srnic_listen_dev_exit(dev);
	wait_event(conns->idle, all_gone(conns));
	xa_destroy(&conns->announced);
}
