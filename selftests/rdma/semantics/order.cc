// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5040 5.5, as programs see it: what a completion guarantees.
#include "case.hh"

namespace {

constexpr uint32_t len = 100000;

struct Scene {
	Joint joint{settings.there, settings.here};
	Buffer ours, result, theirs;

	Scene() : ours(joint.client, len), result(joint.client, len), theirs(joint.server, len) {}
	ibv_sge source() const { return ours.region.piece(0, len); }
	void post_write(uint64_t wr_id, unsigned flags)
	{
		joint.client.post(wr_id, IBV_WR_RDMA_WRITE, {source()}, flags,
				  theirs.region.target());
	}
	void post_read(uint64_t wr_id)
	{
		joint.client.post(wr_id, IBV_WR_RDMA_READ, {result.region.piece(0, len)},
				  IBV_SEND_SIGNALED, theirs.region.target());
	}
};

void write_then_send()
{
	Scene scene;

	for (uint64_t round = 1; round <= settings.rounds; round++) {
		scene.ours.fill(round);
		scene.joint.server.receive(round, {});
		scene.post_write(1, 0);
		scene.joint.client.post(2, IBV_WR_SEND, {});
		scene.joint.server.receives->good(round);
		expect(scene.theirs.octets == scene.ours.octets,
		       "the Send is here before the Write");
		scene.joint.client.sends->good(2);
	}
}

void write_then_read()
{
	Scene scene;

	for (uint64_t round = 1; round <= settings.rounds; round++) {
		scene.ours.fill(round);
		scene.post_write(1, 0);
		scene.post_read(2);
		scene.joint.client.sends->good(2);
		expect(scene.result.octets == scene.ours.octets, "the Read has missed the Write");
	}
}

void read_then_fenced_write()
{
	Scene scene;

	std::vector<uint8_t> before = scene.theirs.octets;

	for (uint64_t round = 1; round <= settings.rounds; round++) {
		scene.ours.fill(round);
		scene.post_read(1);
		scene.post_write(2, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
		scene.joint.client.sends->good(1);
		scene.joint.client.sends->good(2);
		expect(scene.result.octets == before, "the Read has octets of the Write behind it");
		before = scene.ours.octets;	// in flight: its completion says no more
	}
}

void read_then_fenced_send()
{
	Scene scene;

	for (uint64_t round = 1; round <= settings.rounds; round++) {
		scene.theirs.fill(round);
		scene.joint.server.receive(round, {});
		scene.post_read(1);
		scene.joint.client.post(2, IBV_WR_SEND, {}, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
		scene.joint.server.receives->good(round);
		const auto read = scene.joint.client.sends->there();
		expect(read && read->wr_id == 1, "the Send is there before the Read is done");
		expect(scene.result.octets == scene.theirs.octets, "the octets of the Read");
		scene.joint.client.sends->good(2);
	}
}

// Long and short messages do not overtake each other.
void sends_in_order()
{
	Scene scene;
	const auto length = [](uint32_t i) { return i % 4 ? i : 900 * i; };

	scene.ours.fill(1);
	for (uint32_t i = 0; i < 100; i++)
		scene.joint.server.receive(i, {scene.theirs.region.piece(0, len)});
	for (uint32_t i = 0; i < 100; i++)
		scene.joint.client.post(i, IBV_WR_SEND, {scene.ours.region.piece(0, length(i))});
	for (uint32_t i = 0; i < 100; i++) {
		scene.joint.client.sends->good(i);
		expect(scene.joint.server.receives->good(i).byte_len == length(i),
		       "another Send's length");
	}
}

// Only Reads take a round trip, but all complete in the order of posting.
void completions_in_order()
{
	constexpr ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND};
	Scene scene;

	for (uint32_t i = 0; i < 120; i++)
		scene.joint.server.receive(i, {});
	for (uint32_t i = 0; i < 120; i++) {
		const ibv_wr_opcode opcode = opcodes[i * 7 % 5 % 3];

		scene.joint.client.post(
			i, opcode, {scene.ours.region.piece(0, opcode == IBV_WR_SEND ? 0 : i * 50)},
			IBV_SEND_SIGNALED, scene.theirs.region.target());
	}
	for (uint32_t i = 0; i < 120; i++)
		scene.joint.client.sends->good(i);
}

} // namespace

Cases order_cases()
{
	return {
		{"RFC 5040 5.5: when a Send is there, so are the Writes in front of it",
		 write_then_send},
		{"RFC 5040 5.5: a Read sees the Writes in front of it", write_then_read},
		{"RFC 5040 5.5: behind a fence, a Write does not reach what a Read reads",
		 read_then_fenced_write},
		{"RFC 5040 5.5: behind a fence, a Send comes when the Read is done",
		 read_then_fenced_send},
		{"RFC 5040 5.5: Sends come in the order of posting, whatever their lengths",
		 sends_in_order},
		{"RFC 5040 5.5: requests complete in the order of posting, whatever they are",
		 completions_in_order},
	};
}
