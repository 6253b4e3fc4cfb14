// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of regions, and the rule that after dereg, rereg or invalidation has returned no byte
 * is placed under the old grant (RFC 5040 5.3, 8.1).
 *
 * The rule relies on a handshake. A holder increments @users, executes a full barrier, then reads
 * state and STag (srnic_mr_hold). The revoker writes state, executes a full barrier, then waits
 * until only the verbs object is counted (srnic_mr_wait_for_holders). So one of the two sees the
 * other. Holders keep bottom halves off, and drop a region that is no longer VALID after one copy
 * of at most 64 KiB or the work of one FPDU, which bounds the wait. Lookups in the table use RCU,
 * so they never race with freeing a region.
 */
#include <linux/random.h>

#include "memory/table.h"

#define MAX_INDEX	((1U << CORE_STAG_INDEX_BITS) - 1)

/* ---- the table ---- */

void srnic_mr_dev_init(struct srnic_dev *dev)
{
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	get_random_bytes(dev->stag_key, sizeof(dev->stag_key));
}

u32 srnic_mr_slot(const struct srnic_dev *dev, u32 stag)
{
	return core_stag_unscramble(stag >> SRNIC_STAG_KEY_BITS, dev->stag_key);
}

int srnic_mr_dev_reserve(struct srnic_dev *dev)
{
	return xa_reserve(&dev->mrs, srnic_mr_slot(dev, 0), GFP_KERNEL);
}

void srnic_mr_dev_exit(struct srnic_dev *dev)
{
	xa_release(&dev->mrs, srnic_mr_slot(dev, 0));
	WARN_ON(!srnic_xa_vacant(&dev->mrs));
	xa_destroy(&dev->mrs);
}

int srnic_mr_add_to_table(struct srnic_dev *dev, struct srnic_mr *mr)
{
	int err = xa_alloc_cyclic(&dev->mrs, &mr->index, mr, XA_LIMIT(0, MAX_INDEX), &dev->next_mr,
				  GFP_KERNEL);

	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	WRITE_ONCE(mr->stag,
		   core_stag_scramble(mr->index, dev->stag_key) << SRNIC_STAG_KEY_BITS |
			   get_random_u8());
	return 0;
}

/* ---- holders ---- */

/* The region in this slot, in any state, with @users incremented; or NULL. */
static struct srnic_mr *mr_get(struct srnic_dev *dev, u32 slot)
{
	struct srnic_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, slot);
	if (mr && !refcount_inc_not_zero(&mr->users))
		mr = NULL;
	rcu_read_unlock();
	smp_mb__after_atomic(); /* users before state: pairs with srnic_mr_wait_for_holders() */
	return mr;
}

static void mr_put(struct srnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->users))
		complete(&mr->freed);
}

struct srnic_mr *srnic_mr_hold(struct srnic_dev *dev, u32 slot, u32 stag)
{
	struct srnic_mr *mr;

	local_bh_disable();
	mr = mr_get(dev, slot);
	/* acquire: state before the other fields; pairs with srnic_mr_enable() */
	if (mr && smp_load_acquire(&mr->state) == SRNIC_MR_VALID && mr->stag == stag)
		return mr;
	if (mr)
		mr_put(mr);
	local_bh_enable();
	return NULL;
}

void srnic_mr_drop(struct srnic_mr *mr)
{
	mr_put(mr);
	local_bh_enable();
}

/* ---- granting and revoking ---- */

void srnic_mr_enable(struct srnic_mr *mr)
{
	/* release: the other fields before state; pairs with srnic_mr_hold() */
	smp_store_release(&mr->state, SRNIC_MR_VALID);
}

void srnic_mr_wait_for_holders(struct srnic_mr *mr)
{
	smp_mb(); /* state before users: pairs with mr_get() */
	while (refcount_read(&mr->users) > 1)
		cpu_relax();
	smp_mb(); /* the holders' copies before the caller's next steps; pairs with mr_put() */
}

