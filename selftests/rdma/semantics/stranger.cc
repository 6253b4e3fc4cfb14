// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a program sees whose peer does not know RFC 7306, and what srnicdv says to objects of
// another driver's device. siw.sh runs it.
//	stranger CLIENT-NAMESPACE CLIENT-ADDRESS SERVER-NAMESPACE SERVER-ADDRESS CASE
// The client is srnic's, the server's device another driver's. CASE: fetch-add, cmp-swap, probe,
// immediate, foreign.
#include <cerrno>
#include <cstdio>
#include <map>

#include <srnicdv.h>

#include "ends.hh"

namespace {

// The operation's own status shows the peer's Terminate, and the connection ends.
void atomic(Joint &joint, ibv_wr_opcode opcode)
{
	alignas(8) uint64_t word[1] = {5}, original[1] = {6};
	Region theirs(joint.server, word, sizeof(word)), ours(joint.client, original, 8);
	ibv_sge sink = ours.piece(0, 8);
	ibv_send_wr wr{}, *bad;

	wr.opcode = opcode;
	wr.sg_list = &sink;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.atomic = {theirs.target().addr, 5, 7, theirs.target().rkey};
	need(!(errno = ibv_post_send(joint.client.id->qp, &wr, &bad)), "ibv_post_send");
	const ibv_wc wc = joint.client.sends->next();
	expect(wc.status == IBV_WC_REM_OP_ERR, ibv_wc_status_str(wc.status));
	joint.client.await(RDMA_CM_EVENT_DISCONNECTED);
	expect(word[0] == 5 && original[0] == 6, "memory has changed");
}

void probe(Joint &joint)
{
	alignas(8) uint64_t word[1] = {5}, original[1] = {6};
	Region theirs(joint.server, word, sizeof(word)), ours(joint.client, original, 8);
	ibv_sge sink = ours.piece(0, 8);

	expect(srnicdv_probe_atomic(joint.client.id->qp, &sink, theirs.target().rkey,
				    theirs.target().addr, patience_ms) == EOPNOTSUPP,
	       "the probe's result");
}

// The request is complete when TCP has it. That it was refused shows in the connection's end.
void immediate(Joint &joint)
{
	uint8_t word[8] = {};
	Region theirs(joint.server, word, sizeof(word)), ours(joint.client, word, 8);

	joint.server.receive(1, {theirs.piece(0, 8)});
	joint.client.post(1, IBV_WR_RDMA_WRITE_WITH_IMM, {ours.piece(0, 8)}, IBV_SEND_SIGNALED,
			  theirs.target());
	joint.client.sends->next();
	joint.client.await(RDMA_CM_EVENT_DISCONNECTED);
	expect(joint.server.receives->next().status != IBV_WC_SUCCESS, "it has arrived");
}

void foreign(Joint &joint)
{
	rdma_cm_id *id = joint.server.id;
	srnicdv_device_attr attr;
	srnicdv_send_wr wr{}, *bad;
	ibv_qp_init_attr_ex init{};
	srnicdv_qp_init_attr options{};
	ibv_sge sink{};

	expect(!srnicdv_is_supported(id->verbs->device), "srnicdv_is_supported");
	expect(srnicdv_query_device(id->verbs, &attr, sizeof(attr)) == EOPNOTSUPP,
	       "srnicdv_query_device");
	expect(srnicdv_post_send(id->qp, &wr, sizeof(wr), &bad) == EOPNOTSUPP && bad == &wr,
	       "srnicdv_post_send");
	expect(srnicdv_probe_atomic(id->qp, &sink, 1, 8, 0) == EOPNOTSUPP, "srnicdv_probe_atomic");
	errno = 0;
	expect(!srnicdv_create_qp(id->verbs, &init, &options, sizeof(options)) &&
		       errno == EOPNOTSUPP,
	       "srnicdv_create_qp");
}

} // namespace

int main(int argc, char **argv)
try {
	const std::map<std::string, void (*)(Joint &)> cases = {
		{"fetch-add", [](Joint &j) { atomic(j, IBV_WR_ATOMIC_FETCH_AND_ADD); }},
		{"cmp-swap", [](Joint &j) { atomic(j, IBV_WR_ATOMIC_CMP_AND_SWP); }},
		{"probe", probe},
		{"immediate", immediate},
		{"foreign", foreign},
	};

	if (argc != 6 || !cases.count(argv[5])) {
		fprintf(stderr, "stranger CLIENT-NAMESPACE CLIENT-ADDRESS SERVER-NAMESPACE "
				"SERVER-ADDRESS fetch-add|cmp-swap|probe|immediate|foreign\n");
		return 2;
	}
	Joint joint({argv[3], argv[4]}, {argv[1], argv[2]});

	cases.at(argv[5])(joint);
	return 0;
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
