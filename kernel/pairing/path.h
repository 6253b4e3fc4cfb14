/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where a QP's streams go: the addresses of TCP that two GIDs are (Documentation/ib.rst rule 40).
 */
#ifndef SRNIC_PATH_H
#define SRNIC_PATH_H

#include <linux/socket.h>
#include <rdma/ib_verbs.h>

/**
 * struct srnic_path - from one GID to another
 * @here: this end's address, without a port
 * @there: the peer's
 * @ifindex: of the interface that has @here
 * @tos: of IP: the traffic class that the program asked for
 */
struct srnic_path {
	struct sockaddr_storage here, there;
	int ifindex;
	u8 tos;
};

/* The address that a GID of RoCE v2 is. ifindex: of the interface that a link-local one is on. */
void srnic_address_of_gid(const union ib_gid *gid, int ifindex, struct sockaddr_storage *addr);
/* The VRF in which the path begins now; 0: none. net: of the device. */
int srnic_path_l3mdev(const struct srnic_path *path, struct net *net);
/* Is this the address of the GID, whatever the port and the interface are? */
bool srnic_is_address_of_gid(const struct sockaddr_storage *addr, const u8 gid[16]);

/*
 * The path of an address handle's attributes, without ports, and the GID that it begins at.
 * -EADDRNOTAVAIL: the GID has no interface, or one in another network namespace than the device's.
 * Any context.
 */
int srnic_path_of(const struct rdma_ah_attr *attr, const struct net_device *netdev,
		  struct srnic_path *path, union ib_gid *here);

#endif
