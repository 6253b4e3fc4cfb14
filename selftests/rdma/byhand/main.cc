// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two QPs that are connected by hand, over devices of type srnic_ib in two network namespaces.
//	byhand DEVICE ADDRESS ADDRESS6 PEER-DEVICE ADDRESS ADDRESS6 ROUNDS [CASES]
// CASES: parts of their names. In the environment, CROWD: pairs at once; UNTIL: a file:
// goes on until it is there.
#include <cstdio>
#include <cstdlib>

#include "case.hh"

Settings settings;

void command(const std::string &line)
{
	const int status = system(line.c_str());

	expect(!status, line + ": " + std::to_string(status));
}

// The interface has lost its IPv6 addresses.
std::string up_again(const std::string &ns, const std::string &link, const Place &at)
{
	const std::string ip = "ip -n " + ns + " ";

	return ip + "link set " + link + " up && " + ip + "addr replace " + at.address6 +
	       "/64 dev " + link + " nodad && for n in 1 2 3 4 5; do ping -q -c 1 -w 2 " +
	       settings.there.address + " && break; done >/dev/null";
}

Undo::~Undo()
{
	if (system(line.c_str()))
		printf("# failed: %s\n", line.c_str());
}

namespace {

bool passes(const Case &which, std::string &note)
{
	const auto begin = Clock::now();
	std::string trouble;
	char time[32];

	try {
		which.run();
	} catch (const Skip &skip) {
		note = std::string(" # SKIP ") + skip.what();
	} catch (const std::runtime_error &failure) {
		trouble = failure.what();
	}
	snprintf(time, sizeof(time), "\n# %.1f s", seconds_since(begin));
	note += time;
	if (!trouble.empty())
		printf("# %s\n", trouble.c_str());
	return trouble.empty();
}

int number_in(const char *variable, int otherwise)
{
	const char *value = getenv(variable);

	return value ? atoi(value) : otherwise;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 8 || argc > 9) {
		fprintf(stderr,
			"usage: byhand DEVICE ADDRESS ADDRESS6 PEER-DEVICE ADDRESS ADDRESS6 "
			"ROUNDS [CASES]\n");
		return 2;
	}
	settings = {{argv[1], argv[2], argv[3]},
		    {argv[4], argv[5], argv[6]},
		    atoi(argv[7]),
		    number_in("CROWD", 1000),
		    getenv("UNTIL") ?: ""};
	const Tally tally =
		run_cases(all_of({transfer_cases(), meeting_cases(), last_ack_cases(),
				  conversation_cases(), event_cases(), error_cases(),
				  extended_cases(), window_cases(), wall_cases(), release_cases(),
				  life_cases()}),
			  argc > 8 ? argv[8] : "", passes);

	printf("# all cases\n");
	return tally.failed || !tally.run;
}
