// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The attacker's two channels: TCP to the victim's RNIC, and a socket to the victim's program.
#pragma once

#include "../../shared/attacks/attack.hh"
#include "wire.hh"

#include <functional>
#include <stdexcept>

namespace hostile {

using namespace attacks;

// The victim did not follow the specification. Ends the case, not the program.
struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

template <class... Words> [[noreturn]] void fail(const Words &...words)
{
	std::string text;

	((text += words), ...);
	throw Failure(text);
}

enum class End { open, fin, reset }; // how the peer left its direction of the stream

enum class Pace { whole, octets }; // one write for all of it, or one for every octet

class Socket {
public:
	explicit Socket(int number = -1) : fd(number) {}
	Socket(Socket &&other) noexcept : fd(other.fd) { other.fd = -1; }
	Socket &operator=(Socket &&other) noexcept
	{
		std::swap(fd, other.fd);
		return *this;
	}
	~Socket();

	// window: octets of receive buffer, 0: as usual. from: one of this host's addresses; empty:
	// any
	static Socket connect(const std::string &host, unsigned port, int window = 0,
			      const std::string &from = "");
	static Socket listen(const std::string &host, unsigned port);
	Socket accept(int window = 0) const;

	// False if the peer has closed meanwhile, which is no failure: its answer is still to be
	// read.
	bool send(const Bytes &octets, Pace pace) const;
	void send_urgent(const Bytes &octets) const;	 // the last one is marked
	Bytes receive(size_t len, int ms = 10000) const; // exactly len, or a Failure
	// Until the end of the stream, or a pause of so long.
	Bytes rest(End *end, int ms = 10000) const;
	size_t waiting() const; // octets that have come and were not read
	bool silent(int ms) const;			  // nothing comes, not even the end

	void fin() const;
	void reset();

private:
	int fd;
};

// What remains of main(): runs all cases, and ends the TAP if that is not possible.
int run_tap(const std::function<int()> &all_cases);

class VictimLink {
public:
	std::map<std::string, Region> regions;

	explicit VictimLink(char **command);
	VictimLink(const VictimLink &) = delete;
	~VictimLink();

	std::string ask(const std::string &line);
	// Sends a command; the answer must start with "ok".
	std::string demand(const std::string &line);

private:
	int fd = -1, pid = -1;
	std::string buffered;

	std::string line();
};

} // namespace hostile
