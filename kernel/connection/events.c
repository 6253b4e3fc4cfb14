// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * iw_cm events for consumers. The ep's work raises them while the ep has the consumer's id.
 */
#include "connection/connect.h"
#include "connection/ep.h"
#include "report/counters.h"
#include "stream/qp.h"

int srnic_report(struct srnic_ep *ep, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event event = { .event = type, .status = status };

	lockdep_assert_held(&ep->lock);
	return ep->cm_id->event_handler(ep->cm_id, &event);
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
static void describe_peer(struct iw_cm_event *event,
			  const struct srnic_startup *startup, bool reply)
{
	struct srnic_offer offer;

	srnic_frame_describe(startup, reply, &offer);
	event->ird = clamp_depth(offer.ird, SRNIC_MAX_ORD);
	event->ord = clamp_depth(offer.ord, SRNIC_MAX_IRD);
	event->private_data = offer.private_len ? (void *)offer.private_data : NULL;
	event->private_data_len = offer.private_len;
}

/* rdma_cm copies the addresses from the event, so these are the consumer's own. */
void srnic_report_failure(struct srnic_ep *ep, int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = ep->cm_id->local_addr,
		.remote_addr = ep->cm_id->remote_addr,
	};

	ep->cm_id->event_handler(ep->cm_id, &event);
}

/*
 * The peer's answer to connect(). -ENOMEM: not delivered. SMB Direct, alone among the kernel's
 * consumers, looks at the depths: since 7.0 it wants iWARP's the other way round, as siw and irdma
 * report them, and would have one or two regions in flight.
 */
static int report_reply(struct srnic_ep *ep, int status)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = status,
		.local_addr = ep->cm_id->local_addr,
		.remote_addr = ep->cm_id->remote_addr,
	};

	describe_peer(&event, ep->startup, true);
	if (!status && !ep->qp->user)
		swap(event.ird, event.ord);
	return ep->cm_id->event_handler(ep->cm_id, &event);
}

enum core_conn_input srnic_report_connected(struct srnic_ep *ep)
{
	ep->error = report_reply(ep, 0);
	srnic_startup_done(ep);
	return ep->error ? CORE_CONN_UNDELIVERED : CORE_CONN_NOTHING;
}

void srnic_report_rejected(struct srnic_ep *ep)
{
	if (report_reply(ep, -ECONNREFUSED))
		srnic_report_failure(ep, -ECONNREFUSED);
}

void srnic_report_established(struct srnic_ep *ep)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.local_addr = ep->cm_id->local_addr,
		.remote_addr = ep->cm_id->remote_addr,
		.ird = clamp_depth(ep->startup->agreed.ord, SRNIC_MAX_ORD),
		.ord = clamp_depth(ep->startup->agreed.ird, SRNIC_MAX_IRD),
	};

	srnic_ep_forget_announcement(ep);
	ep->cm_id->event_handler(ep->cm_id, &event);
	srnic_startup_done(ep);
}

static int announce(struct srnic_ep *ep)
{
	struct srnic_dev_connections *conns = &ep->dev->connections;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = ep->startup->here,
		.remote_addr = ep->startup->there,
	};
	int ret;

	ret = xa_alloc_cyclic(&conns->announced, &ep->announced_id, ep, XA_LIMIT(1, INT_MAX),
			      &conns->next_announced, GFP_KERNEL);
	if (ret < 0) {
		ep->announced_id = 0;
		return ret;
	}
	srnic_ep_get(ep);
	describe_peer(&event, ep->startup, false);
	event.provider_data = (void *)(unsigned long)ep->announced_id;
	return srnic_listen_announce(ep->listen, &event);
}

/* Only the peer gets an event. */
static void report_full_backlog(const struct srnic_ep *ep)
{
	const struct srnic_startup *startup = ep->startup;

	srnic_count(ep->dev, SRNIC_BACKLOG_FULL, 1);
	ibdev_warn_ratelimited(&ep->dev->base,
			       "%pISpc rejected: the backlog of the program at %pISpc is full\n",
			       &startup->there, &startup->here);
}

enum core_conn_input srnic_report_request(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->error = announce(ep);
	if (!ep->error)
		return CORE_CONN_TOOK_REQUEST;
	if (ep->error != -ENOMEM)
		return CORE_CONN_BROKEN;
	report_full_backlog(ep);
	return CORE_CONN_BUSY;
}
