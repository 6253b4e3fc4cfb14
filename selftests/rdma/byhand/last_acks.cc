// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The last Ack (Documentation/ib.rst rule 31): an end that goes right after its last completion
// lets the other end complete its request.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <unistd.h>

#include <sys/wait.h>

#include "case.hh"

namespace {

using Way = std::function<void(End &)>;

void destroy(End &end) { end.destroy_qp(); }
void reset(End &end) { end.to(IBV_QPS_RESET); }
void fail(End &end) { end.to(IBV_QPS_ERR); }

// Some of the other end's messages, of which the last one counts.
void receiver_goes(End &from, End &to, const Way &go)
{
	for (uint64_t n = 1; n <= 4; n++)
		to.receive(n, 1000);
	for (uint64_t n = 1; n <= 4; n++)
		from.send(n, 1000);
	for (uint64_t n = 1; n <= 4; n++)
		to.receives.is(n);
	go(to);
	for (uint64_t n = 1; n <= 4; n++)
		from.sends.is(n);
}

// The end whose Send has completed goes: its receive was complete before.
void sender_goes(End &from, End &to, const Way &go)
{
	to.receive(1);
	from.receive(2);
	from.send(3);
	to.receives.is(1);
	to.send(4);
	from.receives.is(2);
	from.sends.is(3);
	go(from);
	to.sends.is(4);
}

void each_end(const Way &go, int rounds)
{
	Ports ports;

	for (int i = 0; i < rounds; i++) {
		Pair first(ports.here, ports.there), second(ports.here, ports.there);

		receiver_goes(first.a, first.b, go);
		receiver_goes(second.b, second.a, go);
	}
	for (int i = 0; i < rounds; i++) {
		Pair first(ports.here, ports.there), second(ports.here, ports.there);

		sender_goes(first.a, first.b, go);
		sender_goes(second.b, second.a, go);
	}
}

void destroyed() { each_end(destroy, settings.rounds); }

void was_reset() { each_end(reset, settings.rounds); }

void failed() { each_end(fail, settings.rounds); }

// In the middle of long messages of its own, which fill the connection.
void busy()
{
	Options options;

	options.bytes = 1 << 20;
	Ports ports;

	for (int i = 0; i < settings.rounds / 4; i++) {
		Pair pair(ports.here, ports.there, options, options);
		End &from = i & 1 ? pair.a : pair.b, &to = i & 1 ? pair.b : pair.a;

		to.receive(1, 1000);
		for (uint64_t n = 1; n <= 8; n++)
			to.post(n & 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, n, from.name(),
				options.bytes);
		from.send(1, 1000);
		to.receives.is(1);
		(i & 2 ? destroy : reset)(to);
		from.sends.is(1);
	}
}

// ---- processes ----

class Pipe {
	int ends[2];

public:
	Pipe() { expect(!pipe(ends), "pipe"); }
	Pipe(const Pipe &) = delete;
	~Pipe()
	{
		close(ends[0]);
		close(ends[1]);
	}
	template <class T> void put(const T &what)
	{
		expect(write(ends[1], &what, sizeof(what)) == sizeof(what), "write");
	}
	template <class T> T get()
	{
		T what;

		expect(read(ends[0], &what, sizeof(what)) == sizeof(what), "read");
		return what;
	}
};

void be_receiver(const Place &at, Pipe &from_parent, Pipe &to_parent, bool killed)
{
	Port port(at.device, at.address);
	End end(port);

	if (end.init())
		_exit(1);
	end.receive(1, 1000);
	to_parent.put(end.name());
	const Name peer = from_parent.get<Name>();

	if (end.rtr(peer) || end.rts())
		_exit(1);
	end.receives.is(1);
	if (killed)
		kill(getpid(), SIGKILL);
	_exit(0);
}

void child_goes(const Port &here, const Place &there, bool killed)
{
	Pipe to_child, to_parent;
	const pid_t child = fork();
	int status;

	if (!child) {
		try {
			be_receiver(there, to_child, to_parent, killed);
		} catch (const std::runtime_error &failure) {
			printf("# child: %s\n", failure.what());
		}
		_exit(2);
	}
	End end(here);
	const Name peer = to_parent.get<Name>();

	to_child.put(end.name());
	expect(!end.init() && !end.rtr(peer) && !end.rts(), "RTS");
	end.send(1, 1000);
	end.sends.is(1);
	expect(waitpid(child, &status, 0) == child &&
		       (killed ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status)),
	       "the other process");
}

void processes(bool killed, int rounds)
{
	Ports ports;

	for (int i = 0; i < rounds; i++) {
		child_goes(ports.here, settings.there, killed);
		child_goes(ports.there, settings.here, killed);
	}
}

void exits() { processes(false, settings.rounds); }

void is_killed() { processes(true, settings.rounds); }

void lossy()
{
	Undo link("tc -n sr0 qdisc add dev veth0 root netem delay 20ms loss 5% && "
		  "tc -n sr1 qdisc add dev veth1 root netem delay 20ms loss 5%",
		  "tc -n sr0 qdisc del dev veth0 root; tc -n sr1 qdisc del dev veth1 root");

	each_end(destroy, settings.rounds / 25);
	processes(true, settings.rounds / 50);
}

} // namespace

Cases last_ack_cases()
{
	return {
		{"the last Ack of a QP that is destroyed", destroyed},
		{"the last Ack of a QP that is reset", was_reset},
		{"the last Ack of a QP that goes to the error state", failed},
		{"the last Ack of a QP that is busy", busy},
		{"the last Ack of a process that exits", exits},
		{"the last Ack of a process that is killed", is_killed},
		{"the last Ack over a lossy link", lossy},
	};
}
