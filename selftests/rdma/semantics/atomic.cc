// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Atomic operations (RFC 7306 5) through the standard verbs: what they do to a word, and to which
// words; their order among other operations (7); and with whom they exclude each other (5.3).
#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>

#include "words.hh"

namespace {

constexpr int rights = atomic_rights;

Joint connected(uint8_t reads = 8) { return Joint(settings.there, settings.here, reads); }

// Returns the errno.
int post(End &end, ibv_wr_opcode opcode, Target remote, ibv_sge sink, uint64_t compare_add,
	 uint64_t swap = 0, unsigned flags = IBV_SEND_SIGNALED)
{
	ibv_send_wr wr{}, *bad;

	wr.wr_id = 1;
	wr.opcode = opcode;
	wr.sg_list = &sink;
	wr.num_sge = 1;
	wr.send_flags = flags;
	wr.wr.atomic = {remote.addr, compare_add, swap, remote.rkey};
	return ibv_post_send(end.id->qp, &wr, &bad);
}

void add(Joint &joint, const Words &theirs, const Words &ours, uint64_t value)
{
	expect(!post(joint.client, IBV_WR_ATOMIC_FETCH_AND_ADD, theirs.target(0), ours.piece(0),
		     value),
	       "ibv_post_send");
	const ibv_wc wc = joint.client.sends->good(1);
	expect(wc.opcode == IBV_WC_FETCH_ADD && wc.byte_len == 8, "the completion of an addition");
}

void compare(Joint &joint, const Words &theirs, const Words &ours, uint64_t value, uint64_t swap)
{
	expect(!post(joint.client, IBV_WR_ATOMIC_CMP_AND_SWP, theirs.target(0), ours.piece(0),
		     value, swap),
	       "ibv_post_send");
	expect(joint.client.sends->good(1).opcode == IBV_WC_COMP_SWAP, "the completion of a swap");
}

// 5.1: the original value is returned, the word changed.
void both_operations()
{
	Joint joint = connected();
	Words theirs(joint.server), ours(joint.client);

	theirs.at[0] = 0x1122334455667788;
	theirs.at[1] = 7;
	add(joint, theirs, ours, 5);
	expect(ours.at[0] == 0x1122334455667788 && theirs.at[0] == 0x112233445566778d, "addition");
	add(joint, theirs, ours, ~0ull);
	expect(ours.at[0] == 0x112233445566778d && theirs.at[0] == 0x112233445566778c,
	       "subtraction");
	compare(joint, theirs, ours, 1, 2);
	expect(ours.at[0] == 0x112233445566778c && theirs.at[0] == ours.at[0],
	       "a comparison that fails");
	compare(joint, theirs, ours, theirs.at[0], 2);
	expect(ours.at[0] == 0x112233445566778c && theirs.at[0] == 2, "one that succeeds");
	expect(theirs.at[1] == 7 && !ours.at[1], "the words beside them have changed");
}

// 5.4 rule 8: as many at once as there are places, in the order of posting.
void many_at_once()
{
	Joint joint = connected();
	Words theirs(joint.server), ours(joint.client);

	theirs.at[0] = 10;
	for (uint64_t i = 0; i < 100; i++)
		expect(!post(joint.client, IBV_WR_ATOMIC_FETCH_AND_ADD, theirs.target(0),
			     ours.piece(i % 8), 1, 0, i == 99 ? IBV_SEND_SIGNALED : 0),
		       "ibv_post_send");
	joint.client.sends->good(1);
	expect(theirs.at[0] == 110, "a hundred additions");
	for (uint64_t i = 92; i < 100; i++)
		expect(ours.at[i % 8] == 10 + i, "the original value of an addition");
}

// 7: an atomic operation behind a Write sees it, a Read behind an atomic operation sees that, and
// both are answered in order.
void in_order()
{
	Joint joint = connected();
	Words theirs(joint.server), ours(joint.client);

	for (uint64_t i = 1; i <= 50; i++) {
		ours.at[0] = 1000 * i;
		joint.client.post(1, IBV_WR_RDMA_WRITE, {ours.piece(0)}, 0, theirs.target(0));
		post(joint.client, IBV_WR_ATOMIC_FETCH_AND_ADD, theirs.target(0), ours.piece(1), i,
		     0, 0);
		joint.client.post(1, IBV_WR_RDMA_READ, {ours.piece(2)}, IBV_SEND_SIGNALED,
				  theirs.target(0));
		joint.client.sends->good(1);
		expect(ours.at[1] == 1000 * i, "an addition behind a Write");
		expect(ours.at[2] == 1000 * i + i, "a Read behind an addition");
	}
}

// Many at a time, so that they meet.
void add_often(End &end, Target word, const Words &sinks, uint64_t times)
{
	constexpr unsigned batch = 8;

	for (uint64_t n = 0; n < times; n += batch) {
		for (unsigned i = 0; i < batch; i++)
			need(!(errno = post(end, IBV_WR_ATOMIC_FETCH_AND_ADD, word, sinks.piece(i),
					    1, 0, i == batch - 1 ? IBV_SEND_SIGNALED : 0)),
			     "ibv_post_send");
		end.sends->good(1);
	}
}

// 5.3, and beyond what it demands: with threads of this host.
void with_everybody_else()
{
	constexpr unsigned joints = 16, threads = 4;
	const uint64_t each = 128 * std::min(settings.rounds, 40u);
	std::vector<std::unique_ptr<Joint>> all;
	std::vector<std::unique_ptr<Region>> regions;
	std::vector<std::unique_ptr<Words>> sinks;
	std::vector<std::thread> running;
	alignas(64) uint64_t word[8] = {};

	for (unsigned i = 0; i < joints; i++) {
		all.push_back(std::make_unique<Joint>(settings.there,
						      i % 2 ? settings.here : settings.there, 8));
		regions.push_back(
			std::make_unique<Region>(all[i]->server, word, sizeof(word), rights));
		sinks.push_back(std::make_unique<Words>(all[i]->client));
	}
	for (unsigned i = 0; i < threads; i++)
		running.emplace_back([&] {
			for (uint64_t n = 0; n < each; n++)
				std::atomic_ref(word[0]).fetch_add(1);
		});
	for (unsigned i = 0; i < joints; i++)
		running.emplace_back([&, i] {
			add_often(all[i]->client, regions[i]->target(0), *sinks[i], each);
		});
	for (std::thread &thread : running)
		thread.join();
	expect(word[0] == (joints + threads) * each,
	       "of " + std::to_string((joints + threads) * each) + " additions " +
		       std::to_string(word[0]) + " are there");
}

// 8.2, 5.1.1: an error at both ends, and memory as it was.
void refused(Target (*where)(const Words &), int access, ibv_wc_status status)
{
	Joint joint = connected();
	Words theirs(joint.server, access), ours(joint.client);

	theirs.at[0] = theirs.at[1] = 5;
	post(joint.client, IBV_WR_ATOMIC_FETCH_AND_ADD, where(theirs), ours.piece(0), 1);
	const ibv_wc wc = joint.client.sends->next();
	expect(wc.status == status, std::string("the status ") + ibv_wc_status_str(wc.status));
	expect(theirs.at[0] == 5 && theirs.at[1] == 5 && !ours.at[0], "memory has changed");
}

void misaligned()
{
	for (auto where : {+[](const Words &w) { return w.region.target(1); },
			   +[](const Words &w) { return w.region.target(4); }})
		refused(where, rights, IBV_WC_REM_OP_ERR);
}

void without_the_right()
{
	refused([](const Words &w) { return w.region.target(0); }, all_rights,
		IBV_WC_REM_ACCESS_ERR);
	refused([](const Words &w) { return w.region.target(sizeof(w.at)); }, rights,
		IBV_WC_REM_ACCESS_ERR);
}

// The local buffer is checked first: nothing is sent.
void into_a_bad_buffer()
{
	const struct {
		int access;
		uint32_t length, lkey_flip;
		ibv_wc_status status;
	} rows[] = {
		{rights, 7, 0, IBV_WC_LOC_LEN_ERR},
		{0, 8, 0, IBV_WC_LOC_PROT_ERR},
		{rights, 8, 0x100, IBV_WC_LOC_PROT_ERR},
		{rights, 65, 0, IBV_WC_LOC_PROT_ERR},
	};

	for (const auto &row : rows) {
		Joint joint = connected();
		Words theirs(joint.server), ours(joint.client, row.access);
		ibv_sge sink = ours.piece(0);

		sink.length = row.length;
		sink.lkey ^= row.lkey_flip;
		post(joint.client, IBV_WR_ATOMIC_FETCH_AND_ADD, theirs.target(0), sink, 1);
		const ibv_wc wc = joint.client.sends->next();
		expect(wc.status == row.status,
		       std::string("the status ") + ibv_wc_status_str(wc.status));
		expect(!theirs.at[0], "the addition was done");
	}
}

void without_a_form()
{
	Joint joint = connected();
	Words theirs(joint.server), ours(joint.client);

	for (ibv_wr_opcode opcode : {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP})
		expect(post(joint.client, opcode, theirs.target(0), ours.piece(0), 1) == EOPNOTSUPP,
		       "it is not refused");
	joint.client.post(1, IBV_WR_RDMA_WRITE, {ours.piece(0)}, IBV_SEND_SIGNALED,
			  theirs.target(0));
	joint.client.sends->good(1);
}

} // namespace

Cases atomic_cases()
{
	if (settings.rdmatcp)
		return {{"rdmatcp.rst 17: an atomic operation is refused when it is posted",
			 without_a_form}};
	return {
		{"RFC 7306 5.1: FetchAdd and CmpSwap return the original value", both_operations},
		{"RFC 7306 5.4: a hundred at once are done in order", many_at_once},
		{"RFC 7306 7: atomic operations, Writes and Reads in order", in_order},
		{"RFC 7306 5.3: of 16 QPs' and 4 threads' additions to one word none is lost",
		 with_everybody_else},
		{"RFC 7306 8.2: a misaligned word is refused, and as it was", misaligned},
		{"RFC 7306 5: an atomic operation needs the right to it", without_the_right},
		{"RFC 7306 5: the buffer for the original value is checked first",
		 into_a_bad_buffer},
	};
}
