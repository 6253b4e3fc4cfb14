// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl doctor`: runs all checks, and prints what they found.
#include "doctor.hh"

#include "text.hh"

#include <algorithm>
#include <cstring>

namespace srnicctl {
namespace {

using MachineCheck = Finding (*)(System &);
using DeviceCheck = Finding (*)(System &, const Device &);

// What rdma_cm and iw_cm need means nothing to devices of type srnic_ib.
enum class For { all, srnic, srnic_ib };

struct OfMachine {
	MachineCheck check;
	For whom = For::all;
};

struct OfDevice {
	DeviceCheck check;
	For whom = For::all;
};

constexpr OfMachine machine_checks[] = {
	{check_ib_core},
	{check_module},
	{check_installed_module},
	{check_uverbs},
	{check_rdma_cm, For::srnic},
	{check_verbs_abi},
	{check_provider},
	{check_driver_file},
	{check_namespaces},
	{check_memlock},
	{check_port_mapper, For::srnic},
	{check_siw, For::srnic},
	{check_firewall},
};

constexpr OfDevice device_checks[] = {
	{check_abi},
	{check_device_file},
	{check_ports, For::srnic},
	{check_startups, For::srnic},
	{check_errors},
	{check_interface},
};

constexpr OfDevice interface_checks[] = {
	{check_mtu},
	{check_addresses, For::srnic},
	{check_gid, For::srnic_ib},
	{check_offloads},
};

bool concerns(For whom, bool ib) { return whom == For::all || (whom == For::srnic_ib) == ib; }

bool all_are_ib(const std::vector<Device> &devices)
{
	return !devices.empty() && std::all_of(devices.begin(), devices.end(),
					       [](const Device &one) { return one.rdma.ib; });
}

Finding none()
{
	return {Level::fail, "devices", "there is no srnic device",
		"rdma link add NAME type srnic netdev INTERFACE"};
}

// Without RDMA netlink there are no devices, and the checks of modules say why.
std::vector<Device> devices_of(System &system, const std::string &name)
{
	try {
		return take_snapshot(system, name);
	} catch (const Failure &failure) {
		if (failure.code != Exit::no_rdma)
			throw;
		return {};
	}
}

const char *word(Level level)
{
	switch (level) {
	case Level::ok:
		return "ok";
	case Level::warn:
		return "warn";
	default:
		return "FAIL";
	}
}

std::string line_of(const Finding &finding)
{
	std::string subject = finding.check;

	if (!finding.device.empty())
		subject = clean(finding.device) + ", " + subject;
	std::string line = std::string(word(finding.level)) + "\t" + subject + ": " + finding.what;

	if (!finding.todo.empty())
		line += "\n\tdo: " + finding.todo;
	return line + "\n";
}

void examine_device(System &system, const Device &device, std::vector<Finding> &findings)
{
	const auto run = [&](std::span<const OfDevice> checks) {
		for (auto [check, whom] : checks)
			if (concerns(whom, device.rdma.ib))
				findings.push_back(check(system, device));
	};

	run(device_checks);
	if (device.port.netdev_index)
		run(interface_checks);
}

} // namespace

Finding untold(const NetlinkError &error)
{
	return {Level::warn, "", "the kernel does not say: " + std::string(strerror(error.code)),
		"try again"};
}

bool loaded(const System &system, const std::string &module)
{
	return exists(system, "/sys/module/" + module);
}

Finding judge_file(const System &system, const std::string &file, const std::string &well)
{
	if (!exists(system, file))
		return {Level::fail, "", "there is no " + file,
			"check that udev runs, or in a container pass this file through"};
	if (!accessible(system, file))
		return {Level::fail, "", "this user may not open " + file,
			"let a udev rule give it to a group that the user is in"};
	return {Level::ok, "", well};
}

std::vector<Finding> examine(System &system, const std::string &name)
{
	auto devices = devices_of(system, name);
	std::vector<Finding> findings;

	for (auto [check, whom] : machine_checks)
		if (concerns(whom, all_are_ib(devices)))
			findings.push_back(check(system));
	if (devices.empty())
		findings.push_back(none());
	for (const Device &device : devices)
		examine_device(system, device, findings);
	return findings;
}

std::string doctor_text(const std::vector<Finding> &findings)
{
	std::string text;

	for (const Finding &finding : findings)
		text += line_of(finding);
	return text;
}

void doctor_json(Json &json, const std::vector<Finding> &findings)
{
	json.open_document("checks");
	for (const Finding &finding : findings) {
		json.open_object();
		json.text("check", finding.check);
		if (!finding.device.empty())
			json.text("ifname", finding.device);
		json.text("level", word(finding.level));
		json.text("text", finding.what);
		if (!finding.todo.empty())
			json.text("do", finding.todo);
		json.close();
	}
	json.close_document();
}

Exit verdict(const std::vector<Finding> &findings)
{
	Level worst = Level::ok;

	for (const Finding &finding : findings)
		worst = std::max(worst, finding.level);
	return worst == Level::ok     ? Exit::good
	       : worst == Level::warn ? Exit::warnings
				      : Exit::failures;
}

} // namespace srnicctl
