// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The life of a connection: MPA startup in both roles (RFC 5044 7.1.2, RFC 6581 8) and its end (RFC
// 5044 7.2, RFC 5041 6.2, RFC 5040 6.2.1), one row of the table at a time; then all sequences of
// inputs, checked against iw_cm's rules.
#include "../shared/wire.hh"
#include "api/core.h"

namespace {

using State = core_conn_state;
using Input = core_conn_input;
using Action = core_conn_action;
using Actions = std::vector<Action>;

Actions actions_of(const core_conn_step &step)
{
	Actions out;

	for (u32 i = 0; i < CORE_CONN_ACTIONS; i++)
		if (step.actions >> i & 1)
			out.push_back(Action(i));
	return out;
}

void expect(State state, Input input, const Actions &actions, State next)
{
	const core_conn_step step = core_conn_next(state, input);

	EXPECT_TRUE(step.known) << "state " << state << " input " << input;
	EXPECT_EQ(actions_of(step), actions) << "state " << state << " input " << input;
	EXPECT_EQ(step.next, next) << "state " << state << " input " << input;
}

const Input failures[] = {CORE_CONN_BROKEN, CORE_CONN_TIMEOUT, CORE_CONN_ABORT, CORE_CONN_KILL};

} // namespace

// ---- The initiator ----

// RFC 5044 7.1.2, 1: "When MPA is started in the Initiator mode, the MPA implementation MUST send a
// valid MPA Request Frame."
TEST(ConnectionInitiator, SendsARequestOnceTcpIsConnected)
{
	expect(CORE_CONN_CONNECTING, CORE_CONN_TCP_CONNECTED, {CORE_CONN_MAKE_REQUEST},
	       CORE_CONN_REQUESTING);
}

// RFC 5044 7.1.2, 3: "MPA Initiator mode implementations MUST receive and validate an MPA Reply
// Frame."
TEST(ConnectionInitiator, WaitsForTheReplyOnceTheRequestIsOut)
{
	expect(CORE_CONN_REQUESTING, CORE_CONN_FRAME_SENT, {}, CORE_CONN_AWAIT_REPLY);
}

// RFC 5044 7.1.2, 3: "... the implementation SHOULD enter Full MPA/DDP Operation Phase".
TEST(ConnectionInitiator, OperatesOnceTheReplyAccepts)
{
	expect(CORE_CONN_AWAIT_REPLY, CORE_CONN_REPLY_ACCEPTS, {CORE_CONN_START_QP},
	       CORE_CONN_AWAIT_REPLY);
	expect(CORE_CONN_AWAIT_REPLY, CORE_CONN_QP_STARTED, {CORE_CONN_REPORT_CONNECTED},
	       CORE_CONN_OPERATION);
}

// ib.rst rule 62: a QP that is connected with itself has no startup frames.
TEST(ConnectionInitiator, OperatesWithoutFramesIfThereAreNone)
{
	expect(CORE_CONN_REQUESTING, CORE_CONN_REPLY_ACCEPTS, {CORE_CONN_START_QP},
	       CORE_CONN_AWAIT_REPLY);
}

// RFC 5044 7.1.2, 3: "... if the Rejected Connection bit is set to '1', the implementation MUST
// exit MPA, leaving the TCP connection open. The ULP may close TCP": here it does.
TEST(ConnectionInitiator, ClosesWhenTheReplyRejects)
{
	expect(CORE_CONN_AWAIT_REPLY, CORE_CONN_REPLY_REJECTS,
	       {CORE_CONN_DROP_QP, CORE_CONN_REPORT_REJECTED, CORE_CONN_PART, CORE_CONN_SHUT},
	       CORE_CONN_LINGER);
}

// RFC 6581 8: an initiator that finds the Reply's parameters unusable sends a Terminate.
TEST(ConnectionInitiator, TerminatesWhenTheReplyIsUnfitOrTheQpIsGone)
{
	for (Input input : {CORE_CONN_REPLY_UNFIT, CORE_CONN_QP_REFUSED})
		expect(CORE_CONN_AWAIT_REPLY, input,
		       {CORE_CONN_COUNT_FAILURE, CORE_CONN_DROP_QP, CORE_CONN_REPORT_FAILED,
			CORE_CONN_MAKE_TERMINATE, CORE_CONN_PART},
		       CORE_CONN_CLOSING);
}

