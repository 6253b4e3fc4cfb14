// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What happens to interfaces, addresses, devices and namespaces below QPs; strangers at the port;
// and crowds.
#include <deque>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "case.hh"

namespace {

void interface_down_and_up()
{
	Ports ports;
	std::deque<Pair> pairs;

	for (int i = 0; i < 4; i++)
		pairs.emplace_back(ports.here, ports.there).exercise();
	for (const int n : {0, 1}) {
		const std::string ns = "sr" + std::to_string(n), link = "veth" + std::to_string(n);
		{
			Undo down("ip -n " + ns + " link set " + link + " down",
				  up_again(ns, link, n ? settings.there : settings.here));

			sleep_ms(500);
		}
		for (Pair &pair : pairs)
			pair.exercise();
	}
	Pair(ports.here, ports.there).exercise();
}

// A connected pair keeps its stream; a QP that comes while the address is away cannot begin.
void address_away()
{
	const std::string extra = "10.99.0.77";

	command("ip -n sr0 addr add " + extra + "/24 dev veth0");
	{
		Ports ports(extra, settings.there.address);
		Pair pair(ports.here, ports.there);
		End a(ports.here), b(ports.there);

		pair.exercise();
		expect(!a.init() && !b.init() && !a.rtr(b.name()) && !a.rts(), "RTS");
		command("ip -n sr0 addr del " + extra + "/24 dev veth0");
		sleep_ms(300);
		command("ip -n sr0 addr add " + extra + "/24 dev veth0");
		sleep_ms(300);
		pair.exercise();
		expect(!b.rtr(a.name()) && !b.rts(), "RTS");
		exercise(a, b);
	}
	Ports again(extra, settings.there.address);

	Pair(again.here, again.there).exercise();
	command("ip -n sr0 addr del " + extra + "/24 dev veth0");
}

// ---- what a script does below ----

// Not if an interface or a neighbour is away just now: then the RDMA core lets no QP into RTR.
bool begins(End &a, End &b)
{
	return !a.init() && !b.init() && !a.rtr(b.name()) && !b.rtr(a.name()) && !a.rts() &&
	       !b.rts();
}

// A pair that is there, and others that come.
void goes_on()
{
	Options options;
	int rounds = 0, new_pairs = 0;

	options.bytes = 1 << 16;
	Ports ports;
	Pair pair(ports.here, ports.there, options, options);

	while (access(settings.until.c_str(), F_OK)) {
		End a(ports.here), b(ports.there);

		for (int i = 0; i < 10; i++, rounds++) {
			pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.b.name(), options.bytes);
			pair.b.post(IBV_WR_RDMA_READ, 2, pair.a.name(), options.bytes);
			pair.a.sends.is(1);
			pair.b.sends.is(2);
		}
		if (!begins(a, b))
			continue;
		exercise(a, b);
		new_pairs++;
	}
	printf("# %d exchanges, %d new pairs\n", rounds, new_pairs);
	expect(rounds > 10 && new_pairs, "it goes on");
}

// ---- devices that go ----

// Connected QPs with and without requests, and some that wait for a peer.
struct Crew {
	std::deque<Pair> pairs;
	std::deque<End> waiting, absent;

	Crew(const Port &here, const Port &there, int ms = 100)
	{
		for (int i = 0; i < 10; i++) {
			Pair &pair = pairs.emplace_back(here, there);

			pair.exercise();
			pair.a.receive(1);
			if (i & 1)
				pair.a.send(9); // no receive: it is sent again and again
		}
		for (int i = 0; i < 10; i++) {
			wait(waiting.emplace_back(here), absent.emplace_back(there));
			wait(waiting.emplace_back(there), absent.emplace_back(here));
		}
		sleep_ms(ms);
	}
	static void wait(End &end, End &peer)
	{
		expect(!end.init() && !end.rtr(peer.name()) && !end.rts(), "RTS");
		end.send(1);
	}
};

void in_time(const std::string &line, double most)
{
	const auto begin = Clock::now();

	command(line);
	printf("# %s: %.2f s\n", line.c_str(), seconds_since(begin));
	expect(seconds_since(begin) < most, line + " takes long");
}

