// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * iw_cm's events: what a connection reports to a consumer that is an id of iw_cm. Connections that
 * are announced and not answered yet have numbers, by which iw_cm's accept and reject find them.
 */
#include "connection/ep.h"
#include "connection/frame.h"
#include "connection/iwcm.h"
#include "report/counters.h"
#include "stream/attach.h"
#include "stream/qp.h"

static int raise(struct srnic_ep *ep, struct iw_cm_event *event)
{
	struct iw_cm_id *id = ep->consumer_id;

	lockdep_assert_held(&ep->lock);
	return id->event_handler(id, event);
}

static void raise_plain(struct srnic_ep *ep, enum iw_cm_event_type type, int status)
{
	raise(ep, &(struct iw_cm_event) { .event = type, .status = status });
}

/* rdma_cm copies the addresses from the event, so these are the consumer's own. */
static struct iw_cm_event addressed(const struct srnic_ep *ep, enum iw_cm_event_type type,
				    int status)
{
	const struct iw_cm_id *id = ep->consumer_id;

	return (struct iw_cm_event) {
		.event = type,
		.status = status,
		.local_addr = id->local_addr,
		.remote_addr = id->remote_addr,
	};
}

static u8 clamp_depth(u16 depth, u16 max)
{
	return min_t(u16, depth, max); /* CORE_MPA_AUTO (not negotiated) becomes the maximum */
}

/*
 * RFC 6581 9.1: the consumer learns the peer's IRD and ORD. rdma_cm reports the event's ird as the
 * consumer's initiator depth, which the peer's IRD bounds, and its ord as the consumer's responder
 * resources. iw_cm copies private data only if there are any, and consumers look at the pointer
 * when the startup may be gone: so it is NULL if there are none.
 */
static void describe_peer(struct iw_cm_event *event, const struct srnic_startup *startup,
			  bool reply)
{
	struct srnic_offer offer;

	srnic_frame_describe(startup, reply, &offer);
	event->ird = clamp_depth(offer.ird, SRNIC_MAX_ORD);
	event->ord = clamp_depth(offer.ord, SRNIC_MAX_IRD);
	event->private_data = offer.private_len ? (void *)offer.private_data : NULL;
	event->private_data_len = offer.private_len;
}

/* ---- connect() ---- */

static void report_failed(struct srnic_ep *ep, int status)
{
	struct iw_cm_event event = addressed(ep, IW_CM_EVENT_CONNECT_REPLY, status);

	raise(ep, &event);
}

/*
 * The peer's answer to connect(). -ENOMEM: iw_cm could not copy the private data. SMB Direct, alone
 * among the kernel's consumers, looks at the depths: since 7.0 it wants iWARP's the other way
 * round, as siw and irdma report them, and would have one or two regions in flight.
 */
static int report_reply(struct srnic_ep *ep, int status)
{
	struct iw_cm_event event = addressed(ep, IW_CM_EVENT_CONNECT_REPLY, status);

	describe_peer(&event, ep->startup, true);
	if (!status && !ep->qp->user)
		swap(event.ird, event.ord);
	return raise(ep, &event);
}

static int report_connected(struct srnic_ep *ep)
{
	return report_reply(ep, 0);
}

/* Without the peer's private data if iw_cm cannot copy it. */
static void report_rejected(struct srnic_ep *ep)
{
	if (report_reply(ep, -ECONNREFUSED))
		report_failed(ep, -ECONNREFUSED);
}

/* ---- announced connections ---- */

static int enter_announced(struct srnic_ep *ep)
{
	struct srnic_dev_connections *conns = &ep->dev->connections;
	int ret = xa_alloc_cyclic(&conns->announced, &ep->announced_id, ep, XA_LIMIT(1, INT_MAX),
				  &conns->next_announced, GFP_KERNEL);

	if (ret < 0) {
		ep->announced_id = 0;
		return ret;
	}
	srnic_ep_get(ep);
	return 0;
}