// RFC 5044 7.1.2, 3: "If the MPA Reply Frame is improperly formatted, the implementation MUST close
// the TCP connection and exit MPA"; 5: "... and an error returned to the ULP"; 10: a timeout while
// waiting for the startup frames.
TEST(ConnectionInitiator, FailsInEveryStateWithOneEvent)
{
	for (State state : {CORE_CONN_CONNECTING, CORE_CONN_REQUESTING, CORE_CONN_AWAIT_REPLY})
		for (Input input : failures)
			expect(state, input,
			       {CORE_CONN_COUNT_FAILURE, CORE_CONN_DROP_QP, CORE_CONN_REPORT_FAILED,
				CORE_CONN_PART, CORE_CONN_RELEASE},
			       CORE_CONN_DEAD);
}

// The event could not be delivered: for the consumer, connecting has failed.
TEST(ConnectionInitiator, EndsWhatItsConsumerCouldNotBeToldOf)
{
	expect(CORE_CONN_OPERATION, CORE_CONN_UNDELIVERED,
	       {CORE_CONN_STOP_QP, CORE_CONN_REPORT_FAILED, CORE_CONN_PART, CORE_CONN_SHUT},
	       CORE_CONN_LINGER);
}

// ---- The responder ----

// RFC 5044 7.1.2, 2: "When MPA is started in the Responder mode, the MPA implementation MUST wait
// until an MPA Request Frame is received and validated before entering Full MPA/DDP Operation."
TEST(ConnectionResponder, HandsAValidRequestToTheConsumer)
{
	expect(CORE_CONN_AWAIT_REQUEST, CORE_CONN_REQUEST, {CORE_CONN_REPORT_REQUEST},
	       CORE_CONN_AWAIT_REQUEST);
	expect(CORE_CONN_AWAIT_REQUEST, CORE_CONN_TOOK_REQUEST, {CORE_CONN_LEAVE_LISTENER},
	       CORE_CONN_ANNOUNCED);
}

// ib.rst rule 55: "A responder attaches the stream when it decides to accept, and then sends its
// Reply".
TEST(ConnectionResponder, RepliesAtOnceToAConsumerThatDecidesAtOnce)
{
	expect(CORE_CONN_AWAIT_REQUEST, CORE_CONN_ACCEPTED, {CORE_CONN_LEAVE_LISTENER},
	       CORE_CONN_REPLYING);
}

// RFC 5044 7.1.2, 6: "The Responder SHOULD return an MPA Reply Frame with the "Reject Connection"
// bit set to '1' if the validation of the Private Data is not acceptable to the ULP."
TEST(ConnectionResponder, RefusesWhatTheConsumerRejectsOrHasNoRoomFor)
{
	const Actions refusal = {CORE_CONN_MAKE_REFUSAL, CORE_CONN_PART};

	expect(CORE_CONN_ANNOUNCED, CORE_CONN_REJECT, refusal, CORE_CONN_CLOSING);
	expect(CORE_CONN_AWAIT_REQUEST, CORE_CONN_BUSY, refusal, CORE_CONN_CLOSING);
}

// RFC 5044 7.1.2, 2: "... SHOULD return an MPA Reply Frame with the Rejected Connection bit set to
// '0'; ... and the Responder SHOULD prepare to interpret any data received as FPDUs".
TEST(ConnectionResponder, OperatesOnceTheReplyIsOut)
{
	expect(CORE_CONN_ANNOUNCED, CORE_CONN_ACCEPT, {}, CORE_CONN_REPLYING);
	expect(CORE_CONN_REPLYING, CORE_CONN_FRAME_SENT, {CORE_CONN_START_QP}, CORE_CONN_REPLYING);
	expect(CORE_CONN_REPLYING, CORE_CONN_QP_STARTED, {CORE_CONN_REPORT_ESTABLISHED},
	       CORE_CONN_OPERATION);
}

