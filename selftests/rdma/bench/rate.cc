// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long an operation takes, with any driver and with TCP: prints nanoseconds for each. Both ends
// are in this process.
//	rate cm|tcp NAMESPACE:ADDRESS NAMESPACE:ADDRESS OPERATION [OPTION...]
//	rate hand DEVICE DEVICE OPERATION [OPTION...]
// OPERATION: write, send, read, write-imm, fetch-add; ping-pong (half a round trip of Sends);
// connect (a connection begins and ends). TCP has write, ping-pong and connect.
// OPTION: count=N of all operations together; size=OCTETS; depth=N requests outstanding; list=N
// requests posted with one call, 0: as many as have completed; pairs=N connections, each in a
// thread of its own; regions=N: at each end they share so many, else each has its own; together=1:
// Sends of all connections in one thread, with CQs in common (cm only); poll=1: does not sleep
// until a completion comes; zerocopy=1: TCP's Writes are MSG_ZEROCOPY; apart=1: all is on the first
// processor, but who answers, or reads from TCP, on the second.
//
// RDMA Writes are over when a Read behind them is, Sends and Writes with Immediate Data when the
// receiver has its completion.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <set>

#include "../shared/processor.hh"
#include "marks.hh"
#include "pair.hh"
#include "tcp.hh"

namespace {

// What to do, from the command line.
struct Work {
	std::string name;
	unsigned count = 1, size = 0, depth = 1, list = 1, pairs = 1, regions = 0, together = 0,
		 poll = 0, zerocopy = 0, apart = 0;

	Work(const char *operation, char **options) : name(operation)
	{
		const std::map<std::string, unsigned *> known = {
			{"count", &count}, {"size", &size},	    {"depth", &depth},
			{"list", &list},   {"pairs", &pairs},	    {"regions", &regions},
			{"poll", &poll},   {"together", &together}, {"zerocopy", &zerocopy},
			{"apart", &apart},
		};

		for (; *options; options++) {
			const std::string option = *options;
			const size_t equals = option.find('=');
			const auto found = known.find(option.substr(0, equals));

			if (equals == option.npos || found == known.end())
				throw Broken("no option " + option);
			*found->second =
				static_cast<unsigned>(std::stoul(option.substr(equals + 1)));
		}
		if (!pairs || !depth || count < pairs)
			throw Broken("nothing to do");
		if (together && name != "send")
			throw Broken("together is for send");
		count = count / pairs * pairs;
	}
};

struct Memory {
	std::vector<uint8_t> octets;
	ibv_mr *mr;

	Memory(const Side &side, uint32_t size) : octets(size)
	{
		mr = ibv_reg_mr(side.qp->pd, octets.data(), size, rights);
		need(mr, "ibv_reg_mr");
	}
	~Memory() { ibv_dereg_mr(mr); }
	ibv_sge piece() const
	{
		return {reinterpret_cast<uintptr_t>(octets.data()),
			static_cast<uint32_t>(octets.size()), mr->lkey};
	}
};

// What is sent from, and where it arrives.
struct Both {
	Memory ours, theirs;

