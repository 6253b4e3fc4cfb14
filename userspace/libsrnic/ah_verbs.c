// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verbs of address handles. */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct create_ah_resp {
	struct ib_uverbs_create_ah_resp core;
	struct srnic_create_ah_resp srnic;
};

static_assert(offsetof(struct create_ah_resp, srnic) == sizeof(struct ib_uverbs_create_ah_resp),
	      "padding in struct create_ah_resp");

struct ibv_ah *srnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct create_ah_resp resp = {};
	struct srnic_ah *ah;
	int err;

	if (!(to_context(pd->context)->features & SRNIC_FEATURE_DATAGRAM))
		return fail(EOPNOTSUPP);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return fail(ENOMEM);
	err = ibv_cmd_create_ah(pd, &ah->base, attr, &resp.core, sizeof(resp));
	if (err) {
		free(ah);
		return fail(err);
	}
	srnic_pd_hold(pd);
	ah->number = resp.srnic.number;
	return &ah->base;
}

int srnic_destroy_ah(struct ibv_ah *ah)
{
	int err = ibv_cmd_destroy_ah(ah);

	if (err)
		return err;
	srnic_pd_drop(ah->pd);
	free(container_of(ah, struct srnic_ah, base));
	return 0;
}
