/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How a connection begins, at either end.
 */
#ifndef SRNIC_OPEN_H
#define SRNIC_OPEN_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>

struct srnic_consumer_ops;
struct srnic_ep;
struct srnic_listener_member;
struct srnic_offer;

/**
 * struct srnic_route - where a connection goes
 * @here: local address, with an RDMA port
 * @there: the peer's address, with an RDMA port
 * @l3mdev: the VRF whose addresses and routes it uses; 0: of none
 * @tos_set: @tos is wanted
 * @tos: of IP
 */
struct srnic_route {
	const struct sockaddr_storage *here, *there;
	int l3mdev;
	bool tos_set;
	u8 tos;
};

/*
 * The initiator: lays out the Request with this offer, and starts to connect a new ep, which has
 * its QP. -EINVAL: the private data does not fit; or TCP's error. The ep's lock held.
 */
int srnic_open_active(struct srnic_ep *ep, const struct srnic_route *route,
		      const struct srnic_offer *offer);
/*
 * The responder: makes an ep of a socket that was accepted for this member, between these
 * addresses, which waits for the Request. If it returns 0, the ep owns the socket. No ep's lock.
 */
int srnic_open_passive(struct srnic_listener_member *member,
		       const struct srnic_consumer_ops *consumer, struct socket *sock,
		       const struct sockaddr_storage *here, const struct sockaddr_storage *there);

#endif
