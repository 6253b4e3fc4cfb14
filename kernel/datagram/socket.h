/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * UDP sockets of the kernel, which give each datagram to a function when it comes.
 */
#ifndef SRNIC_DATAGRAM_SOCKET_H
#define SRNIC_DATAGRAM_SOCKET_H

#include <linux/list.h>
#include <linux/net.h>
#include <linux/uio.h>

#include "pairing/path.h"

struct sk_buff;
struct sock;
struct srnic_dev;

/**
 * struct srnic_datagram_socket - a UDP socket of devices of type srnic_ib
 * @link: among all; under the lock of port.c, as @users
 * @users: how many devices have it
 * @net: this and all below but @witness never change while it is open
 * @l3mdev: the VRF that it is in; 0: none
 * @family: AF_INET or AF_INET6
 * @port: its own, and that of all its peers
 * @witness: one of the devices that have it: counts datagrams that are of none. Under RCU
 * @sock: of the kernel, which does not keep the namespace
 */
struct srnic_datagram_socket {
	struct list_head link;
	u32 users;
	struct net *net;
	int l3mdev;
	int family;
	__be16 port;
	struct srnic_dev __rcu *witness;
	struct socket *sock;
};

/* Takes a datagram that starts at its UDP header. RCU and BHs off, in softirq. Always 0. */
typedef int (*srnic_datagram_receiver)(struct sock *sk, struct sk_buff *skb);

/*
 * Opens @sock; the other members but @witness are set. -EADDRINUSE: something else has the port;
 * -EAFNOSUPPORT: the kernel does not have this family; or another error of UDP. Process context.
 */
int srnic_datagram_socket_open(struct srnic_datagram_socket *socket, srnic_datagram_receiver take);
/*
 * UDP lets sockets of several VRFs have a port only if all of them say that they share it. An open
 * socket does, until it is told not to: then nobody else can have the port as well, to send from it
 * or to take datagrams away. Process context.
 */
void srnic_datagram_socket_share(struct srnic_datagram_socket *socket, bool share);
/*
 * IP joins this multicast group, of the socket's family, on this interface. -ENOBUFS: it allows no
 * more (net.ipv4.igmp_max_memberships); or another error. Process context; takes rtnl.
 */
int srnic_datagram_socket_join(const struct srnic_datagram_socket *socket,
			       const union ib_gid *group, int ifindex);
/* It has joined it; the interface may have gone. Process context; takes rtnl. */
void srnic_datagram_socket_leave(const struct srnic_datagram_socket *socket,
				 const union ib_gid *group, int ifindex);
/* Calls of the receiver may go on until an RCU grace period is over. Process context. */
void srnic_datagram_socket_close(struct srnic_datagram_socket *socket);

/* The socket of a receiver's call. */
static inline struct srnic_datagram_socket *srnic_datagram_socket_of(const struct sock *sk)
{
	return rcu_dereference_sk_user_data(sk);
}

/**
 * struct srnic_outgoing - a datagram that is sent
 * @path: from where to where; its ports are not looked at
 * @hops: its hop limit; 0: no particular one
 * @of_kernel: of a QP of the kernel, which has room that users leave to it
 * @octets: of header and payload
 */
struct srnic_outgoing {
	struct srnic_path path;
	u8 hops;
	bool of_kernel;
	struct kvec octets[2];
};

/*
 * Gives it to UDP. -EAGAIN: there is no room, for which a caller that may wait has waited for a
 * short time, or until a signal; -ENOMEM; or another error: it cannot be sent. Process context.
 */
int srnic_datagram_socket_send(const struct srnic_datagram_socket *socket,
			       struct srnic_outgoing *out, bool may_wait);

#endif
