// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The table of settings (kernel/settings.def), and their files.
#include "settings.hh"

#include <cerrno>

namespace srnicctl {
namespace {

using Kind = Setting::Kind;

constexpr Setting settings[] = {
#define SETTING_WORD(name, initial, words, ...) {#name, Kind::word, words},
#define SETTING_FLAG(name, ...) {#name, Kind::flag, "0 or 1"},
#define SETTING_NUMBER(name, initial, most, unit, ...) \
	{#name, Kind::number, "0 to " #most " " unit},
#define SETTING_PORTS(name, example, ...) \
	{#name, Kind::ports,              \
	 "up to 16 pairs RDMA:TCP of different ports, as in \"" example "\", or an empty string"},
#include "settings.def"
};

std::string path_of(const std::string &device, const Setting &setting)
{
	return "/sys/class/infiniband/" + device + "/" + setting.name;
}

} // namespace

std::span<const Setting> known_settings() { return settings; }

const Setting *find_setting(const std::string &name)
{
	for (const Setting &setting : settings)
		if (setting.name == name)
			return &setting;
	return nullptr;
}

Settings read_settings(const System &system, const std::string &device)
{
	Settings found;

	for (const Setting &setting : settings)
		if (auto value = first_line(system, path_of(device, setting)))
			found.emplace_back(&setting, *value);
	return found;
}

std::string value_of(const Settings &settings, const std::string &name)
{
	for (const auto &[setting, value] : settings)
		if (setting->name == name)
			return value;
	return "";
}

int write_setting(const System &system, const std::string &device, const Setting &setting,
		  const std::string &value)
{
	return overwrite(system, path_of(device, setting), value + "\n");
}

// A map of ports with too many pairs, or with a port twice, has errors of its own.
bool refuses_value(int error)
{
	return error == EINVAL || error == ERANGE || error == E2BIG || error == EEXIST;
}

} // namespace srnicctl
