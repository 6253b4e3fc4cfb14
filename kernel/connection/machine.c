// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs an ep's state machine: finds an input, asks the core what to do (core/connection.cc), and
 * does it. The inputs of the states before OPERATION come from startup.c, the others from
 * teardown.c.
 */
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/sched/mm.h>

#include "connection/ep.h"
#include "connection/frame.h"
#include "connection/listener.h"
#include "connection/machine.h"
#include "connection/startup.h"
#include "connection/teardown.h"
#include "report/counters.h"
#include "report/trace.h"
#include "stream/attach.h"
#include "stream/detach.h"
#include "stream/qp.h"

#define DRAIN_POLL	msecs_to_jiffies(4)

/* ---- time ---- */

static bool limited(const struct srnic_ep *ep)
{
	return core_conn_limit_of(ep->state) != CORE_CONN_NO_LIMIT;
}

static void begin_patience(struct srnic_ep *ep)
{
	enum core_conn_limit limit = core_conn_limit_of(ep->state);
	u32 each, most;

	if (limit == CORE_CONN_NO_LIMIT)
		return;
	each = srnic_startup_patience(limit);
	most = each;
	if (limit == CORE_CONN_LIMIT_DRAIN || limit == CORE_CONN_LIMIT_LINGER)
		srnic_teardown_patience(ep, &each, &most);
	core_patience_begin(&ep->patience, get_jiffies_64(), each * HZ, most * HZ,
			    srnic_teardown_progress(ep));
}

/* Some things that happen in a state leave it less time. */
static void hurry(struct srnic_ep *ep)
{
	u64 end = srnic_teardown_hurry(ep);

	if (!end)
		return;
	ep->patience.limit = min(ep->patience.limit, end);
	ep->patience.end = min(ep->patience.end, ep->patience.limit);
}

static bool expired(struct srnic_ep *ep)
{
	hurry(ep);
	return limited(ep) && core_patience_over(&ep->patience, get_jiffies_64(),
						 srnic_teardown_progress(ep));
}

/* Queues the work for the end of the time limit, unless it is pending. */
static void arm(struct srnic_ep *ep)
{
	u64 now = get_jiffies_64(), end = ep->patience.end;
	unsigned long delay = end > now ? end - now : 0;

	if (!limited(ep))
		return;
	if (ep->state == CORE_CONN_DRAINING)	/* the engine does not report that it is done */
		delay = min(delay, DRAIN_POLL);
	srnic_ep_get(ep);
	if (!queue_delayed_work(srnic_wq, &ep->work, delay))
		srnic_ep_put(ep);
}

/* ---- inputs ---- */

/*
 * A QP that outlives its streams has nothing to drain; what it has begun to send is the ep's.
 * FAULT: the peer has replaced the stream.
 */
static enum core_conn_input end_of_lasting(const struct srnic_ep *ep, enum core_conn_input over)
{
	if (ep->state != CORE_CONN_OPERATION || !over)
		return CORE_CONN_NOTHING;
	return over == CORE_CONN_RESET || over == CORE_CONN_FAULT ? over : CORE_CONN_DETACH;
}

/* Inputs from the QP, the listener and the device. */
static enum core_conn_input external_input(const struct srnic_ep *ep)
{
	enum core_conn_input over = atomic_read(&ep->over);
	bool killed = READ_ONCE(ep->killed);

	if (ep->state < CORE_CONN_OPERATION)
		return over || killed ? CORE_CONN_ABORT : CORE_CONN_NOTHING;
	if (ep->consumer->lasting)
		return end_of_lasting(ep, over);
	if (ep->state == CORE_CONN_OPERATION)
		return over;
	if (killed)
		return CORE_CONN_KILL;
	if (READ_ONCE(ep->faulted) && ep->state == CORE_CONN_DRAINING)
		return CORE_CONN_FAULT;
	if (READ_ONCE(ep->hurry) && ep->state == CORE_CONN_DRAINING)
		return CORE_CONN_ABORT;
	return CORE_CONN_NOTHING;
}

enum core_conn_input srnic_machine_look(struct srnic_ep *ep)
{
	enum core_conn_input input = external_input(ep);

	lockdep_assert_held(&ep->lock);
	if (input == CORE_CONN_NOTHING)
		input = ep->state < CORE_CONN_OPERATION ? srnic_startup_look(ep) :
							  srnic_teardown_look(ep);
	if (input == CORE_CONN_NOTHING && expired(ep))
		input = CORE_CONN_TIMEOUT;
	return input;
}

/* ---- actions ---- */

/* The status for the consumer. */
static int status_of(const struct srnic_ep *ep, enum core_conn_input input)
{
	switch (input) {
	case CORE_CONN_BROKEN:
	case CORE_CONN_QP_REFUSED:
	case CORE_CONN_UNDELIVERED:
		return ep->error;
	case CORE_CONN_TIMEOUT:
		return ep->state < CORE_CONN_OPERATION ? -ETIMEDOUT : 0;
	case CORE_CONN_ABORT:
	case CORE_CONN_KILL:
		return ep->state < CORE_CONN_OPERATION ? -ECONNABORTED : 0;
	case CORE_CONN_REPLY_UNFIT:
		return -EPROTO;
	case CORE_CONN_RESET:
		return -ECONNRESET;
	default:
		return 0;
	}
}

