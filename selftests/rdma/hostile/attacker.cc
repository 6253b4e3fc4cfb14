// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The hostile peer: goes through the tables in both roles, sending each row in one piece and octet
// by octet. It compares the whole answer; then the victim's program reports what it saw. Output is
// TAP.
#include "../shared/pulse.hh"
#include "stage.hh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace hostile {
namespace {

struct Options {
	const char *own = nullptr, *victim = nullptr, *only = "";
	unsigned octets_every = 1; // send every n-th row octet by octet as well; 0: none

	// False if there is no such option.
	bool set(const std::string &option, const char *value)
	{
		if (option == "--octets-every")
			octets_every = static_cast<unsigned>(std::atoi(value));
		else if (option == "--only")
			only = value;
		else if (option == "--crc")
			with_crcs = std::atoi(value);
		else if (option == "--large-fpdus")
			terms.large = std::atoi(value);
		else
			return false;
		return true;
	}
};

class Attacker {
public:
	Attacker(const Options &opts, VictimLink &link)
		: options(opts), victim(link), listener(Socket::listen(opts.own, attacker_port))
	{
	}

	int run()
	{
		Stage stage(options.victim, victim, listener);

		for (auto cases : {startup_cases, dialogue_cases, ending_cases, urgent_cases,
				   rtr_cases, segment_cases})
			for (const Case &one : cases(stage))
				run_case(one);
		std::printf("1..%u\n", number);
		return failed ? 1 : 0;
	}

private:
	const Options &options;
	VictimLink &victim;
	Socket listener;
	unsigned number = 0, failed = 0;
	Pulse pulse;

	void run_case(const Case &one)
	{
		std::string full = one.name + " (" + one.role + ")";

		if (full.find(options.only) == std::string::npos || (one.checks_crc && !with_crcs))
			return;
		number++;
		bool octets =
			!one.once && options.octets_every && number % options.octets_every == 0;
		std::string trouble = attempt(one, Pace::whole, "");

		if (octets && trouble.empty())
			trouble = attempt(one, Pace::octets, "octet by octet: ");
		std::printf("%sok %u - %s\n", trouble.empty() ? "" : "not ", number, full.c_str());
		if (!trouble.empty())
			std::printf("# %s\n", trouble.c_str());
		failed += !trouble.empty();
	}

	std::string attempt(const Case &one, Pace pace, const char *how)
	{
		return pulse.steadily([&] {
			try {
				one.play(pace);
				return std::string();
			} catch (const Failure &e) {
				clear_up();
				return how + std::string(e.what());
			}
		});
	}

	// A case that failed half-way leaves the victim in the middle of it, and perhaps a
	// connection not accepted yet.
	void clear_up()
	{
		victim.ask("verdict 0");
		while (!listener.silent(0))
			listener.accept();
	}
};

int usage()
{
	std::fprintf(stderr, "usage: attacker [--octets-every N] [--only TEXT] [--crc 0] "
			     "[--large-fpdus 1]\n\tOWN-ADDRESS VICTIM-ADDRESS COMMAND...\n"
			     "COMMAND starts the victim's program. Both ends want CRCs, and no "
			     "large FPDUs, if nothing else is said.\n");
	return 2;
}

} // namespace
} // namespace hostile

int main(int argc, char **argv)
{
	hostile::Options options;
	int i = 1;

	for (; i + 1 < argc && !std::strncmp(argv[i], "--", 2); i += 2)
		if (!options.set(argv[i], argv[i + 1]))
			return hostile::usage();
	if (argc - i < 3)
		return hostile::usage();
	options.own = argv[i];
	options.victim = argv[i + 1];
	return hostile::run_tap([&] {
		hostile::VictimLink victim(argv + i + 2);

		return hostile::Attacker(options, victim).run();
	});
}
