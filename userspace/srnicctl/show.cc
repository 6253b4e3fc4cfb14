// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Text, from parts of lines to devices, and JSON in the same order.
#include "show.hh"

#include "ending.hh"
#include "pairing.hh"
#include "text.hh"

#include <sstream>

namespace srnicctl {
namespace {

using Kind = Setting::Kind;

// ---- text ----

std::string setting_text(const Setting &setting, const std::string &value)
{
	std::string shown = clean(value);

	if (setting.kind == Kind::flag)
		shown = value == "0" ? "off" : "on";
	else if (value.empty())
		shown = "none";
	return std::string(setting.name) + " " + shown;
}

std::string settings_text(const Settings &settings)
{
	std::vector<std::string> parts;

	for (const auto &[setting, value] : settings)
		parts.push_back(setting_text(*setting, value));
	if (parts.empty())
		return "settings not visible: /sys is of another network namespace";
	return joined(parts, ", ");
}

std::string on_netdev(const RdmaPort &port)
{
	if (port.netdev.empty())
		return "on an interface of another network namespace";
	return "on " + clean(port.netdev);
}

std::string listening_text(const Listening &listening, const std::string &port_map)
{
	uint16_t rdma = listening.address.port, tcp = tcp_port(port_map, rdma);
	std::string text = "listening on " + listening.address.text();

	if (tcp != rdma)
		text += " (TCP port " + std::to_string(tcp) + ")";
	return text + " " + owner_text(listening.owner, listening.program);
}

std::string place(const std::optional<Address> &address)
{
	return address ? address->text() : "unknown";
}

std::string heading(const Connection &connection)
{
	std::vector<std::string> parts = {connection.qp.state};
	std::string owner = owner_text(connection.qp.owner, connection.program);

	if (connection.connected()) {
		parts.push_back(connection.initiator() ? "initiator" : "responder");
		parts.push_back(place(connection.here) +
				(connection.initiator() ? " -> " : " <- ") +
				place(connection.there));
	}
	if (!owner.empty())
		parts.push_back(owner);
	return "QP " + std::to_string(connection.qp.number) + ": " + joined(parts, ", ");
}

std::string markers_text(const Connection &connection)
{
	bool sent = connection.figure("tx_markers"), received = connection.figure("rx_markers");

	if (sent && received)
		return "markers both ways";
	if (sent || received)
		return sent ? "markers sent" : "markers received";
	return "no markers";
}

std::string size_text(const Connection &connection)
{
	std::string size = std::to_string(connection.figure("mulpdu")) + " bytes";

	if (connection.rdmatcp())
		return "segments of up to " + size;
	return std::string(connection.figure("large_fpdus") ? "large FPDUs" : "FPDUs") +
	       " with up to " + size;
}

std::string agreement_text(const Connection &connection)
{
	std::vector<std::string> parts = {connection.rdmatcp() ? "RDMA/TCP" : "MPA",
					  connection.figure("crc") ? "CRC" : "no CRC"};

	if (connection.ib())
		parts.push_back("acknowledged");
	else if (!connection.rdmatcp())
		parts.push_back(markers_text(connection));
	if (connection.figure("mulpdu"))
		parts.push_back(size_text(connection));
	if (connection.figure("shortcut"))
		parts.push_back("without TCP");
	parts.push_back("IRD " + std::to_string(connection.figure("ird")));
	parts.push_back("ORD " + std::to_string(connection.figure("ord")));
	return joined(parts, ", ");
}

std::string fill_text(uint64_t n, uint64_t of, const std::string &what)
{
	return std::to_string(n) + " of " + counted(of, what);
}

std::string queues_text(const Connection &connection)
{
	std::string receives = connection.figure("srq")
				       ? "receives from a shared queue"
				       : fill_text(connection.receives(),
						   connection.figure("rq_entries"), "receive");

	return fill_text(connection.sends(), connection.figure("sq_entries"), "send") + " and " +
	       receives + " posted; " + quantity(double(connection.figure("tx_octets"))) +
	       "B sent, " + quantity(double(connection.figure("rx_octets"))) + "B received";
}

std::string cq_text(const Queue &cq)
{
	std::string text = fill_text(cq.fill(), cq.figure("entries"), "completion") + " waiting, " +
			   std::to_string(cq.figure("peak")) + " at most";

	return cq.figure("overrun") ? text + ", some were lost" : text;
}

std::string srq_text(const Queue &srq)
{
	std::string text = fill_text(srq.fill(), srq.figure("entries"), "receive") + " posted";

	if (!srq.figure("limit"))
		return text;
	return text + ", event below " + std::to_string(srq.figure("limit"));
}

void write_queue(std::ostream &out, const char *kind, const Queue &queue, const std::string &text)
{
	std::string owner = owner_text(queue.queue.owner, queue.program);

	out << "  " << kind << " " << queue.queue.number << ": " << text
	    << (owner.empty() ? "" : ", ") << owner << "\n";
}

Ending ending_of(const Connection &connection)
{
	return {connection.qp.word("end"), connection.figure("end_detail"),
		connection.qp.word("end_check")};
}

bool ended(const Connection &connection)
{
	return connection.connected() && connection.qp.word("end") != "none";
}

Pairing pairing_of(const Connection &connection)
{
	return {connection.figure("pairing"), connection.figure("pairing_reason"),
		connection.figure("pairing_error")};
}

void write_connection(std::ostream &out, const Connection &connection)
{
	out << "  " << heading(connection) << "\n";
	if (connection.connected())
		out << "    " << agreement_text(connection) << "\n    " << queues_text(connection)
		    << "\n";
	if (ended(connection))
		out << "    ended: " << in_words(ending_of(connection)) << "\n";
	if (pairing_of(connection).waits())
		out << "    " << in_words(pairing_of(connection)) << "\n";
}

void write_device(std::ostream &out, const Device &device)
{
	std::string port_map = value_of(device.settings, "port_map");

	out << clean(device.rdma.name) << ": type " << device.rdma.type() << " "
	    << on_netdev(device.port) << ", " << device.port.state << ", "
	    << counted(device.connections.size(), "QP") << "\n"
	    << "  " << settings_text(device.settings) << "\n";
	for (const Listening &listening : device.listening)
		out << "  " << listening_text(listening, port_map) << "\n";
	for (const Connection &connection : device.connections)
		write_connection(out, connection);
	for (const Queue &cq : device.cqs)
		write_queue(out, "CQ", cq, cq_text(cq));
	for (const Queue &srq : device.srqs)
		write_queue(out, "SRQ", srq, srq_text(srq));
}

// ---- JSON ----

void write_setting(Json &json, const Setting &setting, const std::string &value)
{
	switch (setting.kind) {
	case Kind::flag:
		return json.flag(setting.name, value != "0");
	case Kind::number:
		return json.number(setting.name, strtoull(value.c_str(), nullptr, 10));
	default:
		return json.text(setting.name, value);
	}
}

// An object of each, whose content `write` writes.
template <class Entry, class Write>
void write_array(Json &json, const char *name, const std::vector<Entry> &entries, Write write)
{
	json.open_array(name);
	for (const Entry &entry : entries) {
		json.open_object();
		write(json, entry);
		json.close();
	}
	json.close();
}

void write_listening(Json &json, const Listening &listening, const std::string &port_map)
{
	json.text("src-addr", listening.address.text());
	json.number("tcp-port", tcp_port(port_map, listening.address.port));
	write_owner(json, listening.owner, listening.program);
}

void write_agreement(Json &json, const Connection &connection)
{
	json.text("role", connection.initiator() ? "initiator" : "responder");
	json.text("framing", connection.ib() ? "ib" : connection.rdmatcp() ? "rdmatcp" : "mpa");
	for (const char *name : {"crc", "tx_markers", "rx_markers", "large_fpdus", "shortcut"})
		json.flag(name, connection.figure(name));
	for (const char *name : {"mulpdu", "ird", "ord", "tx_octets", "rx_octets"})
		json.number(name, connection.figure(name));
}

void write_queues(Json &json, const Connection &connection)
{
	json.open_object("sq");
	json.number("entries", connection.figure("sq_entries"));
	json.number("outstanding", connection.sends());
	json.number("completed", connection.figure("sq_done"));
	json.close();
	json.flag("srq", connection.figure("srq"));
	if (connection.figure("srq"))
		return;
	json.open_object("rq");
	json.number("entries", connection.figure("rq_entries"));
	json.number("available", connection.receives());
	json.number("taken", connection.figure("rq_taken"));
	json.close();
}

void write_queue(Json &json, const char *number, const Queue &queue)
{
	json.number(number, queue.queue.number);
	write_owner(json, queue.queue.owner, queue.program);
	json.number("entries", queue.figure("entries"));
}

void write_cq(Json &json, const Queue &cq)
{
	write_queue(json, "cqn", cq);
	json.number("waiting", cq.fill());
	for (const char *name : {"peak", "produced"})
		json.number(name, cq.figure(name));
	json.flag("overrun", cq.figure("overrun"));
}

void write_srq(Json &json, const Queue &srq)
{
	write_queue(json, "srqn", srq);
	json.number("available", srq.fill());
	for (const char *name : {"taken", "limit"})
		json.number(name, srq.figure(name));
}

void write_end(Json &json, const Connection &connection)
{
	Ending ending = ending_of(connection);

	json.open_object("end");
	json.text("reason", ending.reason);
	if (!ending.check.empty())
		json.text("check", ending.check);
	else
		json.number("detail", ending.detail);
	json.text("text", in_words(ending));
	json.close();
}

void write_pairing(Json &json, const Connection &connection)
{
	Pairing pairing = pairing_of(connection);

	json.open_object("pairing");
	json.number("failures", connection.figure("pairing_failures"));
	json.number("reason", pairing.reason);
	json.number("error", pairing.error);
	json.text("text", in_words(pairing));
	json.close();
}

void write_qp(Json &json, const Connection &connection)
{
	json.number("lqpn", connection.qp.number);
	json.text("state", connection.qp.state);
	write_owner(json, connection.qp.owner, connection.program);
	write_addresses(json, connection);
	if (connection.connected())
		write_agreement(json, connection);
	write_queues(json, connection);
	if (ended(connection))
		write_end(json, connection);
	if (pairing_of(connection).waits())
		write_pairing(json, connection);
}

void write_device(Json &json, const Device &device)
{
	std::string port_map = value_of(device.settings, "port_map");

	json.open_object();
	json.number("ifindex", device.rdma.index);
	json.text("ifname", device.rdma.name);
	json.text("type", device.rdma.type());
	json.text("state", device.port.state);
	json.text("physical_state", device.port.physical_state);
	if (device.port.netdev_index) {
		json.text("netdev", device.port.netdev);
		json.number("netdev_index", *device.port.netdev_index);
	}
	json.open_object("settings");
	write_settings(json, device.settings);
	json.close();
	write_array(json, "listening", device.listening,
		    [&](Json &out, const Listening &listening) {
			    write_listening(out, listening, port_map);
		    });
	write_array(json, "connections", device.connections, write_qp);
	write_array(json, "cqs", device.cqs, write_cq);
	write_array(json, "srqs", device.srqs, write_srq);
	json.close();
}

} // namespace

void write_settings(Json &json, const Settings &settings)
{
	for (const auto &[setting, value] : settings)
		write_setting(json, *setting, value);
}

std::string owner_text(const Owner &owner, const std::string &program)
{
	if (!owner.pid)
		return owner.kernel_name.empty() ? "" : "[" + clean(owner.kernel_name) + "]";
	return clean(program.empty() ? "process" : program) + " (" + std::to_string(*owner.pid) +
	       ")";
}

void write_owner(Json &json, const Owner &owner, const std::string &program)
{
	if (owner.pid)
		json.number("pid", *owner.pid);
	if (!program.empty())
		json.text("comm", program);
}

void write_addresses(Json &json, const Connection &connection)
{
	if (connection.here)
		json.text("src-addr", connection.here->text());
	if (connection.there)
		json.text("dst-addr", connection.there->text());
}

std::string show_text(const std::vector<Device> &devices)
{
	std::ostringstream out;

	for (const Device &device : devices)
		write_device(out, device);
	return out.str();
}

void show_json(Json &json, const std::vector<Device> &devices)
{
	json.open_document("devices");
	for (const Device &device : devices)
		write_device(json, device);
	json.close_document();
}

} // namespace srnicctl
