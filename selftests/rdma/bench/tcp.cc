// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "../shared/processor.hh"
#include "tcp.hh"

namespace {

class Socket {
public:
	int fd;

	explicit Socket(int from) : fd(from) { need(fd >= 0, "socket"); }
	~Socket() { close(fd); }
	Socket(const Socket &) = delete;

	void write(const std::vector<uint8_t> &octets) const
	{
		for (size_t done = 0; done < octets.size();) {
			const ssize_t n = ::write(fd, octets.data() + done, octets.size() - done);

			need(n > 0, "write");
			done += static_cast<size_t>(n);
		}
	}
	void read(std::vector<uint8_t> &octets) const
	{
		need(recv(fd, octets.data(), octets.size(), MSG_WAITALL) ==
			     static_cast<ssize_t>(octets.size()),
		     "recv");
	}
};

// MSG_ZEROCOPY: pages are TCP's until a message in the error queue gives them back.
class Lender {
	static constexpr unsigned most = 16;
	const Socket &socket_;
	unsigned lent_ = 0;

	// Each message names a range of calls.
	void take_back()
	{
		alignas(cmsghdr) char control[128];
		msghdr message{};

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		if (recvmsg(socket_.fd, &message, MSG_ERRQUEUE) < 0) {
			pollfd wait = {socket_.fd, 0, 0};

			need(errno == EAGAIN && poll(&wait, 1, -1) > 0, "MSG_ERRQUEUE");
			return;
		}
		const auto *error =
			reinterpret_cast<sock_extended_err *>(CMSG_DATA(CMSG_FIRSTHDR(&message)));
		lent_ -= error->ee_data - error->ee_info + 1;
	}

public:
	explicit Lender(const Socket &socket) : socket_(socket)
	{
		const int one = 1;

		need(!setsockopt(socket.fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)),
		     "SO_ZEROCOPY");
	}
	void write(const std::vector<uint8_t> &octets)
	{
		for (size_t done = 0; done < octets.size(); lent_++) {
			while (lent_ >= most)
				take_back();
			const ssize_t n = send(socket_.fd, octets.data() + done,
					       octets.size() - done, MSG_ZEROCOPY);

			need(n > 0, "send");
			done += static_cast<size_t>(n);
		}
	}
	void finish()
	{
		while (lent_)
			take_back();
	}
};

// A socket keeps the namespace in which it was made; the thread returns to its own.
int socket_in(const Place &place, sockaddr_in &address)
{
	const int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC),
		  other = open(("/run/netns/" + place.ns).c_str(), O_RDONLY | O_CLOEXEC), one = 1;

	need(own >= 0 && other >= 0 && !setns(other, CLONE_NEWNET), "setns");
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(!setns(own, CLONE_NEWNET), "setns");
	close(own);
	close(other);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	address.sin_family = AF_INET;
	need(inet_pton(AF_INET, place.address.c_str(), &address.sin_addr) == 1, "inet_pton");
	return fd;
}

// A connected pair.
struct Wire {
	sockaddr_in from_address{}, to_address{};
	Socket from, to;

	Wire(const Place &from_place, const Place &to_place)
		: from(socket_in(from_place, from_address)), to(listen_and_accept(to_place))
	{
		const int one = 1;

		setsockopt(to.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}

private:
	int listen_and_accept(const Place &place)
	{
		const Socket listener(socket_in(place, to_address));
		auto *address = reinterpret_cast<sockaddr *>(&to_address);
		socklen_t len = sizeof(to_address);

		need(!bind(listener.fd, address, len) && !listen(listener.fd, 1) &&
			     !getsockname(listener.fd, address, &len) &&
			     !connect(from.fd, address, len),
		     "connect");
		return accept(listener.fd, nullptr, nullptr);
	}
};

} // namespace

void tcp_write(const Place &from, const Place &to, unsigned count, uint32_t size, bool zerocopy,
	       bool apart)
{
	const Wire wire(from, to);
	const std::vector<uint8_t> data(size);
	std::thread reader([&] {
		std::vector<uint8_t> all(size);

		if (apart)
			need(stay_on(1), "sched_setaffinity");
		for (unsigned i = 0; i < count; i++)
			wire.to.read(all);
	});
	std::optional<Lender> lender;

	if (zerocopy)
		lender.emplace(wire.from);
	for (unsigned i = 0; i < count; i++)
		lender ? lender->write(data) : wire.from.write(data);
	reader.join();
	if (lender)
		lender->finish();
}

void tcp_connect(const Place &from, const Place &to, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		Wire(from, to);
}

void tcp_ping_pong(const Place &from, const Place &to, unsigned count, uint32_t size, bool apart)
{
	const Wire wire(from, to);
	std::vector<uint8_t> data(size);
	std::thread echo([&] {
		std::vector<uint8_t> all(size);

		if (apart)
			need(stay_on(1), "sched_setaffinity");
		for (unsigned i = 0; i < count / 2; i++) {
			wire.to.read(all);
			wire.to.write(all);
		}
	});

	for (unsigned i = 0; i < count / 2; i++) {
		wire.from.write(data);
		wire.from.read(data);
	}
	echo.join();
}
