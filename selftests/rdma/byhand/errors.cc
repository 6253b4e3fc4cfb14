// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What fails: with which status, at which request, in which order, and when. The rest is flushed
// (Documentation/ib.rst, "Receiver not ready" to "Errors").
#include <deque>

#include "case.hh"

namespace {

const std::string cut = "tc -n sr1 qdisc add dev veth1 root netem loss 100%",
		  mend = "tc -n sr1 qdisc del dev veth1 root";

enum : uint64_t { before = 1, culprit, rest, theirs };

// One request fails; one before it does not, and one after it is flushed.
void fails_as(End &from, End &to, const std::function<void()> &post, ibv_wc_status status)
{
	to.receive(before);
	from.send(before);
	post();
	from.send(rest);
	from.sends.is(before);
	to.receives.is(before);
	from.sends.is(culprit, status);
	from.sends.is(rest, IBV_WC_WR_FLUSH_ERR);
	expect(from.state() == IBV_QPS_ERR, "the requester is in the error state");
}

struct Wrong {
	const char *name;
	ibv_wr_opcode opcode;
	uint64_t offset; // of the address
	uint32_t len;
	uint32_t key_flip;
};

void request_wrong(const Port &here, const Port &there, const Options &of_peer, const Wrong &wrong,
		   ibv_wc_status status, ibv_event_type event)
try {
	Pair pair(here, there, {}, of_peer);
	Name peer = pair.b.name();

	peer.addr += wrong.offset;
	peer.rkey ^= wrong.key_flip;
	fails_as(
		pair.a, pair.b, [&] { pair.a.post(wrong.opcode, culprit, peer, wrong.len); },
		status);
	pair.b.receives.none(0);
	const auto seen = there.event(2000);

	expect(seen == event, "the responder's event is " +
				      std::string(seen ? ibv_event_type_str(*seen) : "missing"));
	expect(pair.b.state() == IBV_QPS_ERR, "the responder is in the error state");
	expect(!here.event(0), "the requester has no event");
	join_again(pair.a, pair.b);
	pair.exercise();
} catch (const Failure &failure) {
	throw Failure(std::string(wrong.name) + ": " + failure.what());
}

void access_errors()
{
	Ports ports;
	Options no_rights;

	no_rights.region = IBV_ACCESS_LOCAL_WRITE;
	for (const Wrong &wrong :
	     {Wrong{"Write, wrong key", IBV_WR_RDMA_WRITE, 0, 64, 0x10},
	      {"Write, other STag", IBV_WR_RDMA_WRITE, 0, 64, 0x12345600},
	      {"Write beyond the end", IBV_WR_RDMA_WRITE, 4033, 64, 0},
	      {"Write before the start", IBV_WR_RDMA_WRITE, ~0ull, 64, 0},
	      {"Read, wrong key", IBV_WR_RDMA_READ, 0, 64, 0x10},
	      {"Read beyond the end", IBV_WR_RDMA_READ, 4033, 64, 0},
	      {"atomic, wrong key", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0x10},
	      {"atomic beyond the end", IBV_WR_ATOMIC_FETCH_AND_ADD, 4096, 8, 0}})
		request_wrong(ports.here, ports.there, {}, wrong, IBV_WC_REM_ACCESS_ERR,
			      IBV_EVENT_QP_ACCESS_ERR);
	for (const Wrong &wrong :
	     {Wrong{"Write without the right", IBV_WR_RDMA_WRITE, 0, 64, 0},
	      {"Read without the right", IBV_WR_RDMA_READ, 0, 64, 0},
	      {"atomic without the right", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0}})
		request_wrong(ports.here, ports.there, no_rights, wrong, IBV_WC_REM_ACCESS_ERR,
			      IBV_EVENT_QP_ACCESS_ERR);
}

void flags_of_the_qp()
{
	Ports ports;
	Options no_access;

	no_access.access = 0;
	for (const Wrong &wrong : {Wrong{"Write", IBV_WR_RDMA_WRITE, 0, 64, 0},
				   {"empty Write", IBV_WR_RDMA_WRITE, 0, 0, 0},
				   {"Read", IBV_WR_RDMA_READ, 0, 64, 0},
				   {"addition", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 0},
				   {"swap", IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, 0}})
		request_wrong(ports.here, ports.there, no_access, wrong, IBV_WC_REM_INV_REQ_ERR,
			      IBV_EVENT_QP_REQ_ERR);
}

void unaligned_atomic()
{
	Ports ports;

	request_wrong(ports.here, ports.there, {},
		      {"atomic at an odd address", IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 8, 0},
		      IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

// A request of length 0 is checked against the QP's flags alone.
void nothing_at_nowhere()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	const Name nowhere{pair.b.name().gid, 0, 0, 0};

	pair.a.post(IBV_WR_RDMA_WRITE, 1, nowhere, 0);
	pair.a.post(IBV_WR_RDMA_READ, 2, nowhere, 0);
	pair.a.sends.is(1);
	pair.a.sends.is(2);
	pair.exercise();
}

void too_long()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	End &a = pair.a, &b = pair.b;

	b.receive(before, 100);
	b.receive(culprit, 99);
	b.receive(rest, 100);
	for (const uint64_t n : {before, culprit, rest})
		a.send(n, 100);
	a.sends.is(before);
	a.sends.is(culprit, IBV_WC_REM_INV_REQ_ERR);
	a.sends.is(rest, IBV_WC_WR_FLUSH_ERR);
	b.receives.is(before);
	b.receives.is(culprit, IBV_WC_LOC_LEN_ERR);
	b.receives.is(rest, IBV_WC_WR_FLUSH_ERR);
	join_again(a, b);
	pair.exercise();
}

// The end that named memory it does not have is in the error state; its peer is not.
void own_memory_sent()
{
	Ports ports;

	for (const ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		Pair pair(ports.here, ports.there);
		const Name peer = pair.b.name();
		ibv_sge wrong = pair.a.piece(0, 64);

		wrong.lkey ^= 0x12345600;
		fails_as(
			pair.a, pair.b,
			[&] { pair.a.post(pair.a.request(opcode, culprit, &peer), wrong); },
			IBV_WC_LOC_PROT_ERR);
		expect(pair.b.state() == IBV_QPS_RTS, "the peer stays in RTS");
		join_again(pair.a, pair.b);
		pair.exercise();
	}
}

void own_memory_received()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	ibv_sge wrong = pair.b.piece(0, 64);
	ibv_recv_wr wr{}, *bad;

