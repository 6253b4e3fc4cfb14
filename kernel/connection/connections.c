// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * All connections of a device: allowing new ones, and ending them when the device goes.
 */
#include "connection/connect.h"
#include "connection/ep.h"
#include "connection/iwcm.h"

void srnic_connect_dev_init(struct srnic_dev *dev)
{
	struct srnic_dev_connections *conns = &dev->connections;

	spin_lock_init(&conns->lock);
	INIT_LIST_HEAD(&conns->eps);
	init_waitqueue_head(&conns->idle);
	xa_init_flags(&conns->announced, XA_FLAGS_ALLOC1);
	srnic_ports_init(&conns->ports);
}

void srnic_connect_dev_open(struct srnic_dev *dev)
{
	struct srnic_dev_connections *conns = &dev->connections;

	spin_lock_irq(&conns->lock);
	conns->open = true;
	conns->dying = false;
	spin_unlock_irq(&conns->lock);
}

void srnic_connect_dev_close(struct srnic_dev *dev)
{
	struct srnic_dev_connections *conns = &dev->connections;
	struct srnic_ep *ep;

	spin_lock_irq(&conns->lock);
	conns->open = false;
	conns->dying = true;
	list_for_each_entry(ep, &conns->eps, link) {
		WRITE_ONCE(ep->killed, true);
		srnic_ep_kick(ep);
	}
	spin_unlock_irq(&conns->lock);
}

static void abort_all(struct srnic_dev_connections *conns)
{
	struct srnic_ep *ep;

	spin_lock_irq(&conns->lock);
	list_for_each_entry(ep, &conns->eps, link)
		srnic_ep_over(ep, CORE_CONN_ABORT);
	spin_unlock_irq(&conns->lock);
}

static bool all_gone(struct srnic_dev_connections *conns)
{
	bool gone;

	/* Under the lock: free_ep() of the last ep must have finished with the device. */
	spin_lock_irq(&conns->lock);
	gone = !conns->num;
	spin_unlock_irq(&conns->lock);
	return gone;
}

void srnic_connect_dev_exit(struct srnic_dev *dev)
{
	struct srnic_dev_connections *conns = &dev->connections;

	srnic_connect_dev_close(dev);
	abort_all(conns);
	srnic_listening_dev_exit(dev);
	wait_event(conns->idle, all_gone(conns));
	xa_destroy(&conns->announced);
}
