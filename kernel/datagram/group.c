// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which QPs have joined which groups (Documentation/ib.rst rules 99 to 104). The first QP of a
 * device has IP join the group on the device's interface, by the socket of the UDP port; the last
 * one has it leave. Both take rtnl.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "datagram/group.h"
#include "datagram/socket.h"
#include "srnic.h"

/* Of all devices. Writers hold the lock of port.c; readers use RCU */
static DEFINE_HASHTABLE(groups, 8);

static u32 hash_of(const union ib_gid *gid)
{
	static u32 seed __read_mostly;

	get_random_once(&seed, sizeof(seed));
	return jhash(gid->raw, sizeof(gid->raw), seed);
}

static bool is_of(const struct srnic_group *group, const union ib_gid *gid)
{
	return !memcmp(&group->gid, gid, sizeof(*gid));
}

const struct srnic_group *srnic_group_find(const union ib_gid *gid, const struct net *net,
					   int ifindex)
{
	const struct srnic_group *group;

	hash_for_each_possible_rcu(groups, group, bucket, hash_of(gid))
		if (is_of(group, gid) && READ_ONCE(group->dev->netdev->ifindex) == ifindex &&
		    net_eq(dev_net(group->dev->netdev), net))
			return group;
	return NULL;
}

/* ---- IP ---- */

static const struct srnic_datagram_socket *socket_of(const struct srnic_group *group)
{
	bool v4 = ipv6_addr_v4mapped((const struct in6_addr *)group->gid.raw);

	return group->dev->datagrams.sockets[!v4];
}

static int join(struct srnic_group *group)
{
	const struct srnic_datagram_socket *socket = socket_of(group);
	int ifindex = READ_ONCE(group->dev->netdev->ifindex);
	int ret = socket ? srnic_datagram_socket_join(socket, &group->gid, ifindex) : -ENETDOWN;

	group->ifindex = ret ? 0 : ifindex;
	return ret;
}

static void leave(struct srnic_group *group)
{
	if (group->ifindex)
		srnic_datagram_socket_leave(socket_of(group), &group->gid, group->ifindex);
	group->ifindex = 0;
}

void srnic_groups_join(struct srnic_dev *dev)
{
	struct srnic_group *group;
	int ret;

	list_for_each_entry(group, &dev->datagrams.groups, link) {
		ret = join(group);
		if (ret)
			ibdev_warn_ratelimited(&dev->base, "not in group %pI6c: error %d\n",
					       group->gid.raw, ret);
	}
}

void srnic_groups_leave(struct srnic_dev *dev)
{
	struct srnic_group *group;

	list_for_each_entry(group, &dev->datagrams.groups, link)
		leave(group);
}

/* ---- groups ---- */

static struct srnic_group *find(struct srnic_dev *dev, const union ib_gid *gid)
{
	struct srnic_group *group;

	list_for_each_entry(group, &dev->datagrams.groups, link)
		if (is_of(group, gid))
			return group;
	return NULL;
}

static struct srnic_group *add(struct srnic_dev *dev, const union ib_gid *gid)
{
	struct srnic_group *group;
	int ret;

	if (dev->datagrams.num_groups == SRNIC_MAX_GROUPS)
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->dev = dev;
	group->gid = *gid;
	INIT_LIST_HEAD(&group->members);
	ret = join(group);
	if (ret) {
		kfree(group);
		return ERR_PTR(ret);
	}
	dev->datagrams.num_groups++;
	list_add_tail(&group->link, &dev->datagrams.groups);
	hash_add_rcu(groups, &group->bucket, hash_of(gid));
	return group;
}

static void put(struct srnic_group *group)
{
	if (group->count)
		return;
	leave(group);
	group->dev->datagrams.num_groups--;
	list_del(&group->link);
	hash_del_rcu(&group->bucket);
	kfree_rcu(group, rcu);
}

/* ---- QPs ---- */

static struct srnic_group_member *find_member(const struct srnic_group *group,
					      const struct srnic_datagrams *datagrams)
{
	struct srnic_group_member *member;

	list_for_each_entry(member, &group->members, link)
		if (member->datagrams == datagrams)
			return member;
	return NULL;
}

static int add_member(struct srnic_group *group, struct srnic_datagrams *datagrams)
{
	struct srnic_group_member *member;

	if (find_member(group, datagrams))
		return -EINVAL;
	if (group->count == SRNIC_MAX_GROUP_QPS)
		return -ENOMEM;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	member->datagrams = datagrams;
	list_add_tail_rcu(&member->link, &group->members);
	group->count++;
	return 0;
}

int srnic_group_attach(struct srnic_dev *dev, struct srnic_datagrams *datagrams,
		       const union ib_gid *gid)
{
	struct srnic_group *group = find(dev, gid) ?: add(dev, gid);
	int ret;

	if (IS_ERR(group))
		return PTR_ERR(group);
	ret = add_member(group, datagrams);
	put(group);
	return ret;
}

int srnic_group_detach(struct srnic_dev *dev, struct srnic_datagrams *datagrams,
		       const union ib_gid *gid)
{
	struct srnic_group *group = find(dev, gid);
	struct srnic_group_member *member = group ? find_member(group, datagrams) : NULL;

	if (!member)
		return -EINVAL;
	list_del_rcu(&member->link);
	kfree_rcu(member, rcu);
	group->count--;
	put(group);
	return 0;
}

/* ---- devices ---- */

void srnic_groups_dev_init(struct srnic_dev *dev)
{
	INIT_LIST_HEAD(&dev->datagrams.groups);
}

void srnic_groups_dev_exit(struct srnic_dev *dev)
{
	WARN_ON(!list_empty(&dev->datagrams.groups));
}
