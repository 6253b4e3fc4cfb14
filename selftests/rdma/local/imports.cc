// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Contexts, protection domains and regions that another process made, which this one imports.
#include <cerrno>
#include <unistd.h>

#include "case.hh"
#include "process.hh"

namespace {

void of_another_process()
{
	alignas(4096) static uint8_t memory[4096];
	Objects objects;

	ibv_mr *mr = ibv_reg_mr(objects.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	require(mr, "ibv_reg_mr");
	in_child([&] {
		ibv_context *verbs = ibv_import_device(dup(objects.fd()));
		require(verbs, "ibv_import_device");
		ibv_pd *pd = ibv_import_pd(verbs, objects.pd->handle);
		require(pd, "ibv_import_pd");
		ibv_mr *same = ibv_import_mr(pd, mr->handle);
		require(same && same->lkey == mr->lkey && same->length == sizeof(memory),
			"ibv_import_mr");
		require(!ibv_import_mr(pd, 0x7fffffff), "a region that is none");

		// What the child makes in them, with rings of its own.
		ibv_cq *cq = ibv_create_cq(verbs, 8, nullptr, nullptr, 0);
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = cq;
		init.cap = {4, 4, 1, 1, 0};
		init.qp_type = IBV_QPT_RC;
		ibv_qp *qp = cq ? ibv_create_qp(pd, &init) : nullptr;
		require(qp && !ibv_resize_cq(cq, 64), "a QP in what is imported");
		require(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq), "its end");
		ibv_unimport_mr(same);
		ibv_unimport_pd(pd);
		require(!ibv_close_device(verbs), "ibv_close_device");
	});
	require(!ibv_dereg_mr(mr), "the region, after that");
}

} // namespace

Cases import_cases()
{
	return {
		{"a process imports what another one made", of_another_process},
	};
}