void device_deleted()
{
	const std::string add = "nsenter --net=/run/netns/sr1 rdma link add " +
				settings.there.device + " type srnic_ib netdev veth1";

	for (int i = 0; i < settings.rounds / 50 + 1; i++) {
		Ports ports;
		Crew crew(ports.here, ports.there, i % 2 ? 100 : i);

		in_time("rdma link delete " + settings.there.device, 12);
		Undo back(add);
	}
	Ports ports;

	Pair(ports.here, ports.there).exercise();
}

// A namespace of its own, with a device.
class Elsewhere {
	bool there = true;

public:
	Elsewhere()
	{
		command("ip netns add sr2 && ip -n sr2 link set lo up && "
			"ip -n sr2 link add dummy0 type dummy && "
			"ip -n sr2 addr add 10.97.0.1/24 dev dummy0 && ip -n sr2 link set dummy0 "
			"up && "
			"nsenter --net=/run/netns/sr2 rdma link add srnic2 type srnic_ib netdev "
			"dummy0");
	}
	Elsewhere(const Elsewhere &) = delete;
	~Elsewhere()
	{
		if (there && system("ip netns del sr2"))
			printf("# failed: ip netns del sr2\n");
	}
	void remove()
	{
		there = false;
		command("ip netns del sr2");
	}
	// The namespace goes by and by.
	static void is_gone()
	{
		const auto begin = Clock::now();

		while (!system("grep -qsx srnic2 /sys/class/infiniband_verbs/*/ibdev")) {
			expect(seconds_since(begin) < 10, "the device goes with its namespace");
			sleep_ms(50);
		}
		printf("# gone after %.2f s\n", seconds_since(begin));
	}
};

void namespace_without_qps()
{
	Elsewhere elsewhere;

	elsewhere.remove();
	Elsewhere::is_gone();
}

// The interface has left for another namespace: the device goes, and has the port of the former.
void namespace_without_interface()
{
	Elsewhere elsewhere;
	{
		Port port("srnic2", "10.97.0.1");
		Crew crew(port, port);

		command("ip -n sr2 link set dummy0 netns sr0");
		elsewhere.remove();
		sleep_ms(200);
	}
	Elsewhere::is_gone();
	command("ip -n sr0 link del dummy0");
}

// Their program is elsewhere, and keeps its QPs.
void namespace_with_waiting_qps()
{
	Elsewhere elsewhere;
	Port port("srnic2", "10.97.0.1");
	std::deque<End> waiting, absent;

	for (int i = 0; i < 10; i++)
		Crew::wait(waiting.emplace_back(port), absent.emplace_back(port));
	elsewhere.remove();
	Elsewhere::is_gone();
}

// A connection keeps its namespace, as other sockets do.
void namespace_with_connections()
{
	Elsewhere elsewhere;
	{
		Port port("srnic2", "10.97.0.1");
		Crew crew(port, port);

		elsewhere.remove();
		sleep_ms(200);
		for (size_t i = 0; i < crew.pairs.size(); i += 2)
			crew.pairs[i].b.send(8);
		for (size_t i = 0; i < crew.pairs.size(); i += 2)
			crew.pairs[i].a.receives.is(1);
	}
	Elsewhere::is_gone();
}

// ---- strangers ----

class Stranger {
	int fd = -1;

public:
	Stranger()
	{
		sockaddr_in to{};

		to.sin_family = AF_INET;
		to.sin_port = htons(4791);
		expect(inet_pton(AF_INET, settings.there.address.c_str(), &to.sin_addr) == 1,
		       "an address");
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		expect(!connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to)), "connect");
	}
	Stranger(const Stranger &) = delete;
	~Stranger() { close(fd); }
	void say(const std::string &what)
	{
		[[maybe_unused]] const ssize_t n =
			::send(fd, what.data(), what.size(), MSG_NOSIGNAL);
	}
};

void undisturbed(const Ports &ports, Pair &old)
{
	const auto begin = Clock::now();

	old.exercise();
	Pair(ports.here, ports.there).exercise();
	Pair(ports.there, ports.here).exercise();
	expect(seconds_since(begin) < 0.8, "a new pair connects at once, not after " +
						   std::to_string(seconds_since(begin)) + " s");
}

