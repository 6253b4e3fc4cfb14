// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Strangers: hostile peers of a QP that its program has connected by hand, over plain TCP. Each row
// is what a rule of Documentation/ib.rst says, the octets that break it (or do not), and the
// expected results at both ends.
//	strangers [--octets-every N] [--only PARTS]
//		DEVICE ADDRESS ADDRESS6 OWN OWN6 GREATER [BESIDE]
// The device and its addresses are the victim's. Its namespace is sr1. OWN, OWN6 and GREATER are
// addresses of this namespace, the last one greater than the victim's. With BESIDE, an address of
// sr1 outside of the victim's VRF, there are only the rows that need it.
#include "../shared/case.hh"
#include "../shared/pulse.hh"
#include "stage.hh"

#include <cstdlib>

namespace strangers {
namespace {

unsigned octets_every = 1;
const char *only = "";

std::string attempt(Stage &stage, const Case &one, Pace pace, const char *how)
{
	try {
		one.play(stage, pace);
		return {};
	} catch (const std::runtime_error &e) {
		stage.clear();
		return how + std::string(e.what());
	}
}

std::string trouble_of(Stage &stage, const Case &one, bool octets)
{
	const std::string trouble = attempt(stage, one, Pace::whole, "");

	if (!octets || !trouble.empty())
		return trouble;
	return attempt(stage, one, Pace::octets, "octet by octet: ");
}

using Chapters = std::vector<Cases (*)()>;

const Chapters all = {request_cases,  reply_cases,     segment_cases, ack_cases,
		      dialogue_cases, encounter_cases, ending_cases,  revoked_cases};

int run(Stage &stage, const Chapters &chapters)
{
	unsigned number = 0, failed = 0;
	Pulse pulse;

	for (auto cases : chapters)
		for (const Case &one : cases()) {
			if (!has_one_of(only, one.name))
				continue;
			number++;
			if (one.needs & ~stage.knows()) {
				std::printf("ok %u %s # SKIP the kernel does not know it\n", number,
					    one.name.c_str());
				continue;
			}
			const bool octets = octets_every && !one.once && !(number % octets_every);
			const auto begin = Clock::now();
			const std::string trouble =
				pulse.steadily([&] { return trouble_of(stage, one, octets); });

			std::printf("%sok %u %s\n", trouble.empty() ? "" : "not ", number,
				    one.name.c_str());
			if (!trouble.empty())
				std::printf("# %s\n", trouble.c_str());
			if (seconds_since(begin) > 1)
				std::printf("# %.1f s\n", seconds_since(begin));
			failed += !trouble.empty();
		}
	std::printf("1..%u\n", number);
	return failed || !number;
}

} // namespace
} // namespace strangers

int main(int argc, char **argv)
{
	int i = 1;

	for (; i + 1 < argc && !std::strncmp(argv[i], "--", 2); i += 2) {
		if (!std::strcmp(argv[i], "--only"))
			strangers::only = argv[i + 1];
		else if (!std::strcmp(argv[i], "--octets-every"))
			strangers::octets_every = static_cast<unsigned>(std::atoi(argv[i + 1]));
	}
	const bool beside = argc - i == 7;

	if (argc - i != 6 && !beside) {
		std::fprintf(stderr, "usage: strangers [--octets-every N] [--only PARTS] DEVICE "
				     "ADDRESS ADDRESS6 OWN OWN6 GREATER [BESIDE]\n");
		return 2;
	}
	return hostile::run_tap([&] {
		strangers::Stage stage({argv[i], argv[i + 1], argv[i + 2], argv[i + 3], argv[i + 4],
					argv[i + 5], beside ? argv[i + 6] : ""});

		return strangers::run(stage, beside ? strangers::Chapters{strangers::beside_cases}
						    : strangers::all);
	});
}
