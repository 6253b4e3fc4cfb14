// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The buffer of a completed request may be reused (RFC 5040 5.5: a Send or Write completes when it
// does not need its source any more): the source is overwritten at once, and the posted data must
// still arrive.
//	reuse NS ADDRESS PEER-NS PEER-ADDRESS WAY ROUNDS [OCTETS]
// WAY: write, send: signaled, waits for its own completion; write-then-send, send-then-send:
// unsignaled, waits for the completion of a small Send after it. Ends with a line "ROUNDS rounds, N
// damaged"; exit status 0: none was.
#include "ends.hh"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Way {
	const char *name;
	ibv_wr_opcode opcode;
	bool signaled;
};

constexpr Way ways[] = {
	{"write", IBV_WR_RDMA_WRITE, true},
	{"send", IBV_WR_SEND, true},
	{"write-then-send", IBV_WR_RDMA_WRITE, false},
	{"send-then-send", IBV_WR_SEND, false},
};

enum : uint64_t { large, small };

// One connection with a local source, a remote target, and a small message that announces the large
// one.
struct Transfer {
	Joint joint;
	Buffer source, target, note, seen;
	const Way &way;

	Transfer(const Place &from, const Place &to, const Way &how, size_t len)
		: joint(to, from), source(joint.client, len), target(joint.server, len),
		  note(joint.client, 64), seen(joint.server, 64), way(how)
	{
	}

	void post_receives()
	{
		if (way.opcode == IBV_WR_SEND)
			joint.server.receive(large, {whole(target)});
		joint.server.receive(small, {whole(seen)});
	}
	void await_arrival()
	{
		if (way.opcode == IBV_WR_SEND)
			joint.server.receives->good(large);
		joint.server.receives->good(small);
	}
	// From posting until the source may be reused.
	void give_and_get_back()
	{
		End &client = joint.client;

		client.post(large, way.opcode, {whole(source)},
			    way.signaled ? IBV_SEND_SIGNALED : 0, target.region.target());
		if (way.signaled)
			client.sends->good(large);
		else
			announce();
	}
	void announce()
	{
		joint.client.post(small, IBV_WR_SEND, {whole(note)});
		joint.client.sends->good(small);
	}
	bool intact(unsigned round)
	{
		const uint64_t seed = round * 0x9e3779b97f4a7c15;

		source.fill(seed);
		post_receives();
		give_and_get_back();
		memset(source.octets.data(), 0xbd, source.octets.size());
		if (way.signaled)
			announce();
		await_arrival();
		try {
			verify(target.octets.data(), static_cast<uint32_t>(target.octets.size()),
			       seed, "the target");
		} catch (const Wrong &wrong) {
			printf("round %u: %s\n", round, wrong.what());
			return false;
		}
		return true;
	}

private:
	static ibv_sge whole(const Buffer &buffer)
	{
		return buffer.region.piece(0, static_cast<uint32_t>(buffer.octets.size()));
	}
};

const Way &way_called(const char *name)
{
	for (const Way &way : ways)
		if (!strcmp(way.name, name))
			return way;
	throw Broken(std::string("there is no way ") + name);
}

// A connection that breaks because of damage (its CRC) counts as a damaged round; the next round
// gets a new one.
unsigned damaged_rounds(const Place &from, const Place &to, const Way &way, unsigned rounds,
			size_t len)
{
	std::optional<Transfer> transfer;
	unsigned damaged = 0;

	for (unsigned round = 1; round <= rounds; round++) {
		if (!transfer)
			transfer.emplace(from, to, way, len);
		try {
			damaged += !transfer->intact(round);
		} catch (const std::runtime_error &e) {
			printf("round %u: %s\n", round, e.what());
			damaged++;
			transfer.reset();
		}
	}
	return damaged;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 7 || argc > 8) {
		fprintf(stderr,
			"usage: reuse NS ADDRESS PEER-NS PEER-ADDRESS WAY ROUNDS [OCTETS]\n");
		return 2;
	}
	const unsigned rounds = static_cast<unsigned>(atoi(argv[6]));
	const size_t len = argc > 7 ? strtoul(argv[7], nullptr, 0) : 1 << 20;
	const Place here = {argv[1], argv[2]}, there = {argv[3], argv[4]};

	try {
		const unsigned damaged =
			damaged_rounds(here, there, way_called(argv[5]), rounds, len);

		printf("%u rounds, %u damaged\n", rounds, damaged);
		return damaged || !rounds;
	} catch (const std::runtime_error &e) {
		printf("%s\n", e.what());
		return 2;
	}
}
