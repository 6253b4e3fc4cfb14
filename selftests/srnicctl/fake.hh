// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A kernel that answers netlink requests, and a machine's files, as a test wants them.
#pragma once

#include "rdma.hh"
#include "system.hh"

#include <functional>
#include <sstream>

namespace fake {

using srnicctl::Bus;

// Messages of an answer, as they lie on the wire.
class Answer {
public:
	// Begins a message. header: octets of the family's header, zeroed.
	Answer &message(uint16_t type = 0, uint16_t flags = 0, size_t header = 0);
	Answer &u8(uint16_t type, uint8_t value) { return octets(type, &value, sizeof(value)); }
	Answer &u16(uint16_t type, uint16_t value) { return octets(type, &value, sizeof(value)); }
	Answer &u32(uint16_t type, uint32_t value) { return octets(type, &value, sizeof(value)); }
	Answer &u64(uint16_t type, uint64_t value) { return octets(type, &value, sizeof(value)); }
	Answer &text(uint16_t type, const std::string &value);
	Answer &octets(uint16_t type, const void *data, size_t size);
	Answer &open(uint16_t type);
	Answer &close();
	// The family's header of the last message.
	template <class T> T *header()
	{
		return reinterpret_cast<T *>(bytes.data() + last + sizeof(nlmsghdr));
	}
	// An attribute with a length that is not true.
	Answer &lie(uint16_t type, uint16_t length);
	// The kernel's error: at the end of a dump, otherwise in place of all messages.
	Answer &fail(int error);
	// The same before a dump begins: in place of all messages.
	Answer &refuse(int error);
	Answer &interrupted();

	// With its end, for this request.
	std::vector<char> finish(const nlmsghdr *request);

private:
	void add(const void *data, size_t size);
	void fit();

	std::vector<char> bytes;
	std::vector<size_t> nests, starts;
	size_t last = 0;
	int error = 0;
	bool refused = false;
};

// Answers a request, whose attributes follow a family's header.
using Handler = std::function<void(const nlmsghdr *request, Answer &answer)>;

class Kernel : public srnicctl::Netlink {
public:
	int no_socket = 0;				// errno of opening a socket
	std::map<uint16_t, Handler> rdma;		// by command of RDMA_NL_NLDEV
	std::map<uint16_t, Handler> route;		// by message type
	std::map<uint16_t, Handler> generic, netfilter; // likewise
	std::vector<std::pair<Bus, uint16_t>> asked;
	int forgotten = 0;

protected:
	void send(Bus bus, const nlmsghdr *request) override;
	std::span<const char> receive(Bus bus) override;
	void forget(Bus) override { forgotten++; }

private:
	std::vector<char> answer;
};

// ---- RDMA devices ----

struct CmId {
	uint8_t state;
	uint32_t qp = 0;
	std::string source, destination; // "10.0.0.1:7174" or "[fd00::1]:7174"
	uint32_t pid = 0;
	std::string kernel = "";
};

struct Qp {
	uint32_t number;
	uint8_t state = 3; // RTS
	uint32_t pid = 0;
	std::string kernel = "";
	std::map<std::string, srnicctl::Figure> figures = {};
};

// A CQ or an SRQ.
struct Queue {
	uint32_t number;
	uint32_t pid = 0;
	std::string kernel = "";
	std::map<std::string, srnicctl::Figure> figures = {};
};

struct Device {
	uint32_t index;
	std::string name;
	std::string protocol = "iw";
	uint32_t driver = 0x53524e49;
	uint64_t abi = 1;
	uint8_t port_state = 4, physical_state = 5; // ACTIVE, LINK_UP
	uint32_t netdev_index = 2;		    // 0: of another namespace
	std::string netdev = "eth0";
	std::vector<Qp> qps = {};
	std::vector<CmId> cm_ids = {};
	std::vector<Queue> cqs = {}, srqs = {};
	std::map<std::string, uint64_t> counters = {};
};

// A connection as the kernel shows it: of an initiator, over MPA.
Qp connected_qp(uint32_t number, uint32_t pid);

// Modules that are loaded.
struct Modules {
	bool uverbs = true, ucm = true;
};

// Has the kernel answer for these devices, which may change later.
void serve(Kernel &kernel, std::vector<Device> *devices, Modules modules = {});

// ---- the machine ----

class Machine {
public:
	Kernel kernel;
	std::vector<Device> devices;
	std::ostringstream out, err;
	double clock = 100;
	std::map<std::string, std::string> outputs = {}; // of commands that contain this text
	srnicctl::System system;

	Machine();
	~Machine();
	Machine(const Machine &) = delete;

	void write(const std::string &path, const std::string &text);
	void remove(const std::string &path);
	// Every user may read and write it from now on.
	void allow_all(const std::string &path);
	std::string read(const std::string &path);
	// The settings of a device with their defaults.
	void write_settings(const std::string &device);
	// Runs srnicctl with these words, and returns its exit code.
	int run(const std::vector<std::string> &words);

private:
	std::string root;
};

} // namespace fake