	Both(Pair &pair, uint32_t size) : ours(pair.client(), size), theirs(pair.server(), size) {}
};

ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge *sge)
{
	ibv_send_wr wr{};

	wr.opcode = opcode;
	wr.sg_list = sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

// Posts it so many times, with one call.
void post(const Side &side, const ibv_send_wr &wr, unsigned times)
{
	std::vector<ibv_send_wr> list(times, wr);
	ibv_send_wr *bad;

	if (list.empty())
		return;
	for (size_t i = 1; i < list.size(); i++)
		list[i - 1].next = &list[i];
	need(!(errno = ibv_post_send(side.qp, list.data(), &bad)), "ibv_post_send");
}

void post_receive(const Side &side, ibv_sge sge)
{
	ibv_recv_wr *bad, wr{};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	need(!(errno = ibv_post_recv(side.qp, &wr, &bad)), "ibv_post_recv");
}

void want_success(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		throw Broken(ibv_wc_status_str(wc.status));
}

// Waits until a completion comes.
ibv_wc first(Completions &completions, bool poll)
{
	std::optional<ibv_wc> wc = completions.there();

	while (!wc)
		wc = poll ? completions.there() : completions.next(-1);
	return *wc;
}

// Waits until a completion comes; takes all that there are. Returns how many.
unsigned take(Completions &completions, bool poll)
{
	std::optional<ibv_wc> wc = first(completions, poll);
	unsigned n = 0;

	for (; wc; wc = completions.there(), n++)
		want_success(*wc);
	return n;
}

// Posts what may be outstanding besides. Returns how many.
unsigned fill_up(const Work &work, const Side &client, const ibv_send_wr &wr, unsigned posted,
		 unsigned done)
{
	const unsigned left = work.count - posted,
		       room = std::min(work.depth - (posted - done), left),
		       list = work.list ? std::min(work.list, left) : room;
	unsigned now = 0;

	for (; list && now + list <= room; now += list)
		post(client, wr, list);
	return now;
}

// Requests that the receiver does not hear of.
void one_sided(const Work &work, const Side &client, const ibv_send_wr &wr)
{
	unsigned posted = 0, done = 0;

	while (done < work.count) {
		posted += fill_up(work, client, wr, posted, done);
		done += take(client.sends, work.poll);
	}
}

// Each completes a receive.
void two_sided(const Work &work, const Side &client, const Side &server, const ibv_send_wr &wr,
	       ibv_sge receive)
{
	unsigned posted = 0, sent = 0, done = 0;

	for (unsigned i = 0; i < work.depth; i++)
		post_receive(server, receive);
	while (done < work.count) {
		posted += fill_up(work, client, wr, posted, done);
		for (unsigned n = take(server.receives, work.poll); n; n--, done++)
			post_receive(server, receive);
		while (sent < done)
			sent += take(client.sends, work.poll);
	}
}

void fetch_add(const Work &work, Pair &pair)
{
	const Side client = pair.client();
	Memory theirs(pair.server(), 8), ours(client, 8);
	ibv_sge sge = ours.piece();
	ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	uint64_t sum;

	wr.wr.atomic = {theirs.piece().addr, 1, 0, theirs.mr->rkey};
	one_sided(work, client, wr);
	memcpy(&sum, theirs.octets.data(), sizeof(sum));
	expect(sum == work.count, "additions are lost");
}

void move(const Work &work, Pair &pair, const Both &memory, ibv_wr_opcode opcode)
{
	const Side client = pair.client(), server = pair.server();
	const auto &[ours, theirs] = memory;
	ibv_sge sge = ours.piece(), last = {sge.addr, 1, sge.lkey};
	ibv_send_wr wr = request(opcode, &sge), read = request(IBV_WR_RDMA_READ, &last);

	if (opcode != IBV_WR_SEND)
		wr.wr.rdma = read.wr.rdma = {theirs.piece().addr, theirs.mr->rkey};
	if (opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return two_sided(work, client, server, wr, theirs.piece());
	one_sided(work, client, wr);
	if (opcode == IBV_WR_RDMA_WRITE) {
		post(client, read, 1);
		take(client.sends, work.poll);
	}
}

// One end of the game.
void play(const Work &work, const Side &side, bool serves)
{
	Memory out(side, work.size), in(side, work.size);
	ibv_sge sge = out.piece();
	const ibv_send_wr wr = request(IBV_WR_SEND, &sge);

	for (unsigned i = 0; i < work.count / 2; i++) {
		if (serves)
			post(side, wr, 1);
		take(side.receives, work.poll);
		post_receive(side, in.piece());
		if (!serves)
			post(side, wr, 1);
		take(side.sends, work.poll);
	}
}

void ping_pong(const Work &work, Pair &pair)
{
	const Side client = pair.client(), server = pair.server();
	Memory first(client, work.size), second(server, work.size);

	post_receive(client, first.piece());
	post_receive(server, second.piece());
	auto other = std::async(std::launch::async, [&] {
		if (work.apart)
			need(stay_on(1), "sched_setaffinity");
		play(work, server, false);
	});
	play(work, client, true);
	other.get();
}

// Sends of all pairs, each completing a receive. Each pair has its share of the work. Takes what
// has come, and then posts what each pair may have outstanding besides.
void together(Work work, const Pairs &pairs)
{
	const Side client = pairs[0]->client(), server = pairs[0]->server();
	Memory out(client, work.size), in(server, work.size);
	ibv_sge sge = out.piece();
	const ibv_send_wr wr = request(IBV_WR_SEND, &sge);
	std::vector<unsigned> posted(pairs.size()), done(pairs.size());
	std::map<uint32_t, size_t> pair_of; // by the number of its server's QP
	unsigned left = work.count;

	work.count /= work.pairs;
	for (size_t i = 0; i < pairs.size(); i++) {
		pair_of[pairs[i]->server().qp->qp_num] = i;
		for (unsigned n = 0; n < work.depth; n++)
			post_receive(pairs[i]->server(), in.piece());
		posted[i] = fill_up(work, pairs[i]->client(), wr, 0, 0);
	}
	while (left) {
		std::optional<ibv_wc> wc = first(server.receives, work.poll);
		std::set<size_t> touched;

		for (; wc; wc = server.receives.there(), left--) {
			const size_t i = pair_of.at(wc->qp_num);

			want_success(*wc);
			post_receive(pairs[i]->server(), in.piece());
			done[i]++;
			touched.insert(i);
		}
		while ((wc = client.sends.there()))
			want_success(*wc);
		for (size_t i : touched)
			posted[i] += fill_up(work, pairs[i]->client(), wr, posted[i], done[i]);
	}
}

void over_verbs(const Work &work, Pair &pair, const Both *shared = nullptr)
{
	const std::map<std::string, ibv_wr_opcode> moves = {
		{"write", IBV_WR_RDMA_WRITE},
		{"read", IBV_WR_RDMA_READ},
		{"send", IBV_WR_SEND},
		{"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM},
	};

	if (work.name == "fetch-add")
		fetch_add(work, pair);
	else if (work.name == "ping-pong")
		ping_pong(work, pair);
	else if (!moves.count(work.name))
		throw Broken("no operation " + work.name);
	else if (shared)
		move(work, pair, *shared, moves.at(work.name));
	else
		move(work, pair, Both(pair, work.size), moves.at(work.name));
}

void over_tcp(const Work &work, const Place &here, const Place &there)
{
	if (work.name == "ping-pong")
		tcp_ping_pong(here, there, work.count, work.size, work.apart);
	else if (work.name == "connect")
		tcp_connect(here, there, work.count);
	else if (work.name == "write")
		tcp_write(here, there, work.count, work.size, work.zerocopy, work.apart);
	else
		throw Broken("TCP has no operation " + work.name);
}

// Each pair in a thread of its own, with its share of the work.
void over_all(Work work, const Pairs &pairs)
{
	std::vector<std::unique_ptr<Both>> shared;
	std::vector<std::future<void>> threads;

	work.count /= work.pairs;
	for (unsigned i = 0; i < work.regions; i++)
		shared.push_back(std::make_unique<Both>(*pairs[0], work.size));
	for (size_t i = 0; i < pairs.size(); i++)
		threads.push_back(std::async(std::launch::async, [&, i] {
			over_verbs(work, *pairs[i],
				   shared.empty() ? nullptr : shared[i % shared.size()].get());
		}));
	for (auto &thread : threads)
		thread.get();
}

// MAP: a file that gets what is where in this process's memory.
void keep_map()
{
	if (const char *file = getenv("MAP"))
		std::ofstream(file) << std::ifstream("/proc/self/maps").rdbuf();
}

std::chrono::nanoseconds took(const std::string &way, const char *here, const char *there,
			      const Work &work)
{
	Pairs pairs;

	if (work.together)
		pairs = connected_together(here, there, work.pairs, 2 * work.depth);
	else if (way != "tcp" && work.name != "connect")
		for (unsigned i = 0; i < work.pairs; i++)
			pairs.push_back(connected(way, here, there));
	keep_map();
	begin_mark();
	const auto began = Clock::now();

	if (way == "tcp")
		over_tcp(work, place_of(here), place_of(there));
	else if (work.name == "connect")
		for (unsigned i = 0; i < work.count; i++)
			connected(way, here, there);
	else if (work.together)
		together(work, pairs);
	else if (work.pairs == 1)
		over_verbs(work, *pairs[0]);
	else
		over_all(work, pairs);
	const auto time = Clock::now() - began;

	end_mark();
	return time;
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc < 5)
		throw Broken("rate cm|hand|tcp HERE THERE OPERATION [OPTION...]");
	const Work work(argv[4], argv + 5);
	if (work.apart)
		need(stay_on(0), "sched_setaffinity");
	const std::chrono::nanoseconds time = took(argv[1], argv[2], argv[3], work);

	printf("%ld\n", static_cast<long>(time.count() / work.count));
	return 0;
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
