// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verbs of protection domains, regions and memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct ibv_pd *srnic_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct ibv_pd *pd;
	int err;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return fail(ENOMEM);
	err = ibv_cmd_alloc_pd(ctx, pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(pd);
		return fail(err);
	}
	return pd;
}

int srnic_dealloc_pd(struct ibv_pd *pd)
{
	int err = ibv_cmd_dealloc_pd(pd);

	if (!err)
		free(pd);
	return err;
}

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
	return &mr->ibv_mr;
}

int srnic_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		   int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	if (flags & IBV_REREG_MR_CHANGE_PD && !pd) {
		errno = EINVAL;
		return EINVAL;
	}
	return ibv_cmd_rereg_mr(mr, flags, addr, length, (uintptr_t)addr, access, pd, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
}

int srnic_dereg_mr(struct verbs_mr *mr)
{
	int err = ibv_cmd_dereg_mr(mr);

	if (!err)
		free(mr);
	return err;
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
	return mw;
}

int srnic_dealloc_mw(struct ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (!err)
		free(mw);
	return err;
}
