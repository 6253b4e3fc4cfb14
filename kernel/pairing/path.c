// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Where a QP's streams go (Documentation/ib.rst rule 40). Address, interface and scope come from
 * the entry of the GID table, whatever namespace the caller is in.
 */
#include <linux/if_vlan.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "connection/address.h"
#include "pairing/path.h"
#include "port_map.h"

void srnic_address_of_gid(const union ib_gid *gid, int ifindex, struct sockaddr_storage *addr)
{
	const struct in6_addr *raw = (const struct in6_addr *)gid->raw;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	if (ipv6_addr_v4mapped(raw)) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = raw->s6_addr32[3];
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = *raw;
	if (ipv6_addr_type(raw) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = ifindex;
}

bool srnic_is_address_of_gid(const struct sockaddr_storage *addr, const u8 gid[16])
{
	struct in6_addr mapped = srnic_mapped_address(addr);

	return !memcmp(&mapped, gid, sizeof(mapped));
}

int srnic_path_l3mdev(const struct srnic_path *path, struct net *net)
{
	return l3mdev_master_ifindex_by_index(net, path->ifindex);
}

/* The interface of a GID may go at any time. */
static int fill(const struct net_device *ndev, const struct net_device *netdev,
		const struct rdma_ah_attr *attr, struct srnic_path *path)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (!ndev || !net_eq(dev_net(ndev), dev_net(netdev)))
		return -EADDRNOTAVAIL;
	srnic_address_of_gid(&grh->sgid_attr->gid, ndev->ifindex, &path->here);
	srnic_address_of_gid(&grh->dgid, ndev->ifindex, &path->there);
	path->ifindex = ndev->ifindex;
	path->tos = grh->traffic_class;
	return path->here.ss_family == path->there.ss_family ? 0 : -EAFNOSUPPORT;
}

int srnic_path_of(const struct rdma_ah_attr *attr, const struct net_device *netdev,
		  struct srnic_path *path, union ib_gid *here)
{
	const struct ib_gid_attr *sgid = rdma_ah_read_grh(attr)->sgid_attr;
	int ret;

	if (!sgid)
		return -EINVAL;
	*here = sgid->gid;
	rcu_read_lock();
	ret = fill(rcu_dereference(sgid->ndev), netdev, attr, path);
	rcu_read_unlock();
	return ret;
}