/* After this, accept and reject do not find the ep. */
static void leave_announced(struct srnic_ep *ep)
{
	if (!ep->announced_id)
		return;
	xa_erase(&ep->dev->connections.announced, ep->announced_id);
	ep->announced_id = 0;
	srnic_ep_put(ep);	/* never the last one */
}

struct srnic_ep *srnic_find_announced(struct iw_cm_id *id)
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

static int deliver_request(struct srnic_listener_member *member, struct iw_cm_event *event)
{
	struct srnic_listening_id *listening =
		container_of(member, struct srnic_listening_id, member);
	struct iw_cm_id *id = listening->cm_id;
	int ret = -ECONNABORTED;

	mutex_lock(&listening->lock);
	if (listening->open) {
		srnic_set_port(&event->local_addr, srnic_port_of(&id->m_local_addr));
		ret = id->event_handler(id, event);
	}
	mutex_unlock(&listening->lock);
	return ret;
}

/* -ECONNABORTED: the id no longer listens; -ENOMEM: its backlog is full. */
static int announce(struct srnic_ep *ep)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = ep->startup->here,
		.remote_addr = ep->startup->there,
	};
	int ret;

	lockdep_assert_held(&ep->lock);
	ret = enter_announced(ep);
	if (ret)
		return ret;
	describe_peer(&event, ep->startup, false);
	event.provider_data = (void *)(unsigned long)ep->announced_id;
	return deliver_request(ep->member, &event);
}

/* Only the peer gets an event. */
static void note_full_backlog(const struct srnic_ep *ep)
{
	const struct srnic_startup *startup = ep->startup;

	srnic_count(ep->dev, SRNIC_BACKLOG_FULL, 1);
	ibdev_warn_ratelimited(&ep->dev->base,
			       "%pISpc rejected: the backlog of the program at %pISpc is full\n",
			       &startup->there, &startup->here);
}

static enum core_conn_input report_request(struct srnic_ep *ep)
{
	ep->error = announce(ep);
	if (!ep->error)
		return CORE_CONN_TOOK_REQUEST;
	if (ep->error != -ENOMEM)
		return CORE_CONN_BROKEN;
	note_full_backlog(ep);
	return CORE_CONN_BUSY;
}

static int start_qp(struct srnic_ep *ep, const struct srnic_qp_start *start)
{
	return srnic_qp_start(ep->qp, start);
}

static void report_established(struct srnic_ep *ep)
{
	struct iw_cm_event event = addressed(ep, IW_CM_EVENT_ESTABLISHED, 0);

	event.ird = clamp_depth(ep->startup->agreed.ord, SRNIC_MAX_ORD);
	event.ord = clamp_depth(ep->startup->agreed.ird, SRNIC_MAX_IRD);
	leave_announced(ep);
	raise(ep, &event);
}

static void report_not_established(struct srnic_ep *ep, int status)
{
	raise_plain(ep, IW_CM_EVENT_ESTABLISHED, status);
}

/* ---- the end ---- */

static void report_disconnected(struct srnic_ep *ep)
{
	raise_plain(ep, IW_CM_EVENT_DISCONNECT, 0);
}

static void report_closed(struct srnic_ep *ep, int status)
{
	raise_plain(ep, IW_CM_EVENT_CLOSE, status);
}

static void part(struct srnic_ep *ep)
{
	struct iw_cm_id *id = ep->consumer_id;

	leave_announced(ep);
	if (id)
		id->rem_ref(id);
	ep->consumer_id = NULL;
}

const struct srnic_consumer_ops srnic_iwcm_ops = {
	.request = report_request,
	.start = start_qp,
	.connected = report_connected,
	.rejected = report_rejected,
	.failed = report_failed,
	.established = report_established,
	.not_established = report_not_established,
	.disconnected = report_disconnected,
	.closed = report_closed,
	.part = part,
};
