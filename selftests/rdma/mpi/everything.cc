// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Messages, collectives and one-sided operations of MPI, with every byte checked. Ends with an
// abort at the first wrong one. Any number of ranks; built by the compiler of the MPI under test
// (mpi_ucx.sh).
//	everything LARGEST-MESSAGE ATOMIC-OPERATIONS
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;
using Longs = std::vector<std::int64_t>;

int rank, ranks;
long checked;

void expect(bool right, const std::string &what)
{
	checked++;
	if (right)
		return;
	std::fprintf(stderr, "rank %d: wrong: %s\n", rank, what.c_str());
	MPI_Abort(MPI_COMM_WORLD, 1);
}

// Bytes that differ for each sender, receiver and size.
Bytes pattern(int from, int to, std::size_t size)
{
	std::uint32_t x = from * 1000003u + to * 7919u + size;
	Bytes bytes(size);

	for (auto &byte : bytes) {
		x = x * 1664525 + 1013904223;
		byte = x >> 24;
	}
	return bytes;
}

int left() { return (rank + ranks - 1) % ranks; }
int right() { return (rank + 1) % ranks; }

void ring(std::size_t size)
{
	Bytes sent = pattern(rank, right(), size), got(size);

	MPI_Sendrecv(sent.data(), size, MPI_BYTE, right(), 1, got.data(), size, MPI_BYTE, left(), 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	expect(got == pattern(left(), rank, size), "ring of " + std::to_string(size));
}

// All send to all, and the receives are posted first or, of odd ranks, when the messages are there.
void crowd(std::size_t size)
{
	std::vector<MPI_Request> requests;
	std::vector<Bytes> sent, got(ranks, Bytes(size));

	auto receive = [&](int peer) {
		MPI_Irecv(got[peer].data(), size, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
			  &requests.emplace_back());
	};
	auto send = [&](int peer) {
		sent.push_back(pattern(rank, peer, size));
		MPI_Isend(sent.back().data(), size, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
			  &requests.emplace_back());
	};
	sent.reserve(ranks);
	requests.reserve(2 * ranks);
	for (int peer = 0; peer < ranks; peer++)
		rank % 2 ? send(peer) : receive(peer);
	for (int peer = 0; peer < ranks; peer++)
		rank % 2 ? receive(peer) : send(peer);
	MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE);
	for (int peer = 0; peer < ranks; peer++)
		expect(got[peer] == pattern(peer, rank, size), "crowd of " + std::to_string(size));
}