// RFC 5044 7.1.2, 2: "If the MPA Request Frame is improperly formatted, the implementation MUST
// close the TCP connection and exit MPA"; 8: "SHOULD put a timeout on waiting for the MPA Request".
TEST(ConnectionResponder, FailsWithoutAnEventBeforeTheConsumerAccepts)
{
	for (State state : {CORE_CONN_AWAIT_REQUEST, CORE_CONN_ANNOUNCED})
		for (Input input : failures)
			expect(state, input,
			       {CORE_CONN_COUNT_FAILURE, CORE_CONN_PART, CORE_CONN_RELEASE},
			       CORE_CONN_DEAD);
}

// To iw_cm the connection is accepted, so it gets ESTABLISHED with an error, and CLOSE.
TEST(ConnectionResponder, FailsWithItsQpAfterTheConsumerAccepted)
{
	for (Input input : {CORE_CONN_BROKEN, CORE_CONN_TIMEOUT, CORE_CONN_ABORT, CORE_CONN_KILL,
			    CORE_CONN_QP_REFUSED})
		expect(CORE_CONN_REPLYING, input,
		       {CORE_CONN_COUNT_FAILURE, CORE_CONN_FAIL_QP,
			CORE_CONN_REPORT_NOT_ESTABLISHED, CORE_CONN_REPORT_CLOSED, CORE_CONN_PART,
			CORE_CONN_RELEASE},
		       CORE_CONN_DEAD);
}

TEST(ConnectionResponder, EndsWithoutEventsWhenItIsAnsweredTwice)
{
	for (Input input : {CORE_CONN_ACCEPT, CORE_CONN_REJECT})
		expect(CORE_CONN_REPLYING, input, {CORE_CONN_PART, CORE_CONN_RELEASE},
		       CORE_CONN_DEAD);
}

// ---- The last frame of startup ----

// RFC 5040 6.2.1: "The peer SHOULD perform a graceful LLP teardown to ensure the Terminate Message
// is successfully Delivered."
TEST(ConnectionClosing, ShutsGracefullyOnceTheLastFrameIsOut)
{
	expect(CORE_CONN_CLOSING, CORE_CONN_FRAME_SENT, {CORE_CONN_PART, CORE_CONN_SHUT},
	       CORE_CONN_LINGER);
}

TEST(ConnectionClosing, IsResetWhenTheFrameDoesNotGetOut)
{
	for (Input input : failures)
		expect(CORE_CONN_CLOSING, input, {CORE_CONN_PART, CORE_CONN_RELEASE},
		       CORE_CONN_DEAD);
}

// ---- The end of full operation ----

// RFC 5041 6.2.1: "on the receipt of an LLP graceful teardown request of the DDP Stream, DDP SHOULD
// indicate the half-closed state to the ULP, and continue to process outbound data transfer
// requests normally."
TEST(ConnectionTeardown, TellsOfThePeersFinAndDrains)
{
	expect(CORE_CONN_OPERATION, CORE_CONN_PEER_CLOSED,
	       {CORE_CONN_REPORT_DISCONNECT, CORE_CONN_DRAIN_QP}, CORE_CONN_DRAINING);
}

// RFC 5041 6.2.1: "If the Local Peer ULP indicates graceful teardown, the DDP layer on the Local
// Peer SHOULD ensure that all ULP data would be transferred before the underlying LLP Stream and
// Connection are torn down".
TEST(ConnectionTeardown, DrainsWhenTheConsumerCloses)
{
	expect(CORE_CONN_OPERATION, CORE_CONN_CLOSE, {CORE_CONN_DRAIN_QP}, CORE_CONN_DRAINING);
}

// RFC 5044 8, error 1: what the peer owes when it closes will not come.
TEST(ConnectionTeardown, LearnsWhileItDrainsThatThePeerHasClosed)
{
	expect(CORE_CONN_DRAINING, CORE_CONN_PEER_CLOSED, {CORE_CONN_DRAIN_QP}, CORE_CONN_DRAINING);
}

