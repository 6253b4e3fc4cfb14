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
#include "process.hh"
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

// What the other end does: in a thread from begin() on, or in a process that is there before.
class Other {
	const Work &work_;
	const std::function<void()> part_;
	std::unique_ptr<Process> process_;
	std::thread thread_;

public:
	Other(const Work &work, std::function<void()> part) : work_(work), part_(std::move(part))
	{
		if (work_.processes == 2)
			process_ = std::make_unique<Process>(work_.apart, [&](const Talk &talk) {
				part_();
				talk.say('.');
				talk.until_over();
			});
	}
	void begin()
	{
		if (!process_)
			thread_ = std::thread([&] {
				if (work_.apart)
					need(stay_on(1), "sched_setaffinity");
				part_();
			});
	}
	void await() // its end
	{
		if (process_)
			process_->talk().hear<char>();
		else
			thread_.join();
	}
};

class Write : public Operation {
	const Work &work_;
	const Wire wire_;
	const std::vector<uint8_t> data_;
	std::vector<uint8_t> read_;
	Other reader_{work_, [this] { read_all(); }};

	void read_all()
	{
		for (unsigned i = 0; i < work_.count; i++)
			wire_.to.read(read_);
	}
	void write_all() const
	{
		for (unsigned i = 0; i < work_.count; i++)
			wire_.from.write(data_);
	}
	void lend_all() const
	{
		Lender lender(wire_.from);

		for (unsigned i = 0; i < work_.count; i++)
			lender.write(data_);
		lender.finish();
	}

public:
	Write(const Work &work, const Place &from, const Place &to)
		: work_(work), wire_(from, to), data_(work.size), read_(work.size)
	{
	}
	void run() override
	{
		reader_.begin();
		if (work_.zerocopy)
			lend_all();
		else
			write_all();
		reader_.await();
	}
};

class PingPong : public Operation {
	const Work &work_;
	const Wire wire_;
	std::vector<uint8_t> ours_, theirs_;
	Other other_{work_, [this] { echo(); }};

	void echo()
	{
		for (unsigned i = 0; i < work_.count / 2; i++) {
			wire_.to.read(theirs_);
			wire_.to.write(theirs_);
		}
	}

public:
	PingPong(const Work &work, const Place &from, const Place &to)
		: work_(work), wire_(from, to), ours_(work.size), theirs_(work.size)
	{
	}
	void run() override
	{
		other_.begin();
		for (unsigned i = 0; i < work_.count / 2; i++) {
			wire_.from.write(ours_);
			wire_.from.read(ours_);
		}
		other_.await();
	}
};

class Connect : public Operation {
	const Work &work_;
	const Place from_, to_;

public:
	Connect(const Work &work, const Place &from, const Place &to)
		: work_(work), from_(from), to_(to)
	{
	}
	void run() override
	{
		for (unsigned i = 0; i < work_.count; i++)
			Wire(from_, to_);
	}
};

} // namespace

std::unique_ptr<Operation> over_tcp(const Work &work, const Place &from, const Place &to)
{
	if (work.name == "ping-pong")
		return std::make_unique<PingPong>(work, from, to);
	if (work.name == "connect")
		return std::make_unique<Connect>(work, from, to);
	if (work.name == "write")
		return std::make_unique<Write>(work, from, to);
	throw Broken("TCP has no operation " + work.name);
}