void srnic_mr_revoke(struct srnic_mr *mr)
{
	WRITE_ONCE(mr->state, SRNIC_MR_INVALID);
	srnic_mr_wait_for_holders(mr);
}

void srnic_mr_remove_from_table(struct srnic_dev *dev, struct srnic_mr *mr)
{
	WRITE_ONCE(mr->state, SRNIC_MR_INVALID);
	xa_erase(&dev->mrs, mr->index);
	mr_put(mr);
	wait_for_completion(&mr->freed);
}

/* ---- windows ---- */

void srnic_region_begin_binding(struct srnic_mr *region)
{
	if (region->access & CORE_ACCESS_MW_BIND)
		/* release: the other fields before it; pairs with count_in() of window.c */
		atomic_set_release(&region->bindable, 0);
}

int srnic_region_end_binding(struct srnic_mr *region)
{
	return atomic_cmpxchg(&region->bindable, 0, -1) > 0 ? -EBUSY : 0;
}

void srnic_window_unbind(struct srnic_mr *window)
{
	struct srnic_mr *region = window->bound_to;

	lockdep_assert_held(&window->binding);
	srnic_mr_revoke(window);
	window->pieces = NULL;
	window->bound_to = NULL;
	if (region)
		atomic_dec(&region->bindable);
}

/* ---- invalidation ---- */

static enum core_region_verdict invalidate_window(struct srnic_mr *mr,
						  const struct core_revoker *revoker)
{
	struct core_grant grant = { .revocable = mr->window == IB_MW_TYPE_2 };
	enum core_region_verdict verdict;

	spin_lock_bh(&mr->binding);
	grant.stag = mr->stag;
	grant.pd = mr->pd;
	grant.qpn = mr->qpn;
	grant.of_qp = !!mr->bound_to;
	verdict = core_may_invalidate(&grant, revoker);
	if (verdict == CORE_REGION_OK)
		srnic_window_unbind(mr);
	spin_unlock_bh(&mr->binding);
	return verdict;
}

/*
 * The caller has incremented @users. srnic_mr_register() writes the new STag before it waits for
 * holders: if we see the old STag, it waits for us, and we see the state from before.
 */
static enum core_region_verdict invalidate(struct srnic_mr *mr, const struct core_revoker *revoker)
{
	const struct core_grant grant = {
		.stag = READ_ONCE(mr->stag),
		.pd = mr->pd,
		.qpn = READ_ONCE(mr->qpn),
		.revocable = mr->fast_reg,
	};
	enum core_region_verdict verdict = core_may_invalidate(&grant, revoker);

	if (verdict == CORE_REGION_OK)
		cmpxchg(&mr->state, SRNIC_MR_VALID, SRNIC_MR_INVALID);
	return verdict;
}

static enum core_region_verdict invalidate_region(struct srnic_dev *dev, u32 slot,
						  const struct core_revoker *revoker)
{
	struct srnic_mr *mr = mr_get(dev, slot);
	enum core_region_verdict verdict;

	if (!mr)
		return CORE_REGION_INVALID;
	verdict = invalidate(mr, revoker);
	mr_put(mr);
	if (verdict == CORE_REGION_OK)
		srnic_mr_wait_for_holders(mr);
	return verdict;
}

enum core_region_verdict srnic_mr_invalidate(struct srnic_dev *dev,
					     const struct core_revoker *revoker)
{
	u32 slot = srnic_mr_slot(dev, revoker->stag);
	enum core_region_verdict verdict;
	struct srnic_mr *mr;

	local_bh_disable();
	rcu_read_lock(); /* keeps mr allocated beyond mr_put() */
	mr = xa_load(&dev->mrs, slot);
	if (mr && mr->window)
		verdict = invalidate_window(mr, revoker);
	else
		verdict = invalidate_region(dev, slot, revoker);
	rcu_read_unlock();
	local_bh_enable();
	return verdict;
}
