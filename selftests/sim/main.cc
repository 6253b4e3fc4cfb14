// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Runs directed tests and random programs; prints TAP. The seed of a failed program replays it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "directed.hh"
#include "program.hh"

using namespace sim;

static int test_number;

static void report(bool good, const std::string &name)
{
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++test_number, name.c_str());
	fflush(stdout);
}

static bool run_seed(u64 seed, Tally &tally, bool paranoid, u64 &operations)
{
	try {
		Program program(seed, tally, paranoid);

		operations += program.run();
		return true;
	} catch (const std::exception &problem) {
		printf("# seed %llu: %s\n# again, with every octet compared at every step: sim "
		       "--seed %llu\n",
		       seed, problem.what(), seed);
		return false;
	}
}

static double seconds()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

// Events that a run of this size must have met, or it proves too little.
static bool reached_everything(const Tally &tally)
{
	bool all = true;

	for (const char *what : {"opcode 0",
				 "opcode 1",
				 "opcode 3",
				 "opcode 4",
				 "opcode 5",
				 "opcode 6",
				 "opcode 8",
				 "opcode 9",
				 "opcode 10",
				 "refused 0 2 6",
				 "refused 0 2 7",
				 "event 1",
				 "event 2",
				 "event 3",
				 "event 4",
				 "event 5",
				 "status 0",
				 "status 2",
				 "status 4",
				 "status 5",
				 "status 9",
				 "register",
				 "local invalidate",
				 "refused 1 1 0",
				 "refused 1 1 1",
				 "refused 1 1 2",
				 "refused 1 1 3",
				 "refused 1 2 2",
				 "refused 1 2 5",
				 "refused 0 1 0",
				 "refused 0 1 1",
				 "refused 0 1 2",
				 "refused 0 1 3",
				 "refused 0 1 4",
				 "refused 0 1 9",
				 "refused 0 0 0",
				 "refused 2 0 2",
				 "read source gone",
				 "resets",
				 "stream over",
				 "opcode 13",
				 "opcode 14",
				 "status 10",
				 "status 11",
				 "status 13",
				 "refused with syndrome 1",
				 "refused with syndrome 2",
				 "refused with syndrome 3",
				 "refused with syndrome 4",
				 "rewinds",
				 "rewinds across a local operation",
				 "rewinds across opcode 1",
				 "rewinds across opcode 2",
				 "rewinds across opcode 3",
				 "rewinds across opcode 4",
				 "rewinds across opcode 9",
				 "rewinds across opcode 10",
				 "rewinds across opcode 11",
				 "rewinds across opcode 12",
				 "acknowledgements",
				 "idle ends that lost their stream",
				 "returns to a request that waited",
				 "QPs reset",
				 "last Acks",
				 "programs with kicks",
				 "pairing: reason 0",
				 "pairing: reason 3",
				 "pairing: reason 4",
				 "pairing: reason 5",
				 "placed from a damaged FPDU",
				 "no markers",
				 "markers one way",
				 "markers both ways",
				 "RDMA/TCP, long segments",
				 "RDMA/TCP, short segments",
				 "refused for fault 8",
				 "refused for fault 9",
				 "refused for fault 10",
				 "refused for fault 11",
				 "refused for fault 12",
				 "refused for fault 13",
				 "refused for fault 14"})
		if (!tally.count(what)) {
			printf("# never happened: %s\n", what);
			all = false;
		}
	return all;
}

static int random_programs(u64 first, u64 wanted, bool everything)
{
	Tally tally;
	u64 seed = first, operations = 0;
	double start = seconds();
	bool good = true;

	for (; good && operations < wanted; seed++)
		good = run_seed(seed, tally, false, operations);
	for (const auto &[what, times] : tally)
		printf("# %s: %llu\n", what.c_str(), times);
	printf("# %.1f s\n", seconds() - start);
	report(good, "random programs: " + std::to_string(operations) + " operations in " +
			   std::to_string(seed - first) + " programs");
	if (good && everything)
		report(good = reached_everything(tally),
		     "the programs reach every operation and every error");
	return !good;
}

static int soak(u64 seed)
{
	Tally tally;
	u64 operations = 0, programs = 0;
	double start = seconds(), last = start;

	printf("# soaking from seed %llu\n", seed);
	while (run_seed(seed++, tally, false, operations)) {
		programs++;
		if (seconds() - last < 10)
			continue;
		last = seconds();
		printf("# %.0f s: %llu programs, %llu operations, next seed %llu\n", last - start,
		       programs, operations, seed);
		fflush(stdout);
	}
	report(false, "soak");
	return 1;
}

int main(int argc, char **argv)
{
	auto has = [&](const char *name) { return argc > 1 && std::string(argv[1]) == name; };
	auto number = [&](int i, u64 otherwise) {
		return argc > i ? strtoull(argv[i], nullptr, 0) : otherwise;
	};
	Tally tally;
	u64 operations = 0;
	int failed = 0;

	if (has("--seed")) {
		bool good = run_seed(number(2, 1), tally, true, operations);

		report(good, "seed " + std::to_string(number(2, 1)));
		return !good;
	}
	if (has("--soak"))
		return soak(number(2, std::random_device{}() * u64{1000000}));
	if (!has("--operations")) {
		fprintf(stderr, "usage: sim --operations N [FIRST-SEED] | --seed SEED | --soak "
				"[FIRST-SEED]\n");
		return 2;
	}
	for (const Directed &test : directed_tests()) {
		std::string problem;

		try {
			test.run();
		} catch (const std::exception &caught) {
			problem = caught.what();
			printf("# %s\n", problem.c_str());
		}
		report(problem.empty(), std::string("directed: ") + test.name);
		failed |= !problem.empty();
	}
	u64 wanted = number(2, 1000000);

	failed |= random_programs(number(3, 1), wanted, wanted >= 1000000);
	printf("1..%d\n", test_number);
	return failed;
}
