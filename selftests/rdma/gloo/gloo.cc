// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The collectives of Gloo that its ibverbs transport has, with every element checked: one rank of
// them. gloo.sh builds it.
//	gloo DEVICE GID-INDEX RANK RANKS DIRECTORY
// DEVICE: of verbs; or tcp:ADDRESS, Gloo's other transport. The ranks meet in DIRECTORY.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gloo/allgather_ring.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/barrier_all_to_one.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/pairwise_exchange.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>
#include <gloo/transport/tcp/device.h>

namespace {

using Element = std::int64_t;
using Elements = std::vector<Element>;

constexpr int REPEATS = 3; // with the same buffers

int rank, ranks;
std::shared_ptr<gloo::rendezvous::Context> context;
long checked;

void expect(bool right, const char *what)
{
	checked++;
	if (right)
		return;
	std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
	std::exit(1);
}

// What rank `of` contributes as its element i, the `turn`th time.
Element value(int of, std::size_t i, int turn) { return of * 100 + turn * 10000 + i % 97; }

void fill(Elements &data, int turn)
{
	for (std::size_t i = 0; i < data.size(); i++)
		data[i] = value(rank, i, turn);
}

Element sum(std::size_t i, int turn)
{
	Element all = 0;

	for (int r = 0; r < ranks; r++)
		all += value(r, i, turn);
	return all;
}

// Returns when all ranks have called it, and when all that this rank has sent is done: the buffers
// of an algorithm may go then. Gloo leaves that to its caller.
class Barrier : public gloo::BarrierAllToAll {
public:
	using BarrierAllToAll::BarrierAllToAll;
	void operator()()
	{
		run();
		for (auto &buffer : sendBuffers_)
			buffer->waitSend();
	}
};

void barrier()
{
	static Barrier all(context);

	all();
}

// Runs the algorithm some times, always with new data. The next turn writes where others may still
// be reading.
template <typename Check> void turns(gloo::Algorithm &&algorithm, Elements &data, Check check)
{
	for (int turn = 0; turn < REPEATS; turn++) {
		fill(data, turn);
		algorithm.run();
		check(turn);
		barrier();
	}
}

// An algorithm that leaves the sum of all in each rank's buffer.
template <template <typename> class Algorithm> void allreduce(const char *name, int count)
{
	Elements data(count);

	turns(Algorithm<Element>(context, {data.data()}, count), data, [&](int turn) {
		for (int i = 0; i < count; i++)
			expect(data[i] == sum(i, turn), name);
	});
}

void allgather(int count)
{
	Elements own(count), all(count * ranks);

	turns(gloo::AllgatherRing<Element>(context, {own.data()}, all.data(), count), own,
	      [&](int turn) {
		      for (int i = 0; i < count * ranks; i++)
			      expect(all[i] == value(i / count, i % count, turn), "allgather");
	      });
}

void broadcast(int count, int root)
{
	Elements data(count);

	turns(gloo::BroadcastOneToAll<Element>(context, {data.data()}, count, root), data,
	      [&](int turn) {
		      for (int i = 0; i < count; i++)
			      expect(data[i] == value(root, i, turn), "broadcast");
	      });
}

// Each rank gets its share of the sum, at the beginning of its buffer.
void reduce_scatter(int share)
{
	const int count = share * ranks;
	Elements data(count);

	turns(gloo::ReduceScatterHalvingDoubling<Element>(context, {data.data()}, count,
							  std::vector<int>(ranks, share)),
	      data, [&](int turn) {
		      for (int i = 0; i < share; i++)
			      expect(data[i] == sum(rank * share + i, turn), "reduce_scatter");
	      });
}

// Nothing of what it exchanges can be seen: it is only to end.
void exchange(int bytes)
{
	if (ranks % 2)
		return;
	gloo::PairwiseExchange algorithm(context, bytes, std::log2(ranks));
	algorithm.run();
	barrier();
}

void barriers()
{
	for (int turn = 0; turn < 20; turn++) {
		gloo::BarrierAllToOne algorithm(context, turn % ranks);
		algorithm.run();
		barrier();
	}
}

void collectives(int count)
{
	allreduce<gloo::AllreduceRing>("allreduce, ring", count);
	allreduce<gloo::AllreduceRingChunked>("allreduce, ring in chunks", count);
	allreduce<gloo::AllreduceHalvingDoubling>("allreduce, halving and doubling", count);
	if ((ranks & (ranks - 1)) == 0)
		allreduce<gloo::AllreduceBcube>("allreduce, cube", count);
	allgather(count);
	for (int root = 0; root < ranks; root++)
		broadcast(count, root);
	reduce_scatter(count);
	exchange(count * 8);
}

std::shared_ptr<gloo::transport::Device> device(const std::string &name, int index)
{
	if (name.rfind("tcp:", 0) == 0)
		return gloo::transport::tcp::CreateDevice(name.substr(4).c_str());
	return gloo::transport::ibverbs::CreateDevice({.name = name, .port = 1, .index = index});
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	rank = std::atoi(argv[3]), ranks = std::atoi(argv[4]);
	auto transport = device(argv[1], std::atoi(argv[2]));
	gloo::rendezvous::FileStore store(argv[5]);

	context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	context->connectFullMesh(store, transport);
	barriers();
	for (int count : {64, 1000, 131072})
		collectives(count);
	barrier();
	std::printf("rank %d of %d: %ld checks, all right\n", rank, ranks, checked);
	std::fflush(stdout);
	// Without destructors: that of Gloo's Pair waits for ever for an event of its CQ which the
	// device's thread has just read and not yet counted.
	std::_Exit(0);
}
