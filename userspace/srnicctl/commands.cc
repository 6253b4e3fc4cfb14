// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What each command does, and the message and exit code if it cannot.
#include "commands.hh"

#include "doctor.hh"
#include "exit.hh"
#include "options.hh"
#include "show.hh"
#include "text.hh"
#include "top.hh"

#include <cerrno>
#include <cstring>

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

Exit show(System &system, const Options &options)
{
	auto devices = take_snapshot(system, device_of(options));
	Json json(system.out, options.pretty);

	if (options.json)
		show_json(json, devices);
	else if (devices.empty())
		system.err << "srnicctl: there is no srnic device: rdma link add NAME type srnic "
			      "netdev INTERFACE\n";
	else
		system.out << show_text(devices);
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

// ---- set ----

const Setting &setting_of(const std::string &name)
{
	const Setting *setting = find_setting(name);
	std::vector<std::string> names;

	if (setting)
		return *setting;
	for (const Setting &known : known_settings())
		names.push_back(known.name);
	wrong("there is no setting " + clean(name) + ", but " + joined(names, ", "));
}

[[noreturn]] void not_set(const std::string &device, const Setting &setting,
			  const std::string &value, int error)
{
	std::string what = clean(device) + ": " + setting.name;

	if (refuses_value(error))
		throw Failure(Exit::refused,
			      what + " takes " + setting.values + ", not \"" + clean(value) + "\"");
	switch (error) {
	case EPERM:
	case EACCES:
	case EROFS:
		throw Failure(Exit::denied,
			      what +
				      ": only root with CAP_NET_ADMIN may set it, where /sys is "
				      "writable (" +
				      strerror(error) + ")");
	case ENOENT:
		throw Failure(Exit::error, what + ": not in /sys: the module is too old for it, or "
						  "/sys is of another network namespace");
	default:
		throw Failure(Exit::error, what + ": " + strerror(error));
	}
}

// Only some settings mean anything to devices of type srnic_ib: those in /sys, if it shows any.
void check_type(const System &system, const RdmaDevice &device, const std::string &name)
{
	std::vector<std::string> names;

	if (!device.ib)
		return;
	for (const auto &[setting, value] : read_settings(system, device.name)) {
		if (setting->name == name)
			return;
		names.push_back(setting->name);
	}
	if (!names.empty())
		wrong(clean(device.name) + " is of type srnic_ib, which has no " + name + ", but " +
		      joined(names, ", "));
}

Exit set(System &system, const Options &options)
{
	const auto &arguments = options.arguments;

	if (arguments.size() < 3 || arguments.size() % 2 == 0 || arguments[0].empty())
		wrong("set takes a device, and settings with a value each");
	for (size_t i = 1; i < arguments.size(); i += 2)
		setting_of(arguments[i]);
	const RdmaDevice device = find_devices(system, arguments[0]).front();
	for (size_t i = 1; i < arguments.size(); i += 2)
		check_type(system, device, arguments[i]);
	for (size_t i = 1; i < arguments.size(); i += 2) {
		const Setting &setting = setting_of(arguments[i]);
		int error = write_setting(system, arguments[0], setting, arguments[i + 1]);

		if (error)
			not_set(arguments[0], setting, arguments[i + 1], error);
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

// ---- all ----

struct Command {
	const char *name;
	Exit (*run)(System &system, const Options &options);
};

constexpr Command commands[] = {{"show", show}, {"top", top}, {"set", set}, {"doctor", doctor}};

Exit dispatch(System &system, const Options &options)
{
	if (options.help || options.version) {
		system.out << (options.help ? usage : "srnicctl " SRNIC_VERSION "\n");
		return Exit::good;
	}
	if (options.command.empty())
		wrong("which command: show, top, set or doctor?");
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
