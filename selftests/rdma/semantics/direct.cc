// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Direct verbs (srnicdv.h): masked atomic operations, the draft's Swap, eight bytes of Immediate
// Data, probing a peer, and what a device says of itself.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

#include <srnicdv.h>

#include "words.hh"

namespace {

Joint connected() { return Joint(settings.there, settings.here); }

// A word at the peer, and one here for its original value.
struct Scene {
	Joint joint = connected();
	Words theirs{joint.server}, ours{joint.client};
	ibv_sge sink = ours.piece(0);

	srnicdv_send_wr work(srnicdv_wr_opcode opcode)
	{
		srnicdv_send_wr wr{};

		wr.wr_id = 1;
		wr.opcode = opcode;
		wr.sg_list = &sink;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.rkey = theirs.target(0).rkey;
		wr.remote_addr = theirs.target(0).addr;
		return wr;
	}
	// Posts it and waits for its completion.
	ibv_wc run(srnicdv_send_wr wr)
	{
		srnicdv_send_wr *bad;

		expect(!srnicdv_post_send(joint.client.id->qp, &wr, sizeof(wr), &bad),
		       "srnicdv_post_send");
		return joint.client.sends->next();
	}
	// Posts it and waits for its success.
	ibv_wc_opcode done(srnicdv_send_wr wr)
	{
		const ibv_wc wc = run(wr);

		expect(wc.status == IBV_WC_SUCCESS && wc.wr_id == 1, ibv_wc_status_str(wc.status));
		return wc.opcode;
	}
	int probe(uint64_t offset = 0, uint32_t rkey_flip = 0)
	{
		return srnicdv_probe_atomic(joint.client.id->qp, &sink,
					    theirs.target(0).rkey ^ rkey_flip,
					    theirs.target(0).addr + offset, patience_ms);
	}
};

// 5.1.1, bit by bit: a field ends at each bit of the mask, and its carry is lost.
uint64_t sum_of_fields(uint64_t word, uint64_t add, uint64_t mask)
{
	uint64_t sum = 0;
	bool carry = false;

	for (unsigned bit = 0; bit < 64; bit++) {
		const unsigned here = (word >> bit & 1) + (add >> bit & 1) + carry;

		sum |= uint64_t{here & 1} << bit;
		carry = here > 1 && !(mask >> bit & 1);
	}
	return sum;
}

void masked_additions()
{
	Scene scene;
	std::mt19937_64 random(1);

	for (unsigned i = 0; i < 50; i++) {
		srnicdv_send_wr wr = scene.work(SRNICDV_WR_MASKED_FETCH_ADD);
		const uint64_t before = scene.theirs.at[0] = random();

		wr.fetch_add.add = random();
		wr.fetch_add.mask = i ? random() & random() : 0;
		expect(scene.done(wr) == IBV_WC_FETCH_ADD, "the opcode");
		expect(scene.ours.at[0] == before, "the original value");
		expect(scene.theirs.at[0] ==
			       sum_of_fields(before, wr.fetch_add.add, wr.fetch_add.mask),
		       "the sum of fields");
	}
}

void masked_swaps()
{
	Scene scene;
	std::mt19937_64 random(2);

	for (unsigned i = 0; i < 50; i++) {
		srnicdv_send_wr wr = scene.work(SRNICDV_WR_MASKED_CMP_SWAP);
		const uint64_t before = scene.theirs.at[0] = random();
		const bool equal = i % 2;

		wr.cmp_swap.compare_mask = random();
		wr.cmp_swap.compare = before ^ (random() & ~wr.cmp_swap.compare_mask);
		if (!equal)
			wr.cmp_swap.compare ^= wr.cmp_swap.compare_mask;
		wr.cmp_swap.swap = random();
		wr.cmp_swap.swap_mask = random();
		scene.done(wr);
		expect(scene.ours.at[0] == before, "the original value");
		expect(scene.theirs.at[0] ==
			       (equal ? (before & ~wr.cmp_swap.swap_mask) |
						(wr.cmp_swap.swap & wr.cmp_swap.swap_mask)
				      : before),
		       "the word afterwards");
	}
}

// Sets rdmap_swap of this end's device while it exists.
class Allowed {
public:
	explicit Allowed(const End &end)
		: name(std::string(end.id->verbs->device->ibdev_path) + "/rdmap_swap")
	{
		set("1");
	}
	~Allowed() { std::ofstream(name) << "0\n"; }
	Allowed(const Allowed &) = delete;

private:
	std::string name;