// Many small messages to one rank, which takes them as they come, in order from each.
void flood(int count)
{
	if (rank) {
		for (int i = 0; i < count; i++)
			MPI_Send(&i, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
		return;
	}
	std::vector<int> next(ranks);
	for (int i = 0; i < count * (ranks - 1); i++) {
		MPI_Status status;
		int value;
		MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
		expect(value == next[status.MPI_SOURCE]++, "order of a flood");
	}
}

void synchronous(std::size_t size)
{
	if (rank == 0) {
		MPI_Ssend(pattern(0, 1, size).data(), size, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Status status;
		int length;
		MPI_Probe(0, 4, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &length);
		Bytes got(length);
		MPI_Recv(got.data(), length, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		expect(got == pattern(0, 1, size), "synchronous of " + std::to_string(size));
	}
}

// What rank `of` contributes as its element i.
std::int64_t value(int of, std::size_t i) { return of * 1000 + static_cast<std::int64_t>(i % 977); }

Longs mine(std::size_t count, std::size_t from = 0)
{
	Longs longs(count);

	for (std::size_t i = 0; i < count; i++)
		longs[i] = value(rank, from + i);
	return longs;
}

// The sum of the first `of` ranks' elements from `from` on.
Longs sum(int of, std::size_t count, std::size_t from = 0)
{
	Longs longs(count);

	for (int r = 0; r < of; r++)
		for (std::size_t i = 0; i < count; i++)
			longs[i] += value(r, from + i);
	return longs;
}

void broadcasts(int n)
{
	for (int root = 0; root < ranks; root++) {
		Longs data = rank == root ? mine(n) : Longs(n);
		MPI_Bcast(data.data(), n, MPI_INT64_T, root, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			expect(data[i] == value(root, i), "broadcast");
	}
}

void gathers(int n)
{
	Longs own = mine(n), all(n * ranks), back(n);
	auto whole = [&](const char *what) {
		for (int i = 0; i < n * ranks; i++)
			expect(all[i] == value(i / n, i % n), what);
	};

	MPI_Gather(own.data(), n, MPI_INT64_T, all.data(), n, MPI_INT64_T, 0, MPI_COMM_WORLD);
	if (!rank)
		whole("gather");
	MPI_Scatter(all.data(), n, MPI_INT64_T, back.data(), n, MPI_INT64_T, 0, MPI_COMM_WORLD);
	expect(back == own, "scatter");
	std::fill(all.begin(), all.end(), -1);
	MPI_Allgather(own.data(), n, MPI_INT64_T, all.data(), n, MPI_INT64_T, MPI_COMM_WORLD);
	whole("allgather");
}

// Rank r has r + 1 times as much.
void uneven(int n)
{
	std::vector<int> counts(ranks), places(ranks);

	for (int r = 0; r < ranks; r++)
		counts[r] = n * (r + 1);
	std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
	Longs own = mine(counts[rank]), all(places.back() + counts.back());
	MPI_Allgatherv(own.data(), own.size(), MPI_INT64_T, all.data(), counts.data(),
		       places.data(), MPI_INT64_T, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		for (int i = 0; i < counts[r]; i++)
			expect(all[places[r] + i] == value(r, i), "allgatherv");
}

void all_to_all(int n)
{
	Longs own = mine(n * ranks), all(n * ranks);
	std::vector<int> counts(ranks, n), places(ranks);
	auto whole = [&](const char *what) {
		for (int i = 0; i < n * ranks; i++)
			expect(all[i] == value(i / n, rank * n + i % n), what);
		std::fill(all.begin(), all.end(), -1);
	};

	MPI_Alltoall(own.data(), n, MPI_INT64_T, all.data(), n, MPI_INT64_T, MPI_COMM_WORLD);
	whole("alltoall");
	std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
	MPI_Alltoallv(own.data(), counts.data(), places.data(), MPI_INT64_T, all.data(),
		      counts.data(), places.data(), MPI_INT64_T, MPI_COMM_WORLD);
	whole("alltoallv");
}

void reductions(int n)
{
	Longs own = mine(n), got(n), many = mine(n * ranks);
	MPI_Request request;

	MPI_Reduce(own.data(), got.data(), n, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	expect(rank || got == sum(ranks, n), "reduce");
	MPI_Allreduce(own.data(), got.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	expect(got == sum(ranks, n), "allreduce");
	MPI_Iallreduce(own.data(), got.data(), n, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (int i = 0; i < n; i++)
		expect(got[i] == value(ranks - 1, i), "iallreduce");
	MPI_Reduce_scatter_block(many.data(), got.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	expect(got == sum(ranks, n, rank * n), "reduce_scatter_block");
	MPI_Scan(own.data(), got.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	expect(got == sum(rank + 1, n), "scan");
	MPI_Exscan(own.data(), got.data(), n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	expect(!rank || got == sum(rank, n), "exscan");
}

// Memory of each rank that the others use without it.
struct Window {
	std::int64_t *words;
	MPI_Win win;

	explicit Window(std::size_t count)
	{
		MPI_Win_allocate(count * sizeof(*words), sizeof(*words), MPI_INFO_NULL,
				 MPI_COMM_WORLD, &words, &win);
		std::fill_n(words, count, 0);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	~Window() { MPI_Win_free(&win); }
	Window(const Window &) = delete;
	Window &operator=(const Window &) = delete;
};

// Each rank writes its part of its right neighbour's window, and reads it back from its left one's.
void put_and_get(int n)
{
	Window window(n);
	Longs own = mine(n), got(n);

	MPI_Win_fence(0, window.win);
	MPI_Put(own.data(), n, MPI_INT64_T, right(), 0, n, MPI_INT64_T, window.win);
	MPI_Win_fence(0, window.win);
	for (int i = 0; i < n; i++)
		expect(window.words[i] == value(left(), i), "put");
	MPI_Win_fence(0, window.win);
	MPI_Get(got.data(), n, MPI_INT64_T, right(), 0, n, MPI_INT64_T, window.win);
	MPI_Win_fence(0, window.win);
	expect(got == own, "get");
}

// As before, but the ranks that take part name each other.
void post_and_start(int n)
{
	Window window(n);
	MPI_Group world, to, from;
	Longs own = mine(n);
	int next = right(), previous = left();

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &next, &to);
	MPI_Group_incl(world, 1, &previous, &from);
	MPI_Win_post(from, 0, window.win);
	MPI_Win_start(to, 0, window.win);
	MPI_Put(own.data(), n, MPI_INT64_T, next, 0, n, MPI_INT64_T, window.win);
	MPI_Win_complete(window.win);
	MPI_Win_wait(window.win);
	for (int i = 0; i < n; i++)
		expect(window.words[i] == value(previous, i), "put between post and wait");
	for (MPI_Group *group : {&world, &to, &from})
		MPI_Group_free(group);
}

void accumulate(int n)
{
	Window window(n);
	Longs own = mine(n);

	MPI_Win_fence(0, window.win);
	for (int peer = 0; peer < ranks; peer++)
		MPI_Accumulate(own.data(), n, MPI_INT64_T, peer, 0, n, MPI_INT64_T, MPI_SUM,
			       window.win);
	MPI_Win_fence(0, window.win);
	expect(std::equal(window.words, window.words + n, sum(ranks, n).begin()), "accumulate");
}

// Tickets from rank 0: all are different, and each rank's rise.
void fetch_and_op(int count)
{
	Window window(2);
	Longs tickets(count), all(count * ranks);
	std::int64_t one = 1;

	MPI_Win_lock_all(0, window.win);
	for (auto &ticket : tickets) {
		MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 0, MPI_SUM, window.win);
		MPI_Win_flush(0, window.win);
	}
	MPI_Win_unlock_all(window.win);
	expect(std::is_sorted(tickets.begin(), tickets.end()), "fetch_and_op: order");
	MPI_Gather(tickets.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, 0,
		   MPI_COMM_WORLD);
	std::sort(all.begin(), all.end());
	for (int i = 0; !rank && i < count * ranks; i++)
		expect(all[i] == i, "fetch_and_op: tickets");
}

// A lock of compare-and-swap around a counter that is read and written.
void compare_and_swap(int count)
{
	Window window(2);
	const std::int64_t free = 0, held = 1;
	std::int64_t was, counter;

	MPI_Win_lock_all(0, window.win);
	for (int i = 0; i < count; i++) {
		do {
			MPI_Compare_and_swap(&held, &free, &was, MPI_INT64_T, 0, 0, window.win);
			MPI_Win_flush(0, window.win);
		} while (was != free);
		MPI_Get(&counter, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, window.win);
		MPI_Win_flush(0, window.win);
		counter++;
		MPI_Put(&counter, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, window.win);
		MPI_Win_flush(0, window.win);
		MPI_Fetch_and_op(&free, &was, MPI_INT64_T, 0, 0, MPI_REPLACE, window.win);
		MPI_Win_flush(0, window.win);
		expect(was == held, "compare_and_swap: the lock was held");
	}
	MPI_Win_unlock_all(window.win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win);
	MPI_Get(&counter, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, window.win);
	MPI_Win_unlock(0, window.win);
	expect(counter == count * ranks, "compare_and_swap: the count");
}

void get_accumulate(int n)
{
	Window window(n);
	Longs own = mine(n), got(n), zero(n);

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, window.win);
	MPI_Get_accumulate(own.data(), n, MPI_INT64_T, got.data(), n, MPI_INT64_T, right(), 0, n,
			   MPI_INT64_T, MPI_SUM, window.win);
	MPI_Win_unlock(right(), window.win);
	expect(got == zero, "get_accumulate: what was there");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.win);
	for (int i = 0; i < n; i++)
		expect(window.words[i] == value(left(), i), "get_accumulate: what is there");
	MPI_Win_unlock(rank, window.win);
}

void part(const char *name)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		std::printf("%.1f s: %s\n", MPI_Wtime(), name), std::fflush(stdout);
}

void messages(std::size_t largest)
{
	for (std::size_t size : {0, 1, 8, 1000, 8192, 65537, 1 << 20, 8 << 20}) {
		if (size > largest)
			break;
		ring(size);
		crowd(size);
		synchronous(size);
	}
	flood(200);
}

void collectives()
{
	for (int n : {1, 100, 20000}) {
		broadcasts(n);
		gathers(n);
		uneven(n);
		all_to_all(n);
		reductions(n);
	}
}

void one_sided(int atomics)
{
	for (int n : {1, 100, 40000}) {
		put_and_get(n);
		post_and_start(n);
		accumulate(n);
		get_accumulate(n);
	}
	part("atomic operations");
	fetch_and_op(atomics);
	compare_and_swap(atomics / 4 + 1);
}

} // namespace

int main(int argc, char **argv)
{
	long all;

	if (argc != 3)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	part("messages");
	messages(std::strtoul(argv[1], nullptr, 0));
	part("collectives");
	collectives();
	part("one-sided operations");
	one_sided(std::atoi(argv[2]));
	MPI_Reduce(&checked, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank)
		std::printf("%d ranks, %ld checks, all right\n", ranks, all);
	MPI_Finalize();
}
