/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kernel TCP sockets for connections and listeners. Nothing here blocks or knows about iWARP.
 */
#ifndef SRNIC_SOCKET_H
#define SRNIC_SOCKET_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>

#include "stream/sock_callbacks.h"

struct net;
struct sock;

/**
 * struct srnic_watch - a callback for a socket's events: data, space, another state, an error
 * @event: called in any context, possibly with the socket locked, so it may only queue work; not
 *	called after srnic_sock_unwatch() has returned
 * @own_callbacks: those that the socket had before, restored by srnic_sock_unwatch()
 *
 * A watch is on one socket at a time. Accepted sockets do not inherit it.
 */
struct srnic_watch {
	void (*event)(struct srnic_watch *watch);
	struct srnic_sock_callbacks own_callbacks;
};

void srnic_sock_watch(struct socket *sock, struct srnic_watch *watch);
/* Restores the socket's own callbacks. Does nothing if this watch is not on the socket. */
void srnic_sock_unwatch(struct socket *sock, struct srnic_watch *watch);

/* All of these run in process context. Errors are -errno. */
/* l3mdev: the VRF whose addresses and routes it uses; 0: of none. */
int srnic_sock_create(struct net *net, int l3mdev, int family, struct socket **out);
void srnic_sock_set_tos(struct socket *sock, u8 tos);
/*
 * Starts to connect from the local address and its port; 0 also while connecting. To port 0: to the
 * socket's own port, so that it is connected with itself. -EADDRINUSE,
 * -EADDRNOTAVAIL or -EACCES: TCP does not give this port; another socket may connect from port 0,
 * which lets TCP choose.
 */
int srnic_sock_connect(struct socket *sock, const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote);
/* The local port, once it has one. */
__be16 srnic_sock_port(const struct socket *sock);
int srnic_sock_listen(struct socket *sock, const struct sockaddr_storage *local, bool v6only,
		      int backlog);
/*
 * For a socket that will listen: a connection can be accepted only when its first byte has arrived,
 * or about this long after the handshake.
 */
void srnic_sock_defer_accept(struct socket *sock, int seconds);
/* Is a connection waiting to be accepted? */
bool srnic_sock_has_connection(const struct socket *listening);
/*
 * The next connection of a listening socket that `watch` is on; -EAGAIN if there is none.
 */
int srnic_sock_accept(struct socket *listening, const struct srnic_watch *watch,
		      struct socket **out);
/*
 * Does an accepted connection, on which there is no watch yet, belong to a BPF program's map? Such
 * a connection is of no use, and must be reset.
 */
bool srnic_sock_is_taken(const struct socket *sock);
/* The addresses of both ends; IPv4-mapped IPv6 addresses become IPv4. */
int srnic_sock_names(struct socket *sock, struct sockaddr_storage *local,
		     struct sockaddr_storage *remote);

/* The VRF of a connection; 0: none. */
int srnic_sock_l3mdev(const struct socket *sock);

/* Bytes that TCP took, -EAGAIN, or another error. Process context. */
int srnic_sock_send(struct socket *sock, const void *data, size_t len);
/*
 * Bytes read, at most len; -EAGAIN if there are none, -ECONNRESET if the peer has closed.
 */
int srnic_sock_recv(struct socket *sock, void *data, size_t len);
/* Do bytes, or the peer's FIN, wait to be read? Any context. */
bool srnic_sock_unread(struct socket *sock);
/* Discards received data, up to a limit; true if there may be more. */
bool srnic_sock_discard(struct socket *sock);
/* A number that changes when the peer acknowledges bytes or our FIN. */
u32 srnic_sock_acked(struct socket *sock);
/* A number that changes when the peer acknowledges bytes or our FIN, or sends bytes. */
u32 srnic_sock_progress(struct socket *sock);
/* TCP is done with this connection, closed or reset. */
bool srnic_sock_closed(struct socket *sock);
/* The peer has acknowledged our FIN, and all before it; or the connection is closed. */
bool srnic_sock_fin_acked(struct socket *sock);
/* The peer has closed its half, or the connection is closed. */
bool srnic_sock_peer_gone(struct socket *sock);
/* Releases the socket; resets a connection that is not closed. */
void srnic_sock_release(struct socket *sock);

#endif
