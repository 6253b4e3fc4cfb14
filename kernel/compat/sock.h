/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between kernels in TCP's sockets.
 */
#ifndef SRNIC_COMPAT_SOCK_H
#define SRNIC_COMPAT_SOCK_H

#include <linux/in.h>
#include <linux/socket.h>
#include <net/sock.h>

#include "compat/behaviour.h"
#include "compat/found.h"

/* A socket's own range of ports for connect(). TCP refuses this option before 6.3. */
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif

/*
 * tcp_l3mdev_accept: sockets of no VRF accept connections of each. 6.12 has the field only with
 * VRFs.
 */
static inline bool srnic_compat_accepts_all(const struct net *net)
{
#ifdef CONFIG_NET_L3_MASTER_DEV
	return READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept);
#else
	return false;
#endif
}

/*
 * Any task may write to our sockets, so TCP must not use the page fragment of the running task.
 * Since 6.2 a flag says so; before, an allocation mask without __GFP_FS does.
 */
static inline void srnic_compat_own_frag(struct sock *sk)
{
#ifdef SRNIC_HAS_TASK_FRAG
	sk->sk_use_task_frag = false;
#endif
	sk->sk_allocation = GFP_NOIO;
}

#endif
