// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Pairings as the consumer of eps: what an initiator and a responder do with the startup frames, as
 * the core decides (Documentation/ib.rst rules 54 to 67), and the end of a stream.
 *
 * tx.mutex is the lock of the QP that core_pairing.h asks for.
 */
#include <linux/random.h>
#include <net/sock.h>

#include "connection/ep.h"
#include "connection/frame.h"
#include "pairing/consumer.h"
#include "pairing/pairing.h"
#include "report/counters.h"
#include "stream/attach.h"
#include "stream/detach.h"
#include "stream/kick/kick.h"
#include "stream/number.h"
#include "stream/state.h"

static u32 attempt_of(const struct srnic_ep *ep)
{
	return (unsigned long)ep->consumer_id;
}

static void lock(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	mutex_lock(&ep->qp->tx.mutex);
}

static void unlock(struct srnic_ep *ep)
{
	srnic_tx_unlock(ep->qp);
}

/* ---- both roles ---- */

static void note_agreed(struct srnic_ep *ep, const struct core_pair_agreed *agreed)
{
	ep->startup->agreed = (struct core_startup_agreed) {
		.framing = CORE_FRAMING_IB,
		.ird = agreed->ird,
		.ord = agreed->ord,
		.crc = agreed->crc,
		.long_segments = true,
		.extended = !!(agreed->features & CORE_PAIR_EXTENDED),
	};
}

/* The core has attached the pairing to this ep. A former stream may not have ended quite yet. */
static int attach(struct srnic_ep *ep, const struct core_pair_agreed *agreed)
{
	struct srnic_pairing *pairing = srnic_pairing_of(ep->qp);
	int ret;

	lockdep_assert_held(&ep->qp->tx.mutex);
	srnic_pairing_drop_stream(pairing);
	ret = srnic_qp_claim(ep->qp, &ep->owner);
	if (ret)
		return ret;
	note_agreed(ep, agreed);
	if (pairing->attempt == ep)
		pairing->attempt = NULL;	/* its reference becomes that of @attached */
	else
		srnic_ep_get(ep);
	pairing->attached = ep;
	if (pairing->path.tos)
		srnic_sock_set_tos(ep->sock, pairing->path.tos);
	return 0;
}

/* ---- the responder ---- */

/* The stream that the Request may replace. A stranger's Request does not disturb it. */
static struct sock *stream_to_replace(const struct srnic_ep *ep)
{
	const struct core_pairing *core = &srnic_pairing_of(ep->qp)->core;

	if (!ep->qp->sock || !core_pairing_is_named(core, &ep->startup->pair.request))
		return NULL;
	return ep->qp->sock->sk;
}

/*
 * From here on nothing is delivered that the Reply has not counted: if this stream is to be
 * replaced, its receive half stops.
 */
static enum core_pair_reason decide(struct srnic_ep *ep, struct core_pair_agreed *agreed)
{
	struct srnic_qp *qp = ep->qp;
	struct sock *sk = stream_to_replace(ep);
	struct core_pair_counts counts;
	enum core_pair_reason reason;

	if (sk)
		lock_sock(sk);
	counts = srnic_qp_counts(qp);
	reason = core_pairing_respond(&srnic_pairing_of(qp)->core, &counts,
				      &ep->startup->pair.request, &ep->startup->pair.reply, agreed);
	if (reason == CORE_PAIR_OK && sk)
		core_rx_stop(&qp->rx.core);
	if (sk)
		release_sock(sk);
	return reason;
}

/* A stranger hears nothing of the QP. */
static enum core_pair_reason refuse(struct srnic_ep *ep, enum core_pair_reason reason)
{
	core_pair_refuse(&ep->startup->pair.request, reason, &ep->startup->pair.reply);
	return reason;
}

/* The QP may have failed, which its pairing does not know yet. */
static bool is_ready(const struct srnic_qp *qp)
{
	u32 state = READ_ONCE(qp->state);

	return srnic_pairing_of(qp)->core.state != CORE_PAIRING_NOT_READY &&
	       (state == SRNIC_QP_IDLE || state == SRNIC_QP_RTS);
}

