// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl doctor`: one check a function, each with what it found and what to do about it.
#pragma once

#include "exit.hh"
#include "json.hh"
#include "snapshot.hh"

namespace srnicctl {

enum class Level { ok, warn, fail };

struct Finding {
	Level level = Level::ok;
	std::string check;
	std::string what;
	std::string todo = ""; // empty if all is well
	std::string device = "";
};

// ---- for checks; findings here have no name yet ----

// What the kernel does not report.
Finding untold(const NetlinkError &error);
bool loaded(const System &system, const std::string &module);
// May this process open the file? well: what to say if so.
Finding judge_file(const System &system, const std::string &file, const std::string &well);

// ---- the machine (machine.cc) ----

Finding check_uverbs(System &system);
Finding check_rdma_cm(System &system);
Finding check_verbs_abi(System &system);
Finding check_namespaces(System &system);
Finding check_memlock(System &system);
Finding check_port_mapper(System &system);

// ---- modules (modules.cc) ----

Finding check_ib_core(System &system);
Finding check_module(System &system);
Finding check_installed_module(System &system);

// ---- other drivers (siw.cc) ----

Finding check_siw(System &system);

// ---- packet filters (firewall.cc) ----

Finding check_firewall(System &system);

// ---- the provider (provider.cc) ----

Finding check_provider(System &system);
Finding check_driver_file(System &system);

// ---- a device (device.cc) ----

Finding check_abi(System &system, const Device &device);
Finding check_device_file(System &system, const Device &device);
Finding check_interface(System &system, const Device &device);
Finding check_ports(System &system, const Device &device);
Finding check_startups(System &system, const Device &device);
Finding check_errors(System &system, const Device &device);
// Only if its interface is in this network namespace.
Finding check_mtu(System &system, const Device &device);
Finding check_addresses(System &system, const Device &device);
Finding check_gid(System &system, const Device &device); // of type srnic_ib
Finding check_offloads(System &system, const Device &device);

// ---- all of them (doctor.cc) ----

// Of the machine, and of all devices or the one of this name. Throws Failure.
std::vector<Finding> examine(System &system, const std::string &device);
std::string doctor_text(const std::vector<Finding> &findings);
void doctor_json(Json &json, const std::vector<Finding> &findings);
Exit verdict(const std::vector<Finding> &findings);

} // namespace srnicctl