	void set(const char *value)
	{
		std::ofstream file(name);

		file << value << std::endl;
		need(bool(file), name.c_str());
	}
};

bool has(const End &end, uint32_t cap)
{
	srnicdv_device_attr attr;

	need(!(errno = srnicdv_query_device(end.id->verbs, &attr, sizeof(attr))),
	     "srnicdv_query_device");
	return attr.caps & cap;
}

// The draft's 5.1.2. Its code is reserved in RFC 7306 (10.1).
void swaps_where_allowed()
{
	const Joint observer = connected();
	auto five_for_six = [](Scene &scene) {
		srnicdv_send_wr wr = scene.work(SRNICDV_WR_SWAP);

		scene.theirs.at[0] = 5;
		wr.swap = 6;
		return wr;
	};

	expect(!has(observer.server, SRNICDV_CAP_SWAP_ALLOWED), "swaps are allowed by default");
	{
		Scene scene;

		expect(scene.run(five_for_six(scene)).status == IBV_WC_REM_OP_ERR, "the status");
		expect(scene.theirs.at[0] == 5 && !scene.ours.at[0], "memory has changed");
	}
	const Allowed allowed(observer.server);

	expect(has(observer.server, SRNICDV_CAP_SWAP_ALLOWED), "the setting is not reported");
	Scene scene;

	expect(scene.done(five_for_six(scene)) == IBV_WC_COMP_SWAP, "the opcode");
	expect(scene.theirs.at[0] == 6 && scene.ours.at[0] == 5, "the words");
}

// RFC 7306 1.1.
void probes_a_misaligned_word()
{
	Scene scene;

	expect(scene.probe(4) == EFAULT, "the errno");
}

void probes()
{
	Scene scene;

	scene.theirs.at[0] = 5;
	expect(!scene.probe(), "a peer that knows atomic operations");
	expect(scene.ours.at[0] == 5 && scene.theirs.at[0] == 5, "the word");
	expect(!scene.joint.client.sends->there(), "there is a completion left");
	// More often than the CQ has places (ends.cc), none of which may be left in use.
	for (unsigned i = 0; i < 600; i++)
		expect(!scene.probe(), "another probe");
	expect(scene.probe(0, 0x100) == EACCES, "a wrong key");
	expect(scene.probe() == ENOTCONN, "a connection that has ended");
}

// A QP whose CQs are extended, in place of the one that the end has.
struct ExtendedCq {
	ibv_cq_ex *cq;

