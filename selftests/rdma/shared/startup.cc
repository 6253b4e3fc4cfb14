// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connection setup under attack, beyond single frames (see hostile/): listeners shared by devices,
// peers that stall, vanish and come in crowds, and devices removed in every state of a connection.
//	startup DEVICE-0 ADDRESS-0 ADDRESS6-0 DEVICE-1 ADDRESS-1 ADDRESS6-1 NETDEV-1
//	ADDRESS-OF-NO-DEVICE [PART]
// All in one namespace; NETDEV-1 drops its packets. Cases that wait for a timeout make it short. In
// all others the module's long defaults apply, so that no timeout ends a connection by chance.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <csignal>
#include <vector>

#include "../local/case.hh"
#include "../local/process.hh"
#include "consumer.hh"
#include "timeouts.hh"

std::string device, address; // for ../local/process.cc
std::mt19937 chance(1);

namespace {

using Clock = std::chrono::steady_clock;

struct Host {
	std::string device, v4, v6;
} host[2];
std::string netdev, foreign;
constexpr const char *port = "7301";

long since(Clock::time_point begin)
{
	return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

void replies(const std::string &to)
{
	Tcp tcp(to, port);

	tcp.send(good_request);
	require(reply_flags(tcp.receive(20, 20000)) == 0x50, "no Reply from " + to);
}

void replies_on(const Server &server, const std::string &to, const Host &where)
{
	replies(to);
	require(server.device() == where.device, to + " is not served by " + where.device);
}

// Refused at once: perhaps before connect() has returned.
void no_word_from(const std::string &to)
{
	std::unique_ptr<Tcp> tcp;

	try {
		tcp = std::make_unique<Tcp>(to, port);
	} catch (const Failure &) {
		return;
	}
	tcp->try_send(good_request);
	require(tcp->closed(5000), "a connection to " + to + " is not refused");
}

bool connects(const std::string &to)
{
	try {
		Tcp tcp(to, port);
		return true;
	} catch (const Failure &) {
		return false;
	}
}

// ---- one socket, many devices ----

void v4_wildcard()
{
	Server server(Manner::accepts, "0.0.0.0", port);

	for (const Host &each : host)
		replies_on(server, each.v4, each);
	require(!connects(host[0].v6), "an IPv4 wildcard listens for IPv6");
}

void v6_wildcard()
{
	Server server(Manner::accepts, "::", port);

	for (const Host &each : host) {
		replies_on(server, each.v6, each);
		replies_on(server, each.v4, each);
	}
}

// Of both devices.
long counted(const char *name)
{
	long sum = 0, value;

	sleep_ms(100); // the RDMA core keeps counters for a while
	for (const Host &each : host) {
		std::ifstream file("/sys/class/infiniband/" + each.device +
				   "/ports/1/hw_counters/" + name);

		require(bool(file >> value), std::string("no counter ") + name);
		sum += value;
	}
	return sum;
}

void address_of_no_device()
{
	Server server(Manner::accepts, "0.0.0.0", port);
	const long failures = counted("startup_failures"), strays = counted("startup_no_device");

	no_word_from(foreign);
	replies(host[0].v4);
	require(counted("startup_failures") == failures + 1, "it is not counted");
	require(counted("startup_no_device") == strays + 1, "it is counted, but not why");
	require(!system(("dmesg | grep -q 'srnic.*refused: no device that listens has the "
			 "address " +
			 foreign + ":" + port + "'")
				.c_str()),
		"the log does not say so");
}

void same_port_on_two_addresses()
{
	Server zero(Manner::accepts, host[0].v4, port), one(Manner::accepts, host[1].v4, port);

	replies_on(zero, host[0].v4, host[0]);
	replies_on(one, host[1].v4, host[1]);
}

void listen_twice(const std::string &first, const std::string &second)
{
	Server server(Manner::accepts, first, port);

	try {
		Server again(Manner::accepts, second, port);
	} catch (const Failure &failure) {
		// rdma_cm's error if one of them is a wildcard: EADDRNOTAVAIL
		require(strstr(failure.what(), strerror(EADDRINUSE)) ||
				strstr(failure.what(), strerror(EADDRNOTAVAIL)),
			failure.what());
		replies(host[0].v4);
		return;
	}
	throw Failure(second + " can be listened on besides " + first);
}

void listens_that_collide()
{
	listen_twice(host[0].v4, host[0].v4);
	listen_twice("0.0.0.0", "0.0.0.0");
	listen_twice("0.0.0.0", host[0].v4);
	listen_twice("::", host[0].v6);
	for (int i = 0; i < 5; i++) {
		Server again(Manner::accepts, i & 1 ? "0.0.0.0" : host[0].v4, port);

		replies(host[0].v4);
	}
}

void port_of_a_tcp_program()
{
	{
		TcpListener other(host[0].v4, port);

		try {
			Server server(Manner::accepts, host[0].v4, port);
			throw std::logic_error("listening");
		} catch (const Failure &failure) {
			require(strstr(failure.what(), strerror(EADDRINUSE)), failure.what());
		} catch (const std::logic_error &) {
			throw Failure("a TCP program's port can be listened on");
		}
	}
	Server server(Manner::accepts, host[0].v4, port);
	replies(host[0].v4);
}

void run_tool(const std::string &command) { require(!system(command.c_str()), command); }

void remove_device()
{
	auto begin = Clock::now();

	run_tool("rdma link delete " + host[1].device);
	require(since(begin) < 15000,
		"removing the device took " + std::to_string(since(begin)) + " ms");
}

void add_device() { run_tool("rdma link add " + host[1].device + " type srnic netdev " + netdev); }

void a_device_leaves_and_comes_back()
{
	Server server(Manner::accepts, "0.0.0.0", port);

	for (int i = 0; i < 3; i++) {
		remove_device();
		no_word_from(host[1].v4);
		replies_on(server, host[0].v4, host[0]);
		add_device();
		replies_on(server, host[1].v4, host[1]);
	}
}

// ---- peers that are slow, many or gone ----

// RFC 5044 7.1.2 rule 10: the whole frame must come in time, not just an octet now and then.
void dripping_peer()
{
	const Timeouts short_ones(1);
	Server server(Manner::accepts, host[0].v4, port);
	auto begin = Clock::now();
	Tcp tcp(host[0].v4, port);

	for (char octet : good_request) {
		if (tcp.closed(300))
			break;
		tcp.try_send({octet});
	}
	require(since(begin) > 900 && since(begin) < 5500,
		"dropped after " + std::to_string(since(begin)) + " ms");
	replies(host[0].v4);
}

void half_open_beyond_the_backlog()
{
	const Timeouts short_ones(6);
	Server server(Manner::accepts, host[0].v4, port, 3);
	std::vector<Tcp> stalled;

	for (int i = 0; i < 10; i++) {
		stalled.emplace_back(host[0].v4, port);
		stalled.back().send(good_request.substr(0, 1 + i % 8));
	}
	sleep_ms(100);
	for (int i = 0; i < 5; i++)
		replies(host[0].v4);
	for (const Tcp &each : stalled)
		require(!each.closed(0), "a startup gives way where there is room");
	for (const Tcp &each : stalled)
		require(each.closed(20000), "a stalled startup is not dropped");
}

// Neither does TCP give them a place, nor are they reset while they wait there.
void silent_peers()
{
	const Timeouts short_ones(3);
	const Parameter few("max_startups", 4, 128);
	Server server(Manner::accepts, host[0].v4, port, 3);
	std::vector<Tcp> silent;

	for (int i = 0; i < 50; i++)
		silent.emplace_back(host[0].v4, port);
	replies(host[0].v4);
	for (const Tcp &each : silent)
		require(!each.closed(0), "a peer that says nothing takes a place");
	for (const Tcp &each : silent)
		require(each.closed(30000), "a peer that says nothing is not dropped");
}

// All connect before the first says anything, as those of a busy program do.
void late_requests()
{
	Server server(Manner::accepts, host[0].v4, port, 1000);
	std::vector<Tcp> peers;

	for (int i = 0; i < 200; i++)
		peers.emplace_back(host[0].v4, port);
	for (const Tcp &each : peers)
		each.try_send(good_request);
	for (const Tcp &each : peers)
		require(reply_flags(each.receive(20, 20000)) == 0x50, "no Reply");
}

// A peer that owes the rest of its Request.
void stall(std::vector<Tcp> &stalled)
{
	stalled.emplace_back(host[0].v4, port);
	stalled.back().send(good_request.substr(0, 1));
}

// More than the limit: each new one replaces the oldest.
void half_open_beyond_the_limit()
{
	constexpr size_t limit = 4;
	const Parameter few("max_startups", limit, 128);
	Server server(Manner::accepts, host[0].v4, port, 3);
	std::vector<Tcp> stalled;

	for (size_t i = 0; i < limit; i++)
		stall(stalled);
	sleep_ms(100);
	for (size_t i = 0; i < limit; i++)
		stall(stalled);
	for (size_t i = 0; i < limit; i++)
		require(stalled[i].closed(5000), "the oldest startup does not give way");
	replies(host[0].v4);
}

void half_open_of_one_source()
{
	const Parameter few("max_startups", 4, 128), fewer("max_startups_per_source", 2, 64);
	Server server(Manner::accepts, host[0].v4, port, 3);
	std::vector<Tcp> stalled;

	for (int i = 0; i < 4; i++) {
		stall(stalled);
		sleep_ms(50);
	}
	for (const Tcp &each : stalled)
		require(!each.closed(0), "a startup gives way where there is room");
	for (int i = 0; i < 2; i++)
		stall(stalled);
	for (int i = 0; i < 6; i++)
		require(stalled[i].closed(i < 2 ? 5000 : 0) == (i < 2),
			"not the oldest of the source gives way");
	replies(host[0].v4);
}

void half_open_when_the_listener_goes()
{
	const Timeouts long_ones(30);
	std::vector<Tcp> stalled;
	auto server = std::make_unique<Server>(Manner::accepts, host[0].v4, port, 1000);

	for (size_t i = 0; i < 150; i++) {
		stalled.emplace_back(host[0].v4, port);
		stalled.back().try_send(good_request.substr(0, 1 + i % (good_request.size() - 1)));
	}
	auto begin = Clock::now();
	server.reset();
	for (const Tcp &each : stalled)
		require(each.closed(15000), "a startup outlives its listener");
	require(since(begin) < 15000, "startups end late after their listener");
	require(!connects(host[0].v4), "somebody still listens");
}

// The Reply to a Request. As many startups as the backlog may be unfinished: beyond that limit no
// Reply comes, so try again.
std::string reply_to_a_request()
{
	for (int i = 0; i < 100; i++) {
		const Tcp tcp(host[0].v4, port);
		std::string reply;

		if (tcp.try_send(good_request))
			reply = tcp.receive(20);
		if (!reply.empty() || !tcp.closed(0))
			return reply;
		sleep_ms(20);
	}
	return {};
}

// The consumer does not fetch its events: peers beyond its backlog are refused, not kept waiting.
void requests_beyond_the_consumers_backlog()
{
	constexpr int backlog = 3;
	auto server = std::make_unique<Server>(Manner::is_deaf, host[0].v4, port, backlog);
	std::vector<Tcp> peers;

	for (int i = 0; i < backlog; i++) {
		peers.emplace_back(host[0].v4, port);
		peers.back().send(good_request);
	}
	sleep_ms(1000); // by then the consumer has them
	for (int i = 0; i < backlog; i++)
		require(reply_flags(reply_to_a_request()) == 0x70, "a request is not refused");
	for (const Tcp &each : peers)
		require(each.receive(20, 10).empty() && !each.closed(0),
			"a request within the backlog is refused");
	server.reset();
	for (const Tcp &each : peers) {
		each.receive(1000, 3000);
		require(each.closed(3000), "a request outlives its consumer");
	}
}

void gone_after_the_request()
{
	Server server(Manner::accepts, host[0].v4, port);

	for (int i = 0; i < 60; i++) {
		Tcp tcp(host[0].v4, port);

		tcp.send(good_request);
		if (i % 3 == 0)
			sleep_ms(2);
		if (i & 1)
			tcp.reset();
	}
	replies(host[0].v4);
}

void gone_before_the_accept()
{
	Server server(Manner::accepts_late, host[0].v4, port);

	for (bool reset : {true, false}) {
		Tcp tcp(host[0].v4, port);

		tcp.send(good_request);
		sleep_ms(50);
		if (reset)
			tcp.reset();
	}
	replies(host[0].v4);
}

// ---- initiators ----

void nobody_listens()
{
	Client client(host[0].v4, host[0].v4, port);

	require(client.outcome(10000) != RDMA_CM_EVENT_ESTABLISHED, "connected to nobody");
}

void silent_network()
{
	const Timeouts short_ones(1);
	std::string nowhere = host[1].v4.substr(0, host[1].v4.rfind('.')) + ".99";
	auto begin = Clock::now();
	Client client(host[1].v4, nowhere, port);

	require(client.outcome(10000) != RDMA_CM_EVENT_ESTABLISHED && since(begin) > 900,
		"connected to nobody");
}

void silent_responder()
{
	const Timeouts short_ones(1);
	TcpListener listener(host[0].v4, port);
	auto begin = Clock::now();
	Client client(host[0].v4, host[0].v4, port);
	Tcp tcp = listener.accept();

	require(tcp.receive(24).starts_with("MPA ID Req Frame"), "no Request");
	require(client.outcome(10000) != RDMA_CM_EVENT_ESTABLISHED && since(begin) > 900,
		"connected without a Reply");
	require(tcp.closed(5000), "the connection stays open");
}

// iw_cm waits for the outcome, so a killed process ends with its connection, after reply_timeout at
// the latest.
void killed_initiator()
{
	const Timeouts short_ones(4);
	TcpListener listener(host[0].v4, port);
	pid_t child = start([] {
		Client client(host[0].v4, host[0].v4, port);
		sleep_ms(10000);
	});
	Tcp tcp = listener.accept();

	tcp.receive(24);
	kill(child, SIGKILL);
	finish(child);
	require(tcp.closed(2000), "the connection outlives its process");
}

// ---- the device goes ----

// What is open when the device goes, by state (enum core_conn_state). Members are destroyed in
// reverse order.
struct Scene {
	std::unique_ptr<TcpListener> listener;
	std::unique_ptr<Server> server;
	std::unique_ptr<Client> client;
	std::vector<Tcp> peers;

	void serve(Manner manner) { server = std::make_unique<Server>(manner, host[1].v4, port); }
	void connect(const std::string &to)
	{
		client = std::make_unique<Client>(host[1].v4, to, port);
	}
	const Tcp &dial(const std::string &octets)
	{
		peers.emplace_back(host[1].v4, port);
		peers.back().send(octets);
		return peers.back();
	}
};

void listening(Scene &scene) { scene.serve(Manner::accepts); }

void connecting(Scene &scene)
{
	scene.connect(host[1].v4.substr(0, host[1].v4.rfind('.')) + ".99");
}

void await_reply(Scene &scene)
{
	scene.listener = std::make_unique<TcpListener>(host[1].v4, port);
	scene.connect(host[1].v4);
	scene.peers.push_back(scene.listener->accept());
	scene.peers.back().receive(24);
}

void await_request(Scene &scene)
{
	scene.serve(Manner::accepts);
	for (size_t len : {1, 2, 19, 20, 23})
		scene.dial(good_request.substr(0, len));
}

void announced(Scene &scene)
{
	scene.serve(Manner::is_deaf);
	for (int i = 0; i < 5; i++)
		scene.dial(good_request);
}

void operation(Scene &scene)
{
	scene.serve(Manner::accepts);
	for (int i = 0; i < 5; i++)
		require(reply_flags(scene.dial(good_request).receive(24)) == 0x50, "no Reply");
}

void operation_of_the_initiator(Scene &scene)
{
	await_reply(scene);
	scene.peers.back().send(good_reply);
	require(scene.client->outcome(10000) == RDMA_CM_EVENT_ESTABLISHED, "not connected");
}

void linger_after_a_rejection(Scene &scene)
{
	scene.serve(Manner::rejects);
	require(reply_flags(scene.dial(good_request).receive(26)) == 0x70, "no refusal");
}

void linger_after_a_disconnect(Scene &scene)
{
	scene.serve(Manner::disconnects);
	scene.dial(good_request).receive(24);
}

struct State {
	const char *name;
	void (*enter)(Scene &scene);
	bool client_hears;
};

const State states[] = {
	{"the device goes while somebody listens on it", listening, false},
	{"the device goes while TCP connects (CONNECTING)", connecting, true},
	{"the device goes while the Reply is due (AWAIT_REPLY)", await_reply, true},
	{"the device goes while Requests are due (AWAIT_REQUEST)", await_request, false},
	{"the device goes while requests wait for an answer (ANNOUNCED)", announced, false},
	{"the device goes under connected responders (OPERATION)", operation, false},
	{"the device goes under a connected initiator (OPERATION)", operation_of_the_initiator,
	 true},
	{"the device goes after a rejection that the peer has not closed (LINGER)",
	 linger_after_a_rejection, false},
	{"the device goes after a disconnect that the peer has not closed (LINGER)",
	 linger_after_a_disconnect, false},
};

void device_goes_in(const State &state)
{
	Scene scene;

	state.enter(scene);
	sleep_ms(50);
	remove_device();
	for (const Tcp &each : scene.peers) {
		each.receive(1000, 5000);
		require(each.closed(5000), "a connection outlives its device");
	}
	if (state.client_hears)
		require(scene.client->outcome(10000) != RDMA_CM_EVENT_ESTABLISHED,
			"the consumer hears nothing");
	scene.peers.clear();
}

void device_goes_and_comes_back(const State &state)
{
	in_child([&] { device_goes_in(state); });
	add_device();
	in_child([] {
		Server server(Manner::accepts, host[1].v4, port);
		replies_on(server, host[1].v4, host[1]);
	});
}

Cases all_cases()
{
	Cases all = {
		{"an IPv4 wildcard listens on every device, and not on IPv6", v4_wildcard},
		{"an IPv6 wildcard listens on every device, for both families", v6_wildcard},
		{"a wildcard does not serve an address of no device", address_of_no_device},
		{"the same port on addresses of two devices", same_port_on_two_addresses},
		{"a port that is listened on is refused to others, and free afterwards",
		 listens_that_collide},
		{"the port of a TCP program gives EADDRINUSE", port_of_a_tcp_program},
		{"a wildcard goes on when a device leaves, and serves it again when it comes back",
		 a_device_leaves_and_comes_back},
		{"RFC 5044 7.1.2, 10: a peer that drips octets is dropped after startup_timeout",
		 dripping_peer},
		{"half-open startups beyond the backlog keep nobody out, until they are dropped",
		 half_open_beyond_the_backlog},
		{"peers that never send keep nobody out, until they are dropped", silent_peers},
		{"200 peers of one address that connect before the first sends its Request",
		 late_requests},
		{"of too many half-open startups the oldest gives way", half_open_beyond_the_limit},
		{"of too many half-open startups of one source its oldest gives way",
		 half_open_of_one_source},
		{"150 half-open startups end with their listener",
		 half_open_when_the_listener_goes},
		{"requests beyond the consumer's backlog are refused, the others end with it",
		 requests_beyond_the_consumers_backlog},
		{"60 peers that are gone right after their Request", gone_after_the_request},
		{"peers that are gone before the consumer accepts", gone_before_the_accept},
		{"an initiator where nobody listens hears of it", nobody_listens},
		{"an initiator whose SYN nobody answers hears of it", silent_network},
		{"RFC 5044 7.1.2, 10: an initiator whose Request nobody answers hears of it",
		 silent_responder},
		{"the connection of an initiator that is killed ends", killed_initiator},
	};

	for (Case &each : all)
		each.run = [run = each.run] { in_child(run); };
	for (const State &state : states)
		all.push_back({state.name, [&state] { device_goes_and_comes_back(state); }});
	return all;
}

// Whatever goes wrong in a case, the next one has the device again.
void restore_device()
{
	if (system(("rdma link show " + host[1].device + "/1 >/dev/null 2>&1").c_str()))
		add_device();
}

bool passes(const Case &which)
{
	try {
		which.run();
		return true;
	} catch (const Failure &failure) {
		printf("# %s\n", failure.what());
		restore_device();
		return false;
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 9 || argc > 10) {
		fprintf(stderr, "usage: startup DEVICE ADDRESS ADDRESS6 DEVICE ADDRESS ADDRESS6 "
				"NETDEV ADDRESS-OF-NONE "
				"[PART]\n");
		return 2;
	}
	host[0] = {argv[1], argv[2], argv[3]};
	host[1] = {argv[4], argv[5], argv[6]};
	netdev = argv[7];
	foreign = argv[8];
	const Tally tally =
		run_cases(all_cases(), argc > 9 ? argv[9] : "",
			  [](const Case &which, std::string &) { return passes(which); });

	printf("1..%d\n", tally.run);
	return tally.failed != 0;
}
