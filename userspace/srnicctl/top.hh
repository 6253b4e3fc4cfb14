// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl top`: rates of devices and connections between two snapshots.
#pragma once

#include "json.hh"
#include "snapshot.hh"

namespace srnicctl {

// A row: a device, or one of its connections. Rates are per second.
struct Rates {
	const Device *device;
	const Connection *connection = nullptr;
	double tx_octets = 0, rx_octets = 0;
	double tx_fpdus = 0, rx_fpdus = 0;   // of devices
	double sends = 0;		     // of connections: requests completed
	std::optional<double> receives = {}; // likewise, taken; nothing with a shared queue
};

// Devices in their order, each followed by its connections, the busiest first. What was not there
// before counts from 0. Valid as long as `after`.
std::vector<Rates> rates_between(const std::vector<Device> &before,
				 const std::vector<Device> &after, double seconds);

std::string top_text(const std::vector<Rates> &rates);
void top_json(Json &json, const std::vector<Rates> &rates);

} // namespace srnicctl
