// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A queue pair as an object: references, and lookup by number.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "stream/qp.h"

#ifdef SRNIC_CHECK_SIZES
static_assert(sizeof(struct srnic_qp) <= SRNIC_QP_BYTES);
#endif

void srnic_qp_hold(struct srnic_qp *qp)
{
	refcount_inc(&qp->users);
}

void srnic_qp_put(struct srnic_qp *qp)
{
	/* After this the QP may be gone: its address is only a name. */
	if (refcount_dec_and_test(&qp->users)) {
		smp_mb();	/* the count before the waiters; pairs with wait_var_event() */
		wake_up_var(&qp->users);
	}
}

void *srnic_qp_zalloc(const struct srnic_qp *qp, size_t size, gfp_t gfp)
{
	struct mem_cgroup *former = set_active_memcg(qp->payer);
	void *memory = kzalloc(size, gfp);

	set_active_memcg(former);
	return memory;
}

void srnic_qp_wait_for_references(struct srnic_qp *qp)
{
	wait_var_event(&qp->users, !refcount_read(&qp->users));
	smp_acquire__after_ctrl_dep();	/* what users did before the frees of destroy_qp */
}

struct srnic_qp *srnic_qp_find(struct srnic_dev *dev, u32 qpn)
{
	struct ib_qp *base;

	/* destroy_qp erases the entry, under this lock, before it drops its reference. */
	xa_lock(&dev->qps);
	base = xa_load(&dev->qps, qpn);
	if (base)
		srnic_qp_hold(to_srnic_qp(base));
	xa_unlock(&dev->qps);
	return base ? to_srnic_qp(base) : NULL;
}

/*
 * iw_cm looks up a QP (iw_get_qp) and then takes a reference (iw_add_ref), both in one section with
 * interrupts off. The lookup already takes the reference, under the table's lock, and hands it to
 * the iw_add_ref that follows on this CPU: so destroy_qp need not wait for such sections after it
 * has erased the entry.
 */
static DEFINE_PER_CPU(struct ib_qp *, handed_over);

void srnic_iw_add_ref(struct ib_qp *qp)
{
	unsigned long flags;
	bool held;

	local_irq_save(flags);
	held = this_cpu_read(handed_over) == qp;
	if (held)
		this_cpu_write(handed_over, NULL);
	local_irq_restore(flags);
	if (!held)
		srnic_qp_hold(to_srnic_qp(qp));
}

void srnic_iw_rem_ref(struct ib_qp *qp)
{
	srnic_qp_put(to_srnic_qp(qp));
}

struct ib_qp *srnic_iw_get_qp(struct ib_device *dev, int qpn)
{
	struct srnic_qp *qp;

	if (WARN_ON_ONCE(!irqs_disabled()))
		return NULL;
	qp = srnic_qp_find(to_srnic_dev(dev), qpn);
	if (!qp)
		return NULL;
	this_cpu_write(handed_over, &qp->base);
	return &qp->base;
}