void strangers()
{
	std::string request = "MPA ID Req Frame";

	request += std::string{0, 2, 0, 96};
	request += "srnic-ib" + std::string(88, '\0');
	Ports ports;
	Pair old(ports.here, ports.there);

	for (const std::string &what :
	     {std::string(), std::string(5000, 'x'), request.substr(0, 10), request.substr(0, 18),
	      request.substr(0, 60), request, request + request,
	      std::string("MPA ID Req Frame\x40\x02\xff\xff")}) {
		Stranger stranger, gone;

		stranger.say(what);
		gone.say(what);
		undisturbed(ports, old);
	}
}

void many_strangers()
{
	Ports ports;
	Pair old(ports.here, ports.there);
	std::deque<Stranger> silent(200);

	undisturbed(ports, old);
	for (Stranger &stranger : silent)
		stranger.say("MPA ID");
	undisturbed(ports, old);
}

// ---- crowds ----

void crowd(const Port &here, const Port &there, int count)
{
	std::deque<End> a, b;

	for (int i = 0; i < count; i++) {
		expect(!a.emplace_back(here).init() && !b.emplace_back(there).init(), "INIT");
		b[i].receive(1);
	}
	for (int i = 0; i < count; i++) {
		expect(!a[i].rtr(b[i].name()) && !a[i].rts(), "RTS");
		a[i].send(2);
	}
	const auto begin = Clock::now();

	for (int i = 0; i < count; i++)
		expect(!b[i].rtr(a[i].name()) && !b[i].rts(), "RTS");
	for (int i = 0; i < count; i++) {
		b[i].receives.is(1);
		a[i].sends.is(2);
	}
	if (count > 100)
		printf("# %d pairs found each other within %.2f s\n", count, seconds_since(begin));
	for (int i = 0; i < count; i++)
		exercise(a[i], b[i]);
}

// Startups that were reset because there were too many, at both ends.
int gave_way()
{
	int sum = 0;

	sleep_ms(50); // the RDMA core keeps counters for a while
	for (const std::string &device : {settings.here.device, settings.there.device}) {
		std::ifstream file("/sys/class/infiniband/" + device +
				   "/ports/1/hw_counters/startup_gave_way");
		int count = -1;

		file >> count;
		expect(count >= 0, "a counter");
		sum += count;
	}
	return sum;
}

void one_process()
{
	const int before = gave_way();
	Ports ports;

	crowd(ports.here, ports.there, settings.crowd);
	expect(gave_way() == before, "the limits of startups let a crowd of one host through");
}

constexpr int crews = 64;

int crowd_alone()
try {
	Ports ports;

	crowd(ports.here, ports.there, settings.crowd / crews);
	return 0;
} catch (const std::runtime_error &failure) {
	printf("# %s\n", failure.what());
	return 1;
}

void processes()
{
	const int before = gave_way();
	std::deque<pid_t> children;
	bool good = true;

	fflush(stdout);
	for (int i = 0; i < crews; i++) {
		children.push_back(fork());
		if (!children.back()) {
			const int status = crowd_alone();

			fflush(stdout);
			_exit(status);
		}
	}
	for (const pid_t child : children) {
		int status;

		good &= waitpid(child, &status, 0) == child && !status;
	}
	expect(good, "each process");
	expect(gave_way() == before, "the limits of startups let a crowd of one host through");
}

} // namespace

Cases life_cases()
{
	if (!settings.until.empty())
		return {{"it goes on whatever happens below", goes_on}};
	return {
		{"an interface goes down and up below idle QPs", interface_down_and_up},
		{"an address goes and comes back", address_away},
		{"a device is deleted below QPs", device_deleted},
		{"a namespace is deleted with its device", namespace_without_qps},
		{"a namespace is deleted that its interface has left", namespace_without_interface},
		{"a namespace is deleted with QPs that wait", namespace_with_waiting_qps},
		{"a namespace is deleted with connected QPs", namespace_with_connections},
		{"strangers at the port disturb nobody", strangers},
		{"200 silent strangers at the port disturb nobody", many_strangers},
		{"a crowd of pairs in one process", one_process},
		{"a crowd of pairs in 64 processes", processes},
	};
}
