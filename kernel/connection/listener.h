/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Listening sockets and their members: whatever listens at the same address, in the same namespace
 * and VRF, shares one socket. A listener passes each connection that it accepts to one member.
 */
#ifndef SRNIC_LISTENER_H
#define SRNIC_LISTENER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/socket.h>

struct net;
struct srnic_dev;
struct srnic_ep;
struct srnic_listener;
struct srnic_listener_member;

/**
 * struct srnic_member_ops - a listener's calls to a member
 * @accepted: a connection between these addresses is the member's. 0: it has the socket; after an
 *	error the listener releases the socket. The listener's lock held
 * @free: frees the member. Any of its references may be the last; process context
 */
struct srnic_member_ops {
	int (*accepted)(struct srnic_listener_member *member, struct socket *sock,
			const struct sockaddr_storage *here, const struct sockaddr_storage *there);
	void (*free)(struct srnic_listener_member *member);
};

/**
 * struct srnic_listener_member - a member of a listening socket; part of a larger struct
 * @ref: held by its creator, by the membership, by each startup (srnic_ep.member)
 * @listener: set by srnic_listener_join(), once; referenced
 * @link: in listener->members, under srnic_listeners_lock and the listener's lock
 * @ops: this and all below never change after srnic_listener_join()
 * @dev: the device whose connections it takes
 * @addr: of TCP, where it listens
 * @rdma_port: the RDMA port that @addr's TCP port carries
 * @l3mdev: the VRF in which it listens, 0: none
 * @v6only: not on IPv4
 * @freebind: @addr need not be there yet
 * @leaves_net: it listens as long as its device exists, which must not keep the network namespace:
 *	it leaves before that ends
 * @backlog: at least 1
 * @tos_set: @tos is of connections
 * @tos: of IP
 */
struct srnic_listener_member {
	struct kref ref;
	struct srnic_listener *listener;
	struct list_head link;
	const struct srnic_member_ops *ops;
	struct srnic_dev *dev;
	struct sockaddr_storage addr;
	__be16 rdma_port;
	int l3mdev;
	bool v6only;
	bool freebind;
	bool leaves_net;
	int backlog;
	bool tos_set;
	u8 tos;
};

/*
 * The outermost lock of connections; held to open, find or close a listening socket, not while
 * connections are accepted.
 */
extern struct mutex srnic_listeners_lock;

/*
 * The VRF in which a socket of the wildcard address listens for an interface in this VRF: none if
 * the administrator has sockets outside of all VRFs accept from each (tcp_l3mdev_accept), as TCP
 * then refuses others of that port.
 */
int srnic_listener_wildcard_l3mdev(const struct net *net, int l3mdev);
/*
 * Takes a listening socket for the member, a new one or one that others have. -EADDRINUSE: it must
 * not share that one, or TCP's port is taken; -ENOMEM, -ENETDOWN, or another error of TCP.
 * srnic_listeners_lock held.
 */
int srnic_listener_join(struct srnic_listener_member *member, struct net *net);
/*
 * After this no connection is accepted for the member. Closes the socket of the last member.
 * srnic_listeners_lock held.
 */
void srnic_listener_leave(struct srnic_listener_member *member);
/* Once after srnic_listener_leave(): ends the member's startups, and its membership. */
void srnic_listener_end_startups(struct srnic_listener_member *member);
void srnic_listener_put_member(struct srnic_listener_member *member);

/*
 * Makes this ep, which has its socket and addresses, one of the startups of a member, which has
 * joined. 0 or -ENOMEM. The ep's lock and that of the member's listener held.
 */
int srnic_listener_admit(struct srnic_listener_member *member, struct srnic_ep *ep);
/* The ep is announced or ends: no longer one of the startups. Idempotent. The ep's lock held. */
void srnic_listener_dismiss(struct srnic_ep *ep);

/* For tests: the member's socket, referenced; NULL if there is none just now. */
struct sock *srnic_listener_sock(const struct srnic_listener_member *member);

#endif