TEST(ConnectionTeardown, ClosesOnceDrainedOrWhenThatIsInVain)
{
	for (Input input : {CORE_CONN_DRAINED, CORE_CONN_TIMEOUT, CORE_CONN_TCP_CLOSED,
			    CORE_CONN_ABORT, CORE_CONN_KILL})
		expect(CORE_CONN_DRAINING, input,
		       {CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED, CORE_CONN_PART, CORE_CONN_SHUT},
		       CORE_CONN_LINGER);
}

// RFC 5040 6.2: "LLP Abortive Termination results due to an LLP error and causes the RDMAP Stream
// to be torn down midstream, without an RDMAP Terminate Message."
TEST(ConnectionTeardown, EndsAtOnceOnAReset)
{
	expect(CORE_CONN_OPERATION, CORE_CONN_RESET,
	       {CORE_CONN_COUNT_RESET, CORE_CONN_REPORT_DISCONNECT, CORE_CONN_STOP_QP,
		CORE_CONN_REPORT_CLOSED, CORE_CONN_PART, CORE_CONN_SHUT},
	       CORE_CONN_LINGER);
}

// RFC 5040 6.2.1: "When a peer sends or receives a Terminate Message, it MAY immediately tear down
// the LLP Stream. The peer SHOULD perform a graceful LLP teardown".
TEST(ConnectionTeardown, ClosesGracefullyAfterATerminate)
{
	expect(CORE_CONN_OPERATION, CORE_CONN_TERMINATED,
	       {CORE_CONN_REPORT_DISCONNECT, CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED,
		CORE_CONN_PART, CORE_CONN_SHUT},
	       CORE_CONN_LINGER);
}

// RFC 5041 6.2.2: abortive teardown. The consumer asked for it, so it gets no DISCONNECT.
TEST(ConnectionTeardown, EndsAtOnceWhenTheQpOrTheDeviceGoes)
{
	for (Input input : {CORE_CONN_ABORT, CORE_CONN_KILL})
		expect(CORE_CONN_OPERATION, input,
		       {CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED, CORE_CONN_PART, CORE_CONN_SHUT},
		       CORE_CONN_LINGER);
}

// ib.rst rule 31: "An end whose QP goes to the error state or is reset or destroyed ... sends the
// rest of the FPDU that it has begun and an Ack of all that it has delivered, and then closes its
// half of the TCP connection."
TEST(ConnectionTeardown, SendsWhatAQpHasBegunThatLeavesItsStream)
{
	expect(CORE_CONN_OPERATION, CORE_CONN_DETACH,
	       {CORE_CONN_STOP_QP, CORE_CONN_REPORT_CLOSED, CORE_CONN_PART, CORE_CONN_TAKE_REST},
	       CORE_CONN_FINISHING);
	expect(CORE_CONN_FINISHING, CORE_CONN_FRAME_SENT, {CORE_CONN_SHUT}, CORE_CONN_LINGER);
	for (Input input : failures)
		expect(CORE_CONN_FINISHING, input, {CORE_CONN_RELEASE}, CORE_CONN_DEAD);
}

// RFC 5044 7.2: "Each half connection of MPA terminates when DDP closes the corresponding TCP half
// connection." Waiting for the peer's half has a limit.
TEST(ConnectionTeardown, ReleasesTheSocketOnceBothHalvesAreClosedOrOverdue)
{
	for (Input input : {CORE_CONN_TCP_CLOSED, CORE_CONN_TIMEOUT, CORE_CONN_KILL})
		expect(CORE_CONN_LINGER, input, {CORE_CONN_PART, CORE_CONN_RELEASE},
		       CORE_CONN_DEAD);
}

// ---- Time ----

// RFC 5044 7.1.2, 10: "MPA implementations SHOULD implement a reasonable timeout while waiting for
// the entire set of startup frames". Full operation has no timeout.
TEST(ConnectionTime, BoundsEveryStateButOperationAndDead)
{
	const core_conn_limit limits[CORE_CONN_STATES] = {
		CORE_CONN_LIMIT_STARTUP, CORE_CONN_LIMIT_STARTUP, CORE_CONN_LIMIT_REPLY,
		CORE_CONN_LIMIT_STARTUP, CORE_CONN_LIMIT_ACCEPT,  CORE_CONN_LIMIT_STARTUP,
		CORE_CONN_LIMIT_STARTUP, CORE_CONN_NO_LIMIT,	  CORE_CONN_LIMIT_DRAIN,
		CORE_CONN_LIMIT_LINGER,	 CORE_CONN_LIMIT_LINGER,  CORE_CONN_NO_LIMIT};

	for (u32 i = 0; i < CORE_CONN_STATES; i++) {
		const State state = State(i);

		EXPECT_EQ(core_conn_limit_of(state), limits[i]) << i;
		EXPECT_EQ(core_conn_next(state, CORE_CONN_TIMEOUT).known,
			  limits[i] != CORE_CONN_NO_LIMIT)
			<< i;
	}
}

