// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl show`: devices, their settings, listeners, connections.
#pragma once

#include "json.hh"
#include "snapshot.hh"

namespace srnicctl {

std::string show_text(const std::vector<Device> &devices);
// A line for each device and QP (short.cc).
std::string short_text(const std::vector<Device> &devices);
void show_json(Json &json, const std::vector<Device> &devices);

// What `get` writes, too: the members of an object.
void write_settings(Json &json, const Settings &settings);
// What `top` writes of a connection, too: its owner, and where it goes.
void write_owner(Json &json, const Owner &owner, const std::string &program);
void write_addresses(Json &json, const Connection &connection);
// "rping (123)", "[nvme]" or "".
std::string owner_text(const Owner &owner, const std::string &program);

} // namespace srnicctl