	wrong.lkey ^= 0x12345600;
	wr.wr_id = theirs;
	wr.sg_list = &wrong;
	wr.num_sge = 1;
	fails_as(
		pair.a, pair.b,
		[&] {
			expect(!ibv_post_recv(pair.b.qp, &wr, &bad), "ibv_post_recv");
			pair.a.send(culprit);
		},
		IBV_WC_REM_OP_ERR);
	pair.b.receives.is(theirs, IBV_WC_LOC_PROT_ERR);
	join_again(pair.a, pair.b);
	pair.exercise();
}

// ---- receiver not ready ----

void no_receive(uint8_t retries, uint8_t timer, double least, double most)
{
	Options of_a, of_b;

	of_a.rnr_retry = retries;
	of_b.min_rnr_timer = timer;
	Ports ports;
	Pair pair(ports.here, ports.there, of_a, of_b);

	pair.b.receive(before);
	pair.a.send(before);
	const auto begin = Clock::now();

	pair.a.send(culprit);
	pair.a.post(IBV_WR_RDMA_WRITE, rest, pair.b.name());
	pair.a.sends.is(before);
	pair.a.sends.is(culprit, IBV_WC_RNR_RETRY_EXC_ERR);
	const double took = seconds_since(begin);

	printf("# %d times, code %d: %.2f s\n", retries, timer, took);
	expect(took >= least && took < most, "the time of " + std::to_string(retries) + " tries");
	pair.a.sends.is(rest, IBV_WC_WR_FLUSH_ERR);
	join_again(pair.a, pair.b);
	pair.exercise();
}

void not_ready_often()
{
	no_receive(0, 31, 0, 0.3);
	no_receive(1, 29, 0.2457, 0.6);
	no_receive(5, 26, 0.4096, 1.2);
	no_receive(2, 0, 1.3107, 2);
}

