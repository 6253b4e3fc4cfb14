// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Callbacks of libmnl, the end of an answer, and sockets.
#include "netlink.hh"

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace srnicctl {
namespace {

// libmnl's callbacks are called from C, so nothing may be thrown through them.
template <class List, class Item> int append(List &list, const Item *item)
{
	try {
		list.emplace_back(item);
		return MNL_CB_OK;
	} catch (const std::bad_alloc &) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
}

int add_attribute(const nlattr *attribute, void *list)
{
	return append(*static_cast<std::vector<const nlattr *> *>(list), attribute);
}

int add_message(const nlmsghdr *message, void *list)
{
	return append(*static_cast<std::vector<Message> *>(list), message);
}

// NLMSG_ERROR and NLMSG_DONE begin with an error or 0. libmnl does not look for that of a dump,
// which is in NLMSG_DONE.
int end_answer(const nlmsghdr *message, void *)
{
	int error = message->nlmsg_type == NLMSG_ERROR ? -EBADMSG : 0; // if it is too short

	if (mnl_nlmsg_get_payload_len(message) >= sizeof(error))
		memcpy(&error, mnl_nlmsg_get_payload(message), sizeof(error));
	errno = -error;
	return error ? MNL_CB_ERROR : MNL_CB_STOP;
}

} // namespace

// ---- attributes ----

Attributes::Attributes(const nlattr *nest)
{
	if (mnl_attr_parse_nested(nest, add_attribute, &list) < 0)
		throw NetlinkError{errno};
}

Attributes::Attributes(const nlmsghdr *message, size_t header)
{
	if (mnl_nlmsg_get_payload_len(message) < header)
		return;
	if (mnl_attr_parse(message, static_cast<unsigned int>(header), add_attribute, &list) < 0)
		throw NetlinkError{errno};
}

const nlattr *Attributes::find(uint16_t type, mnl_attr_data_type as) const
{
	for (const nlattr *attribute : list)
		if (mnl_attr_get_type(attribute) == type)
			return mnl_attr_validate(attribute, as) < 0 ? nullptr : attribute;
	return nullptr;
}

std::optional<uint8_t> Attributes::u8(uint16_t type) const
{
	const nlattr *attribute = find(type, MNL_TYPE_U8);

	return attribute ? std::optional(mnl_attr_get_u8(attribute)) : std::nullopt;
}

std::optional<uint32_t> Attributes::u32(uint16_t type) const
{
	const nlattr *attribute = find(type, MNL_TYPE_U32);

	return attribute ? std::optional(mnl_attr_get_u32(attribute)) : std::nullopt;
}

std::optional<uint64_t> Attributes::u64(uint16_t type) const
{
	const nlattr *attribute = find(type, MNL_TYPE_U64);

	return attribute ? std::optional(mnl_attr_get_u64(attribute)) : std::nullopt;
}

std::optional<std::string> Attributes::text(uint16_t type) const
{
	const nlattr *attribute = find(type, MNL_TYPE_NUL_STRING);

	return attribute ? std::optional<std::string>(mnl_attr_get_str(attribute)) : std::nullopt;
}

Attributes Attributes::nest(uint16_t type) const
{
	const nlattr *attribute = find(type, MNL_TYPE_NESTED);

	return attribute ? Attributes(attribute) : Attributes();
}

// ---- messages ----

Message::Message(const nlmsghdr *message)
	: bytes(reinterpret_cast<const char *>(message),
		reinterpret_cast<const char *>(message) + message->nlmsg_len)
{
}

Request::Request(uint16_t type, uint16_t flags)
{
	mnl_nlmsg_put_header(room.data());
	header()->nlmsg_type = type;
	header()->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

// Names are short, so only an impossibly long argument does not fit.
void Request::check(bool fits) const
{
	if (!fits)
		throw NetlinkError{EMSGSIZE};
}

Request &Request::u8(uint16_t type, uint8_t value)
{
	check(mnl_attr_put_u8_check(header(), room.size(), type, value));
	return *this;
}

Request &Request::u32(uint16_t type, uint32_t value)
{
	check(mnl_attr_put_u32_check(header(), room.size(), type, value));
	return *this;
}

Request &Request::text(uint16_t type, const std::string &value)
{
	check(mnl_attr_put_strz_check(header(), room.size(), type, value.c_str()));
	return *this;
}

nlattr *Request::open(uint16_t type)
{
	nlattr *nest = mnl_attr_nest_start_check(header(), room.size(), type);

	check(nest);
	return nest;
}

// ---- asking ----

// Every request asks for an acknowledgment, which ends the answer; a dump's end is its own message.
std::vector<Message> Netlink::ask_once(Bus bus, Request &request)
{
	std::array<mnl_cb_t, NLMSG_DONE + 1> control{};
	std::vector<Message> messages;
	int more = MNL_CB_OK;

	control[NLMSG_ERROR] = control[NLMSG_DONE] = end_answer;
	request.header()->nlmsg_seq = ++sequence;
	send(bus, request.header());
	while (more > MNL_CB_STOP) {
		std::span<const char> data = receive(bus);

		more = mnl_cb_run2(data.data(), data.size(), sequence, 0, add_message, &messages,
				   control.data(), control.size());
		if (more < 0)
			throw NetlinkError{errno};
	}
	return messages;
}

// EINTR: what was listed has changed meanwhile.
std::vector<Message> Netlink::ask(Bus bus, Request &request)
{
	for (int tries = 0;; tries++) {
		try {
			return ask_once(bus, request);
		} catch (const NetlinkError &error) {
			forget(bus);
			if (error.code != EINTR || tries == 3)
				throw;
		}
	}
}

// ---- sockets ----

mnl_socket *NetlinkSockets::socket(Bus bus)
{
	auto &socket = sockets[bus];

	if (socket)
		return socket.get();
	socket.reset(mnl_socket_open2(static_cast<int>(bus), SOCK_CLOEXEC));
	if (!socket)
		throw NetlinkError{errno};
	if (mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
		int code = errno;

		socket.reset();
		throw NetlinkError{code};
	}
	return socket.get();
}

void NetlinkSockets::send(Bus bus, const nlmsghdr *request)
{
	if (mnl_socket_sendto(socket(bus), request, request->nlmsg_len) < 0)
		throw NetlinkError{errno};
}

std::span<const char> NetlinkSockets::receive(Bus bus)
{
	ssize_t n = mnl_socket_recvfrom(socket(bus), buffer.data(), buffer.size());

	if (n < 0)
		throw NetlinkError{errno};
	return {buffer.data(), static_cast<size_t>(n)};
}

} // namespace srnicctl
