// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verbs of regions and memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "compat.h"
#include "provider.h"

struct ibv_mr *srnic_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			    int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *mr;
	int err;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return fail(ENOMEM);
	err = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, mr, &cmd, sizeof(cmd), &resp,
			     sizeof(resp));
	if (err) {
		free(mr);
		return fail(err);
	}
	srnic_pd_hold(pd);
	return &mr->ibv_mr;
}

struct ibv_mr *srnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				   int fd, int access)
{
	const struct srnic_dmabuf buf = {offset, length, iova, fd};
	struct verbs_mr *mr;
	int err;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return fail(ENOMEM);
	err = srnic_cmd_reg_dmabuf(pd, &buf, access, mr);
	if (err) {
		free(mr);
		return fail(err);
	}
	srnic_pd_hold(pd);
	return &mr->ibv_mr;
}

int srnic_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		   int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;
	int err;

	if (flags & IBV_REREG_MR_CHANGE_PD && !pd) {
		errno = EINVAL;
		return EINVAL;
	}
	err = ibv_cmd_rereg_mr(mr, flags, addr, length, (uintptr_t)addr, access, pd, &cmd,
			       sizeof(cmd), &resp, sizeof(resp));
	if (!err && flags & IBV_REREG_MR_CHANGE_PD) {
		srnic_pd_hold(pd);
		srnic_pd_drop(mr->ibv_mr.pd); /* libibverbs sets the new one afterwards */
	}
	return err;
}

int srnic_dereg_mr(struct verbs_mr *mr)
{
	int err = ibv_cmd_dereg_mr(mr);

	if (err)
		return err;
	srnic_pd_drop(mr->ibv_mr.pd);
	free(mr);
	return 0;
}

struct ibv_mw *srnic_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int err;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return fail(ENOMEM);
	err = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(mw);
		return fail(err);
	}
	srnic_pd_hold(pd);
	return mw;
}

int srnic_dealloc_mw(struct ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (err)
		return err;
	srnic_pd_drop(mw->pd);
	free(mw);
	return 0;
}

/* The region stays, with the process that registered it. */
struct ibv_mr *srnic_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	if (!mr)
		return fail(ENOMEM);
	err = ibv_cmd_query_mr(pd, mr, handle);
	if (err) {
		free(mr);
		return fail(err);
	}
	srnic_pd_hold(pd);
	return &mr->ibv_mr;
}

void srnic_unimport_mr(struct ibv_mr *mr)
{
	srnic_pd_drop(mr->pd);
	free(verbs_get_mr(mr));
}
