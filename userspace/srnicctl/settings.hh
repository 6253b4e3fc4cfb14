// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A device's settings. They have no netlink, only files in /sys/class/infiniband/NAME/
// (kernel/device/sysfs.c).
#pragma once

#include "system.hh"

#include <span>
#include <utility>

namespace srnicctl {

struct Setting {
	enum class Kind { word, flag, number, ports };

	const char *name;
	Kind kind;
	const char *values; // those it takes, for people
};

std::span<const Setting> known_settings();
const Setting *find_setting(const std::string &name);

// Those that the module has, in the order above. Empty if /sys does not show the device.
using Settings = std::vector<std::pair<const Setting *, std::string>>;
Settings read_settings(const System &system, const std::string &device);
std::string value_of(const Settings &settings, const std::string &name);
// 0 or an errno.
int write_setting(const System &system, const std::string &device, const Setting &setting,
		  const std::string &value);
// Does this errno mean that the setting does not take the value?
bool refuses_value(int error);

} // namespace srnicctl
