// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory windows: a part of a user's region under an STag of its own, which a request in a send
 * queue binds, without a system call. Type 1 is for all QPs of its protection domain. Type 2 is for
 * the QP that has bound it: its peer's accesses, and either end's invalidation. Its protection
 * domain is checked as well (type 2B). So a QP may be destroyed while windows are bound to it: if
 * another gets its number, that is one of the same protection domain, or the window is foreign to
 * it.
 *
 * A window is an entry of the table of regions (memory/table.c): looked up, held and revoked as a
 * region. While it is bound it describes memory of its region, whose array of pages it uses. The
 * region counts its windows (@bindable), and is neither deregistered nor registered again while one
 * is bound.
 */
#include "memory/registration.h"
#include "memory/table.h"
#include "memory/window.h"
#include "udata.h"

/* ---- the region ---- */

/*
 * Counts a window in the region if one may be bound. Whose region it is comes first: nobody else
 * may keep it from being deregistered, however briefly. From then on its fields are stable.
 */
static bool count_in(struct srnic_mr *region, const struct core_bind *bind)
{
	return READ_ONCE(region->pd) == bind->requester.pd &&
	       READ_ONCE(region->stag) == bind->region &&
	       atomic_inc_unless_negative(&region->bindable);
}

static bool may_bind_to(const struct srnic_mr *region, const struct core_bind *bind)
{
	const struct core_region snapshot = {
		.base = region->iova,
		.length = region->length,
		.pd = region->pd,
		.access = region->access,
		.window = region->window != 0,
	};

	return core_region_may_bind(&snapshot, bind);
}

/* The region that the request names, counted; or NULL. Under RCU. */
static struct srnic_mr *find_region(struct srnic_dev *dev, const struct core_bind *bind)
{
	struct srnic_mr *region = xa_load(&dev->mrs, srnic_mr_slot(dev, bind->region));

	if (!region || !count_in(region, bind))
		return NULL;
	if (may_bind_to(region, bind))
		return region;
	atomic_dec(&region->bindable);
	return NULL;
}

/* ---- binding ---- */

/* The window describes this part of the region. Under @binding; the window is INVALID. */
static void describe(struct srnic_mr *window, struct srnic_mr *region, const struct core_bind *bind)
{
	u64 at = bind->to - region->iova + region->offset;

	window->iova = bind->access & CORE_ACCESS_ZERO_BASED ? 0 : bind->to;
	window->length = bind->length;
	window->access = bind->access & (CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ |
					 CORE_ACCESS_REMOTE_ATOMIC);
	window->piece_shift = region->piece_shift;
	window->pieces = region->pieces + (at >> region->piece_shift);
	window->offset = at & (BIT_ULL(region->piece_shift) - 1);
	window->bound_to = region;
}

/* Under @binding. */
static int bind_to(struct srnic_mr *window, struct srnic_mr *region, const struct core_bind *bind)
{
	srnic_window_unbind(window);
	WRITE_ONCE(window->stag, bind->stag);
	if (!region)
		return 0;
	describe(window, region, bind);
	window->qpn = window->window == IB_MW_TYPE_2 ? bind->requester.qpn : 0;
	srnic_mr_enable(window);
	return 0;
}

/* Under @binding, and RCU. */
static int bind_window(struct srnic_dev *dev, struct srnic_mr *window, const struct core_bind *bind)
{
	const struct core_window before = {
		.pd = window->pd,
		.type = window->window,
		.bound = !!window->bound_to,
	};
	struct srnic_mr *region;

	BUILD_BUG_ON((int)IB_MW_TYPE_1 != (int)CORE_WINDOW_1);
	BUILD_BUG_ON((int)IB_MW_TYPE_2 != (int)CORE_WINDOW_2);
	BUILD_BUG_ON(IB_ZERO_BASED != CORE_ACCESS_ZERO_BASED);
	if (!core_window_may_bind(&before, bind))
		return -EINVAL;
	if (!bind->length)
		return bind_to(window, NULL, bind);
	region = find_region(dev, bind);
	return region ? bind_to(window, region, bind) : -EINVAL;
}

int srnic_window_bind(struct srnic_dev *dev, const struct core_bind *bind)
{
	struct srnic_mr *window;
	int err = -EINVAL;

	rcu_read_lock(); /* keeps both allocated */
	window = xa_load(&dev->mrs, srnic_mr_slot(dev, bind->stag));
	if (window && window->window) {
		spin_lock_bh(&window->binding);
		err = bind_window(dev, window, bind);
		spin_unlock_bh(&window->binding);
	}
	rcu_read_unlock();
	return err;
}

/* ---- verbs ---- */

int srnic_alloc_mw(struct ib_mw *base, struct ib_udata *udata)
{
	struct srnic_mr *window;
	int err = srnic_udata_none(udata);

	if (err)
		return err;
	window = srnic_window_alloc(base->pd, base->type);
	if (IS_ERR(window))
		return PTR_ERR(window);
	to_srnic_mw(base)->entry = window;
	base->rkey = window->stag;
	return 0;
}

/* Of no protection domain: a request that still sees it in the table does not bind it again. */
int srnic_dealloc_mw(struct ib_mw *base)
{
	struct srnic_mr *window = to_srnic_mw(base)->entry;

	spin_lock_bh(&window->binding);
	srnic_window_unbind(window);
	window->pd = 0;
	spin_unlock_bh(&window->binding);
	srnic_mr_free(window);
	return 0;
}
