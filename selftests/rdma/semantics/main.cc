// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a program may rely on: RDMAP's operations, order and limits, seen from both ends.
//	semantics NS ADDRESS PEER-NS PEER-ADDRESS HUGE ROUNDS [PARTS-OF-THE-CASES'-NAMES]
// HUGE: bytes of the largest messages, above 2^31, or 0. ROUNDS: tries of each race.
// FRAMING=rdmatcp in the environment: how the devices frame, else as MPA does.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../shared/pulse.hh"
#include "case.hh"

Settings settings;

namespace {

std::string trouble_with(const Case &which, std::string &note)
{
	try {
		which.run();
	} catch (const Skip &skip) {
		note = std::string(" # SKIP ") + skip.what();
	} catch (const std::runtime_error &failure) {
		return failure.what();
	}
	return "";
}

int run_all(const char *part)
{
	const Cases all =
		all_of({operation_cases(), immediate_cases(), atomic_cases(), direct_cases(),
			order_cases(), revoke_cases(), ending_cases(), missing_cases(),
			huge_cases()});
	Pulse pulse;
	const Tally tally = run_cases(all, part, [&](const Case &which, std::string &note) {
		const auto begin = Clock::now();
		const std::string trouble =
			pulse.steadily([&] { return trouble_with(which, note); });
		const std::chrono::duration<double> took = Clock::now() - begin;
		char time[32];

		snprintf(time, sizeof(time), "\n# %.1f s", took.count());
		note += time;
		if (!trouble.empty())
			printf("# %s\n", trouble.c_str());
		return trouble.empty();
	});

	printf("# all cases\n");
	return tally.failed || !tally.run;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 7 || argc > 8) {
		fprintf(stderr,
			"usage: semantics NS ADDRESS PEER-NS PEER-ADDRESS HUGE ROUNDS [CASES]\n");
		return 2;
	}
	const char *framing = getenv("FRAMING");

	settings = {{argv[1], argv[2]},
		    {argv[3], argv[4]},
		    strtoull(argv[5], nullptr, 0),
		    static_cast<unsigned>(atoi(argv[6])),
		    framing && !strcmp(framing, "rdmatcp")};
	return run_all(argc > 7 ? argv[7] : "");
}