/* Is the peer's address its to use (rule 40)? In another VRF it is another host's. */
static bool is_from_its_address(const struct srnic_ep *ep)
{
	const struct srnic_path *path = &srnic_pairing_of(ep->qp)->path;
	const struct srnic_startup *startup = ep->startup;

	return srnic_is_address_of_gid(&startup->there, startup->pair.request.from.gid) &&
	       srnic_sock_l3mdev(ep->sock) == srnic_path_l3mdev(path, ep->net);
}

static enum core_pair_reason respond_locked(struct srnic_ep *ep)
{
	struct srnic_pairing *pairing = srnic_pairing_of(ep->qp);
	struct core_pair_agreed agreed;
	enum core_pair_reason reason;

	if (!is_ready(ep->qp))
		return refuse(ep, CORE_PAIR_NOT_READY);
	if (!is_from_its_address(ep))
		return refuse(ep, CORE_PAIR_OTHER_PAIR);
	reason = decide(ep, &agreed);
	if (reason != CORE_PAIR_OK)
		return reason;
	srnic_pairing_drop_attempt(pairing);
	if (!attach(ep, &agreed))
		return CORE_PAIR_OK;
	core_pairing_reset(&pairing->core);	/* it has failed meanwhile */
	return refuse(ep, CORE_PAIR_NOT_READY);
}

/* A Request may name a QP of type UD, or come early. */
static bool has_pairing(const struct srnic_qp *qp)
{
	/* acquire: pairs with srnic_pairing_alloc() */
	return qp->acks && smp_load_acquire(&qp->acks->pairing);
}

/* The QP that the Request names. */
static enum core_pair_reason find_qp(struct srnic_ep *ep)
{
	struct srnic_qp *qp = srnic_number_find(ep->startup->pair.request.to.qpn);

	if (!qp)
		return CORE_PAIR_NOT_READY;
	if (!has_pairing(qp) || !srnic_ep_change_device(ep, qp->dev)) {
		srnic_qp_put(qp);
		return CORE_PAIR_NOT_READY;
	}
	ep->qp = qp;
	return CORE_PAIR_OK;
}

static enum core_pair_reason respond(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	enum core_pair_reason reason = startup->pair.fault ?: find_qp(ep);

	if (reason != CORE_PAIR_OK)
		return refuse(ep, reason);
	lock(ep);
	reason = respond_locked(ep);
	unlock(ep);
	return reason;
}

static enum core_conn_input take_request(struct srnic_ep *ep)
{
	enum core_pair_reason reason = respond(ep);

	if (reason != CORE_PAIR_OK) {
		srnic_count(ep->dev, SRNIC_PAIRING_REFUSALS, 1);
		return CORE_CONN_BUSY;
	}
	srnic_pair_lay_out(ep->startup, &ep->startup->pair.reply);
	return CORE_CONN_ACCEPTED;
}

/* ---- the initiator ---- */

static int send_request(struct srnic_ep *ep)
{
	struct core_pairing *core = &srnic_pairing_of(ep->qp)->core;
	struct core_pair_frame *request = &ep->startup->pair.request;
	struct core_pair_counts counts = srnic_qp_counts(ep->qp);
	int ret;

	if (!core_pairing_request(core, attempt_of(ep), &counts, request))
		return -ECANCELED;
	srnic_pair_lay_out(ep->startup, request);
	ret = srnic_frame_send(ep);
	return min(ret, 0);
}

/* Rule 59: it is decided, and given to TCP, under one lock. */
static enum core_conn_input make_request(struct srnic_ep *ep)
{
	bool itself;

	ep->error = 0;
	lock(ep);
	itself = core_pairing_is_itself(&srnic_pairing_of(ep->qp)->core);
	if (!itself)
		ep->error = send_request(ep);
	unlock(ep);
	if (itself)
		return CORE_CONN_REPLY_ACCEPTS;
	return ep->error ? CORE_CONN_BROKEN : CORE_CONN_NOTHING;
}

