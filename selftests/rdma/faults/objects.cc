// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA netlink, as far as a test needs it.
#include "objects.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

template <class Do> void for_each_message(std::vector<uint8_t> &octets, Do what)
{
	for (size_t at = 0; at + NLMSG_HDRLEN <= octets.size();) {
		auto *header = reinterpret_cast<nlmsghdr *>(octets.data() + at);

		what(header);
		at += std::max<size_t>(NLMSG_HDRLEN, NLMSG_ALIGN(header->nlmsg_len));
	}
}

class Request {
public:
	Request(int command, int flags)
	{
		nlmsghdr header{};

		header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
		header.nlmsg_flags = NLM_F_REQUEST | flags;
		header.nlmsg_seq = 1;
		octets.resize(NLMSG_HDRLEN);
		memcpy(octets.data(), &header, sizeof(header));
		fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	}
	~Request() { close(fd); }
	Request(const Request &) = delete;

	void add(int type, const void *value, size_t len)
	{
		const nlattr header = {static_cast<uint16_t>(NLA_HDRLEN + len),
				       static_cast<uint16_t>(type)};
		const size_t at = octets.size();

		octets.resize(at + NLA_HDRLEN + NLA_ALIGN(len));
		memcpy(octets.data() + at, &header, sizeof(header));
		memcpy(octets.data() + at + NLA_HDRLEN, value, len);
	}
	void add(int type, const std::string &value) { add(type, value.c_str(), value.size() + 1); }

	// Sends the request; 0 or an errno.
	int ask()
	{
		nlmsghdr *header = reinterpret_cast<nlmsghdr *>(octets.data());

		header->nlmsg_len = octets.size();
		return ::send(fd, octets.data(), octets.size(), 0) < 0 ? errno : 0;
	}
	// The next datagram of the answer, without the receiver's port, which differs between
	// sockets.
	std::vector<uint8_t> answer()
	{
		std::vector<uint8_t> out(1 << 15);
		const ssize_t len = recv(fd, out.data(), out.size(), 0);

		out.resize(len > 0 ? len : 0);
		for_each_message(out, [](nlmsghdr *header) { header->nlmsg_pid = 0; });
		return out;
	}
	// All of a dump: one datagram per device.
	std::vector<uint8_t> dump()
	{
		std::vector<uint8_t> all;

		for (bool done = ask(); !done;) {
			auto part = answer();

			done = part.empty();
			for_each_message(part, [&](nlmsghdr *header) {
				done |= header->nlmsg_type == NLMSG_DONE ||
					header->nlmsg_type == NLMSG_ERROR;
			});
			all.insert(all.end(), part.begin(), part.end());
		}
		return all;
	}

private:
	int fd;
	std::vector<uint8_t> octets;
};

// The errno in an NLMSG_ERROR; EPROTO if it is another message; ENOBUFS if there was no memory for
// an answer, which says nothing about the request.
int acknowledged(Request &request)
{
	int error = request.ask();

	if (error)
		return error;
	const auto answer = request.answer();
	if (answer.empty())
		return ENOBUFS;
	const auto *header = reinterpret_cast<const nlmsghdr *>(answer.data());
	if (answer.size() < NLMSG_LENGTH(sizeof(nlmsgerr)) || header->nlmsg_type != NLMSG_ERROR)
		return EPROTO;
	memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof(error));
	return -error;
}

// The device's index, if this message is about the device of that name.
uint32_t index_in(const nlmsghdr *header, const std::string &name)
{
	const auto *from = reinterpret_cast<const uint8_t *>(header);
	uint32_t index = UINT32_MAX;

	for (size_t at = NLMSG_HDRLEN; at + NLA_HDRLEN <= header->nlmsg_len;) {
		const auto *attr = reinterpret_cast<const nlattr *>(from + at);

		if (attr->nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
			memcpy(&index, attr + 1, sizeof(index));
		if (attr->nla_type == RDMA_NLDEV_ATTR_DEV_NAME &&
		    name == reinterpret_cast<const char *>(attr + 1))
			return index;
		at += std::max<size_t>(NLA_HDRLEN, NLA_ALIGN(attr->nla_len));
	}
	return UINT32_MAX;
}

uint32_t index_of(const std::string &name)
{
	auto devices = Request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP).dump();
	uint32_t index = UINT32_MAX;

	for_each_message(devices, [&](const nlmsghdr *header) {
		index = std::min(index, index_in(header, name));
	});
	return index;
}

} // namespace

std::vector<uint8_t> all_objects() { return Request(RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP).dump(); }

int link_add(const std::string &name, const std::string &netdev)
{
	Request request(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);

	request.add(RDMA_NLDEV_ATTR_DEV_NAME, name);
	request.add(RDMA_NLDEV_ATTR_LINK_TYPE, "srnic");
	request.add(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	const int error = acknowledged(request);
	return error == ENOBUFS && index_of(name) != UINT32_MAX ? 0 : error;
}

int link_delete(const std::string &name)
{
	Request request(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
	const uint32_t index = index_of(name);

	request.add(RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	return acknowledged(request);
}
