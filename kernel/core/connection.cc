// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The state machine of a connection, as a table: MPA startup in both roles (RFC 5044 7.1.2, RFC
// 6581 6 to 10), and all ways to end it (RFC 5044 7.2 and 8, RFC 5041 6.2, RFC 5040 6.2). The shell
// has sockets, timers and consumers.
#include "types.hh"

namespace srnic {
namespace {

template <class... Bits> constexpr u32 set_of(Bits... bits) { return ((u32{1} << bits) | ... | 0); }
static_assert(CORE_CONN_STATES <= 32 && CORE_CONN_INPUTS <= 32 && CORE_CONN_ACTIONS <= 32);

// In any of the states, any of the inputs causes the actions and leads to the next state.
struct Row {
	u32 states;
	u32 inputs;
	u32 actions;
	core_conn_state next;
};

constexpr u32 initiates =
	set_of(CORE_CONN_CONNECTING, CORE_CONN_REQUESTING, CORE_CONN_AWAIT_REPLY);
// Before the consumer has accepted, a failed responder reports no event.
constexpr u32 unaccepted = set_of(CORE_CONN_AWAIT_REQUEST, CORE_CONN_ANNOUNCED);

// RFC 5044 7.1.2 rules 2, 3, 5, 8 and 10: these end the startup phase without another frame.
constexpr u32 failures =
	set_of(CORE_CONN_BROKEN, CORE_CONN_TIMEOUT, CORE_CONN_ABORT, CORE_CONN_KILL);
constexpr u32 drained = set_of(CORE_CONN_DRAINED, CORE_CONN_TIMEOUT, CORE_CONN_TCP_CLOSED,
			       CORE_CONN_ABORT, CORE_CONN_KILL);

constexpr u32 release = set_of(CORE_CONN_PART, CORE_CONN_RELEASE);
constexpr u32 fail = set_of(CORE_CONN_COUNT_FAILURE) | release;
constexpr u32 shut = set_of(CORE_CONN_PART, CORE_CONN_SHUT);
constexpr u32 finish = set_of(CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED) | shut;
constexpr u32 refusal = set_of(CORE_CONN_MAKE_REFUSAL, CORE_CONN_PART);

constexpr Row rows[] = {
	// The initiator (RFC 5044 7.1.2 rules 1 and 3). The QP is dropped before the event: a
	// consumer that learns of a failure may connect the QP again.
	{set_of(CORE_CONN_CONNECTING), set_of(CORE_CONN_TCP_CONNECTED),
	 set_of(CORE_CONN_MAKE_REQUEST), CORE_CONN_REQUESTING},
	{set_of(CORE_CONN_REQUESTING), set_of(CORE_CONN_FRAME_SENT), 0, CORE_CONN_AWAIT_REPLY},
	// In REQUESTING: a QP that is connected with itself has no frames (ib.rst rule 62).
	{set_of(CORE_CONN_REQUESTING, CORE_CONN_AWAIT_REPLY), set_of(CORE_CONN_REPLY_ACCEPTS),
	 set_of(CORE_CONN_START_QP), CORE_CONN_AWAIT_REPLY},
	{set_of(CORE_CONN_AWAIT_REPLY), set_of(CORE_CONN_QP_STARTED),
	 set_of(CORE_CONN_REPORT_CONNECTED), CORE_CONN_OPERATION},
	{set_of(CORE_CONN_AWAIT_REPLY), set_of(CORE_CONN_REPLY_REJECTS),
	 set_of(CORE_CONN_DROP_QP, CORE_CONN_REPORT_REJECTED) | shut, CORE_CONN_LINGER},
	// RFC 6581 8: an initiator that cannot continue sends a Terminate, its only FPDU.
	{set_of(CORE_CONN_AWAIT_REPLY), set_of(CORE_CONN_REPLY_UNFIT, CORE_CONN_QP_REFUSED),
	 set_of(CORE_CONN_COUNT_FAILURE, CORE_CONN_DROP_QP, CORE_CONN_REPORT_FAILED,
		CORE_CONN_MAKE_TERMINATE, CORE_CONN_PART),
	 CORE_CONN_CLOSING},
	{initiates, failures,
	 fail | set_of(CORE_CONN_DROP_QP, CORE_CONN_REPORT_FAILED), CORE_CONN_DEAD},

	// The responder (RFC 5044 7.1.2 rules 2 and 6).
	{set_of(CORE_CONN_AWAIT_REQUEST), set_of(CORE_CONN_REQUEST),
	 set_of(CORE_CONN_REPORT_REQUEST), CORE_CONN_AWAIT_REQUEST},
	{set_of(CORE_CONN_AWAIT_REQUEST), set_of(CORE_CONN_TOOK_REQUEST),
	 set_of(CORE_CONN_LEAVE_LISTENER), CORE_CONN_ANNOUNCED},
	{set_of(CORE_CONN_AWAIT_REQUEST), set_of(CORE_CONN_BUSY), refusal, CORE_CONN_CLOSING},
	// A consumer that decides at once (ib.rst rule 55).
	{set_of(CORE_CONN_AWAIT_REQUEST), set_of(CORE_CONN_ACCEPTED),
	 set_of(CORE_CONN_LEAVE_LISTENER), CORE_CONN_REPLYING},
	{set_of(CORE_CONN_ANNOUNCED), set_of(CORE_CONN_ACCEPT), 0, CORE_CONN_REPLYING},
	{set_of(CORE_CONN_ANNOUNCED), set_of(CORE_CONN_REJECT), refusal, CORE_CONN_CLOSING},
	{unaccepted, failures, fail, CORE_CONN_DEAD},
	{set_of(CORE_CONN_REPLYING), set_of(CORE_CONN_FRAME_SENT),
	 set_of(CORE_CONN_START_QP), CORE_CONN_REPLYING},
	{set_of(CORE_CONN_REPLYING), set_of(CORE_CONN_QP_STARTED),
	 set_of(CORE_CONN_REPORT_ESTABLISHED), CORE_CONN_OPERATION},
	// accept() has succeeded, so only these two events show iw_cm that the startup failed.
	{set_of(CORE_CONN_REPLYING), failures | set_of(CORE_CONN_QP_REFUSED),
	 fail | set_of(CORE_CONN_FAIL_QP, CORE_CONN_REPORT_NOT_ESTABLISHED,
		       CORE_CONN_REPORT_CLOSED),
	 CORE_CONN_DEAD},
	// A user's accept that is withdrawn, or a kernel consumer's second answer, before the
	// Reply is out: iw_cm expects an end without events.
	{set_of(CORE_CONN_REPLYING), set_of(CORE_CONN_ACCEPT, CORE_CONN_REJECT), release,
	 CORE_CONN_DEAD},

	// Both, once their last frame is laid out.
	{set_of(CORE_CONN_CLOSING), set_of(CORE_CONN_FRAME_SENT), shut, CORE_CONN_LINGER},
	{set_of(CORE_CONN_CLOSING), failures, release, CORE_CONN_DEAD},

	// Full operation. A graceful end still sends what was posted (RFC 5041 6.2.1); a reset, a
	// Terminate (RFC 5040 6.2.1) or an abort (RFC 5041 6.2.2) stops the QP at once.
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_PEER_CLOSED),
	 set_of(CORE_CONN_REPORT_DISCONNECT, CORE_CONN_DRAIN_QP), CORE_CONN_DRAINING},
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_CLOSE), set_of(CORE_CONN_DRAIN_QP),
	 CORE_CONN_DRAINING},
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_RESET),
	 finish | set_of(CORE_CONN_COUNT_RESET, CORE_CONN_REPORT_DISCONNECT), CORE_CONN_LINGER},
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_TERMINATED),
	 finish | set_of(CORE_CONN_REPORT_DISCONNECT), CORE_CONN_LINGER},
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_ABORT, CORE_CONN_KILL), finish,
	 CORE_CONN_LINGER},
	// A framing without a Terminate: the peer gets a reset.
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_FAULT),
	 release | set_of(CORE_CONN_REPORT_DISCONNECT, CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED),
	 CORE_CONN_DEAD},
	{set_of(CORE_CONN_DRAINING), set_of(CORE_CONN_FAULT),
	 release | set_of(CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED), CORE_CONN_DEAD},
	// The initiator's consumer has not learned that it is connected: report a failed connect().
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_UNDELIVERED),
	 shut | set_of(CORE_CONN_STOP_QP, CORE_CONN_REPORT_FAILED), CORE_CONN_LINGER},

	// ib.rst rule 31: the QP goes its own way, what it has begun goes out.
	{set_of(CORE_CONN_OPERATION), set_of(CORE_CONN_DETACH),
	 set_of(CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED, CORE_CONN_PART, CORE_CONN_TAKE_REST),
	 CORE_CONN_FINISHING},
	{set_of(CORE_CONN_FINISHING), set_of(CORE_CONN_FRAME_SENT), set_of(CORE_CONN_SHUT),
	 CORE_CONN_LINGER},
	{set_of(CORE_CONN_FINISHING), failures, set_of(CORE_CONN_RELEASE), CORE_CONN_DEAD},

	// RFC 5044 8, error 1: the peer has closed as well; it may still owe a message or response.
	{set_of(CORE_CONN_DRAINING), set_of(CORE_CONN_PEER_CLOSED), set_of(CORE_CONN_DRAIN_QP),
	 CORE_CONN_DRAINING},
	{set_of(CORE_CONN_DRAINING), drained, finish, CORE_CONN_LINGER},
	// RFC 5044 7.2: both halves are closed, or the connection is reset after the time limit.
	{set_of(CORE_CONN_LINGER),
	 set_of(CORE_CONN_TCP_CLOSED, CORE_CONN_TIMEOUT, CORE_CONN_KILL), release, CORE_CONN_DEAD},
};

