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

const char *const usage =
	"usage: srnicctl [OPTION...] COMMAND\n"
	"  show [DEVICE]                       devices, settings and connections\n"
	"  top [DEVICE]                        rates of devices and connections\n"
	"  set DEVICE SETTING VALUE [SETTING VALUE...]\n"
	"                                      for connections made from now on\n"
	"  doctor [DEVICE]                     what is wrong, and what to do\n"
	"options:\n"
	"  -j, --json            JSON instead of text\n"
	"  -p, --pretty          the same with line breaks\n"
	"  -b, --batch           top: does not clear the screen\n"
	"  -n, --iterations=N    top: ends after N times\n"
	"  -d, --delay=SECONDS   top: time between two of them (1)\n"
	"  -h, --help            this text\n"
	"  -V, --version         the version\n";

namespace {

constexpr double least_delay = 0.01, longest_delay = 86400;

const option long_options[] = {
	{"json", no_argument, nullptr, 'j'},	    {"pretty", no_argument, nullptr, 'p'},
	{"batch", no_argument, nullptr, 'b'},	    {"iterations", required_argument, nullptr, 'n'},
	{"delay", required_argument, nullptr, 'd'}, {"help", no_argument, nullptr, 'h'},
	{"version", no_argument, nullptr, 'V'},	    {},
};

unsigned long iterations_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !n || n > 1000000000)
		wrong("-n takes a number from 1 on, not " + clean(text));
	return n;
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

// The one that getopt_long() refuses. It names letters, but not words that it does not know.
std::string option_at(const std::vector<char *> &argv)
{
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
	while ((option = getopt_long(argc, argv.data(), ":jpbn:d:hV", long_options, nullptr)) !=
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
