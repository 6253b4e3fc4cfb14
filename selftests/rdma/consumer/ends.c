// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two ends connected by rdma_cm, each in its network namespace; and their requests.
 */
#include "consumer.h"

#define PORT 7190
#define READS 4
#define CM_TIMEOUT_MS 5000
#define CM_FAILED                                                                                  \
	(BIT(RDMA_CM_EVENT_ADDR_ERROR) | BIT(RDMA_CM_EVENT_ROUTE_ERROR) |                          \
	 BIT(RDMA_CM_EVENT_CONNECT_ERROR) | BIT(RDMA_CM_EVENT_UNREACHABLE) |                       \
	 BIT(RDMA_CM_EVENT_REJECTED))

/* ---- requests ---- */

static void on_completion(struct ib_cq *cq, struct ib_wc *wc)
{
	struct request *request = container_of(wc->wr_cqe, struct request, cqe);

	if (request->spoils)
		memset(request->spoils->at, 0xbd, request->spoils->len);
	request->wc = *wc;
	complete(&request->done);
}

struct ib_cqe *begin(struct request *request, struct buffer *spoils)
{
	request->cqe.done = on_completion;
	request->spoils = spoils;
	memset(&request->wc, 0xbd, sizeof(request->wc)); /* none yet, also on reuse */
	init_completion(&request->done);
	return &request->cqe;
}

const char *ends_with(struct request *request, enum ib_wc_status status)
{
	if (!wait_for_completion_timeout(&request->done, PATIENCE))
		return "a completion has not come";
	if (request->wc.status == status)
		return NULL;
	return request->wc.status == IB_WC_SUCCESS ? "a request has succeeded that cannot" :
						     ib_wc_status_msg(request->wc.status);
}

const char *await(struct request *request)
{
	return ends_with(request, IB_WC_SUCCESS);
}

const char *post_send(struct end *end, u32 slot, struct ib_send_wr *wr)
{
	wr->wr_cqe = begin(&end->sent[slot], NULL);
	return failed("ib_post_send", ib_post_send(end->id->qp, wr, NULL));
}

const char *post_recv(struct end *end, u32 slot, struct ib_sge *list, int num)
{
	struct ib_recv_wr wr = {
		.wr_cqe = begin(&end->received[slot], NULL), .sg_list = list, .num_sge = num,
	};

	return failed("ib_post_recv", ib_post_recv(end->id->qp, &wr, NULL));
}

const char *receive_into(struct end *end, u32 slot, const struct buffer *buffer)
{
	struct ib_sge sge = piece(end, buffer, 0, buffer->len);

	return post_recv(end, slot, &sge, 1);
}

const char *announce(struct scene *s, u32 slot)
{
	struct ib_sge sge = piece(&s->client, &s->note, 0, s->note.len);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
	};

	return receive_into(&s->server, slot, &s->seen) ?:
	       post_send(&s->client, slot, &wr) ?:
	       await(&s->client.sent[slot]) ?:
	       await(&s->server.received[slot]);
}

/* ---- events ---- */

static void note_event(struct end *end, unsigned long *events, int event)
{
	set_bit(event, events);
	wake_up(&end->changed);
}

/*
 * A request to connect comes with a new id, the server's. rdma_cm delays the removal of a device
 * until the case is over.
 */
static int on_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct end *end = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		end->id = id;
	note_event(end, &end->cm_events, event->event);
	return 0;
}

static void on_qp_event(struct ib_event *event, void *context)
{
	struct end *end = context;

	note_event(end, &end->qp_events, event->event);
}

static const char *await_cm(struct end *end, enum rdma_cm_event_type event)
{
	wait_event_timeout(end->changed, READ_ONCE(end->cm_events) & (BIT(event) | CM_FAILED),
			   PATIENCE);
	if (test_bit(event, &end->cm_events))
		return NULL;
	say("no event \"%s\", only %#lx\n", rdma_event_msg(event), end->cm_events);
	return "no connection";
}