constexpr u32 rows_for(u32 state, u32 input)
{
	u32 n = 0;

	for (const Row &row : rows)
		n += row.states >> state & row.inputs >> input & 1;
	return n;
}

constexpr bool unambiguous()
{
	for (u32 state = 0; state < CORE_CONN_STATES; state++)
		for (u32 input = 0; input < CORE_CONN_INPUTS; input++)
			if (rows_for(state, input) > 1)
				return false;
	return true;
}
static_assert(unambiguous());

} // namespace
} // namespace srnic

using namespace srnic;

struct core_conn_step core_conn_next(enum core_conn_state state, enum core_conn_input input)
{
	for (const Row &row : rows)
		if (row.states >> state & row.inputs >> input & 1)
			return {row.next, row.actions, true};
	return {state, 0, false};
}

enum core_conn_limit core_conn_limit_of(enum core_conn_state state)
{
	switch (state) {
	case CORE_CONN_CONNECTING:
	case CORE_CONN_REQUESTING:
	case CORE_CONN_AWAIT_REQUEST:
	case CORE_CONN_REPLYING:
	case CORE_CONN_CLOSING:
		return CORE_CONN_LIMIT_STARTUP;
	case CORE_CONN_AWAIT_REPLY:
		return CORE_CONN_LIMIT_REPLY;
	case CORE_CONN_ANNOUNCED:
		return CORE_CONN_LIMIT_ACCEPT;
	case CORE_CONN_DRAINING:
		return CORE_CONN_LIMIT_DRAIN;
	case CORE_CONN_FINISHING:
	case CORE_CONN_LINGER:
		return CORE_CONN_LIMIT_LINGER;
	default:
		return CORE_CONN_NO_LIMIT;
	}
}

// RFC 5044 7.1.2 rule 10. While there is room no startup gives way. A source with more than its
// share loses startups at once: other sources must not wait for it. Idle connections of many
// sources delay an honest peer by at most the grace.
enum core_admission core_admit(const struct core_startups *startups, u64 *wait)
{
	const bool idled = startups->idles && startups->age >= startups->grace;

	*wait = 0;
	if (startups->num < startups->limit)
		return CORE_ADMIT;
	if (startups->busiest > startups->each && startups->source_idles)
		return CORE_ADMIT_FOR_SOURCE;
	if (idled)
		return CORE_ADMIT_FOR_OLDEST;
	*wait = startups->grace - (startups->idles ? startups->age : 0);
	return CORE_ADMIT_LATER;
}

void core_patience_begin(struct core_patience *patience, u64 now, u32 each, u32 most, u32 progress)
{
	*patience = {now + each, now + most, each, progress};
}

bool core_patience_over(struct core_patience *patience, u64 now, u32 progress)
{
	if (progress != patience->progress)
		patience->end = min(now + patience->each, patience->limit);
	patience->progress = progress;
	return now >= patience->end;
}
