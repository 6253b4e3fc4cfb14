// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Module load and unload.
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "compat/compat.h"
#include "datagram/port.h"
#include "datagram/receive.h"
#include "device/link.h"
#include "memory/crc.h"
#include "pairing/port.h"
#include "srnic.h"
#include "stream/number.h"
#include "version.h"

struct workqueue_struct *srnic_wq;

static struct srnic_port *const ports[] = { &srnic_tcp_port, &srnic_udp_port, NULL };

static int __init srnic_init(void)
{
	int err;

	err = srnic_crc_init();
	if (err)
		return err;
	/*
	 * WQ_MEM_RECLAIM: storage and NFS write back dirty pages through this queue, so it must
	 * make progress without memory.
	 */
	srnic_wq = alloc_workqueue("srnic", WQ_MEM_RECLAIM | WQ_SYSFS | SRNIC_COMPAT_PERCPU, 0);
	if (!srnic_wq)
		return -ENOMEM;
	err = srnic_places_init(ports);
	if (err)
		goto destroy;
	err = srnic_link_init();
	if (!err)
		return 0;
	srnic_places_exit();
destroy:
	destroy_workqueue(srnic_wq);
	return err;
}

static void __exit srnic_exit(void)
{
	srnic_link_exit();
	srnic_places_exit();
	srnic_datagram_receive_exit();
	destroy_workqueue(srnic_wq);
	rcu_barrier();
	srnic_number_exit();
}

module_init(srnic_init);
module_exit(srnic_exit);

MODULE_DESCRIPTION("Software RNIC: iWARP over kernel TCP");
MODULE_AUTHOR("The srnic authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(SRNIC_VERSION);
MODULE_ALIAS_RDMA_LINK("srnic");
MODULE_ALIAS_RDMA_LINK("srnic_ib");
