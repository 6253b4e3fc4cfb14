// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Differences of counters, and rows of them as text and JSON.
#include "top.hh"

#include "show.hh"
#include "text.hh"

#include <algorithm>

namespace srnicctl {
namespace {

const Device *same(const std::vector<Device> &devices, const Device &device)
{
	for (const Device &other : devices)
		if (other.rdma.index == device.rdma.index)
			return &other;
	return nullptr;
}

using ByNumber = std::map<uint32_t, const Connection *>;

ByNumber by_number(const Device *device)
{
	ByNumber connections;

	if (device)
		for (const Connection &connection : device->connections)
			connections[connection.qp.number] = &connection;
	return connections;
}

const Connection *same(const ByNumber &connections, const Connection &connection)
{
	auto found = connections.find(connection.qp.number);

	return found == connections.end() ? nullptr : found->second;
}

double counter(const Device *device, const std::string &name)
{
	if (!device || !device->counters.contains(name))
		return 0;
	return double(device->counters.at(name));
}

Rates rates_of(const Device *before, const Device &after, double seconds)
{
	auto rate = [&](const char *name) {
		return std::max(0.0, counter(&after, name) - counter(before, name)) / seconds;
	};

	return {.device = &after,
		.tx_octets = rate("tx_octets"),
		.rx_octets = rate("rx_octets"),
		.tx_fpdus = rate("tx_fpdus"),
		.rx_fpdus = rate("rx_fpdus")};
}

// Octets are counted anew for each connection of a QP: the next one has counted fewer. Requests
// have counters of 32 bits, which go on.
Rates rates_of(const Device &device, const Connection *before, const Connection &after,
	       double seconds)
{
	auto old = [&](const char *name) { return before ? before->figure(name) : 0; };
	bool goes_on = old("tx_octets") <= after.figure("tx_octets") &&
		       old("rx_octets") <= after.figure("rx_octets");
	auto octets = [&](const char *name) {
		return double(after.figure(name) - (goes_on ? old(name) : 0)) / seconds;
	};
	auto requests = [&](const char *name) {
		return double(uint32_t(after.figure(name) - old(name))) / seconds;
	};
	Rates rates = {.device = &device,
		       .connection = &after,
		       .tx_octets = octets("tx_octets"),
		       .rx_octets = octets("rx_octets"),
		       .sends = requests("sq_done")};

	if (!after.figure("srq"))
		rates.receives = requests("rq_taken");
	return rates;
}

double work(const Rates &rates)
{
	return rates.tx_octets + rates.rx_octets + rates.sends + rates.receives.value_or(0);
}

std::vector<std::string> cells(const Rates &rates)
{
	const Connection *connection = rates.connection;
	std::string device = clean(rates.device->rdma.name);

	if (!connection)
		return {device,
			"all",
			counted(rates.device->connections.size(), "QP"),
			"",
			quantity(rates.tx_octets),
			quantity(rates.rx_octets),
			quantity(rates.tx_fpdus),
			quantity(rates.rx_fpdus),
			"",
			""};
	return {device,
		std::to_string(connection->qp.number),
		connection->there ? connection->there->text() : connection->qp.state,
		owner_text(connection->qp.owner, connection->program),
		quantity(rates.tx_octets),
		quantity(rates.rx_octets),
		"",
		"",
		quantity(rates.sends),
		rates.receives ? quantity(*rates.receives) : ""};
}

void write_row(Json &json, const Rates &rates)
{
	const Connection *connection = rates.connection;

	json.open_object();
	json.number("ifindex", rates.device->rdma.index);
	json.text("ifname", rates.device->rdma.name);
	if (connection) {
		json.number("lqpn", connection->qp.number);
		write_owner(json, connection->qp.owner, connection->program);
		write_addresses(json, *connection);
	}
	json.real("tx_octets", rates.tx_octets);
	json.real("rx_octets", rates.rx_octets);
	if (connection) {
		json.real("sends", rates.sends);
		if (rates.receives)
			json.real("receives", *rates.receives);
	} else {
		json.real("tx_fpdus", rates.tx_fpdus);
		json.real("rx_fpdus", rates.rx_fpdus);
	}
	json.close();
}

} // namespace

std::vector<Rates> rates_between(const std::vector<Device> &before,
				 const std::vector<Device> &after, double seconds)
{
	std::vector<Rates> all;

	for (const Device &device : after) {
		const Device *old = same(before, device);

		ByNumber connections = by_number(old);

		all.push_back(rates_of(old, device, seconds));
		auto first = static_cast<ptrdiff_t>(all.size());
		for (const Connection &connection : device.connections)
			all.push_back(rates_of(device, same(connections, connection), connection,
					       seconds));
		std::stable_sort(all.begin() + first, all.end(),
				 [](const auto &a, const auto &b) { return work(a) > work(b); });
	}
	return all;
}

std::string top_text(const std::vector<Rates> &rates)
{
	std::vector<std::vector<std::string>> rows = {
		{"DEVICE", "QP", "PEER", "PROGRAM", "TX B/s", "RX B/s", "TX FPDU/s", "RX FPDU/s",
		 "SENDS/s", "RECVS/s"},
	};

	for (const Rates &row : rates)
		rows.push_back(cells(row));
	return table(rows, 4);
}

void top_json(Json &json, const std::vector<Rates> &rates)
{
	json.open_document("rates");
	for (const Rates &row : rates)
		write_row(json, row);
	json.close_document();
}

} // namespace srnicctl
