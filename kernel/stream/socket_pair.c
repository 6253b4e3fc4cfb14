// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which sockets of this host are the two ends of one connection, by their addresses.
 */
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "stream/socket_pair.h"

static struct in6_addr address_of(const struct sock *sk, bool other)
{
	struct in6_addr mapped;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return other ? sk->sk_v6_daddr : sk->sk_v6_rcv_saddr;
#endif
	ipv6_addr_set_v4mapped(other ? inet_sk(sk)->inet_daddr : inet_sk(sk)->inet_rcv_saddr,
			       &mapped);
	return mapped;
}

struct srnic_socket_name srnic_own_name(const struct sock *sk)
{
	return (struct srnic_socket_name) {
		.here = address_of(sk, false),
		.there = address_of(sk, true),
		.port = inet_sk(sk)->inet_sport,
		.other_port = inet_sk(sk)->inet_dport,
	};
}

struct srnic_socket_name srnic_others_name(const struct sock *sk)
{
	const struct srnic_socket_name own = srnic_own_name(sk);

	return (struct srnic_socket_name) { own.there, own.here, own.other_port, own.port };
}

bool srnic_is_called(const struct sock *sk, const struct srnic_socket_name *name)
{
	const struct srnic_socket_name own = srnic_own_name(sk);

	return !memcmp(&own, name, sizeof(own));
}

bool srnic_is_other_end(const struct sock *a, const struct sock *b)
{
	const struct srnic_socket_name name = srnic_others_name(a);

	return srnic_is_called(b, &name);
}
