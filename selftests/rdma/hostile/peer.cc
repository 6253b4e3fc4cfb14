// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "peer.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace hostile {

// IPv6, which IPv4 addresses are mapped to.
static sockaddr_in6 address(const std::string &host, unsigned port)
{
	const std::string as6 = (host.find(':') == std::string::npos ? "::ffff:" : "") + host;
	sockaddr_in6 out = {};

	out.sin6_family = AF_INET6;
	out.sin6_port = htons(static_cast<u16>(port));
	if (inet_pton(AF_INET6, as6.c_str(), &out.sin6_addr) != 1)
		throw std::runtime_error("bad address " + host);
	return out;
}

static int checked(int ret, const char *what)
{
	if (ret < 0)
		fail(what, ": ", std::strerror(errno));
	return ret;
}

static void set(int fd, int level, int option, int value)
{
	checked(setsockopt(fd, level, option, &value, sizeof(value)), "setsockopt");
}

static bool readable(int fd, int ms)
{
	pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0;
}

// ---- TCP ----

Socket::~Socket()
{
	if (fd >= 0)
		close(fd);
}

static void bind_to(int fd, const sockaddr_in6 &addr)
{
	checked(bind(fd, reinterpret_cast<const sockaddr *>(&addr), sizeof(addr)), "bind");
}

Socket Socket::connect(const std::string &host, unsigned port, int window, const std::string &from)
{
	sockaddr_in6 addr = address(host, port);
	Socket out(checked(socket(AF_INET6, SOCK_STREAM, 0), "socket"));

	if (window)
		set(out.fd, SOL_SOCKET, SO_RCVBUF, window);
	set(out.fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (!from.empty())
		bind_to(out.fd, address(from, 0));
	checked(::connect(out.fd, reinterpret_cast<sockaddr *>(&addr), sizeof(addr)), "connect");
	return out;
}

Socket Socket::listen(const std::string &host, unsigned port)
{
	Socket out(checked(socket(AF_INET6, SOCK_STREAM, 0), "socket"));

	set(out.fd, SOL_SOCKET, SO_REUSEADDR, 1);
	bind_to(out.fd, address(host, port));
	checked(::listen(out.fd, 16), "listen");
	return out;
}

Socket Socket::accept(int window) const
{
	if (!readable(fd, 10000))
		fail("nobody connected");
	Socket out(checked(::accept(fd, nullptr, nullptr), "accept"));

	if (window)
		set(out.fd, SOL_SOCKET, SO_RCVBUF, window);
	set(out.fd, IPPROTO_TCP, TCP_NODELAY, 1);
	return out;
}

static bool send_all(int fd, const u8 *data, size_t len, int flags = 0)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL | flags);

		if (n < 0)
			return false;
		data += n;
		len -= static_cast<size_t>(n);
	}
	return true;
}

bool Socket::send(const Bytes &octets, Pace pace) const
{
	size_t step = pace == Pace::octets ? 1 : octets.size();

	for (size_t at = 0; at < octets.size(); at += step)
		if (!send_all(fd, &octets[at], step))
			return false;
	return true;
}

void Socket::send_urgent(const Bytes &octets) const
{
	send_all(fd, octets.data(), octets.size(), MSG_OOB);
}

Bytes Socket::receive(size_t len, int ms) const
{
	Bytes out(len);
	size_t have = 0;
	auto cut_off = [&](const char *by) {
		fail("only ", std::to_string(have), " octets came, ",
		     hex(out.slice(0, std::min<size_t>(have, 200))), by);
	};

	while (have < len) {
		if (!readable(fd, ms))
			cut_off(", and then nothing");
		ssize_t n = recv(fd, &out[have], len - have, 0);

		if (n <= 0)
			cut_off(n ? " before a reset" : " before the end");
		have += static_cast<size_t>(n);
	}
	return out;
}

Bytes Socket::rest(End *end, int ms) const
{
	Bytes out;
	u8 piece[65536];

	*end = End::open;
	while (readable(fd, ms)) {
		ssize_t n = recv(fd, piece, sizeof(piece), 0);

		if (n <= 0) {
			*end = n ? End::reset : End::fin;
			break;
		}
		out.insert(out.end(), piece, piece + n);
	}
	return out;
}

size_t Socket::waiting() const
{
	int octets = 0;

	checked(ioctl(fd, FIONREAD, &octets), "FIONREAD");
	return static_cast<size_t>(octets);
}

bool Socket::silent(int ms) const { return !readable(fd, ms); }

void Socket::fin() const { shutdown(fd, SHUT_WR); }

void Socket::reset()
{
	linger now = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
	fd = -1;
}

// ---- The victim's program ----

VictimLink::VictimLink(char **command)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		throw std::runtime_error("socketpair");
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	close(ends[1]);
	fd = ends[0];
	for (std::string said = line(); said != "ready"; said = line()) {
		std::istringstream in(said);
		std::string word, name;
		Region region;

		in >> word >> name >> std::hex >> region.stag >> region.to >> region.length;
		if (word != "region")
			throw std::runtime_error("the victim: " + said);
		regions[name] = region;
	}
}

VictimLink::~VictimLink()
{
	close(fd);
	waitpid(pid, nullptr, 0);
}

std::string VictimLink::line()
{
	char piece[4096];
	size_t end;

	while ((end = buffered.find('\n')) == std::string::npos) {
		ssize_t n = readable(fd, 30000) ? read(fd, piece, sizeof(piece)) : -1;

		if (n <= 0)
			throw std::runtime_error("the victim says nothing any more");
		buffered.append(piece, static_cast<size_t>(n));
	}
	std::string out = buffered.substr(0, end);

	buffered.erase(0, end + 1);
	return out;
}

std::string VictimLink::ask(const std::string &request)
{
	std::string whole = request + "\n";

	if (!send_all(fd, reinterpret_cast<const u8 *>(whole.data()), whole.size()))
		throw std::runtime_error("the victim is gone");
	std::string said = line();

	if (said.rfind("dead", 0) == 0)
		throw std::runtime_error("the victim, asked to " + request.substr(0, 80) + ", is " +
					 said);
	return said;
}

std::string VictimLink::demand(const std::string &request)
{
	std::string said = ask(request);

	if (said != "ok" && said.rfind("ok ", 0) != 0)
		fail("the victim, asked to ", request.substr(0, 80), ", says ", said);
	return said;
}

int run_tap(const std::function<int()> &all_cases)
{
	setvbuf(stdout, nullptr, _IOLBF, 0);
	try {
		return all_cases();
	} catch (const std::exception &e) {
		std::printf("Bail out! %s\n", e.what());
		return 1;
	}
}

} // namespace hostile
