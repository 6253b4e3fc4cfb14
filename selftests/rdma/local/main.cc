// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A local user's errors and attacks. After each case a new pair must work, a neighbour's transfer
// must have continued undamaged, and the device must have no more objects than before.
//	local ADDRESS-OF-A-LOCAL-SRNIC-DEVICE ITS-NAME [PARTS-OF-THE-CASES'-NAMES]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/mman.h>
#include <unistd.h>

#include "case.hh"
#include "neighbour.hh"
#include "process.hh"

std::string address, device;
std::mt19937 chance(1);

namespace {

// What `rdma resource show` counts on the device.
std::string resources()
{
	FILE *tool = popen("rdma resource show", "r");
	std::string found;
	char line[512];

	require(tool, "popen");
	while (fgets(line, sizeof(line), tool))
		if (strstr(line, (device + ":").c_str()))
			found += line;
	pclose(tool);
	require(!found.empty(), "rdma resource show does not know the device");
	return found;
}

// Freeing may take a while if a killed process left work to the kernel.
void settle(const std::string &before)
{
	std::string now;

	for (int i = 0; i < 300; i++, sleep_ms(100)) {
		now = resources();
		if (now == before)
			return;
	}
	throw Failure("left behind: " + now + "# instead of: " + before);
}

// Why the child skipped; shared memory, empty if it did not.
char *skipped;

void run_in_child(const Case &which)
{
	*skipped = 0;
	in_child([&] {
		try {
			which.run();
		} catch (const Skip &skip) {
			snprintf(skipped, 256, " # SKIP %s", skip.what());
		}
	});
}

bool passes(const Case &which, Neighbour &neighbour, const std::string &before, std::string &note)
{
	try {
		run_in_child(which);
		note = skipped;
		neighbour.check();
		in_child([] { Pair(address).exercise(); });
		settle(before);
		return true;
	} catch (const Failure &failure) {
		printf("# %s\n", failure.what());
		return false;
	}
}

int run_all(const char *part)
{
	const Cases all =
		all_of({ring_cases(), process_cases(), kill_cases(), mapping_cases(),
			command_cases(), abi_cases(), limit_cases(), right_cases(), window_cases(),
			race_cases(), answer_cases(), resize_cases(), time_cases(), domain_cases(),
			import_cases(), exported_cases(), moderated_cases()});
	Neighbour neighbour;
	const std::string before = resources();
	const char *given = getenv("SEED");
	const size_t seed = given ? strtoul(given, nullptr, 10) : static_cast<size_t>(getpid());

	printf("# SEED=%zu\n", seed);
	const Tally tally = run_cases(all, part, [&](const Case &which, std::string &note) {
		chance.seed(static_cast<unsigned int>(seed + std::hash<std::string>()(which.name)));
		return passes(which, neighbour, before, note);
	});

	printf("1..%d\n", tally.run);
	return tally.failed != 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: local ADDRESS-OF-A-LOCAL-SRNIC-DEVICE ITS-NAME [CASES]\n");
		return 2;
	}
	address = argv[1];
	device = argv[2];
	skipped = static_cast<char *>(
		mmap(nullptr, 256, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	try {
		return run_all(argc > 3 ? argv[3] : "");
	} catch (const Failure &failure) {
		printf("Bail out! %s\n", failure.what());
		return 1;
	}
}
