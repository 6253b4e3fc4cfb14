// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a program may leave out: a CQ, a PD, a list of a request. The verb fails with EINVAL, in the
// provider if libibverbs would use the pointer before the kernel sees anything.
#include <cerrno>
#include <cstring>

#include <srnicdv.h>

#include "case.hh"

namespace {

// A device, a PD and a CQ: those of a connected QP.
struct Scene {
	Joint joint{settings.there, settings.here};
	ibv_context *verbs = joint.client.id->verbs;
	ibv_pd *pd = joint.client.id->pd;
	ibv_cq *cq = joint.client.sends->cq;

	ibv_qp_init_attr_ex attr() const
	{
		ibv_qp_init_attr_ex init{};

		init.send_cq = init.recv_cq = cq;
		init.cap = {4, 4, 2, 2, inline_len};
		init.qp_type = IBV_QPT_RC;
		// With more than the PD's bit libibverbs calls the provider's extended verb.
		init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.pd = pd;
		init.send_ops_flags = IBV_QP_EX_WITH_SEND;
		return init;
	}
};

void refused(ibv_qp *qp, int with, const std::string &what)
{
	expect(!qp, what + " is taken");
	expect(errno == with, what + ": " + strerror(errno));
}

// By each verb that creates a QP.
void creates_none(const Scene &scene, ibv_qp_init_attr_ex init, int with, const std::string &what)
{
	ibv_qp_init_attr plain{};
	const srnicdv_qp_init_attr none{};

	plain.send_cq = init.send_cq;
	plain.recv_cq = init.recv_cq;
	plain.srq = init.srq;
	plain.cap = init.cap;
	plain.qp_type = init.qp_type;
	if (init.pd && init.comp_mask & IBV_QP_INIT_ATTR_PD)
		refused(ibv_create_qp(init.pd, &plain), with, "ibv_create_qp: " + what);
	refused(ibv_create_qp_ex(scene.verbs, &init), with, "ibv_create_qp_ex: " + what);
	refused(srnicdv_create_qp(scene.verbs, &init, &none, sizeof(none)), with,
		"srnicdv_create_qp: " + what);
}

void queues_of_qps()
{
	const Scene scene;
	ibv_srq_init_attr shared{nullptr, {4, 1, 0}};
	ibv_srq *srq = ibv_create_srq(scene.pd, &shared);

	need(srq, "ibv_create_srq");
	for (ibv_srq *receives : {static_cast<ibv_srq *>(nullptr), srq})
		for (unsigned without : {1, 2, 3}) {
			ibv_qp_init_attr_ex init = scene.attr();

			init.srq = receives;
			if (without & 1)
				init.send_cq = nullptr;
			if (without & 2)
				init.recv_cq = nullptr;
			creates_none(scene, init, EINVAL, "a CQ is missing");
		}
	need(!ibv_destroy_srq(srq), "ibv_destroy_srq");
}

void domains_of_qps()
{
	const Scene scene;
	ibv_qp_init_attr_ex init = scene.attr();

	init.pd = nullptr;
	creates_none(scene, init, EINVAL, "the PD is missing");
	init = scene.attr();
	init.comp_mask &= ~static_cast<uint32_t>(IBV_QP_INIT_ATTR_PD);
	creates_none(scene, init, EINVAL, "the PD's bit is missing");
}

// With CQs and without: the type comes first.
void types_of_qps()
{
	const Scene scene;

	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
				 IBV_QPT_XRC_RECV, IBV_QPT_DRIVER}) {
		ibv_qp_init_attr_ex init = scene.attr();
		const std::string name = "type " + std::to_string(type);

		init.qp_type = type;
		creates_none(scene, init, EOPNOTSUPP, name);
		init.send_cq = init.recv_cq = nullptr;
		creates_none(scene, init, EOPNOTSUPP, name + " without CQs");
	}
}

void lists_of_receives()
{
	const Scene scene;
	ibv_srq_init_attr shared{nullptr, {4, 1, 0}};
	ibv_srq *srq = ibv_create_srq(scene.pd, &shared);
	ibv_recv_wr wr{}, *bad = nullptr;

	need(srq, "ibv_create_srq");
	wr.num_sge = 1;
	expect(ibv_post_recv(scene.joint.client.id->qp, &wr, &bad) == EINVAL && bad == &wr,
	       "a receive without its list");
	expect(ibv_post_srq_recv(srq, &wr, &bad) == EINVAL && bad == &wr,
	       "a receive of an SRQ without its list");
	need(!ibv_destroy_srq(srq), "ibv_destroy_srq");
}

void lists_of_sends()
{
	Scene scene;
	ibv_qp *qp = scene.joint.client.id->qp;
	ibv_send_wr wr{}, *bad = nullptr;
	srnicdv_send_wr direct{}, *bad_direct = nullptr;

	wr.num_sge = direct.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	direct.opcode = SRNICDV_WR_RDMA_WRITE_IMM64;
	for (unsigned flags : {0, static_cast<int>(IBV_SEND_INLINE)}) {
		wr.send_flags = direct.send_flags = flags;
		expect(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr,
		       "a Send without its list");
		expect(srnicdv_post_send(qp, &direct, sizeof(direct), &bad_direct) == EINVAL &&
			       bad_direct == &direct,
		       "a direct verb without its list");
	}
	ibv_qp_ex *batch = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(batch);
	ibv_wr_send(batch);
	ibv_wr_set_sge_list(batch, 1, nullptr);
	expect(ibv_wr_complete(batch) == EINVAL, "a batch without a list");
	// None of them has done anything.
	Buffer to(scene.joint.server, 8), from(scene.joint.client, 8);
	scene.joint.server.receive(1, {to.region.piece(0, 8)});
	scene.joint.client.post(2, IBV_WR_SEND, {from.region.piece(0, 8)});
	scene.joint.client.sends->good(2);
	scene.joint.server.receives->good(1);
}

void domain_of_rereg()
{
	const Scene scene;
	Buffer buffer(scene.joint.client, 4096);

	errno = 0;
	expect(ibv_rereg_mr(buffer.region.mr, IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0) ==
			       IBV_REREG_MR_ERR_CMD &&
		       errno == EINVAL,
	       "a new PD that is missing");
}

} // namespace

Cases missing_cases()
{
	return {
		{"a QP without a CQ is refused", queues_of_qps},
		{"a QP without a PD is refused", domains_of_qps},
		{"QPs of other types are refused", types_of_qps},
		{"receives without their list are refused", lists_of_receives},
		{"sends without their list are refused, and do nothing", lists_of_sends},
		{"ibv_rereg_mr without its PD is refused", domain_of_rereg},
	};
}