/* The QP has had exactly this event. */
static bool is_told(struct end *end, enum ib_event_type event)
{
	wait_event_timeout(end->changed, READ_ONCE(end->qp_events), PATIENCE);
	if (end->qp_events == BIT(event))
		return true;
	say("events of the QP: %#lx\n", end->qp_events);
	return false;
}

const char *refuses(struct end *end)
{
	return is_told(end, IB_EVENT_QP_ACCESS_ERR) ? NULL : "not refused for want of access";
}

static bool resets;
module_param(resets, bool, 0444);
MODULE_PARM_DESC(resets, "an error ends a connection by a reset, as with RDMA/TCP");

const char *is_ended(struct end *end)
{
	if (resets)
		return await_cm(end, RDMA_CM_EVENT_DISCONNECTED);
	return is_told(end, IB_EVENT_QP_FATAL) ? NULL : "not ended by the peer";
}

/* ---- connecting ---- */

static const char *create_id(struct rdma_cm_id **id, struct net *net, struct end *end)
{
	struct rdma_cm_id *new = rdma_create_id(net, on_cm_event, end, RDMA_PS_TCP, IB_QPT_RC);

	if (IS_ERR(new))
		return failed("rdma_create_id", PTR_ERR(new));
	*id = new;
	return NULL;
}