TEST(ConnectionTime, ProgressExtendsItUpToALimit)
{
	core_patience patience;

	core_patience_begin(&patience, 100, 10, 35, 7);
	EXPECT_FALSE(core_patience_over(&patience, 109, 7));
	EXPECT_TRUE(core_patience_over(&patience, 110, 7));
	EXPECT_FALSE(core_patience_over(&patience, 110, 8)); // until 120
	EXPECT_FALSE(core_patience_over(&patience, 119, 8));
	EXPECT_FALSE(core_patience_over(&patience, 119, 9)); // until 129
	EXPECT_FALSE(core_patience_over(&patience, 128, 0)); // until 135, not 138
	EXPECT_TRUE(core_patience_over(&patience, 135, 1));
}

TEST(ConnectionTime, WithoutExtensionIsASimpleTimeout)
{
	core_patience patience;

	core_patience_begin(&patience, 100, 10, 10, 7);
	EXPECT_FALSE(core_patience_over(&patience, 109, 8));
	EXPECT_TRUE(core_patience_over(&patience, 110, 9));
}

// ---- How many startups ----

namespace {

// A full port; the busiest source has its share and not more; the oldest idle one is young.
constexpr core_startups full = {128, 128, 64, 64, true, true, 49, 50};

core_admission admits(const core_startups &startups, u64 waits = 0)
{
	u64 wait = ~u64{0};
	const core_admission verdict = core_admit(&startups, &wait);

	EXPECT_EQ(wait, waits);
	return verdict;
}

core_startups but(void (*change)(core_startups &startups))
{
	core_startups startups = full;

	change(startups);
	return startups;
}

} // namespace

TEST(ConnectionAdmission, WhileThereIsRoomNobodyGivesWay)
{
	EXPECT_EQ(admits(but([](core_startups &s) { s.num = 0; })), CORE_ADMIT);
	EXPECT_EQ(admits(but([](core_startups &s) { s.num = 127; })), CORE_ADMIT);
	EXPECT_EQ(admits(but([](core_startups &s) {
			  s.num = s.busiest = 127;
			  s.age = 1000;
		  })),
		  CORE_ADMIT);
}

// RFC 5044 7.1.2, 10: a timeout "prevents certain denial-of-service attacks"; so does dropping the
// oldest silent startup first.
TEST(ConnectionAdmission, TheOldestIdleOneGivesWayOnceItHadItsTime)
{
	EXPECT_EQ(admits(full, 1), CORE_ADMIT_LATER);
	EXPECT_EQ(admits(but([](core_startups &s) { s.age = 0; }), 50), CORE_ADMIT_LATER);
	EXPECT_EQ(admits(but([](core_startups &s) { s.age = 50; })), CORE_ADMIT_FOR_OLDEST);
	EXPECT_EQ(admits(but([](core_startups &s) { s.age = ~u64{0}; })), CORE_ADMIT_FOR_OLDEST);
	EXPECT_EQ(admits(but([](core_startups &s) { s.num = 500, s.age = 51; })),
		  CORE_ADMIT_FOR_OLDEST);
	EXPECT_EQ(admits(but([](core_startups &s) { s.limit = 0, s.age = 51; })),
		  CORE_ADMIT_FOR_OLDEST);
}

TEST(ConnectionAdmission, ASourceWithMoreThanItsShareGivesWayAtOnceIfThePortIsFull)
{
	EXPECT_EQ(admits(but([](core_startups &s) { s.busiest = 65, s.age = 0; })),
		  CORE_ADMIT_FOR_SOURCE);
	EXPECT_EQ(admits(but([](core_startups &s) { s.busiest = 65, s.age = 51; })),
		  CORE_ADMIT_FOR_SOURCE);
}

