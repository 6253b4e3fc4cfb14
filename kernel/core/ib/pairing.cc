// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: the decisions of both ends (Documentation/ib.rst, "Pairing").
#include "ib/pairing.hh"
#include "ib/retry.hh"

namespace srnic::ib {

bool is_newer(const core_pairing &pairing, const core_pair_frame &request)
{
	if (!pairing.peer_incarnation)
		return true;
	if (request.incarnation == pairing.peer_incarnation)
		return request.attempt > pairing.peer_attempt;
	return request.peer_incarnation == pairing.incarnation &&
	       request.peer_attempt >= pairing.since;
}

bool is_for_this(const core_pairing &pairing, const core_pair_frame &request)
{
	return !request.peer_incarnation || request.peer_incarnation == pairing.incarnation;
}

namespace {

bool is_attempt(const core_pairing &pairing, u32 attempt)
{
	return pairing.attempt == attempt && (pairing.state == CORE_PAIRING_CONNECTING ||
					      pairing.state == CORE_PAIRING_REQUESTED);
}

bool is_of_pair(const core_pairing &pairing, const core_pair_frame &frame)
{
	return is_same(frame.from, pairing.peer) && is_same(frame.to, pairing.own) &&
	       !is_same(frame.from, frame.to);
}

void hear(core_pairing &pairing, const core_pair_frame &frame)
{
	pairing.heard_incarnation = frame.incarnation;
	pairing.heard_attempt = frame.attempt;
}

void note_attached(core_pairing &pairing)
{
	pairing.since = ++pairing.attempt;
	pairing.failures = pairing.refusals = pairing.crossed = pairing.corrected = 0;
	pairing.state = CORE_PAIRING_ATTACHED;
}

// The new number makes older Requests of both ends recognisable: nobody but the other end of this
// stream, and those whom this end answers later, can know it.
void attach(core_pairing &pairing, const core_pair_frame &frame)
{
	hear(pairing, frame);
	pairing.peer_incarnation = frame.incarnation;
	pairing.peer_attempt = frame.attempt;
	note_attached(pairing);
}

void introduce(const core_pairing &pairing, const core_pair_counts &counts, core_pair_frame &out)
{
	out = {.incarnation = pairing.incarnation,
	       .peer_incarnation = pairing.heard_incarnation,
	       .attempt = pairing.attempt,
	       .peer_attempt = pairing.heard_attempt,
	       .from = pairing.own,
	       .to = pairing.peer,
	       .sent = counts.sent,
	       .delivered = counts.delivered,
	       .features = pairing.features,
	       .needs = pairing.needs,
	       .ird = pairing.ird,
	       .ord = pairing.ord,
	       .reply = 0,
	       .crc = pairing.crc,
	       .reason = CORE_PAIR_OK};
}

// ---- what both use ----

// Both ends use what both know, and that has what either needs.
bool features_fit(const core_pairing &pairing, const core_pair_frame &peer)
{
	return !((pairing.needs | peer.needs) & ~(pairing.features & peer.features));
}

core_pair_agreed agree(const core_pairing &pairing, const core_pair_frame &peer)
{
	core_pair_agreed agreed{};

	agreed.features = pairing.features & peer.features;
	agreed.ird = min(pairing.ird, peer.ord);
	agreed.ord = min(pairing.ord, peer.ird);
	agreed.crc = pairing.crc || peer.crc;
	return agreed;
}

// ---- the responder ----

core_pair_reason check_counts(const core_pair_counts &counts, const core_pair_frame &peer)
{
	if (!counts.idle)
		return CORE_PAIR_BUSY;
	return mirrors(counts, peer) ? CORE_PAIR_OK : CORE_PAIR_COUNTS;
}

// An attempt wins only once its Request is sent: one that no firewall lets through must not keep
// back the other end's.
bool wins_crossing(const core_pairing &pairing)
{
	return pairing.state == CORE_PAIRING_REQUESTED && is_greater(pairing.own, pairing.peer);
}

core_pair_reason decide(const core_pairing &pairing, const core_pair_counts &counts,
			const core_pair_frame &request)
{
	if (pairing.state == CORE_PAIRING_NOT_READY)
		return CORE_PAIR_NOT_READY;
	if (!is_of_pair(pairing, request))
		return CORE_PAIR_OTHER_PAIR;
	if (!features_fit(pairing, request))
		return CORE_PAIR_FEATURES;
	if (!is_newer(pairing, request) || !is_for_this(pairing, request))
		return CORE_PAIR_STALE;
	const core_pair_reason reason = check_counts(counts, request);

	if (reason == CORE_PAIR_OK && wins_crossing(pairing))
		return CORE_PAIR_CROSSING;
	return reason;
}

// A stranger learns nothing about the QP.
constexpr bool is_for_strangers(core_pair_reason reason)
{
	return reason == CORE_PAIR_NOT_READY || reason == CORE_PAIR_OTHER_PAIR;
}

void refuse(core_pairing &pairing, const core_pair_counts &counts, const core_pair_frame &request,
	    core_pair_reason reason, core_pair_frame &reply)
{
	if (reason == CORE_PAIR_CROSSING)
		pairing.crossed = 1;
	if (is_for_strangers(reason)) {
		core_pair_refuse(&request, reason, &reply);
		return;
	}
	introduce(pairing, counts, reply);
	reply.reply = 1;
	reply.reason = reason;
}

void accept(core_pairing &pairing, const core_pair_counts &counts, const core_pair_frame &request,
	    core_pair_frame &reply, core_pair_agreed &agreed)
{
	attach(pairing, request);
	agreed = agree(pairing, request);
	agreed.muted = 1;
	introduce(pairing, counts, reply);
	reply.reply = 1;
	reply.features = agreed.features;
	reply.crc = agreed.crc;
}

// ---- the initiator ----

core_pair_reason check_reply(const core_pairing &pairing, const core_pair_counts &counts,
			     const core_pair_frame &reply)
{
	if (!is_of_pair(pairing, reply))
		return CORE_PAIR_OTHER_PAIR;
	if (reply.peer_incarnation != pairing.incarnation || reply.peer_attempt != pairing.attempt)
		return CORE_PAIR_MALFORMED;
	if (!features_fit(pairing, reply))
		return CORE_PAIR_FEATURES;
	return check_counts(counts, reply);
}

// Records what a refusal says of the peer. Was it new?
bool learn(core_pairing &pairing, const core_pair_frame &reply)
{
	if (!reply.incarnation || (reply.incarnation == pairing.heard_incarnation &&
				   reply.attempt == pairing.heard_attempt))
		return false;
	hear(pairing, reply);
	return true;
}

void retry(core_pairing &pairing, u8 reason, u32 wait, core_pair_outcome &out)
{
	pairing.state = CORE_PAIRING_WAITING;
	out.conclusion = CORE_PAIR_RETRY;
	out.reason = reason;
	out.wait = wait;
}

} // namespace
} // namespace srnic::ib

