// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Netlink by libmnl: requests, answers, and bounded access to their attributes. The answers come
// from an interface, so that tests can give them.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace srnicctl {

enum class Bus {
	rdma = NETLINK_RDMA,
	route = NETLINK_ROUTE,
	generic = NETLINK_GENERIC,
	netfilter = NETLINK_NETFILTER,
};

// The kernel's refusal, or a failure of the socket.
struct NetlinkError {
	int code; // errno
};

// The attributes of a message or of a nest, in their order. Valid as long as the message.
class Attributes {
public:
	Attributes() = default;
	explicit Attributes(const nlattr *nest);
	Attributes(const nlmsghdr *message, size_t header);

	// The first of this type; null if there is none, or it is shorter than its type demands.
	const nlattr *find(uint16_t type, mnl_attr_data_type as) const;
	std::optional<uint8_t> u8(uint16_t type) const;
	std::optional<uint32_t> u32(uint16_t type) const;
	std::optional<uint64_t> u64(uint16_t type) const;
	std::optional<std::string> text(uint16_t type) const;
	// Of the nest of this type; empty if there is none.
	Attributes nest(uint16_t type) const;

	auto begin() const { return list.begin(); }
	auto end() const { return list.end(); }

private:
	std::vector<const nlattr *> list;
};

// One message of an answer.
class Message {
public:
	explicit Message(const nlmsghdr *message);

	const nlmsghdr *header() const { return reinterpret_cast<const nlmsghdr *>(bytes.data()); }
	// What follows netlink's header; null if the message is too short for it.
	template <class T> const T *payload() const
	{
		if (mnl_nlmsg_get_payload_len(header()) < sizeof(T))
			return nullptr;
		return static_cast<const T *>(mnl_nlmsg_get_payload(header()));
	}
	// family: octets of the family's header.
	Attributes attributes(size_t family = 0) const { return {header(), family}; }

private:
	std::vector<char> bytes;
};

// A request of up to 512 octets.
class Request {
public:
	Request(uint16_t type, uint16_t flags);

	nlmsghdr *header() { return reinterpret_cast<nlmsghdr *>(room.data()); }
	template <class T> T *family_header()
	{
		return static_cast<T *>(mnl_nlmsg_put_extra_header(header(), sizeof(T)));
	}
	Request &u8(uint16_t type, uint8_t value);
	Request &u32(uint16_t type, uint32_t value);
	Request &text(uint16_t type, const std::string &value);
	nlattr *open(uint16_t type);
	void close(nlattr *nest) { mnl_attr_nest_end(header(), nest); }

private:
	void check(bool fits) const;

	alignas(nlmsghdr) std::array<char, 512> room{};
};

class Netlink {
public:
	virtual ~Netlink() = default;

	// Sends the request and returns all messages of the answer. Throws NetlinkError.
	std::vector<Message> ask(Bus bus, Request &request);

protected:
	virtual void send(Bus bus, const nlmsghdr *request) = 0;
	// The next datagram, valid until the next call.
	virtual std::span<const char> receive(Bus bus) = 0;
	// Drops the rest of an answer that was not read to its end.
	virtual void forget(Bus bus) = 0;

private:
	std::vector<Message> ask_once(Bus bus, Request &request);

	uint32_t sequence = 0;
};

// Sockets, opened when they are first needed.
class NetlinkSockets : public Netlink {
protected:
	void send(Bus bus, const nlmsghdr *request) override;
	std::span<const char> receive(Bus bus) override;
	void forget(Bus bus) override { sockets.erase(bus); }

private:
	struct Close {
		void operator()(mnl_socket *socket) const { mnl_socket_close(socket); }
	};

	mnl_socket *socket(Bus bus);

	std::map<Bus, std::unique_ptr<mnl_socket, Close>> sockets;
	std::vector<char> buffer = std::vector<char>(32768);
};

} // namespace srnicctl
