// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long an operation takes, with any driver and with TCP: prints nanoseconds for each. With two
// processes it also prints how often the machine's processors switched between threads meanwhile:
// thousandths of a switch for each operation.
//	rate cm|tcp NAMESPACE:ADDRESS NAMESPACE:ADDRESS OPERATION [OPTION...]
//	rate hand DEVICE DEVICE OPERATION [OPTION...]
// OPERATION: write, send, read, write-imm, fetch-add; ping-pong (half a round trip of Sends);
// connect (a connection begins and ends); send-credits (Sends that alternate with polls for
// credits, always of two processes). TCP has write, ping-pong and connect.
// OPTION: count=N of all operations together; size=OCTETS; depth=N requests outstanding; list=N
// requests posted with one call, 0: as many as have completed; pairs=N connections, each in a
// thread of its own; regions=N: at each end they share so many, else each has its own; together=1:
// Sends of all connections in one thread, with CQs in common; poll=1: does not sleep
// until a completion comes; zerocopy=1: TCP's Writes are MSG_ZEROCOPY; apart=1: all is on the first
// processor, but the end that responds, or reads from TCP, on the second; processes=2: the end that
// responds is a process of its own, and returns credits for Sends and Writes with Immediate Data
// (credits.hh), not for fetch-add, connect, and more than one connection; batch=1: that process has
// the policy SCHED_BATCH, so it interrupts nobody.
//
// Measured is what the operations take: neither connections (but for connect) nor the memory.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "../shared/processor.hh"
#include "marks.hh"
#include "processes.hh"
#include "tcp.hh"
#include "verbs.hh"

Work::Work(const char *operation, char **options) : name(operation)
{
	const std::map<std::string, unsigned *> known = {
		{"count", &count}, {"size", &size},	      {"depth", &depth},
		{"list", &list},   {"pairs", &pairs},	      {"regions", &regions},
		{"poll", &poll},   {"together", &together},   {"zerocopy", &zerocopy},
		{"apart", &apart}, {"batch", &batch},	      {"processes", &processes},
	};

	for (; *options; options++) {
		const std::string option = *options;
		const size_t equals = option.find('=');
		const auto found = known.find(option.substr(0, equals));

		if (equals == option.npos || found == known.end())
			throw Broken("no option " + option);
		*found->second = static_cast<unsigned>(std::stoul(option.substr(equals + 1)));
	}
	if (!pairs || !depth || count < pairs)
		throw Broken("nothing to do");
	if (together && name != "send")
		throw Broken("together is for send");
	if (name == "send-credits")
		processes = 2;
	if (processes < 1 || processes > 2 || (processes == 2 && pairs > 1))
		throw Broken("one connection of two processes");
	if (batch && processes != 2)
		throw Broken("batch is for two processes");
	count = count / pairs * pairs;
}

namespace {

// Connections of verbs, one after the other.
class Connect : public Operation {
	const Work &work_;
	const std::string way_, here_, there_;

public:
	Connect(const Work &work, const std::string &way, const std::string &here,
		const std::string &there)
		: work_(work), way_(way), here_(here), there_(there)
	{
	}
	void run() override
	{
		for (unsigned i = 0; i < work_.count; i++)
			connected(way_, here_, there_);
	}
};

// MAP: a file that gets what is where in this process's memory.
void keep_map()
{
	if (const char *file = getenv("MAP"))
		std::ofstream(file) << std::ifstream("/proc/self/maps").rdbuf();
}

std::unique_ptr<Operation> ready(const std::string &way, const char *here, const char *there,
				 const Work &work)
{
	Pairs pairs;

	if (way == "tcp")
		return over_tcp(work, place_of(here), place_of(there));
	if (work.processes == 2)
		return over_processes(work, way, here, there);
	if (work.name == "connect")
		return std::make_unique<Connect>(work, way, here, there);
	if (work.together)
		pairs = connected_together(way, here, there, work.pairs, 2 * work.depth);
	else
		for (unsigned i = 0; i < work.pairs; i++)
			pairs.push_back(connected(way, here, there));
	return over_verbs(work, std::move(pairs));
}

// Of all processors, since the machine began.
uint64_t switches()
{
	std::ifstream stat("/proc/stat");
	std::string word;
	uint64_t count;

	while (stat >> word)
		if (word == "ctxt" && stat >> count)
			return count;
	throw Broken("/proc/stat has no ctxt");
}

struct Cost {
	std::chrono::nanoseconds time;
	uint64_t switches;
};

Cost cost_of(Operation &operation)
{
	keep_map();
	const uint64_t before = switches();
	begin_mark();
	const auto began = Clock::now();
	operation.run();
	const auto time = Clock::now() - began;
	end_mark();
	return {time, switches() - before};
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc < 5)
		throw Broken("rate cm|hand|tcp HERE THERE OPERATION [OPTION...]");
	const Work work(argv[4], argv + 5);
	if (work.apart)
		need(stay_on(0), "sched_setaffinity");
	const Cost cost = cost_of(*ready(argv[1], argv[2], argv[3], work));

	printf("%ld", static_cast<long>(cost.time.count() / work.count));
	if (work.processes == 2)
		printf(" %lu", static_cast<unsigned long>(cost.switches * 1000 / work.count));
	printf("\n");
	return 0;
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
