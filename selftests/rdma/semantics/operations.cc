// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Every operation in its forms: zero-length, of many pieces, inline, unsignaled, solicited; with
// the completions at both ends (RFC 5040 5.1 to 5.3).
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.hh"

namespace {

constexpr int a_while_ms = 100; // how long to wait for events that must not come

Joint connected(uint8_t reads = 8) { return Joint(settings.there, settings.here, reads); }

// ---- zero-length ----

void zero_length_send(std::vector<ibv_sge> posted, std::vector<ibv_sge> received, Joint &joint)
{
	joint.server.receive(1, received);
	joint.client.post(2, IBV_WR_SEND, posted);
	const ibv_wc there = joint.server.receives->good(1), here = joint.client.sends->good(2);

	expect(there.opcode == IBV_WC_RECV && there.byte_len == 0, "the receive's completion");
	expect(here.opcode == IBV_WC_SEND, "the Send's completion");
}

void zero_length_sends()
{
	Joint joint = connected();
	Buffer ours(joint.client, 64), theirs(joint.server, 64);

	zero_length_send({}, {}, joint);
	zero_length_send({}, {theirs.region.piece(0, 64)}, joint);
	zero_length_send({ours.region.piece(3, 0)}, {theirs.region.piece(0, 64)}, joint);
	expect(theirs.octets == std::vector<uint8_t>(64), "a Send of no octets has changed memory");
}

// With any STag and address: RFC 5041 5.2 forbids checking them. The Send after it shows that the
// connection still works.
void zero_length_writes()
{
	Joint joint = connected();

	joint.server.receive(1, {});
	joint.client.post(2, IBV_WR_RDMA_WRITE, {}, IBV_SEND_SIGNALED, {1, 1});
	joint.client.post(3, IBV_WR_SEND, {});
	expect(joint.client.sends->good(2).opcode == IBV_WC_RDMA_WRITE, "the Write's completion");
	joint.client.sends->good(3);
	joint.server.receives->good(1);
	expect(!joint.server.receives->there(), "the peer has a completion of a Write");
}

void zero_length_reads()
{
	Joint joint = connected();
	Buffer ours(joint.client, 64);

	for (uint64_t i = 0; i < 20; i++) {
		const std::vector<ibv_sge> sink(i & 1, ours.region.piece(5, 0));

		joint.client.post(i, IBV_WR_RDMA_READ, sink, IBV_SEND_SIGNALED, {1, 1});
		const ibv_wc wc = joint.client.sends->good(i);
		expect(wc.opcode == IBV_WC_RDMA_READ && wc.byte_len == 0, "the Read's completion");
	}
	expect(!joint.server.receives->there(), "the peer has a completion of a Read");
}

// ---- solicited events ----

// A Send arrives at a CQ armed for solicited events only: is there an event?
bool wakes(Joint &joint, unsigned flags)
{
	joint.server.receives->arm(true);
	joint.server.receive(1, {});
	joint.client.post(2, IBV_WR_SEND, {}, IBV_SEND_SIGNALED | flags);
	joint.client.sends->good(2);
	return joint.server.receives->wakes(flags ? patience_ms : a_while_ms);
}

void solicited_events()
{
	Joint joint = connected();

	expect(!wakes(joint, 0), "a Send without solicited event wakes");
	expect(wakes(joint, IBV_SEND_SOLICITED), "a Send with solicited event does not wake");
	joint.server.receives->good(1);
	joint.server.receives->good(1);
	expect(!wakes(joint, 0), "a Send without solicited event wakes after one that had it");
}

// A Send, and its completion at the peer: a Read after it is answered.
void deliver(Joint &joint, unsigned flags)
{
	joint.server.receive(1, {});
	joint.client.post(2, IBV_WR_SEND, {}, flags);
	joint.client.post(3, IBV_WR_RDMA_READ, {}, IBV_SEND_SIGNALED, {1, 1});
	joint.client.sends->good(3);
}

// For a program that polls, arms and then waits without polling again: what came in between has an
// event, if the CQ is armed for it.
void late_arms()
{
	Joint joint = connected();
	Completions &of = *joint.server.receives;

	for (const bool solicited : {false, true}) {
		deliver(joint, 0);
		of.arm(solicited);
		expect(of.wakes(solicited ? a_while_ms : patience_ms) != solicited,
		       "what came before wakes who waits for solicited events only, or nobody");
		of.good(1);
	}
	deliver(joint, IBV_SEND_SOLICITED);
	of.arm(true);
	expect(of.wakes(patience_ms), "what came before with solicited event does not wake");
	of.good(1);
}

// A receive that ends in error also raises an event.
void errors_wake()
{
	Joint joint = connected();

	joint.server.receive(1, {});
	joint.server.receives->arm(true);
	joint.client.modify(IBV_QPS_ERR);
	expect(joint.server.receives->wakes(patience_ms), "a flushed receive does not wake");
	expect(joint.server.receives->next().status == IBV_WC_WR_FLUSH_ERR,
	       "the status of a flushed receive");
}

// ---- pieces ----

constexpr uint32_t pieces_len = 1 + 4095 + 70000 + 7 + 0 + 30000;

std::vector<ibv_sge> pieces_of(const Buffer &of) // with gaps, of odd lengths and places
{
	const Region &r = of.region;

	return {r.piece(3, 1),     r.piece(10, 4095), r.piece(5000, 70000),
		r.piece(90001, 7), r.piece(1, 0),     r.piece(100003, 30000)};
}

std::vector<ibv_sge> other_pieces_of(const Buffer &of)
{
	const Region &r = of.region;

	return {r.piece(100000, 50000), r.piece(7, 3), r.piece(11, pieces_len - 50003)};
}

std::vector<uint8_t> gathered(const std::vector<ibv_sge> &pieces)
{
	std::vector<uint8_t> all;

	for (const ibv_sge &piece : pieces) {
		const auto *at = reinterpret_cast<const uint8_t *>(piece.addr);
		all.insert(all.end(), at, at + piece.length);
	}
	return all;
}

// All other bytes are still zero.
bool only_pieces_changed(const Buffer &buffer, std::vector<ibv_sge> pieces)
{
	std::vector<uint8_t> rest = buffer.octets;

	for (const ibv_sge &piece : pieces)
		memset(rest.data() +
			       (reinterpret_cast<uint8_t *>(piece.addr) - buffer.octets.data()),
		       0, piece.length);
	return rest == std::vector<uint8_t>(rest.size());
}

void gather_and_scatter_a_send()
{
	Joint joint = connected();
	Buffer from(joint.client, 1 << 18), to(joint.server, 1 << 18);

	from.fill(7);
	joint.server.receive(1, other_pieces_of(to));
	joint.client.post(2, IBV_WR_SEND, pieces_of(from));
	expect(joint.server.receives->good(1).byte_len == pieces_len, "byte_len");
	joint.client.sends->good(2);
	expect(gathered(other_pieces_of(to)) == gathered(pieces_of(from)), "the octets");
	expect(only_pieces_changed(to, other_pieces_of(to)),
	       "octets between the pieces have changed");
}

void gather_a_write()
{
	Joint joint = connected();
	Buffer from(joint.client, 1 << 18), to(joint.server, 1 << 18);

	from.fill(8);
	joint.server.receive(1, {});
	joint.client.post(2, IBV_WR_RDMA_WRITE, pieces_of(from), 0, to.region.target(11));
	joint.client.post(3, IBV_WR_SEND, {});
	joint.server.receives->good(1);
	joint.client.sends->good(3);
	expect(gathered({to.region.piece(11, pieces_len)}) == gathered(pieces_of(from)),
	       "the octets");
	expect(only_pieces_changed(to, {to.region.piece(11, pieces_len)}),
	       "octets beside the target have changed");
}

void scatter_a_read()
{
	Joint joint = connected();
	Buffer from(joint.server, 1 << 18), to(joint.client, 1 << 18);

	from.fill(9);
	const ibv_sge source = from.region.piece(13, pieces_len),
		      sink = to.region.piece(9, pieces_len);
	joint.client.post(1, IBV_WR_RDMA_READ, {sink}, IBV_SEND_SIGNALED, from.region.target(13));
	expect(joint.client.sends->good(1).byte_len == pieces_len, "byte_len");
	expect(gathered({sink}) == gathered({source}), "the octets");
	expect(only_pieces_changed(to, {sink}), "octets beside the sink have changed");
}

// ---- inline, unsignaled ----

// From memory that is not registered, and is gone when the call has returned.
void post_inline(End &end, uint64_t wr_id, ibv_wr_opcode opcode, uint8_t octet, Target remote)
{
	uint8_t octets[inline_len];
	const ibv_sge list = {reinterpret_cast<uintptr_t>(octets), sizeof(octets), 0};

	memset(octets, octet, sizeof(octets));
	end.post(wr_id, opcode, {list}, IBV_SEND_SIGNALED | IBV_SEND_INLINE, remote);
	memset(octets, 0xff, sizeof(octets));
	asm volatile("" : : "r"(octets) : "memory");
}

std::vector<uint8_t> all_of(uint8_t octet) { return std::vector<uint8_t>(inline_len, octet); }

void inline_requests()
{
	Joint joint = connected();
	Buffer written(joint.server, inline_len), received(joint.server, inline_len);

	for (uint8_t i = 1; i < 100; i++) {
		joint.server.receive(i, {received.region.piece(0, inline_len)});
		post_inline(joint.client, 2 * i, IBV_WR_RDMA_WRITE, i, written.region.target());
		post_inline(joint.client, 2 * i + 1, IBV_WR_SEND, static_cast<uint8_t>(~i), {});
		joint.client.sends->good(2 * i);
		joint.client.sends->good(2 * i + 1);
		expect(joint.server.receives->good(i).byte_len == inline_len, "byte_len");
		expect(written.octets == all_of(i), "the octets of an inline Write");
		expect(received.octets == all_of(static_cast<uint8_t>(~i)),
		       "the octets of an inline Send");
	}
}

// Only signaled requests complete, but all free their slots: there are 128.
void unsignaled_requests()
{
	Joint joint = connected();
	Buffer ours(joint.client, 1000), theirs(joint.server, 1000);

	for (uint64_t round = 0; round < 30; round++) {
		for (uint64_t i = 0; i < 100; i++)
			joint.client.post(i, i % 3 == 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
					  {ours.region.piece(0, 1000)}, 0, theirs.region.target());
		joint.client.post(1000 + round, IBV_WR_RDMA_WRITE, {}, IBV_SEND_SIGNALED);
		joint.client.sends->good(1000 + round);
	}
	expect(!joint.client.sends->there(), "there are more completions than signaled requests");
}

// ---- outstanding reads (RFC 5040 5.2; IRD and ORD, RFC 6581) ----

// The peer would end the stream if it got more Read Requests than its IRD.
void reads_beyond_ord(uint8_t reads)
{
	Joint joint = connected(reads);
	Buffer ours(joint.client, 100 << 10), theirs(joint.server, 100 << 10);

	theirs.fill(reads);
	for (uint32_t i = 0; i < 100; i++)
		joint.client.post(i, IBV_WR_RDMA_READ, {ours.region.piece(i << 10, 1024)},
				  IBV_SEND_SIGNALED, theirs.region.target(i << 10));
	for (uint32_t i = 0; i < 100; i++)
		joint.client.sends->good(i);
	expect(ours.octets == theirs.octets, "the octets that were read");
}

// ---- threads that are cancelled ----

struct Cancelled {
	Joint &joint;
	uint64_t completed = 0;
};

constexpr uint64_t posted_when_cancelled = 100;

void *post_and_poll(void *context)
{
	Cancelled &thread = *static_cast<Cancelled *>(context);

	pthread_cancel(pthread_self());
	for (uint64_t i = 0; i < posted_when_cancelled; i++)
		thread.joint.client.post(i, IBV_WR_RDMA_WRITE, {});
	while (thread.completed < posted_when_cancelled)
		thread.completed += thread.joint.client.sends->there().has_value();
	pthread_testcancel();
	return nullptr;
}

// Else a request would be posted that nobody has announced, or a CQ stay locked.
void cancelled_between_calls()
{
	Joint joint = connected();
	Cancelled thread{joint};
	pthread_t id;
	void *result;

	need(!pthread_create(&id, nullptr, post_and_poll, &thread), "pthread_create");
	need(!pthread_join(id, &result), "pthread_join");
	expect(result == PTHREAD_CANCELED, "the thread was not cancelled");
	expect(thread.completed == posted_when_cancelled, "it was cancelled within a call");
}

// ---- fork ----

// A child that stores all over its copy of a page, and keeps that until the other is destroyed.
class Child {
public:
	explicit Child(uint8_t *page)
	{
		need(!pipe(gate), "pipe");
		pid = fork();
		need(pid >= 0, "fork");
		if (pid)
			return;
		char octet;

		close(gate[1]);
		memset(page, 0xcc, 4096);
		_exit(read(gate[0], &octet, 1) || page[0] != 0xcc || page[4095] != 0xcc);
	}
	~Child() { ends_well(); }
	bool ends_well()
	{
		int status = 1;

		for (int &fd : gate)
			if (fd >= 0)
				close(fd), fd = -1;
		if (pid > 0)
			waitpid(pid, &status, 0), pid = 0;
		return !status;
	}
	Child(const Child &) = delete;

private:
	int gate[2] = {-1, -1};
	pid_t pid = 0;
};

// A part of the page is registered: the child can use the rest, and parent and peer still see each
// other's stores.
void child_gets_a_copy()
{
	constexpr uint32_t half = 2048;
	Joint joint = connected();
	Buffer ours(joint.client, half);
	void *memory =
		mmap(nullptr, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(memory != MAP_FAILED, "mmap");
	auto *page = static_cast<uint8_t *>(memory);
	Region theirs(joint.server, page + half, half);
	Child child(page);

	fill(page + half, half, 1);
	joint.client.post(1, IBV_WR_RDMA_READ, {ours.region.piece(0, half)}, IBV_SEND_SIGNALED,
			  theirs.target());
	joint.client.sends->good(1);
	expect(!memcmp(ours.octets.data(), page + half, half), "the parent's stores are not read");
	ours.fill(2);
	joint.client.post(2, IBV_WR_RDMA_WRITE, {ours.region.piece(0, half)}, IBV_SEND_SIGNALED,
			  theirs.target());
	joint.client.post(3, IBV_WR_RDMA_READ, {ours.region.piece(0, 1)}, IBV_SEND_SIGNALED,
			  theirs.target());
	joint.client.sends->good(2);
	joint.client.sends->good(3);
	expect(!memcmp(ours.octets.data(), page + half, half), "the parent misses the Write");
	expect(child.ends_well(), "the child's copy has changed");
	munmap(memory, 2 * half);
}

} // namespace

Cases operation_cases()
{
	return {
		{"RFC 5040 5.3: a Send of no octets completes at both ends", zero_length_sends},
		{"RFC 5041 5.2: a Write of no octets completes at its sender, wherever it goes",
		 zero_length_writes},
		{"RFC 5040 5.2.1: a Read of no octets completes, wherever it goes",
		 zero_length_reads},
		{"RFC 5040 5.3: a Send with solicited event wakes its waiter, others do not",
		 solicited_events},
		{"an error wakes a program that waits for solicited events", errors_wake},
		{"a CQ that is armed after a completion has its event", late_arms},
		{"a Send gathers six pieces and is scattered to three", gather_and_scatter_a_send},
		{"a Write gathers six pieces", gather_a_write},
		{"a Read at odd places fills its sink and nothing else", scatter_a_read},
		{"an inline request has taken its octets when the call returns", inline_requests},
		{"unsignaled requests do not complete, and give their slots back",
		 unsignaled_requests},
		{"RFC 5040 5.2: 100 Reads where the peer allows 1 at a time",
		 [] { reads_beyond_ord(1); }},
		{"RFC 5040 5.2: 100 Reads where the peer allows 3 at a time",
		 [] { reads_beyond_ord(3); }},
		{"a thread is not cancelled while it posts or polls", cancelled_between_calls},
		{"a child of fork() has a copy of a page of which a part is registered",
		 child_gets_a_copy},
	};
}
