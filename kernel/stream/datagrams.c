// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A QP of type UD as an object.
 */
#include <linux/slab.h>

#include "stream/datagrams.h"

int srnic_datagrams_alloc(struct srnic_qp *qp)
{
	struct srnic_datagrams *datagrams = kzalloc(sizeof(*datagrams), GFP_KERNEL_ACCOUNT);

	if (!datagrams)
		return -ENOMEM;
	qp->datagrams = datagrams;
	qp->sq.datagrams = true;
	datagrams->qp = qp;
	spin_lock_init(&datagrams->receiving);
	mutex_init(&datagrams->modify);
	datagrams->payload = kmalloc(CORE_DATAGRAM_MAX, GFP_KERNEL_ACCOUNT);
	return datagrams->payload ? 0 : -ENOMEM;
}

void srnic_datagrams_free(struct srnic_qp *qp)
{
	struct srnic_datagrams *datagrams = srnic_datagrams_of(qp);

	if (!datagrams)
		return;
	kfree(datagrams->payload);
	kfree_rcu(datagrams, rcu);
	qp->datagrams = NULL;
}

void srnic_datagrams_open(struct srnic_datagrams *datagrams)
{
	lockdep_assert_held(&datagrams->qp->tx.mutex);
	spin_lock_bh(&datagrams->receiving);
	datagrams->open = true;
	spin_unlock_bh(&datagrams->receiving);
}

void srnic_datagrams_close(struct srnic_datagrams *datagrams)
{
	spin_lock_bh(&datagrams->receiving);
	datagrams->open = false;
	spin_unlock_bh(&datagrams->receiving);
}