// The timer is waited for, then all goes on, in order.
void not_ready_for_long()
{
	Options of_b;

	of_b.min_rnr_timer = 29; // 245.76 ms
	Ports ports;
	Pair pair(ports.here, ports.there, {}, of_b);
	const Name peer = pair.b.name();
	ibv_send_wr wr = pair.a.request(IBV_WR_RDMA_WRITE_WITH_IMM, 2, &peer);

	for (int i = 0; i < 3; i++) {
		const auto begin = Clock::now();

		pair.a.send(1);
		pair.a.post(wr, pair.a.piece(0, 64));
		pair.a.post(IBV_WR_RDMA_READ, 3, peer);
		sleep_ms(50);
		pair.b.receive(4);
		pair.b.receive(5);
		pair.a.sends.is(1);
		expect(seconds_since(begin) >= 0.2457, "it waits for the time that the peer says");
		pair.a.sends.is(2);
		pair.a.sends.is(3);
		pair.b.receives.is(4);
		pair.b.receives.is(5);
	}
	pair.exercise();
}

// ---- a peer that does not answer ----

struct Silence {
	uint8_t timeout, retry;
	double least; // seconds
	ibv_wr_opcode opcode;
};

// All at once.
void vanished(const std::string &away, const std::string &back)
{
	const Silence silences[] = {{14, 0, 2, IBV_WR_SEND},
				    {14, 7, 2, IBV_WR_RDMA_WRITE},
				    {14, 7, 2, IBV_WR_RDMA_READ},
				    {18, 2, 3.221, IBV_WR_SEND},
				    {0, 7, 0, IBV_WR_SEND}};
	Ports ports;
	std::deque<Pair> pairs;

	for (const Silence &silence : silences) {
		Options options;

		options.timeout = silence.timeout;
		options.retry = silence.retry;
		pairs.emplace_back(ports.here, ports.there, options);
		pairs.back().exercise();
		pairs.back().b.receive(7);
	}
	Undo gone(away, back);
	const auto begin = Clock::now();

	for (size_t i = 0; i < pairs.size(); i++) {
		pairs[i].a.receive(3);
		pairs[i].a.post(silences[i].opcode, 1, pairs[i].b.name());
		pairs[i].a.post(IBV_WR_RDMA_WRITE, 2, pairs[i].b.name());
	}
	for (size_t i = 0; i < pairs.size(); i++) {
		const double least = silences[i].least, most = least * 1.1 + 0.5;
		End &a = pairs[i].a;

		if (!silences[i].timeout) {
			a.sends.none(static_cast<int>((6 - seconds_since(begin)) * 1000));
			continue;
		}
		a.sends.is(1, IBV_WC_RETRY_EXC_ERR);
		const double took = seconds_since(begin);

		printf("# after %.2f s, want %.2f to %.2f\n", took, least, most);
		expect(took >= least && took <= most, "the time until an error");
		a.sends.is(2, IBV_WC_WR_FLUSH_ERR);
		a.receives.is(3, IBV_WC_WR_FLUSH_ERR);
		expect(a.state() == IBV_QPS_ERR, "the error state");
	}
}

void silent_network() { vanished(cut, mend); }

void interface_of_peer_down()
{
	vanished("ip -n sr1 link set veth1 down", up_again("sr1", "veth1", settings.there));
}

// The peer's QP goes with requests under way, or refused for now, and says so: not sooner for that.
void peer_goes(const std::function<void(Pair &pair)> &post, const std::function<void(End &)> &go)
{
	Options options;

	options.timeout = 14;
	Ports ports;
	Pair pair(ports.here, ports.there, options, options);

	pair.exercise();
	post(pair);
	const auto begin = Clock::now();

	go(pair.b);
	pair.a.sends.none(1900);
	const auto wc = pair.a.sends.next(2000);

	printf("# after %.2f s: %s\n", seconds_since(begin),
	       wc ? ibv_wc_status_str(wc->status) : "nothing");
	expect(wc && wc->status == IBV_WC_RETRY_EXC_ERR, "a request to a QP that goes");
	expect(pair.a.state() == IBV_QPS_ERR, "the error state");
}

