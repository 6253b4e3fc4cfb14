// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One predicate for each kind of object.
#include "filter.hh"

namespace srnicctl {
namespace {

bool is_peer(const std::optional<Address> &there, const Address &peer)
{
	return there && there->host == peer.host && (!peer.port || there->port == peer.port);
}

bool matches(const Connection &connection, const Filter &filter)
{
	if (filter.pid && connection.qp.owner.pid != filter.pid)
		return false;
	if (filter.qp && connection.qp.number != *filter.qp)
		return false;
	return !filter.peer || is_peer(connection.there, *filter.peer);
}

// What is no QP has neither a peer nor a QP's number.
bool matches(const Owner &owner, const Filter &filter)
{
	return !filter.peer && !filter.qp && owner.pid == filter.pid;
}

bool is_empty(const Device &device)
{
	return device.connections.empty() && device.listening.empty() && device.cqs.empty() &&
	       device.srqs.empty();
}

} // namespace

void keep(std::vector<Device> &devices, const Filter &filter)
{
	const auto other_queue = [&](const Queue &queue) {
		return !matches(queue.queue.owner, filter);
	};

	for (Device &device : devices) {
		std::erase_if(device.connections,
			      [&](const Connection &qp) { return !matches(qp, filter); });
		std::erase_if(device.listening, [&](const Listening &listening) {
			return !matches(listening.owner, filter);
		});
		std::erase_if(device.cqs, other_queue);
		std::erase_if(device.srqs, other_queue);
	}
	std::erase_if(devices, is_empty);
}

} // namespace srnicctl
