// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Requests to the kernel's nldev, and its answers as structs. What an answer lacks stays empty, and
// numbers get the names that the rdma tool prints.
#include "rdma.hh"

#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <span>

namespace srnicctl {
namespace {

constexpr uint32_t only_port = 1;

Request request(uint16_t command, uint16_t flags = 0)
{
	return {static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)), flags};
}

// ---- numbers of the kernel that have names: as the rdma tool prints them ----

std::string name_of(std::span<const char *const> names, std::optional<uint8_t> number)
{
	if (!number)
		return "UNKNOWN";
	return *number < names.size() ? names[*number] : std::to_string(*number);
}

constexpr const char *port_states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
constexpr const char *physical_states[] = {"NOP",
					   "SLEEP",
					   "POLLING",
					   "DISABLED",
					   "PORT_CONFIGURATION_TRAINING",
					   "LINK_UP",
					   "LINK_ERROR_RECOVERY",
					   "PHY_TEST"};
constexpr const char *qp_states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
constexpr const char *cm_states[] = {
	"IDLE",	      "ADDR_QUERY", "ADDR_RESOLVED", "ROUTE_QUERY",    "ROUTE_RESOLVED", "CONNECT",
	"DISCONNECT", "ADDR_BOUND", "LISTEN",	     "DEVICE_REMOVAL", "DESTROYING"};

// ---- parts of messages ----

Owner owner_of(const Attributes &entry)
{
	return {entry.u32(RDMA_NLDEV_ATTR_RES_PID),
		entry.text(RDMA_NLDEV_ATTR_RES_KERN_NAME).value_or("")};
}

std::optional<Address> address_at(const Attributes &entry, uint16_t type)
{
	const nlattr *attribute = entry.find(type, MNL_TYPE_UNSPEC);

	if (!attribute)
		return std::nullopt;
	return address_of({static_cast<const char *>(mnl_attr_get_payload(attribute)),
			   mnl_attr_get_payload_len(attribute)});
}

std::optional<Figure> figure_of(const nlattr *attribute)
{
	switch (mnl_attr_get_type(attribute)) {
	case RDMA_NLDEV_ATTR_DRIVER_U32:
		if (mnl_attr_validate(attribute, MNL_TYPE_U32) >= 0)
			return mnl_attr_get_u32(attribute);
		break;
	case RDMA_NLDEV_ATTR_DRIVER_U64:
		if (mnl_attr_validate(attribute, MNL_TYPE_U64) >= 0)
			return mnl_attr_get_u64(attribute);
		break;
	case RDMA_NLDEV_ATTR_DRIVER_STRING:
		if (mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(attribute);
		break;
	}
	return std::nullopt;
}

// Between the name and the value: a hint how to print it, and what aligns it.
bool between(uint16_t type)
{
	return type == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE || type == RDMA_NLDEV_ATTR_PAD;
}

// Pairs of a name and a value.
std::map<std::string, Figure> driver_figures(const Attributes &table)
{
	std::map<std::string, Figure> figures;
	std::optional<std::string> name;

	for (const nlattr *attribute : table) {
		if (between(mnl_attr_get_type(attribute)))
			continue;
		std::optional<Figure> figure = figure_of(attribute);

		if (name && figure)
			figures.insert_or_assign(*name, *figure);
		if (!name && figure && std::holds_alternative<std::string>(*figure))
			name = std::get<std::string>(*figure);
		else
			name.reset();
	}
	return figures;
}

std::optional<RdmaQueue> queue_of(const Attributes &entry, uint16_t number)
{
	std::optional<uint32_t> its = entry.u32(number);

	if (!its)
		return std::nullopt;
	return RdmaQueue{*its, owner_of(entry), driver_figures(entry.nest(RDMA_NLDEV_ATTR_DRIVER))};
}

RdmaCmId cm_id_of(const Attributes &entry)
{
	return {name_of(cm_states, entry.u8(RDMA_NLDEV_ATTR_RES_STATE)),
		entry.u32(RDMA_NLDEV_ATTR_RES_LQPN), owner_of(entry),
		address_at(entry, RDMA_NLDEV_ATTR_RES_SRC_ADDR),
		address_at(entry, RDMA_NLDEV_ATTR_RES_DST_ADDR)};
}

// The entries of the tables of a dump.
std::vector<Attributes> entries_of(const std::vector<Message> &messages, uint16_t table)
{
	std::vector<Attributes> entries;

	for (const Message &message : messages)
		for (const nlattr *entry : message.attributes().nest(table))
			entries.emplace_back(entry);
	return entries;
}

// number: the attribute that has the queue's number.
std::vector<RdmaQueue> queues_of(const std::vector<Message> &messages, uint16_t table,
				 uint16_t number)
{
	std::vector<RdmaQueue> queues;

	for (const Attributes &entry : entries_of(messages, table))
		if (auto queue = queue_of(entry, number))
			queues.push_back(std::move(*queue));
	return queues;
}

Attributes only(const std::vector<Message> &messages)
{
	return messages.empty() ? Attributes() : messages.front().attributes();
}

Chardev chardev_of(const std::vector<Message> &messages)
{
	Attributes chardev = only(messages);
	auto name = chardev.text(RDMA_NLDEV_ATTR_CHARDEV_NAME);
	auto abi = chardev.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI);

	if (!name || !abi)
		throw NetlinkError{EBADMSG};
	return {*name, *abi, chardev.u32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID)};
}

} // namespace

