/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Multicast groups that QPs of type UD have joined (Documentation/ib.rst, "Groups").
 */
#ifndef SRNIC_DATAGRAM_GROUP_H
#define SRNIC_DATAGRAM_GROUP_H

#include <rdma/ib_verbs.h>

struct srnic_datagrams;
struct srnic_dev;

/**
 * struct srnic_group - a group that QPs of a device have joined. Writers hold the lock of port.c
 * @bucket: among groups of all devices; readers use RCU
 * @link: in srnic_dev.datagrams.groups
 * @dev: whose QPs; never changes
 * @gid: a multicast address; never changes
 * @members: struct srnic_group_member; readers use RCU
 * @count: of them
 * @ifindex: the interface on which IP has joined it, the device's; 0: none
 * @rcu: frees it
 */
struct srnic_group {
	struct hlist_node bucket;
	struct list_head link;
	struct srnic_dev *dev;
	union ib_gid gid;
	struct list_head members;
	u32 count;
	int ifindex;
	struct rcu_head rcu;
};

/**
 * struct srnic_group_member - a QP in a group
 * @link: in srnic_group.members
 * @datagrams: of the QP
 * @rcu: frees it
 */
struct srnic_group_member {
	struct list_head link;
	struct srnic_datagrams *datagrams;
	struct rcu_head rcu;
};

void srnic_groups_dev_init(struct srnic_dev *dev);
/* There is no QP any more. */
void srnic_groups_dev_exit(struct srnic_dev *dev);

/* The group of the device on this interface, or NULL. Under RCU. */
const struct srnic_group *srnic_group_find(const union ib_gid *gid, const struct net *net,
					   int ifindex);

/*
 * The QP joins the group. -EINVAL: it has; -ENOMEM: also if it would be one group, or one QP, too
 * many; -ENETDOWN: the device has no socket; -ENOBUFS: IP allows no more groups; or another error
 * of IP. The lock of port.c held.
 */
int srnic_group_attach(struct srnic_dev *dev, struct srnic_datagrams *datagrams,
		       const union ib_gid *gid);
/* The QP leaves it. -EINVAL: it was not in it. The lock of port.c held. */
int srnic_group_detach(struct srnic_dev *dev, struct srnic_datagrams *datagrams,
		       const union ib_gid *gid);

/* The device has sockets: IP joins its groups. The lock of port.c held. */
void srnic_groups_join(struct srnic_dev *dev);
/* It is about to lose them. The lock of port.c held. */
void srnic_groups_leave(struct srnic_dev *dev);

#endif
