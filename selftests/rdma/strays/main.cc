// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Strays: datagrams that nobody asked for, by plain UDP, and hostile ones among them. Each row is
// what a rule of Documentation/ib.rst says, the octets that break it (or do not), and what the
// victim's QP must see of it.
//	strays [--only PARTS] DEVICE ADDRESS ADDRESS6 OWN OWN6 INTERFACE LINK-LOCAL BESIDE
// The device and its addresses are the victim's; BESIDE is an address of its host, not of the
// device. The others are of this namespace.
#include "../shared/case.hh"
#include "stage.hh"

#include <cstdlib>

namespace strays {
namespace {

constexpr Cases (*chapters[])() = {field_cases, packet_cases, receiver_cases, group_cases,
					answer_cases};

std::string trouble_of(Stage &stage, const Case &one)
{
	try {
		one.play(stage);
		return {};
	} catch (const std::runtime_error &e) {
		return e.what();
	}
}

// A row that fails leaves the victim in any state: the next one gets another.
int run(const Settings &settings, const char *only)
{
	auto stage = std::make_unique<Stage>(settings);
	unsigned number = 0, failed = 0;

	for (auto cases : chapters)
		for (const Case &one : cases()) {
			if (!has_one_of(only, one.name))
				continue;
			const std::string trouble = trouble_of(*stage, one);

			std::printf("%sok %u %s\n", trouble.empty() ? "" : "not ", ++number,
				    one.name.c_str());
			if (trouble.empty())
				continue;
			std::printf("# %s\n", trouble.c_str());
			failed++;
			stage.reset();
			stage = std::make_unique<Stage>(settings);
		}
	std::printf("1..%u\n", number);
	return failed || !number;
}

} // namespace
} // namespace strays

int main(int argc, char **argv)
{
	const bool some = argc > 2 && !std::strcmp(argv[1], "--only");
	char **rest = argv + (some ? 3 : 1);

	if (argc - (rest - argv) != 8) {
		std::fprintf(stderr,
			     "usage: strays [--only PARTS] DEVICE ADDRESS ADDRESS6 OWN OWN6 "
			     "INTERFACE LINK-LOCAL BESIDE\n");
		return 2;
	}
	try {
		return strays::run(
			{rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6], rest[7]},
			some ? argv[2] : "");
	} catch (const std::runtime_error &e) {
		std::printf("Bail out! %s\n", e.what());
		return 1;
	}
}
