// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The command line: getopt_long(3), so options may stand anywhere.
#include "options.hh"

#include "exit.hh"
#include "text.hh"

#include <getopt.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace srnicctl {

namespace {

constexpr double least_delay = 0.01, longest_delay = 86400;

// Those without a letter.
enum : int { option_peer = 0x100, option_pid, option_qp };

const option long_options[] = {
	{"json", no_argument, nullptr, 'j'},
	{"pretty", no_argument, nullptr, 'p'},
	{"short", no_argument, nullptr, 's'},
	{"peer", required_argument, nullptr, option_peer},
	{"pid", required_argument, nullptr, option_pid},
	{"qp", required_argument, nullptr, option_qp},
	{"batch", no_argument, nullptr, 'b'},
	{"iterations", required_argument, nullptr, 'n'},
	{"delay", required_argument, nullptr, 'd'},
	{"help", no_argument, nullptr, 'h'},
	{"version", no_argument, nullptr, 'V'},
	{},
};

unsigned long iterations_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !n || n > 1000000000)
		wrong("-n takes a number from 1 on, not " + clean(text));
	return n;
}

uint32_t number_of(const char *option, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > UINT32_MAX)
		wrong(std::string(option) + " takes a number, not " + clean(text));
	return static_cast<uint32_t>(n);
}

Address peer_of(const char *text)
{
	auto address = parse_address(text);

	if (!address)
		wrong("--peer takes an address, as 10.0.0.2, 10.0.0.2:7174 or [fd00::2]:7174, "
		      "not " +
		      clean(text));
	return *address;
}

double delay_of(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= least_delay && seconds <= longest_delay))
		wrong("-d takes seconds from 0.01 to 86400, not " + clean(text));
	return seconds;
}

void take(Options &options, int option)
{
	switch (option) {
	case 'p':
		options.pretty = true;
		[[fallthrough]];
	case 'j':
		options.json = true;
		break;
	case 's':
		options.brief = true;
		break;
	case option_peer:
		options.filter.peer = peer_of(optarg);
		break;
	case option_pid:
		options.filter.pid = number_of("--pid", optarg);
		break;
	case option_qp:
		options.filter.qp = number_of("--qp", optarg);
		break;
	case 'b':
		options.batch = true;
		break;
	case 'n':
		options.iterations = iterations_of(optarg);
		break;
	case 'd':
		options.delay = delay_of(optarg);
		break;
	case 'h':
		options.help = true;
		break;
	case 'V':
		options.version = true;
		break;
	}
}

// Argument lists for C, with the program's name.
std::vector<char *> argv_of(std::vector<std::string> &arguments)
{
	static char name[] = "srnicctl";
	std::vector<char *> argv = {name};

	for (std::string &argument : arguments)
		argv.push_back(argument.data());
	argv.push_back(nullptr);
	return argv;
}

// The one that getopt_long() refuses: optopt is its letter, or the number of one without a letter,
// or 0 for a word that it does not know.
std::string option_at(const std::vector<char *> &argv)
{
	for (const option *known = long_options; known->name; known++)
		if (optopt >= option_peer && optopt == known->val)
			return std::string("--") + known->name;
	if (optopt)
		return clean(std::string{'-', static_cast<char>(optopt)});
	return clean(argv[static_cast<size_t>(optind) - 1]);
}

} // namespace

void wrong(const std::string &what) { throw Failure(Exit::usage, what + " (srnicctl --help)"); }

Options parse(const std::vector<std::string> &arguments)
{
	std::vector<std::string> copy = arguments;
	std::vector<char *> argv = argv_of(copy);
	int argc = static_cast<int>(argv.size()) - 1, option;
	Options options;

	optind = 0; // glibc: begin anew
	opterr = 0;
	while ((option = getopt_long(argc, argv.data(), ":jpsbn:d:hV", long_options, nullptr)) !=
	       -1) {
		if (option == '?')
			wrong("wrong option " + option_at(argv));
		if (option == ':')
			wrong("option " + option_at(argv) + " needs a value");
		take(options, option);
	}
	options.arguments.assign(argv.begin() + optind, argv.end() - 1);
	if (!options.arguments.empty()) {
		options.command = options.arguments.front();
		options.arguments.erase(options.arguments.begin());
	}
	return options;
}

} // namespace srnicctl
