// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs of protection domains, thread domains, and parent domains, which join the two: what is
 * made in one with a thread domain takes no locks, because one thread at a time uses it. The kernel
 * knows protection domains only.
 */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct thread_domain {
	struct ibv_td base;
	unsigned int parents;	/* parent domains that have it */
};

/*
 * @protection: of a parent domain: what it stands for; else NULL
 * @threads: of a parent domain: its thread domain or NULL
 * @users: parent domains that have this one; or objects in this parent domain
 */
struct domain {
	struct ibv_pd base;
	struct domain *protection;
	struct thread_domain *threads;
	unsigned int users;
};

static struct domain *to_domain(struct ibv_pd *pd)
{
	return container_of(pd, struct domain, base);
}

static void add(unsigned int *count, unsigned int n)
{
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
}

static bool in_use(const unsigned int *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

struct ibv_pd *srnic_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct domain *domain;
	int err;

	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return fail(ENOMEM);
	err = ibv_cmd_alloc_pd(ctx, &domain->base, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(domain);
		return fail(err);
	}
	return &domain->base;
}

static void leave_others(struct domain *parent)
{
	add(&parent->protection->users, -1U);
	if (parent->threads)
		add(&parent->threads->parents, -1U);
}

int srnic_dealloc_pd(struct ibv_pd *pd)
{
	struct domain *domain = to_domain(pd);
	int err;

	if (in_use(&domain->users))
		return EBUSY;
	if (domain->protection) {
		leave_others(domain);
	} else {
		err = ibv_cmd_dealloc_pd(pd);
		if (err)
			return err;
	}
	free(domain);
	return 0;
}

/* A protection domain of the context's, by the number that another process has of it. */
struct ibv_pd *srnic_import_pd(struct ibv_context *ctx, uint32_t handle)
{
	struct domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return fail(ENOMEM);
	domain->base.context = ctx;
	domain->base.handle = handle;
	return &domain->base;
}

void srnic_unimport_pd(struct ibv_pd *pd)
{
	free(to_domain(pd));
}

struct ibv_td *srnic_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	struct thread_domain *threads;

	if (attr->comp_mask)
		return fail(EOPNOTSUPP);
	threads = calloc(1, sizeof(*threads));
	if (!threads)
		return fail(ENOMEM);
	threads->base.context = ctx;
	return &threads->base;
}

int srnic_dealloc_td(struct ibv_td *td)
{
	struct thread_domain *threads = container_of(td, struct thread_domain, base);

	if (in_use(&threads->parents))
		return EBUSY;
	free(threads);
	return 0;
}

/*
 * Allocators would be for the memory of queues, which is the kernel's: they are never called. A
 * parent domain of a parent domain stands for what that one stands for.
 */
struct ibv_pd *srnic_alloc_parent_domain(struct ibv_context *ctx,
					 struct ibv_parent_domain_init_attr *attr)
{
	struct domain *parent;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
						      IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT))
		return fail(EOPNOTSUPP);
	parent = calloc(1, sizeof(*parent));
	if (!parent)
		return fail(ENOMEM);
	ibv_initialize_parent_domain(&parent->base, attr->pd);
	parent->protection = to_domain(attr->pd);
	add(&parent->protection->users, 1);
	if (attr->td) {
		parent->threads = container_of(attr->td, struct thread_domain, base);
		add(&parent->threads->parents, 1);
	}
	return &parent->base;
}

bool srnic_pd_is_parent(struct ibv_pd *pd)
{
	return to_domain(pd)->protection;
}

bool srnic_pd_has_one_thread(struct ibv_pd *pd)
{
	return to_domain(pd)->threads;
}

/* The kernel counts what is in a protection domain. */
void srnic_pd_hold(struct ibv_pd *pd)
{
	if (srnic_pd_is_parent(pd))
		add(&to_domain(pd)->users, 1);
}

void srnic_pd_drop(struct ibv_pd *pd)
{
	if (srnic_pd_is_parent(pd))
		add(&to_domain(pd)->users, -1U);
}