/* Those of pairings have a counter of their own. */
static void count_failure(struct srnic_ep *ep, int status)
{
	if (ep->consumer->lasting)
		return;
	srnic_count(ep->dev, SRNIC_STARTUP_FAILURES, 1);
	if (status == -ETIMEDOUT)
		srnic_count(ep->dev, SRNIC_STARTUP_TIMEOUTS, 1);
	if (READ_ONCE(ep->gave_way))
		srnic_count(ep->dev, SRNIC_STARTUP_GAVE_WAY, 1);
}

static enum core_conn_input act(struct srnic_ep *ep, enum core_conn_action action, int status)
{
	switch (action) {
	case CORE_CONN_COUNT_FAILURE:
		count_failure(ep, status);
		break;
	case CORE_CONN_COUNT_RESET:
		srnic_count(ep->dev, SRNIC_RESETS, 1);
		break;
	case CORE_CONN_REPORT_DISCONNECT:
		ep->consumer->disconnected(ep);
		break;
	case CORE_CONN_MAKE_REQUEST:
		return srnic_startup_make_request(ep);
	case CORE_CONN_START_QP:
		return srnic_startup_start_qp(ep);
	case CORE_CONN_DRAIN_QP:
		ep->peer_closed = srnic_sock_peer_gone(ep->sock);
		srnic_qp_close(ep->qp, &ep->owner, ep->peer_closed);
		break;
	case CORE_CONN_STOP_QP:
		if (ep->consumer->lasting)
			srnic_qp_detach(ep->qp, &ep->owner);
		else
			srnic_qp_stop(ep->qp, &ep->owner);
		break;
	case CORE_CONN_FAIL_QP:
		if (!ep->consumer->lasting)
			srnic_qp_give_up(ep->qp, &ep->owner);
		break;
	case CORE_CONN_DROP_QP:
		if (!ep->consumer->lasting)	/* else PART does */
			srnic_ep_drop_qp(ep);
		break;
	case CORE_CONN_REPORT_REQUEST:
		return ep->consumer->request(ep);
	case CORE_CONN_LEAVE_LISTENER:
		srnic_listener_dismiss(ep);
		break;
	case CORE_CONN_REPORT_CONNECTED:
		return srnic_startup_connected(ep);
	case CORE_CONN_REPORT_REJECTED:
		ep->consumer->rejected(ep);
		break;
	case CORE_CONN_REPORT_FAILED:
		ep->consumer->failed(ep, status);
		break;
	case CORE_CONN_REPORT_ESTABLISHED:
		srnic_startup_established(ep);
		break;
	case CORE_CONN_REPORT_NOT_ESTABLISHED:
		ep->consumer->not_established(ep, status);
		break;
	case CORE_CONN_REPORT_CLOSED:
		ep->consumer->closed(ep, status);
		break;
	case CORE_CONN_MAKE_REFUSAL:
		srnic_frame_refusal(ep);
		break;
	case CORE_CONN_MAKE_TERMINATE:
		srnic_frame_error(ep);
		break;
	case CORE_CONN_PART:
		srnic_ep_part(ep);
		break;
	case CORE_CONN_TAKE_REST:
		srnic_teardown_take_rest(ep);
		break;
	case CORE_CONN_SHUT:
		srnic_teardown_shut(ep);
		break;
	case CORE_CONN_RELEASE:
		srnic_listener_dismiss(ep);
		srnic_ep_release(ep);
		break;
	case CORE_CONN_ACTIONS:
		break;
	}
	return CORE_CONN_NOTHING;
}

/* Takes one step. Returns its outcome, which is the next input. */
static enum core_conn_input take_step(struct srnic_ep *ep, enum core_conn_input input,
				      const struct core_conn_step *step)
{
	enum core_conn_input outcome = CORE_CONN_NOTHING;
	bool moves = step->next != ep->state;
	int status = status_of(ep, input);
	unsigned long todo = step->actions;
	unsigned int action;

	trace_srnic_conn_state(ep->dev, ep->qp, ep, ep->state, input, step->next, status);
	ep->state = step->next;
	for_each_set_bit(action, &todo, CORE_CONN_ACTIONS)
		outcome = act(ep, action, status) ?: outcome;
	if (moves)
		begin_patience(ep);
	return outcome;
}

bool srnic_machine_feed(struct srnic_ep *ep, enum core_conn_input input)
{
	bool known = false;

	lockdep_assert_held(&ep->lock);
	while (input != CORE_CONN_NOTHING) {
		struct core_conn_step step = core_conn_next(ep->state, input);

		if (!step.known)
			break;
		known = true;
		input = take_step(ep, input, &step);
	}
	return known;
}

static void run(struct srnic_ep *ep)
{
	while (srnic_machine_feed(ep, srnic_machine_look(ep)))
		;
	arm(ep);
}

void srnic_machine_enter(struct srnic_ep *ep, enum core_conn_state state)
{
	lockdep_assert_held(&ep->lock);
	ep->state = state;
	begin_patience(ep);
	srnic_ep_kick(ep);
}

void srnic_machine_work(struct work_struct *work)
{
	struct srnic_ep *ep = container_of(to_delayed_work(work), struct srnic_ep, work);
	unsigned int noio = memalloc_noio_save(); /* storage may wait for this connection */

	mutex_lock(&ep->lock);
	run(ep);
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	memalloc_noio_restore(noio);
}
