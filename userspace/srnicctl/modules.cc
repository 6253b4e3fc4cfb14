// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Checks of `srnicctl doctor`: the module srnic, the one that is installed, and the kernel's RDMA
// core below it.
#include "doctor.hh"
#include "text.hh"

#include <sstream>

#include "version.h"

namespace srnicctl {
namespace {

constexpr const char *installed =
	"PATH=$PATH:/usr/sbin:/sbin; modinfo -F srcversion srnic 2>/dev/null";

// Does a list of modules have this one? It begins a line, as a path up to a colon or the end.
bool lists(const std::string &list, const std::string &module)
{
	std::istringstream lines(list);

	for (std::string line; std::getline(lines, line);) {
		std::string path = line.substr(0, line.find(':'));

		if (path.find("/" + module + ".ko") != std::string::npos)
			return true;
	}
	return false;
}

std::string first_word(const std::string &text)
{
	return text.substr(0, text.find_first_of(" \n"));
}

} // namespace

// Many distributions have the RDMA core in a package of its own, beside the kernel's.
Finding check_ib_core(System &system)
{
	std::string dir = "/lib/modules/" + system.release + "/";
	auto modules = whole(system, dir + "modules.dep");
	auto builtin = whole(system, dir + "modules.builtin");

	if (loaded(system, "ib_core") || exists(system, "/sys/class/infiniband"))
		return {Level::ok, "ib_core", "the kernel has its RDMA core"};
	if (!modules)
		return {Level::ok, "ib_core", "not loaded; modules are not visible here"};
	if (lists(*modules, "ib_core") || lists(builtin.value_or(""), "ib_core"))
		return {Level::ok, "ib_core", "installed, not loaded"};
	return {Level::fail, "ib_core",
		"Linux " + clean(system.release) + " has no RDMA core installed, which srnic needs",
		"install the package of this kernel that has it: linux-modules-extra-" +
			clean(system.release) + " on Ubuntu, kernel-modules-" +
			clean(system.release) + " on Fedora and RHEL, kernel-default on SUSE"};
}

Finding check_module(System &system)
{
	std::string version = first_line(system, "/sys/module/srnic/version").value_or("");

	if (!loaded(system, "srnic"))
		return {Level::fail, "module", "srnic is not loaded", "modprobe srnic"};
	if (version != SRNIC_VERSION)
		return {Level::warn, "module",
			"srnic " + clean(version) +
				" is loaded, but this is the srnicctl of " SRNIC_VERSION,
			"install module and user space of the same version, and load it again"};
	return {Level::ok, "module", "srnic " + version + " is loaded"};
}

Finding check_installed_module(System &system)
{
	const char *name = "installed module";
	std::string now = first_line(system, "/sys/module/srnic/srcversion").value_or("");
	std::string next = first_word(system.output(installed));

	if (now.empty() || next.empty())
		return {Level::ok, name, "unknown here"};
	if (now != next)
		return {Level::warn, name,
			"another srnic is installed than is loaded (srcversion " + clean(next) +
				", not " + clean(now) + ")",
			"systemctl restart srnic.target; or delete the devices, rmmod srnic and "
			"modprobe srnic. Both end connections"};
	return {Level::ok, name, "the loaded one"};
}

} // namespace srnicctl
