/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which sockets of this host are the two ends of one connection, by their addresses.
 */
#ifndef SRNIC_SOCKET_PAIR_H
#define SRNIC_SOCKET_PAIR_H

#include <linux/in6.h>

struct sock;

/*
 * A connection, as one of its ends names it. No padding: it is hashed, and compared, as bytes.
 */
struct srnic_socket_name {
	struct in6_addr here, there;
	__be16 port, other_port;
};

struct srnic_socket_name srnic_own_name(const struct sock *sk);
/* The name that the other end gives the connection. */
struct srnic_socket_name srnic_others_name(const struct sock *sk);
bool srnic_is_called(const struct sock *sk, const struct srnic_socket_name *name);
/* Do two sockets name each other? By chance, too: in two namespaces, or behind a translator. */
bool srnic_is_other_end(const struct sock *a, const struct sock *b);

#endif
