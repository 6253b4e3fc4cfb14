// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Operations over verbs, both ends in this process. Sends and Writes with Immediate Data are over
// when the receiver has its completion.
#include <cstring>
#include <future>
#include <map>
#include <set>

#include "../shared/processor.hh"
#include "player.hh"
#include "verbs.hh"

namespace {

// What is sent from, and where it arrives.
struct Both {
	Memory ours, theirs;

	Both(Pair &pair, uint32_t size) : ours(pair.client(), size), theirs(pair.server(), size) {}
};

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

class FetchAdd : public Operation {
	const Work &work_;
	const Side client_;
	Memory theirs_, ours_;

public:
	FetchAdd(const Work &work, Pair &pair)
		: work_(work), client_(pair.client()), theirs_(pair.server(), 8), ours_(client_, 8)
	{
	}
	void run() override
	{
		ibv_sge sge = ours_.piece();
		ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
		uint64_t sum;

		wr.wr.atomic = {theirs_.piece().addr, 1, 0, theirs_.mr->rkey};
		one_sided(work_, client_, wr);
		memcpy(&sum, theirs_.octets.data(), sizeof(sum));
		expect(sum == work_.count, "additions are lost");
	}
};

// Moves payload. The memory may be shared with other pairs.
class Move : public Operation {
	const Work &work_;
	const Side client_, server_;
	const ibv_wr_opcode opcode_;
	std::shared_ptr<Both> memory_;

public:
	Move(const Work &work, Pair &pair, ibv_wr_opcode opcode, std::shared_ptr<Both> memory)
		: work_(work), client_(pair.client()), server_(pair.server()), opcode_(opcode),
		  memory_(std::move(memory))
	{
	}
	void run() override
	{
		const auto &[ours, theirs] = *memory_;
		ibv_sge sge = ours.piece();
		ibv_send_wr wr = request(opcode_, &sge);

		if (opcode_ != IBV_WR_SEND)
			wr.wr.rdma = {theirs.target().addr, theirs.target().rkey};
		if (opcode_ == IBV_WR_SEND || opcode_ == IBV_WR_RDMA_WRITE_WITH_IMM)
			return two_sided(work_, client_, server_, wr, theirs.piece());
		one_sided(work_, client_, wr);
	}
};

class PingPong : public Operation {
	const Work &work_;
	Player ours_, theirs_;

public:
	PingPong(const Work &work, Pair &pair)
		: work_(work), ours_(pair.client(), work.size), theirs_(pair.server(), work.size)
	{
	}
	void run() override
	{
		auto other = std::async(std::launch::async, [&] {
			if (work_.apart)
				need(stay_on(1), "sched_setaffinity");
			theirs_.play(work_, false);
		});
		ours_.play(work_, true);
		other.get();
	}
};

std::unique_ptr<Operation> of_pair(const Work &work, Pair &pair, std::shared_ptr<Both> shared)
{
	if (work.name == "fetch-add")
		return std::make_unique<FetchAdd>(work, pair);
	if (work.name == "ping-pong")
		return std::make_unique<PingPong>(work, pair);
	const ibv_wr_opcode opcode = opcode_of(work.name);
	if (!shared)
		shared = std::make_shared<Both>(pair, work.size);
	return std::make_unique<Move>(work, pair, opcode, std::move(shared));
}

// Each pair in a thread of its own, with its share of the work; a single one in the caller's.
class Apart : public Operation {
	Work share_;
	Pairs pairs_;
	std::vector<std::unique_ptr<Operation>> operations_;

public:
	Apart(const Work &work, Pairs pairs) : share_(work), pairs_(std::move(pairs))
	{
		std::vector<std::shared_ptr<Both>> shared;

		share_.count /= share_.pairs;
		for (unsigned i = 0; i < work.regions; i++)
			shared.push_back(std::make_shared<Both>(*pairs_[0], work.size));
		for (size_t i = 0; i < pairs_.size(); i++)
			operations_.push_back(
				of_pair(share_, *pairs_[i],
					shared.empty() ? nullptr : shared[i % shared.size()]));
	}
	void run() override
	{
		std::vector<std::future<void>> threads;

		if (operations_.size() == 1)
			return operations_[0]->run();
		for (const auto &operation : operations_)
			threads.push_back(
				std::async(std::launch::async, [&] { operation->run(); }));
		for (auto &thread : threads)
			thread.get();
	}
};

// Sends of all pairs, each completing a receive. Takes what has come, and then posts what each pair
// may have outstanding besides.
class Together : public Operation {
	Work share_;
	const Pairs pairs_;
	const Side client_, server_;
	Memory out_, in_;
	std::map<uint32_t, size_t> pair_of_; // by the number of its server's QP
	std::vector<unsigned> posted_, done_;

	void fill(size_t pair)
	{
		ibv_sge sge = out_.piece();

		posted_[pair] += fill_up(share_, pairs_[pair]->client(),
					 request(IBV_WR_SEND, &sge), posted_[pair], done_[pair]);
	}
	// Of these pairs. Returns how many.
	unsigned take_receives(std::set<size_t> *touched)
	{
		std::optional<ibv_wc> wc = first(server_.receives, share_.poll);
		unsigned n = 0;

		for (; wc; wc = server_.receives.there(), n++) {
			const size_t pair = pair_of_.at(wc->qp_num);

			want_success(*wc);
			post_receive(pairs_[pair]->server(), in_.piece());
			done_[pair]++;
			touched->insert(pair);
		}
		return n;
	}

public:
	Together(const Work &work, Pairs pairs)
		: share_(work), pairs_(std::move(pairs)), client_(pairs_[0]->client()),
		  server_(pairs_[0]->server()), out_(client_, work.size), in_(server_, work.size),
		  posted_(pairs_.size()), done_(pairs_.size())
	{
		share_.count /= share_.pairs;
		for (size_t pair = 0; pair < pairs_.size(); pair++) {
			pair_of_[pairs_[pair]->server().qp->qp_num] = pair;
			for (unsigned n = 0; n < work.depth; n++)
				post_receive(pairs_[pair]->server(), in_.piece());
		}
	}
	void run() override
	{
		unsigned left = share_.count * share_.pairs;

		for (size_t pair = 0; pair < pairs_.size(); pair++)
			fill(pair);
		while (left) {
			std::set<size_t> touched;

			left -= take_receives(&touched);
			while (const std::optional<ibv_wc> wc = client_.sends.there())
				want_success(*wc);
			for (size_t pair : touched)
				fill(pair);
		}
	}
};

} // namespace

std::unique_ptr<Operation> over_verbs(const Work &work, Pairs pairs)
{
	if (work.together)
		return std::make_unique<Together>(work, std::move(pairs));
	return std::make_unique<Apart>(work, std::move(pairs));
}
