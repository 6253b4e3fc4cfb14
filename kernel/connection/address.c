// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Comparing addresses, and which interface serves one.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>

#include "compat/compat.h"
#include "connection/address.h"
#include "port_map.h"

bool srnic_is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

struct in6_addr srnic_mapped_address(const struct sockaddr_storage *addr)
{
	struct in6_addr mapped;

	if (addr->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)addr)->sin6_addr;
	ipv6_addr_set_v4mapped(((const struct sockaddr_in *)addr)->sin_addr.s_addr, &mapped);
	return mapped;
}

bool srnic_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a,
				 *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a,
				  *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family || srnic_port_of(a) != srnic_port_of(b))
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

static bool serves(const struct net_device *netdev, const struct net_device *owner)
{
	return owner == netdev || (owner && srnic_compat_serves(netdev, owner));
}

static bool serves_v6(struct net_device *netdev, const struct sockaddr_in6 *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct net *net = dev_net(netdev);

	if (ipv6_addr_type(&addr->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return serves(netdev, dev_get_by_index_rcu(net, addr->sin6_scope_id));
	return ipv6_chk_addr(net, &addr->sin6_addr, netdev, 1) ||
	       serves(netdev, ipv6_dev_find(net, &addr->sin6_addr, NULL));
#else
	return false;
#endif
}

bool srnic_serves_address(struct net_device *netdev, const struct sockaddr_storage *addr)
{
	bool ret;

	rcu_read_lock();
	if (addr->ss_family == AF_INET6)
		ret = serves_v6(netdev, (const struct sockaddr_in6 *)addr);
	else
		ret = serves(netdev,
			     __ip_dev_find(dev_net(netdev),
					   ((const struct sockaddr_in *)addr)->sin_addr.s_addr,
					   false));
	rcu_read_unlock();
	return ret;
}
