// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Carries data both ways on verified connections: each round is an RDMA Write and a Send from the
// client, a Read and a Send from the server, and a Read from the client, with data unique to the
// round.
//	carrier serve ADDRESS [OPTIONS]		until it is killed or its device is gone
//	carrier send ADDRESS [OPTIONS]
// Options: -p PORT, -c CONNECTIONS at a time, -s SECONDS, -w MILLISECONDS that a round may take, -f
// MILLISECONDS that a connect may take, -n ROUNDS after which a connection is closed and replaced,
// -r to connect again when one has broken, -m if completion events may be lost (uverbs drops one if
// it has no memory for it).
//
// Ends with one line of figures. Exit status 0: time was up (or the server had to stop), 1: a
// connection broke (without -r), 2: one stalled (without -r), 3: a byte was wrong, 4: it could not
// start.
#include "link.hh"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <netdb.h>
#include <unistd.h>

namespace {

struct Options {
	const char *address = nullptr, *port = "7199";
	int connections = 1;
	uint64_t rounds = UINT64_MAX;
	int seconds = 3600;
	int round_ms = 20000, connect_ms = 20000;
	bool again = false;
} options;

std::atomic<uint64_t> rounds, connected, broken, stalled, wrong;
std::atomic<bool> told_to_stop;
std::mutex printing;

void say(const char *what, const char *why)
{
	std::lock_guard lock(printing);

	printf("%s: %s\n", what, why);
	fflush(stdout);
}

bool over(Clock::time_point until) { return told_to_stop || Clock::now() >= until || wrong; }

uint32_t length_of(uint64_t round) { return 1 + static_cast<uint32_t>(round * 7919 % data_size); }

// ---- client ----

rdma_cm_event_type await(rdma_event_channel *events, rdma_cm_event_type wanted)
{
	CmEvent event;

	try {
		event = next_event(events, options.connect_ms);
	} catch (const Stalled &) {
		throw Stalled(std::string("no ") + rdma_event_str(wanted));
	}
	if (event.type != wanted)
		throw Broken(std::string(rdma_event_str(event.type)) + " " +
			     std::to_string(event.status));
	return event.type;
}

void require(int ret, const char *what)
{
	if (ret)
		throw Broken(what);
}

// rdma_cm of 6.12 misses a neighbour that becomes known between its check and its wait
// (core/addr.c). It checks again after its timeout, which must be shorter than ours.
void resolve(rdma_event_channel *events, rdma_cm_id *id)
{
	const int patience = options.connect_ms / 2;
	rdma_addrinfo hints{}, *found;

	hints.ai_port_space = RDMA_PS_TCP;
	require(rdma_getaddrinfo(options.address, options.port, &hints, &found),
		"rdma_getaddrinfo");
	const int ret = rdma_resolve_addr(id, nullptr, found->ai_dst_addr, patience);
	rdma_freeaddrinfo(found);
	require(ret, "rdma_resolve_addr");
	await(events, RDMA_CM_EVENT_ADDR_RESOLVED);
	require(rdma_resolve_route(id, patience), "rdma_resolve_route");
	await(events, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

void one_round(Link &link, uint64_t round, Target &server)
{
	const uint32_t len = length_of(round);

	fill(link.out.data(), len, round);
	if (server.addr)
		link.write(len, server);
	link.send(round, server.addr ? len : 0);
	const Message &answer = link.receive(options.round_ms);
	if (answer.round != round)
		throw Wrong("the number of the answer");
	if (server.addr) {
		link.read(len, server);
		link.settle(options.round_ms);
		verify(link.in.data(), len, round ^ 1ULL << 63, "the client's Read");
		rounds++;
	}
	server = answer.target;
}

// From connect until time is up or it breaks; always at least one counted round.
void carry(rdma_event_channel *events, rdma_cm_id *id, uint64_t first, Clock::time_point until)
{
	rdma_conn_param param{};
	Target server{};

	resolve(events, id);
	Link link(id);
	param.initiator_depth = param.responder_resources = 4;
	require(rdma_connect(id, &param), "rdma_connect");
	await(events, RDMA_CM_EVENT_ESTABLISHED);
	connected++;
	link.connection_events = events;
	for (uint64_t round = first;
	     (round - first < 2 || !over(until)) && round - first < options.rounds; round++)
		one_round(link, round, server);
	rdma_disconnect(id);
}

// Sorts how a connection ended; false if this was the last one.
template <class Work> bool counted(const char *who, Work work)
{
	try {
		work();
		return true;
	} catch (const Broken &e) {
		broken++;
		say(who, e.what());
	} catch (const Stalled &e) {
		stalled++;
		say(who, e.what());
	} catch (const Wrong &e) {
		wrong++;
		say(who, e.what());
	} catch (const std::exception &e) { // no memory, no thread
		broken++;
		say(who, e.what());
	}
	return options.again && !wrong;
}

void one_connection(uint64_t first, Clock::time_point until)
{
	rdma_event_channel *events = rdma_create_event_channel();
	rdma_cm_id *id = nullptr;

	require(!events, "rdma_create_event_channel");
	try {
		require(rdma_create_id(events, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
		carry(events, id, first, until);
	} catch (...) {
		if (id)
			rdma_destroy_id(id);
		rdma_destroy_event_channel(events);
		throw;
	}
	rdma_destroy_id(id);
	rdma_destroy_event_channel(events);
}

void client(int number, Clock::time_point until)
{
	uint64_t first =
		(static_cast<uint64_t>(getpid()) << 32) + (static_cast<uint64_t>(number) << 24);

	while (!over(until) && counted("client", [&] { one_connection(first, until); })) {
		first += 1 << 16;
		if (!over(until))
			usleep(10000);
	}
}

void report_progress(Clock::time_point until)
{
	while (!over(until)) {
		usleep(200000);
		std::lock_guard lock(printing);
		printf("at %llu\n", static_cast<unsigned long long>(rounds.load()));
		fflush(stdout);
	}
}

void send()
{
	const auto until = Clock::now() + std::chrono::seconds(options.seconds);
	std::vector<std::thread> clients;

	std::thread(report_progress, until).detach();
	for (int i = 0; i < options.connections; i++)
		clients.emplace_back(client, i, until);
	for (auto &thread : clients)
		thread.join();
}

// ---- server ----

void answer(Link &link, const Message &asked)
{
	const uint64_t round = asked.round;
	const uint32_t len = asked.len;
	const Target peer = asked.target;

	if (len) {
		verify(link.out.data(), len, round, "the client's Write");
		link.read(len, peer);
		link.settle(options.round_ms);
		verify(link.in.data(), len, round, "the server's Read");
		fill(link.out.data(), len, round ^ 1ULL << 63);
		rounds++;
	}
	link.send(round, len);
}

// Until the connection is over, which is no error for a server.
void serve_one(Link &link)
{
	try {
		for (;;)
			answer(link, link.receive(3600 * 1000));
	} catch (const Broken &) {
		broken++;
	} catch (const Stalled &) {
		stalled++;
	} catch (const Wrong &e) {
		wrong++;
		say("server", e.what());
	}
	rdma_disconnect(link.id);
}

struct Served {
	std::unique_ptr<Link> link;
	std::thread thread;
	void start()
	{
		connected++;
		thread = std::thread(serve_one, std::ref(*link));
	}
	~Served()
	{
		if (thread.joinable())
			thread.join();
	}
};

std::map<rdma_cm_id *, Served> served;

void figures();

void accept(rdma_cm_id *id)
{
	rdma_conn_param param{};

	param.initiator_depth = param.responder_resources = 4;
	try {
		served[id].link = std::make_unique<Link>(id);
		require(rdma_accept(id, &param), "rdma_accept");
	} catch (const std::exception &e) {
		say("server", e.what());
		served.erase(id);
		rdma_destroy_id(id);
	}
}

void forget(rdma_cm_id *id)
{
	ibv_qp_attr attr{};

	rdma_disconnect(id);
	attr.qp_state = IBV_QPS_ERR;
	if (id->qp)
		ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
	served.erase(id);
	rdma_destroy_id(id);
}

// False if there is nothing more to serve.
bool handle(const CmEvent &event)
{
	switch (event.type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		accept(event.id);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (served.contains(event.id))
			served[event.id].start();
		return true;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return false;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return true;
	default:
		if (served.contains(event.id))
			forget(event.id);
		return true;
	}
}

rdma_cm_id *listen(rdma_event_channel *events)
{
	rdma_addrinfo hints{}, *found;
	rdma_cm_id *id;

	hints.ai_flags = RAI_PASSIVE;
	hints.ai_port_space = RDMA_PS_TCP;
	require(rdma_getaddrinfo(options.address, options.port, &hints, &found),
		"rdma_getaddrinfo");
	require(rdma_create_id(events, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	require(rdma_bind_addr(id, found->ai_src_addr), "rdma_bind_addr");
	require(rdma_listen(id, 64), "rdma_listen");
	rdma_freeaddrinfo(found);
	return id;
}

bool served_event(rdma_event_channel *events)
{
	try {
		return handle(next_event(events, 200));
	} catch (const Stalled &) {
		return true; // check whether to stop
	} catch (const std::exception &e) {
		say("server", e.what());
		return true;
	}
}

void serve()
{
	rdma_event_channel *events = rdma_create_event_channel();
	rdma_cm_id *id = listen(events);

	while (!told_to_stop && !wrong)
		if (!served_event(events)) {
			figures();
			_exit(0); // the device is gone with everything on it
		}
	while (!served.empty())
		forget(served.begin()->first);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(events);
}

// ---- both ----

int parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "p:c:s:w:f:n:rm")) != -1) {
		switch (c) {
		case 'p': options.port = optarg; break;
		case 'c': options.connections = atoi(optarg); break;
		case 's': options.seconds = atoi(optarg); break;
		case 'w': options.round_ms = atoi(optarg); break;
		case 'f': options.connect_ms = atoi(optarg); break;
		case 'n': options.rounds = strtoull(optarg, nullptr, 0); break;
		case 'm': Link::events_may_be_lost = true; break;
		case 'r': options.again = true; break;
		default: return 4;
		}
	}
	if (argc - optind != 2)
		return 4;
	options.address = argv[optind + 1];
	return 0;
}

void figures()
{
	std::lock_guard lock(printing);

	printf("rounds=%llu connected=%llu broken=%llu stalled=%llu wrong=%llu\n",
	       (unsigned long long)rounds, (unsigned long long)connected,
	       (unsigned long long)broken, (unsigned long long)stalled, (unsigned long long)wrong);
	fflush(stdout);
}

int status(bool serving)
{
	if (wrong)
		return 3;
	if (serving || options.again)
		return 0;
	return stalled ? 2 : broken ? 1 : 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (parse(argc, argv)) {
		fprintf(stderr, "carrier serve|send ADDRESS [-p port] [-c connections] [-s "
				"seconds] [-w ms] [-f ms] [-n rounds] [-r] [-m]\n");
		return 4;
	}
	const bool serving = argv[optind][2] == 'r';
	signal(SIGTERM, [](int) { told_to_stop = true; });
	try {
		serving ? serve() : send();
	} catch (const std::exception &e) {
		say("carrier", e.what());
		return 4;
	}
	figures();
	_exit(status(serving)); // the thread that reports progress may still sleep
}
