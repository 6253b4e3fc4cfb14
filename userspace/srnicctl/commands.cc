// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What each command does, and the message and exit code if it cannot.
#include "commands.hh"

#include "doctor.hh"
#include "exit.hh"
#include "filter.hh"
#include "get_set.hh"
#include "options.hh"
#include "show.hh"
#include "text.hh"
#include "top.hh"
#include "usage.hh"

#include "version.h"

namespace srnicctl {
namespace {

constexpr const char *clear_screen = "\033[H\033[2J";

// The only argument of most commands, and that is optional.
std::string device_of(const Options &options)
{
	if (options.arguments.size() > 1)
		wrong(options.command + " takes one device at most");
	if (options.arguments.empty())
		return "";
	if (options.arguments[0].empty())
		wrong("a device has a name");
	return options.arguments[0];
}

// ---- show ----

void print(System &system, const Options &options, const std::vector<Device> &devices)
{
	Json json(system.out, options.pretty);

	if (options.json)
		show_json(json, devices);
	else if (devices.empty() && options.filter.any())
		system.err << "srnicctl: nothing matches\n";
	else if (devices.empty())
		system.err << "srnicctl: there is no srnic device: rdma link add NAME type srnic "
			      "netdev INTERFACE\n";
	else
		system.out << (options.brief ? short_text(devices) : show_text(devices));
}

Exit show(System &system, const Options &options)
{
	auto devices = take_snapshot(system, device_of(options));

	if (options.filter.any())
		keep(devices, options.filter);
	print(system, options, devices);
	return Exit::good;
}

// ---- top ----

void print_rates(System &system, const Options &options, const std::vector<Rates> &rates)
{
	Json json(system.out, options.pretty);

	if (options.json) {
		top_json(json, rates);
	} else {
		if (system.terminal && !options.batch)
			system.out << clear_screen;
		system.out << top_text(rates) << "\n";
	}
	system.out.flush();
}

Exit top(System &system, const Options &options)
{
	std::string name = device_of(options);
	auto before = take_snapshot(system, name);
	double since = system.now();

	for (unsigned long n = 0; system.out && (!options.iterations || n < options.iterations);
	     n++) {
		system.sleep(options.delay);
		auto after = take_snapshot(system, name);
		double now = system.now();

		print_rates(system, options,
			    rates_between(before, after, std::max(now - since, 0.001)));
		before = std::move(after);
		since = now;
	}
	return Exit::good;
}

// ---- doctor ----

Exit doctor(System &system, const Options &options)
{
	auto findings = examine(system, device_of(options));
	Json json(system.out, options.pretty);

	if (options.json)
		doctor_json(json, findings);
	else
		system.out << doctor_text(findings);
	return verdict(findings);
}

// ---- help ----

Exit help(System &system, const Options &options)
{
	if (options.arguments.size() > 1)
		wrong("help takes one command at most");
	system.out << usage(options.arguments.empty() ? "" : options.arguments[0]);
	return Exit::good;
}

// ---- all ----

struct Command {
	const char *name;
	Exit (*run)(System &system, const Options &options);
};

constexpr Command commands[] = {{"show", show}, {"top", top},	    {"get", get},
				{"set", set},	{"doctor", doctor}, {"help", help}};

// Silence would let an output be taken for less than it is.
void check_options(const Options &options)
{
	if (options.command != "show" && (options.brief || options.filter.any()))
		wrong("--short, --peer, --pid and --qp are options of show");
	if (options.brief && options.json)
		wrong("--short is text, not JSON");
}

Exit dispatch(System &system, const Options &options)
{
	if (options.help || options.version) {
		system.out << (options.help ? usage(options.command)
					    : "srnicctl " SRNIC_VERSION "\n");
		return Exit::good;
	}
	if (options.command.empty())
		wrong("which command: " + command_names() + "?");
	check_options(options);
	for (const Command &command : commands)
		if (options.command == command.name)
			return command.run(system, options);
	wrong("there is no command " + clean(options.command));
}

Exit finish(System &system, Exit code)
{
	system.out.flush();
	if (!system.out)
		throw Failure(Exit::error, "the output cannot be written");
	return code;
}

Exit guarded(System &system, const std::vector<std::string> &arguments)
{
	try {
		return finish(system, dispatch(system, parse(arguments)));
	} catch (const NetlinkError &error) {
		fail(error);
	}
}

} // namespace

int run(System &system, const std::vector<std::string> &arguments)
{
	try {
		return static_cast<int>(guarded(system, arguments));
	} catch (const Failure &failure) {
		system.err << "srnicctl: " << failure.what() << "\n";
		return static_cast<int>(failure.code);
	} catch (const std::exception &error) {
		system.err << "srnicctl: " << error.what() << "\n";
		return static_cast<int>(Exit::error);
	}
}

} // namespace srnicctl