TEST(ConnectionAdmission, NobodyGivesWayWhoseBytesWaitToBeRead)
{
	EXPECT_EQ(admits(but([](core_startups &s) {
				 s.busiest = 128;
				 s.source_idles = s.idles = false;
				 s.age = 1000;
			 }),
			 50),
		  CORE_ADMIT_LATER);
	EXPECT_EQ(admits(but([](core_startups &s) { s.busiest = 100, s.source_idles = false; }), 1),
		  CORE_ADMIT_LATER);
	EXPECT_EQ(admits(but([](core_startups &s) {
			  s.busiest = 100;
			  s.source_idles = false;
			  s.age = 50;
		  })),
		  CORE_ADMIT_FOR_OLDEST);
}

// ---- All sequences of inputs ----

namespace {

// The events that the consumer got, and its references with the connection.
struct Life {
	State state;
	bool initiator;
	bool accepted = false; // accept() has returned 0
	bool started = false, stopped = false;
	bool parted = false, released = false;
	bool frame_due = true;
	u32 connect_reply = 0, request = 0, established = 0, disconnect = 0, close = 0;
	bool good = false; // CONNECT_REPLY or ESTABLISHED with status 0
};

// The possible outcomes of an action, as inputs; NOTHING: none.
std::vector<Input> outcomes(u32 actions)
{
	if (actions >> CORE_CONN_START_QP & 1)
		return {CORE_CONN_QP_STARTED, CORE_CONN_QP_REFUSED};
	if (actions >> CORE_CONN_REPORT_REQUEST & 1)
		return {CORE_CONN_TOOK_REQUEST, CORE_CONN_BUSY, CORE_CONN_BROKEN};
	if (actions >> CORE_CONN_REPORT_CONNECTED & 1)
		return {CORE_CONN_NOTHING, CORE_CONN_UNDELIVERED};
	return {CORE_CONN_NOTHING};
}

bool is_outcome(Input input)
{
	return input == CORE_CONN_QP_STARTED || input == CORE_CONN_QP_REFUSED ||
	       input == CORE_CONN_TOOK_REQUEST || input == CORE_CONN_BUSY ||
	       input == CORE_CONN_UNDELIVERED || input == CORE_CONN_ACCEPTED;
}

void report(u32 &events, const Life &life)
{
	events++;
	ASSERT_FALSE(life.parted) << "an event after the consumer's id was given back";
}

void act(Life &life, Action action)
{
	switch (action) {
	case CORE_CONN_REPORT_CONNECTED:
	case CORE_CONN_REPORT_REJECTED:
	case CORE_CONN_REPORT_FAILED:
		report(life.connect_reply, life);
		ASSERT_TRUE(life.initiator);
		life.good = action == CORE_CONN_REPORT_CONNECTED;
		ASSERT_EQ(life.good, life.started && !life.stopped);
		break;
	case CORE_CONN_REPORT_REQUEST:
		report(life.request, life);
		break;
	case CORE_CONN_REPORT_ESTABLISHED:
	case CORE_CONN_REPORT_NOT_ESTABLISHED:
		report(life.established, life);
		ASSERT_TRUE(life.accepted);
		life.good = action == CORE_CONN_REPORT_ESTABLISHED;
		ASSERT_EQ(life.good, life.started);
		break;
	case CORE_CONN_REPORT_DISCONNECT:
		report(life.disconnect, life);
		ASSERT_TRUE(life.good);
		break;
	case CORE_CONN_REPORT_CLOSED:
		report(life.close, life);
		ASSERT_TRUE(life.good ? life.stopped : life.established == 1);
		break;
	case CORE_CONN_STOP_QP:
		ASSERT_TRUE(life.started && !life.stopped);
		life.stopped = true;
		break;
	case CORE_CONN_DRAIN_QP:
	case CORE_CONN_FAIL_QP:
	case CORE_CONN_DROP_QP:
		ASSERT_EQ(life.started, action == CORE_CONN_DRAIN_QP);
		break;
	case CORE_CONN_PART:
		life.parted = true;
		break;
	case CORE_CONN_SHUT:
	case CORE_CONN_RELEASE:
		ASSERT_EQ(life.started, life.stopped) << "the QP still has the socket";
		ASSERT_TRUE(life.parted);
		ASSERT_FALSE(life.released);
		life.released = action == CORE_CONN_RELEASE;
		break;
	default:
		break;
	}
}

// Feeds the input, and then the outcomes of its actions. Appends the possible results.
void live(Life life, Input input, std::vector<Life> &after)
{
	const core_conn_step step = core_conn_next(life.state, input);

	if (input == CORE_CONN_UNDELIVERED)
		life.connect_reply--;
	if (input == CORE_CONN_QP_STARTED)
		life.started = true;
	if (input == CORE_CONN_ACCEPT && life.state == CORE_CONN_ANNOUNCED)
		life.accepted = true;
	life.state = step.next;
	for (Action action : actions_of(step))
		act(life, action);
	for (Input outcome : outcomes(step.actions))
		if (outcome == CORE_CONN_NOTHING)
			after.push_back(life);
		else
			live(life, outcome, after);
}

// iw_cm has room for 4 events of an active connection, and for 3 of a passive one.
void expect_budget(const Life &life)
{
	ASSERT_LE(life.connect_reply, 1u);
	ASSERT_LE(life.request, 1u);
	ASSERT_LE(life.established, 1u);
	ASSERT_LE(life.disconnect, 1u);
	ASSERT_LE(life.close, 1u);
	ASSERT_LE(life.connect_reply + life.disconnect + life.close, 4u);
	ASSERT_LE(life.established + life.disconnect + life.close, 3u);
}

// Every expected event has been delivered.
void expect_all_reported(const Life &life)
{
	ASSERT_TRUE(life.parted && life.released);
	ASSERT_EQ(life.started, life.stopped);
	ASSERT_EQ(life.connect_reply, life.initiator);
	ASSERT_TRUE(!life.good || life.close == 1);
}

u64 walk(const Life &life, u32 depth)
{
	u64 walked = 1;

	expect_budget(life);
	if (life.state == CORE_CONN_DEAD)
		expect_all_reported(life);
	if (!depth || testing::Test::HasFatalFailure())
		return walked;
	for (u32 i = 0; i < CORE_CONN_INPUTS; i++) {
		std::vector<Life> after;

		if (is_outcome(Input(i)) || !core_conn_next(life.state, Input(i)).known)
			continue;
		live(life, Input(i), after);
		for (const Life &next : after)
			walked += walk(next, depth - 1);
	}
	return walked;
}

} // namespace

