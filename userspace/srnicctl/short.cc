// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl show --short`: a table.
#include "show.hh"

#include "text.hh"

namespace srnicctl {
namespace {

using Row = std::vector<std::string>;

Row row_of(const Device &device)
{
	return {clean(device.rdma.name),
		"all",
		device.port.state,
		clean(device.port.netdev),
		counted(device.connections.size(), "QP"),
		"",
		"",
		"",
		""};
}

std::string fill(uint64_t n, uint64_t of) { return std::to_string(n) + "/" + std::to_string(of); }

Row row_of(const Device &device, const Connection &connection)
{
	return {clean(device.rdma.name),
		std::to_string(connection.qp.number),
		connection.qp.state,
		connection.there ? connection.there->text() : "",
		owner_text(connection.qp.owner, connection.program),
		fill(connection.sends(), connection.figure("sq_entries")),
		connection.figure("srq")
			? "shared"
			: fill(connection.receives(), connection.figure("rq_entries")),
		quantity(double(connection.figure("tx_octets"))),
		quantity(double(connection.figure("rx_octets")))};
}

} // namespace

std::string short_text(const std::vector<Device> &devices)
{
	std::vector<Row> rows = {
		{"DEVICE", "QP", "STATE", "PEER", "PROGRAM", "SENDS", "RECVS", "TX B", "RX B"}};

	for (const Device &device : devices) {
		rows.push_back(row_of(device));
		for (const Connection &connection : device.connections)
			rows.push_back(row_of(device, connection));
	}
	return table(rows, 5);
}

} // namespace srnicctl