std::optional<uint64_t> RdmaQueue::figure(const std::string &name) const
{
	auto found = driver.find(name);

	if (found == driver.end() || !std::holds_alternative<uint64_t>(found->second))
		return std::nullopt;
	return std::get<uint64_t>(found->second);
}

std::string RdmaQueue::word(const std::string &name) const
{
	auto found = driver.find(name);

	if (found == driver.end() || !std::holds_alternative<std::string>(found->second))
		return "";
	return std::get<std::string>(found->second);
}

std::vector<Message> Rdma::dump(uint16_t command, uint32_t device)
{
	Request all = request(command, NLM_F_DUMP);

	all.u32(RDMA_NLDEV_ATTR_DEV_INDEX, device);
	return ask(all);
}

std::vector<RdmaDevice> Rdma::devices()
{
	Request all = request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	std::vector<RdmaDevice> devices;

	for (const Message &message : ask(all)) {
		Attributes device = message.attributes();
		auto index = device.u32(RDMA_NLDEV_ATTR_DEV_INDEX);
		auto name = device.text(RDMA_NLDEV_ATTR_DEV_NAME);

		if (index && name)
			devices.push_back({*index, *name,
					   device.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL).value_or("")});
	}
	return devices;
}

RdmaPort Rdma::port(uint32_t device)
{
	Request one = request(RDMA_NLDEV_CMD_PORT_GET);

	one.u32(RDMA_NLDEV_ATTR_DEV_INDEX, device).u32(RDMA_NLDEV_ATTR_PORT_INDEX, only_port);
	auto messages = ask(one);
	Attributes port = only(messages);

	return {name_of(port_states, port.u8(RDMA_NLDEV_ATTR_PORT_STATE)),
		name_of(physical_states, port.u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE)),
		port.u32(RDMA_NLDEV_ATTR_NDEV_INDEX),
		port.text(RDMA_NLDEV_ATTR_NDEV_NAME).value_or("")};
}

std::optional<Chardev> Rdma::chardev(const std::string &type, std::optional<uint32_t> device)
{
	Request one = request(RDMA_NLDEV_CMD_GET_CHARDEV);

	one.text(RDMA_NLDEV_ATTR_CHARDEV_TYPE, type);
	if (device)
		one.u32(RDMA_NLDEV_ATTR_DEV_INDEX, *device);
	try {
		return chardev_of(ask(one));
	} catch (const NetlinkError &error) {
		if (error.code == EOPNOTSUPP)
			return std::nullopt;
		throw;
	}
}

std::vector<RdmaQp> Rdma::qps(uint32_t device)
{
	auto messages = dump(RDMA_NLDEV_CMD_RES_QP_GET, device);
	std::vector<RdmaQp> qps;

	for (const Attributes &entry : entries_of(messages, RDMA_NLDEV_ATTR_RES_QP))
		if (auto queue = queue_of(entry, RDMA_NLDEV_ATTR_RES_LQPN))
			qps.push_back({std::move(*queue),
				       name_of(qp_states, entry.u8(RDMA_NLDEV_ATTR_RES_STATE))});
	return qps;
}

std::vector<RdmaQueue> Rdma::cqs(uint32_t device)
{
	return queues_of(dump(RDMA_NLDEV_CMD_RES_CQ_GET, device), RDMA_NLDEV_ATTR_RES_CQ,
			 RDMA_NLDEV_ATTR_RES_CQN);
}

std::vector<RdmaQueue> Rdma::srqs(uint32_t device)
{
	return queues_of(dump(RDMA_NLDEV_CMD_RES_SRQ_GET, device), RDMA_NLDEV_ATTR_RES_SRQ,
			 RDMA_NLDEV_ATTR_RES_SRQN);
}

std::vector<RdmaCmId> Rdma::cm_ids(uint32_t device)
{
	auto messages = dump(RDMA_NLDEV_CMD_RES_CM_ID_GET, device);
	std::vector<RdmaCmId> cm_ids;

	for (const Attributes &entry : entries_of(messages, RDMA_NLDEV_ATTR_RES_CM_ID))
		cm_ids.push_back(cm_id_of(entry));
	return cm_ids;
}

std::map<std::string, uint64_t> Rdma::counters(uint32_t device)
{
	Request one = request(RDMA_NLDEV_CMD_STAT_GET);
	std::map<std::string, uint64_t> counters;

	one.u32(RDMA_NLDEV_ATTR_DEV_INDEX, device).u32(RDMA_NLDEV_ATTR_PORT_INDEX, only_port);
	auto messages = ask(one);
	for (const Attributes &entry : entries_of(messages, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)) {
		auto name = entry.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		auto value = entry.u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);

		if (name && value)
			counters[*name] = *value;
	}
	return counters;
}

std::optional<bool> Rdma::shared()
{
	Request one = request(RDMA_NLDEV_CMD_SYS_GET);
	auto messages = ask(one);
	auto mode = only(messages).u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);

	return mode ? std::optional(*mode != 0) : std::nullopt;
}

} // namespace srnicctl