static void attach_itself(struct srnic_ep *ep, struct core_pair_outcome *out)
{
	*out = (struct core_pair_outcome) { .conclusion = CORE_PAIR_LEAVE };
	if (core_pairing_attach_itself(&srnic_pairing_of(ep->qp)->core, attempt_of(ep),
				       &out->agreed))
		out->conclusion = CORE_PAIR_ATTACH;
}

static void conclude(struct srnic_ep *ep, struct core_pair_outcome *out)
{
	struct core_pairing *core = &srnic_pairing_of(ep->qp)->core;
	const struct srnic_startup *startup = ep->startup;
	struct core_pair_counts counts = srnic_qp_counts(ep->qp);
	u32 random = get_random_u32();

	if (core_pairing_is_itself(core))
		attach_itself(ep, out);
	else if (startup->pair.fault)
		core_pairing_failed(core, attempt_of(ep), startup->pair.fault, random, out);
	else
		core_pairing_conclude(core, attempt_of(ep), &counts, &startup->pair.reply, random,
				      out);
}

static int start_initiator(struct srnic_ep *ep, struct srnic_qp_start *start)
{
	struct srnic_pairing *pairing = srnic_pairing_of(ep->qp);
	struct core_pair_outcome outcome;
	int ret;

	conclude(ep, &outcome);
	if (outcome.conclusion != CORE_PAIR_ATTACH) {
		srnic_pairing_take_outcome(pairing, &outcome, 0);
		return -ECONNREFUSED;
	}
	ret = attach(ep, &outcome.agreed);
	if (ret) {
		core_pairing_reset(&pairing->core);	/* the QP has failed */
		return ret;
	}
	start->agreed = ep->startup->agreed;
	return srnic_qp_start_locked(ep->qp, start);
}

static int start_qp(struct srnic_ep *ep, const struct srnic_qp_start *start)
{
	struct srnic_qp_start own = *start;
	int ret;

	lock(ep);
	ret = attempt_of(ep) ? start_initiator(ep, &own) : srnic_qp_start_locked(ep->qp, &own);
	unlock(ep);
	return ret;
}

/* ---- reports ---- */

static int connected(struct srnic_ep *ep)
{
	return 0;
}

static void nothing(struct srnic_ep *ep)
{
}

static void lost(struct srnic_ep *ep)
{
	lock(ep);
	srnic_qp_unclaim(ep->qp, &ep->owner);
	srnic_pairing_lost(srnic_pairing_of(ep->qp), ep);
	unlock(ep);
}

/* An attempt without a Reply, or whose stream did not start. */
static void failed(struct srnic_ep *ep, int status)
{
	struct srnic_pairing *pairing = srnic_pairing_of(ep->qp);
	struct core_pair_outcome outcome;

	lock(ep);
	core_pairing_failed(&pairing->core, attempt_of(ep), CORE_PAIR_OK, get_random_u32(),
			    &outcome);
	srnic_pairing_take_outcome(pairing, &outcome, status);
	unlock(ep);
	lost(ep);
}

static void lost_with_status(struct srnic_ep *ep, int status)
{
	lost(ep);
}

static void part(struct srnic_ep *ep)
{
	struct srnic_pairing *pairing;

	if (!ep->qp)
		return;
	pairing = srnic_pairing_of(ep->qp);
	lock(ep);
	if (pairing->attempt == ep) {
		pairing->attempt = NULL;
		srnic_ep_put(ep);
	}
	unlock(ep);
	ep->consumer_id = NULL;
}

const struct srnic_consumer_ops srnic_pairing_ops = {
	.lasting = true,
	.request = take_request,
	.make_request = make_request,
	.start = start_qp,
	.connected = connected,
	.rejected = nothing,
	.failed = failed,
	.established = nothing,
	.not_established = lost_with_status,
	.disconnected = nothing,
	.closed = lost_with_status,
	.part = part,
};