using namespace srnic;
using namespace srnic::ib;

// Attempts are counted on: a connection from before a RESET must not be taken for the new attempt.
void core_pairing_ready(struct core_pairing *pairing)
{
	const core_pairing set = *pairing;

	*pairing = {};
	pairing->own = set.own;
	pairing->peer = set.peer;
	pairing->incarnation = set.incarnation;
	pairing->features = set.features;
	pairing->needs = set.needs;
	pairing->ird = set.ird;
	pairing->ord = set.ord;
	pairing->crc = set.crc;
	pairing->attempt = set.attempt;
	pairing->state = CORE_PAIRING_WAITING;
}

void core_pairing_reset(struct core_pairing *pairing) { pairing->state = CORE_PAIRING_NOT_READY; }

bool core_pairing_is_named(const struct core_pairing *pairing,
			   const struct core_pair_frame *request)
{
	return is_of_pair(*pairing, *request);
}

bool core_pairing_is_itself(const struct core_pairing *pairing)
{
	return is_same(pairing->own, pairing->peer);
}

bool core_pairing_attach_itself(struct core_pairing *pairing, u32 attempt,
				struct core_pair_agreed *agreed)
{
	*agreed = {};
	if (!is_attempt(*pairing, attempt))
		return false;
	note_attached(*pairing);
	agreed->features = pairing->features;
	agreed->ird = pairing->ird;
	agreed->ord = min(pairing->ord, pairing->ird);
	agreed->crc = pairing->crc;
	return true;
}

u32 core_pairing_connect(struct core_pairing *pairing, const struct core_pair_counts *counts)
{
	if (pairing->state != CORE_PAIRING_WAITING || !counts->idle)
		return 0;
	pairing->state = CORE_PAIRING_CONNECTING;
	pairing->crossed = 0;
	return ++pairing->attempt;
}

bool core_pairing_request(struct core_pairing *pairing, u32 attempt,
			  const struct core_pair_counts *counts, struct core_pair_frame *request)
{
	if (!is_attempt(*pairing, attempt))
		return false;
	pairing->state = CORE_PAIRING_REQUESTED;
	introduce(*pairing, *counts, *request);
	return true;
}

enum core_pair_reason core_pairing_respond(struct core_pairing *pairing,
					   const struct core_pair_counts *counts,
					   const struct core_pair_frame *request,
					   struct core_pair_frame *reply,
					   struct core_pair_agreed *agreed)
{
	const core_pair_reason reason = decide(*pairing, *counts, *request);

	*agreed = {};
	if (reason == CORE_PAIR_OK)
		accept(*pairing, *counts, *request, *reply, *agreed);
	else
		refuse(*pairing, *counts, *request, reason, *reply);
	return reason;
}

void core_pairing_conclude(struct core_pairing *pairing, u32 attempt,
			   const struct core_pair_counts *counts,
			   const struct core_pair_frame *reply, u32 random,
			   struct core_pair_outcome *out)
{
	u8 reason = reply->reason;
	bool learned = false;

	*out = {.agreed = {}, .wait = 0, .conclusion = CORE_PAIR_LEAVE, .reason = CORE_PAIR_OK};
	if (!is_attempt(*pairing, attempt))
		return;
	if (reason == CORE_PAIR_OK)
		reason = check_reply(*pairing, *counts, *reply);
	else
		learned = learn(*pairing, *reply);
	if (reason != CORE_PAIR_OK) {
		retry(*pairing, reason, wait_after_refusal(*pairing, reason, learned, random),
		      *out);
		return;
	}
	attach(*pairing, *reply);
	out->agreed = agree(*pairing, *reply);
	out->conclusion = CORE_PAIR_ATTACH;
}

void core_pairing_failed(struct core_pairing *pairing, u32 attempt, enum core_pair_reason reason,
			 u32 random, struct core_pair_outcome *out)
{
	*out = {.agreed = {}, .wait = 0, .conclusion = CORE_PAIR_LEAVE, .reason = CORE_PAIR_OK};
	if (!is_attempt(*pairing, attempt))
		return;
	retry(*pairing, reason, wait_after_refusal(*pairing, reason, false, random), *out);
}

u32 core_pairing_lost(struct core_pairing *pairing, u32 random)
{
	if (pairing->state == CORE_PAIRING_ATTACHED)
		pairing->state = CORE_PAIRING_WAITING;
	return wait_after_failure(*pairing, random);
}