static const char *create_qp(struct end *end)
{
	const struct ib_device_attr *limits = &end->id->device->attrs;
	struct ib_qp_init_attr attr = {
		.event_handler = on_qp_event,
		.qp_context = end,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = SLOTS + 1,	/* one for the drain */
			.max_recv_wr = SLOTS + 1,
			.max_send_sge = limits->max_send_sge,
			.max_recv_sge = limits->max_recv_sge,
			.max_inline_data = SMALL_OCTETS,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int err = rdma_create_qp(end->id, end->pd, &attr);

	end->cap = attr.cap;
	return failed("rdma_create_qp", err);
}

/* Large enough for the completions of all that an end can have in flight. */
static struct ib_cq *create_cq(struct end *end, enum polled polled)
{
	static const enum ib_poll_context contexts[] = {
		[POLLED_IN_WORKQUEUE] = IB_POLL_WORKQUEUE,
		[POLLED_DIRECTLY] = IB_POLL_DIRECT,
		[POLLED_IN_SOFTIRQ] = IB_POLL_SOFTIRQ,
		[POLLED_UNBOUND] = IB_POLL_UNBOUND_WORKQUEUE,
		[POLLED_ELSEWHERE] = IB_POLL_SOFTIRQ,
	};
	struct ib_device *dev = end->id->device;
	int vector = polled == POLLED_ELSEWHERE ? dev->num_comp_vectors - 1 : 0;

	return ib_alloc_cq(dev, end, 4 * SLOTS, vector, contexts[polled]);
}

static const char *create_queues(struct end *end, enum polled polled)
{
	struct ib_pd *pd = ib_alloc_pd(end->id->device, 0);
	struct ib_cq *cq;

	if (IS_ERR(pd))
		return failed("ib_alloc_pd", PTR_ERR(pd));
	end->pd = pd;
	cq = create_cq(end, polled);
	if (IS_ERR(cq))
		return failed("ib_alloc_cq", PTR_ERR(cq));
	end->cq = cq;
	return create_qp(end);
}

static const char *listen(struct scene *s, struct sockaddr *to)
{
	return create_id(&s->listening, s->settings->peer_net, &s->server) ?:
	       failed("rdma_bind_addr", rdma_bind_addr(s->listening, to)) ?:
	       failed("rdma_listen", rdma_listen(s->listening, 1));
}

static const char *resolve(struct scene *s, struct sockaddr *from, struct sockaddr *to)
{
	struct end *end = &s->client;

	return create_id(&end->id, s->settings->net, end) ?:
	       failed("rdma_resolve_addr", rdma_resolve_addr(end->id, from, to, CM_TIMEOUT_MS)) ?:
	       await_cm(end, RDMA_CM_EVENT_ADDR_RESOLVED) ?:
	       failed("rdma_resolve_route", rdma_resolve_route(end->id, CM_TIMEOUT_MS)) ?:
	       await_cm(end, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static const char *accept(struct end *end, struct rdma_conn_param *param)
{
	int err;

	rdma_lock_handler(end->id);
	err = rdma_accept(end->id, param);
	rdma_unlock_handler(end->id);
	return failed("rdma_accept", err);
}

static const char *connect(struct scene *s, enum polled polled)
{
	struct rdma_conn_param param = {
		.responder_resources = READS, .initiator_depth = READS,
		.retry_count = s->settings->retries,
	};
	struct sockaddr_storage from = s->settings->from, to = s->settings->to;

	if (to.ss_family == AF_INET)
		((struct sockaddr_in *)&to)->sin_port = htons(PORT);
	else
		((struct sockaddr_in6 *)&to)->sin6_port = htons(PORT);
	return listen(s, (struct sockaddr *)&to) ?:
	       resolve(s, (struct sockaddr *)&from, (struct sockaddr *)&to) ?:
	       create_queues(&s->client, polled) ?:
	       failed("rdma_connect", rdma_connect(s->client.id, &param)) ?:
	       await_cm(&s->server, RDMA_CM_EVENT_CONNECT_REQUEST) ?:
	       create_queues(&s->server, polled) ?:
	       accept(&s->server, &param) ?:
	       await_cm(&s->server, RDMA_CM_EVENT_ESTABLISHED) ?:
	       await_cm(&s->client, RDMA_CM_EVENT_ESTABLISHED);
}

/* ---- all of it ---- */

static const char *memory(struct scene *s)
{
	struct ib_device *here = s->client.id->device, *there = s->server.id->device;
	u32 octets = s->settings->octets;

	return buffer_make(&s->source, here, octets) ?:
	       buffer_make(&s->note, here, SMALL_OCTETS) ?:
	       buffer_make(&s->landing, there, octets) ?:
	       buffer_make(&s->seen, there, SMALL_OCTETS) ?:
	       region_make(&s->sink, s->client.pd, octets) ?:
	       region_make(&s->target, s->server.pd, octets);
}

const char *scene_up(struct scene *s, const struct settings *settings, enum polled polled)
{
	memset(s, 0, sizeof(*s));
	s->settings = settings;
	init_waitqueue_head(&s->client.changed);
	init_waitqueue_head(&s->server.changed);
	return connect(s, polled) ?: memory(s);
}

const char *lone_end(struct scene *s, const struct settings *settings)
{
	struct sockaddr_storage from = settings->from;
	struct end *end = &s->client;

	memset(s, 0, sizeof(*s));
	s->settings = settings;
	init_waitqueue_head(&end->changed);
	return create_id(&end->id, settings->net, end) ?:
	       failed("rdma_bind_addr", rdma_bind_addr(end->id, (struct sockaddr *)&from)) ?:
	       create_queues(end, POLLED_IN_SOFTIRQ) ?:
	       buffer_make(&s->source, end->id->device, settings->octets);
}

static void stop(struct end *end)
{
	if (!end->id || !end->id->qp)
		return;
	ib_drain_qp(end->id->qp);
	rdma_destroy_qp(end->id);
}

static void end_down(struct end *end)
{
	if (end->cq)
		ib_free_cq(end->cq);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	if (end->id)
		rdma_destroy_id(end->id);
}

void scene_down(struct scene *s)
{
	if (s->listening)
		rdma_destroy_id(s->listening);
	if (s->client.id)
		rdma_disconnect(s->client.id);
	stop(&s->client);
	stop(&s->server);
	region_free(&s->sink);
	region_free(&s->target);
	buffer_free(&s->source);
	buffer_free(&s->note);
	buffer_free(&s->landing);
	buffer_free(&s->seen);
	end_down(&s->client);
	end_down(&s->server);
}
