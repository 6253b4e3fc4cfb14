// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Parent domains and thread domains: what may be made in them, and that none goes while it is used.
#include <cerrno>

#include "case.hh"
#include "process.hh"

namespace {

struct Domains {
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);
	ibv_td *td = nullptr;
	ibv_pd *parent = nullptr;

	Domains()
	{
		ibv_td_init_attr attr{};

		td = ibv_alloc_td(context.verbs, &attr);
		require(pd && td, "ibv_alloc_pd, ibv_alloc_td");
		parent = make(pd, td);
		require(parent, "ibv_alloc_parent_domain");
	}
	ibv_pd *make(ibv_pd *of, ibv_td *threads, uint32_t comp_mask = 0) const
	{
		ibv_parent_domain_init_attr attr{};

		attr.pd = of;
		attr.td = threads;
		attr.comp_mask = comp_mask;
		return ibv_alloc_parent_domain(context.verbs, &attr);
	}
	ibv_cq_ex *cq(ibv_pd *of) const
	{
		ibv_cq_init_attr_ex attr{};

		attr.cqe = 16;
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
		attr.parent_domain = of;
		return ibv_create_cq_ex(context.verbs, &attr);
	}
	// With nothing left in them.
	void end() const
	{
		require(ibv_dealloc_td(td) == EBUSY && ibv_dealloc_pd(pd) == EBUSY,
			"what a parent domain has goes before it");
		require(!ibv_dealloc_pd(parent), "a parent domain");
		require(!ibv_dealloc_td(td) && !ibv_dealloc_pd(pd), "what it had");
	}
	void is_busy() const
	{
		require(ibv_dealloc_pd(parent) == EBUSY, "a parent domain goes that is in use");
	}
};

void are_busy_while_used()
{
	alignas(4096) static uint8_t memory[4096];
	Domains d;
	ibv_srq_init_attr srq_init{};
	ibv_qp_init_attr init{};

	ibv_mr *mr = ibv_reg_mr(d.parent, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	require(mr, "ibv_reg_mr");
	d.is_busy();
	require(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, d.pd, nullptr, 0, 0), "ibv_rereg_mr");
	ibv_cq_ex *cq = d.cq(d.parent);
	require(cq, "ibv_create_cq_ex");
	d.is_busy();
	srq_init.attr = {4, 1, 0};
	ibv_srq *srq = ibv_create_srq(d.parent, &srq_init);
	require(srq, "ibv_create_srq");
	init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
	init.srq = srq;
	init.cap = {4, 0, 1, 0, 0};
	init.qp_type = IBV_QPT_RC;
	ibv_qp *qp = ibv_create_qp(d.parent, &init);
	require(qp && qp->pd == d.parent, "ibv_create_qp");
	d.is_busy();
	require(!ibv_destroy_qp(qp), "ibv_destroy_qp");
	d.is_busy();
	require(!ibv_destroy_srq(srq), "ibv_destroy_srq");
	d.is_busy();
	require(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "ibv_destroy_cq");
	require(ibv_dealloc_pd(d.pd) == EBUSY && !ibv_dereg_mr(mr), "the region, in the other one");
	d.end();
}

void what_is_none_is_refused()
{
	ibv_td_init_attr unknown{};
	Domains d;

	require(!d.make(nullptr, d.td) && errno == EINVAL, "a parent domain of nothing");
	require(!d.make(d.pd, d.td, 4) && errno == EOPNOTSUPP, "a mask that is not known");
	unknown.comp_mask = 1;
	require(!ibv_alloc_td(d.context.verbs, &unknown) && errno == EOPNOTSUPP,
		"a mask that is not known");
	require(!d.cq(d.pd) && errno == EINVAL, "a CQ in what is no parent domain");
	require(!d.cq(nullptr) && errno == EINVAL, "a CQ in no domain");
	d.end();
}

void stand_for_each_other()
{
	Domains d;
	ibv_pd *other = d.make(d.parent, nullptr);

	require(other && other->handle == d.pd->handle, "a parent domain of a parent domain");
	d.is_busy();
	require(!ibv_dealloc_pd(other), "ibv_dealloc_pd");
	d.end();
}

} // namespace

Cases domain_cases()
{
	return {
		{"a parent domain is busy while it is used", are_busy_while_used},
		{"what is no parent domain is refused", what_is_none_is_refused},
		{"parent domains stand for each other", stand_for_each_other},
	};
}
