/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IPv4 and IPv6 addresses: comparing and mapping them, and which interface serves one.
 */
#ifndef SRNIC_ADDRESS_H
#define SRNIC_ADDRESS_H

#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/socket.h>

bool srnic_is_wildcard(const struct sockaddr_storage *addr);
/* Ports and IPv6 scopes included. */
bool srnic_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Is it an address of this interface, or of one that the interface serves? Process context. */
bool srnic_serves_address(struct net_device *netdev, const struct sockaddr_storage *addr);

/* Of IPv6, or of IPv4 as a mapped one. */
struct in6_addr srnic_mapped_address(const struct sockaddr_storage *addr);

#endif