void destroy(End &end) { end.destroy_qp(); }

void reset(End &end) { end.to(IBV_QPS_RESET); }

void refused_for_now(Pair &pair)
{
	pair.a.send(1);
	sleep_ms(50);
}

void peer_goes_not_ready()
{
	peer_goes(refused_for_now, destroy);
	peer_goes(refused_for_now, reset);
}

void destroyed_peer()
{
	Options options;

	options.timeout = 14;
	Ports ports;
	Pair pair(ports.here, ports.there, options);

	pair.exercise();
	pair.b.destroy_qp();
	sleep_ms(100);
	pair.a.send(1);
	pair.a.sends.none(1900);
	const auto wc = pair.a.sends.next(2000);

	expect(wc && wc->status == IBV_WC_RETRY_EXC_ERR, "a Send to a QP that is gone");
}

// A request that is under way, and whose peer then comes back in time, is done.
void short_outage()
{
	Options options;

	options.timeout = 18;
	Ports ports;
	Pair pair(ports.here, ports.there, options);

	pair.exercise();
	pair.b.receive(2);
	{
		Undo gone(cut, mend);

		pair.a.send(1);
		pair.a.sends.none(1500);
	}
	pair.a.sends.is(1);
	pair.b.receives.is(2);
	pair.exercise();
}

// Once, and again after RESET; not for a QP in RTS.
void first_request(ibv_wr_opcode opcode)
{
	Ports ports;
	End a(ports.here), b(ports.there);

	for (int i = 0; i < 2; i++) {
		a.to(IBV_QPS_RESET);
		b.to(IBV_QPS_RESET);
		expect(!a.init() && !b.init() && !b.rtr(a.name()) && !a.rtr(b.name()) && !a.rts(),
		       "RTS");
		for (uint64_t n = 1; n <= 2; n++) {
			b.receive(n);
			a.post(opcode, n, b.name(), 8);
			a.sends.is(n);
		}
		const auto seen = ports.there.event(2000);

		expect(seen == IBV_EVENT_COMM_EST, "the first request in RTR is an event");
		expect(!b.rts(), "RTS");
		b.receive(3);
		b.receive(4);
		a.send(3);
		a.sends.is(3);
		expect(!ports.there.event(50) && !ports.here.event(0), "there is one event");
	}
}

void comm_est()
{
	for (const ibv_wr_opcode opcode :
	     {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD})
		first_request(opcode);
}

// A QP that failed once fails again, with an event each time.
void fails_again()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	for (int i = 0; i < 3; i++) {
		Name peer = pair.b.name();

		peer.rkey ^= 0x10;
		pair.exercise();
		fails_as(
			pair.a, pair.b, [&] { pair.a.post(IBV_WR_RDMA_WRITE, culprit, peer); },
			IBV_WC_REM_ACCESS_ERR);
		expect(ports.there.event(2000) == IBV_EVENT_QP_ACCESS_ERR, "an event");
		join_again(pair.a, pair.b);
	}
}

} // namespace

Cases error_cases()
{
	return {
		{"the peer may not access that memory", access_errors},
		{"the access flags of the QP forbid it", flags_of_the_qp},
		{"an atomic operation on a word that is not aligned", unaligned_atomic},
		{"a request of length 0 needs no memory", nothing_at_nowhere},
		{"a Send is longer than its receive", too_long},
		{"a request names memory that its own program does not have", own_memory_sent},
		{"a receive names memory that its program does not have", own_memory_received},
		{"no receive: as often as rnr_retry says, and as long as min_rnr_timer says",
		 not_ready_often},
		{"a receive comes late", not_ready_for_long},
		{"the network falls silent: an error in time", silent_network},
		{"the interface of the peer goes down: an error in time", interface_of_peer_down},
		{"the QP of the peer is gone: an error in time", destroyed_peer},
		{"the QP of the peer goes without a receive: an error in time",
		 peer_goes_not_ready},
		{"the network is silent for a short time: no error", short_outage},
		{"the first request in RTR is an event", comm_est},
		{"a QP that was reset fails again, with an event", fails_again},
	};
}
