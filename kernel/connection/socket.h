/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kernel TCP sockets, as connections and listeners use them: nothing here blocks, and nothing knows
 * of iWARP.
 */
#ifndef SRNIC_SOCKET_H
#define SRNIC_SOCKET_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;
struct sock;

/**
 * struct srnic_watch - who is told when something happens on a socket: octets, space, another
 * state, an error
 * @wake: called in any context, perhaps with the socket locked, so it does no more than queue work;
 *	never again once srnic_sock_unwatch() has returned
 * @old_data_ready: the socket's own callback, to be put back
 * @old_state_change: likewise
 * @old_write_space: likewise
 * @old_error_report: likewise
 *
 * A watch is on one socket at a time, and is not inherited by the sockets that a listening one
 * spawns.
 */
struct srnic_watch {
	void (*wake)(struct srnic_watch *watch);
	void (*old_data_ready)(struct sock *sk);
	void (*old_state_change)(struct sock *sk);
	void (*old_write_space)(struct sock *sk);
	void (*old_error_report)(struct sock *sk);
};

void srnic_sock_watch(struct socket *sock, struct srnic_watch *watch);
/* Puts the socket's own callbacks back. A socket that is not watched by this one is left alone. */
void srnic_sock_unwatch(struct socket *sock, struct srnic_watch *watch);

/* All of these run in process context. Errors are -errno. */
int srnic_sock_create(struct net *net, int family, struct socket **out);
void srnic_sock_set_tos(struct socket *sock, u8 tos);
/*
 * Binds to the local address, and to its port unless TCP uses that already, and starts to connect;
 * 0 also when that is still in progress.
 */
int srnic_sock_connect(struct socket *sock, const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote);
int srnic_sock_listen(struct socket *sock, const struct sockaddr_storage *local, bool v6only,
		      int backlog);
/* Does a connection wait to be accepted? */
bool srnic_sock_has_connection(const struct socket *listening);
/*
 * The next connection of a listening socket that is watched by `watch`; -EAGAIN if there is none.
 */
int srnic_sock_accept(struct socket *listening, const struct srnic_watch *watch,
		      struct socket **out);
/* Both ends' addresses; IPv4 that came mapped into IPv6 is IPv4 again. */
int srnic_sock_names(struct socket *sock, struct sockaddr_storage *local,
		     struct sockaddr_storage *remote);

/* Octets that TCP took, or -EAGAIN. */
int srnic_sock_send(struct socket *sock, const void *data, size_t len);
/*
 * Octets read, never more than len; -EAGAIN if none are there, -ECONNRESET if the peer has closed.
 */
int srnic_sock_recv(struct socket *sock, void *data, size_t len);
/* Throws away what has come, within bounds; true if there may be more. */
bool srnic_sock_discard(struct socket *sock);
/* A number that changes when the peer acknowledges octets, or our FIN. */
u32 srnic_sock_acked(struct socket *sock);
/* A number that changes when the peer acknowledges octets, and when octets of the peer arrive. */
u32 srnic_sock_progress(struct socket *sock);
/* TCP is done with this connection, in whatever way. */
bool srnic_sock_closed(struct socket *sock);
/* No more will come from the peer. */
bool srnic_sock_peer_gone(struct socket *sock);
/* Releases it; resets a connection that is not over yet. */
void srnic_sock_release(struct socket *sock);

#endif