constexpr u32 deep = 9; // more steps than the longest life has

TEST(ConnectionWalk, AnInitiatorIsToldOnceOfEachThingAndEnds)
{
	EXPECT_GT(walk({CORE_CONN_CONNECTING, true}, deep), 90u);
}

TEST(ConnectionWalk, AResponderIsToldOnceOfEachThingAndEnds)
{
	EXPECT_GT(walk({CORE_CONN_AWAIT_REQUEST, false}, deep), 90u);
}

// Timeouts or the device's removal end any state in three steps at most, except that timeouts do
// not end full operation.
TEST(ConnectionWalk, TimeOrRemovalEndsEveryState)
{
	for (u32 i = 0; i < CORE_CONN_STATES; i++)
		for (Input input : {CORE_CONN_TIMEOUT, CORE_CONN_KILL}) {
			State state = State(i);

			for (int steps = 0; steps < 3; steps++)
				state = core_conn_next(state, input).next;
			if (State(i) == CORE_CONN_OPERATION && input == CORE_CONN_TIMEOUT)
				continue;
			EXPECT_EQ(state, CORE_CONN_DEAD) << i;
		}
}

TEST(ConnectionWalk, NothingHappensToTheDead)
{
	for (u32 i = 0; i < CORE_CONN_INPUTS; i++)
		EXPECT_FALSE(core_conn_next(CORE_CONN_DEAD, Input(i)).known) << i;
}
