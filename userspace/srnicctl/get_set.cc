// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What may be asked of a device's settings, and the message and exit code for what may not.
#include "get_set.hh"

#include "settings.hh"
#include "show.hh"
#include "text.hh"

#include <cerrno>
#include <cstring>

namespace srnicctl {
namespace {

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

[[noreturn]] void not_there(const std::string &what)
{
	throw Failure(Exit::error, what + ": not in /sys: the module is too old for it, or /sys is "
					  "of another network namespace");
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
		not_there(what);
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

// Those that `get` asks for: the one that it names, or all.
Settings asked_for(System &system, const std::vector<std::string> &arguments)
{
	const RdmaDevice device = find_devices(system, arguments[0]).front();
	Settings settings = read_settings(system, device.name);
	std::string what = clean(device.name);

	if (arguments.size() == 2) {
		check_type(system, device, arguments[1]);
		std::erase_if(settings,
			      [&](const auto &one) { return one.first->name != arguments[1]; });
		what += ": " + arguments[1];
	}
	if (settings.empty())
		not_there(what);
	return settings;
}

void get_json(Json &json, const Settings &settings)
{
	json.open_document("settings", '{');
	write_settings(json, settings);
	json.close_document();
}

} // namespace

Exit get(System &system, const Options &options)
{
	const auto &arguments = options.arguments;

	if (arguments.empty() || arguments.size() > 2 || arguments[0].empty())
		wrong("get takes a device, and one setting at most");
	if (arguments.size() == 2)
		setting_of(arguments[1]);
	Settings settings = asked_for(system, arguments);
	Json json(system.out, options.pretty);

	if (options.json)
		get_json(json, settings);
	else if (arguments.size() == 2)
		system.out << clean(settings[0].second) << "\n";
	else
		for (const auto &[setting, value] : settings)
			system.out << setting->name << " = " << clean(value) << "\n";
	return Exit::good;
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

} // namespace srnicctl