	explicit ExtendedCq(const End &end)
	{
		ibv_cq_init_attr_ex attr{};

		attr.cqe = 16;
		attr.wc_flags = IBV_WC_STANDARD_FLAGS;
		cq = ibv_create_cq_ex(end.id->verbs, &attr);
		need(cq, "ibv_create_cq_ex");
	}
	~ExtendedCq() { ibv_destroy_cq(ibv_cq_ex_to_cq(cq)); }
	ExtendedCq(const ExtendedCq &) = delete;
};

ibv_qp_init_attr_ex qp_attr(const End &end, ibv_cq *cq)
{
	ibv_qp_init_attr_ex attr{};

	attr.send_cq = attr.recv_cq = cq;
	attr.cap = {4, 4, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = end.id->pd;
	return attr;
}

// rdmatcp.rst 17.
void no_atomic_operations()
{
	Scene scene;
	const ExtendedCq extended(scene.joint.client);
	ibv_qp_init_attr_ex attr = qp_attr(scene.joint.client, ibv_cq_ex_to_cq(extended.cq));
	srnicdv_qp_init_attr with_them{SRNICDV_QP_INIT_ATTR_SEND_OPS,
				       SRNICDV_QP_WITH_MASKED_FETCH_ADD};

	for (srnicdv_wr_opcode opcode :
	     {SRNICDV_WR_MASKED_FETCH_ADD, SRNICDV_WR_MASKED_CMP_SWAP, SRNICDV_WR_SWAP}) {
		srnicdv_send_wr wr = scene.work(opcode), *bad;

		expect(srnicdv_post_send(scene.joint.client.id->qp, &wr, sizeof(wr), &bad) ==
			       EOPNOTSUPP,
		       "srnicdv_post_send");
	}
	expect(scene.probe() == EOPNOTSUPP, "a probe");
	expect(!srnicdv_create_qp(scene.joint.client.id->verbs, &attr, &with_them,
				  sizeof(with_them)) &&
		       errno == EOPNOTSUPP,
	       "srnicdv_create_qp");
}

void options_of_qps()
{
	const Joint joint = connected();
	const ExtendedCq extended(joint.client);
	ibv_context *verbs = joint.client.id->verbs;
	ibv_qp_init_attr_ex attr = qp_attr(joint.client, ibv_cq_ex_to_cq(extended.cq));
	struct {
		srnicdv_qp_init_attr known;
		uint64_t later;
	} options = {{SRNICDV_QP_INIT_ATTR_SEND_OPS,
		      SRNICDV_QP_WITH_MASKED_FETCH_ADD | SRNICDV_QP_WITH_SEND_IMM64},
		     0};

	ibv_qp *qp = srnicdv_create_qp(verbs, &attr, &options.known, sizeof(options));
	need(qp, "srnicdv_create_qp");
	ibv_qp_ex *batches = ibv_qp_to_qp_ex(qp);
	expect(batches, "the QP has no batches");
	ibv_wr_start(batches);
	expect(!srnicdv_wr_masked_fetch_add(batches, 1, 8, 1, 0), "a masked addition in a batch");
	ibv_wr_abort(batches);
	ibv_destroy_qp(qp);

	auto refused = [&](int with, size_t size = sizeof(options)) {
		errno = 0;
		expect(!srnicdv_create_qp(verbs, &attr, &options.known, size), "it is not refused");
		expect(errno == with, "the errno is " + std::to_string(errno));
	};

	refused(EINVAL, 8);
	options.later = 1;
	refused(EOPNOTSUPP);
	options.later = 0;
	options.known.send_ops = 1 << 5;
	refused(EOPNOTSUPP);
	options.known.comp_mask = 2;
	refused(EOPNOTSUPP);
	options.known = {};
	attr.comp_mask = 0;
	refused(EINVAL);
}

void eight_bytes_of_immediate_data()
{
	Scene scene;
	Joint &joint = scene.joint;
	const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	srnicdv_send_wr wr = scene.work(SRNICDV_WR_SEND_IMM64);

	wr.num_sge = 0;
	memcpy(wr.imm_data, data, sizeof(data));
	joint.server.receive(1, {});
	scene.done(wr);
	const ibv_wc wc = joint.server.receives->good(1);
	expect(wc.opcode == (settings.rdmatcp ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM),
	       "the receive's opcode");
	expect(!memcmp(&wc.imm_data, data, 4), "verbs' four bytes");

	// srnic's CQs can all be polled either way.
	auto *cq = reinterpret_cast<ibv_cq_ex *>(joint.server.receives->cq);
	ibv_poll_cq_attr attr{};
	uint8_t came[8] = {};

	joint.server.receive(2, {});
	scene.done(wr);
	joint.server.receives->arm(false);
	if (ibv_start_poll(cq, &attr)) {
		expect(joint.server.receives->wakes(patience_ms), "the second Immediate Data");
		need(!ibv_start_poll(cq, &attr), "ibv_start_poll");
	}
	expect(cq->wr_id == 2 && !srnicdv_wc_read_imm64(cq, came), "srnicdv_wc_read_imm64");
	expect(!memcmp(came, data, sizeof(data)), "all eight bytes");
	ibv_end_poll(cq);
}

void what_a_device_can_do()
{
	const Joint joint = connected();
	ibv_context *verbs = joint.client.id->verbs;
	struct {
		srnicdv_device_attr known;
		uint64_t later;
	} attr = {{}, 1};

	expect(srnicdv_is_supported(verbs->device), "the device is srnic's");
	expect(!srnicdv_query_device(verbs, &attr.known, sizeof(attr)), "srnicdv_query_device");
	const uint32_t atomics = settings.rdmatcp ? 0 : SRNICDV_CAP_ATOMIC | SRNICDV_CAP_SWAP;

	expect(attr.known.caps == (SRNICDV_CAP_IMMEDIATE | atomics), "its abilities");
	expect(!attr.later && !attr.known.comp_mask, "what is not known yet is not 0");
	expect(srnicdv_query_device(verbs, &attr.known, sizeof(attr.known) - 1) == EINVAL,
	       "a struct that is too short");
	ibv_device_attr_ex standard{};
	need(!ibv_query_device_ex(verbs, nullptr, &standard), "ibv_query_device_ex");
	expect(standard.orig_attr.atomic_cap == (atomics ? IBV_ATOMIC_GLOB : IBV_ATOMIC_NONE),
	       "atomic_cap");
}

} // namespace

Cases direct_cases()
{
	if (settings.rdmatcp)
		return {
			{"rdmatcp.rst 17: srnicdv refuses atomic operations", no_atomic_operations},
			{"rdmatcp.rst 14: all eight bytes of Immediate Data arrive",
			 eight_bytes_of_immediate_data},
			{"a device says what it can do", what_a_device_can_do},
		};
	return {
		{"RFC 7306 5.1.1: srnicdv adds to the fields of a mask", masked_additions},
		{"RFC 7306 5.1.2: srnicdv compares and swaps the bits of masks", masked_swaps},
		{"the draft's Swap is refused, and done where it is allowed", swaps_where_allowed},
		{"RFC 7306 1.1: a peer is asked whether it knows atomic operations", probes},
		{"RFC 7306 1.1: a misaligned word does not mean that it knows none",
		 probes_a_misaligned_word},
		{"RFC 7306 6.2: all eight bytes of Immediate Data arrive",
		 eight_bytes_of_immediate_data},
		{"srnicdv creates QPs, and refuses options that it does not know", options_of_qps},
		{"a device says what it can do", what_a_device_can_do},
	};
}
