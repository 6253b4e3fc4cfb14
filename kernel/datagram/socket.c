// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * UDP sockets of the kernel. Received datagrams never enter a socket's queue: UDP checks the
 * checksum and then calls the receiver, as it does for tunnels.
 */
#include <linux/igmp.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/sizes.h>
#include <linux/udp.h>
#include <linux/wait.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>

#include "compat/sock.h"
#include "datagram/socket.h"
#include "port_map.h"

/* How long a sender that may wait waits for room. */
#define PATIENCE	(HZ / 10)
/*
 * What may wait in interfaces, or for a neighbour to answer. All QPs of the namespace have it
 * together: one that sends to a neighbour that has left must not keep back the others.
 */
#define SEND_BUFFER	SZ_8M
/* Of that, what users leave to QPs of the kernel: agents must answer whatever users send. */
#define RESERVE		SZ_1M

/* ---- life ---- */

/*
 * The function is set before the option has UDP call it. The option is L2TP's, which asks for no
 * more than that; so UDP does itself what differs between kernels.
 */
static int encapsulate(struct socket *sock, srnic_datagram_receiver take)
{
	const int type = UDP_ENCAP_L2TPINUDP;

	WRITE_ONCE(udp_sk(sock->sk)->encap_rcv, take);
	return sock_common_setsockopt(sock, SOL_UDP, UDP_ENCAP, KERNEL_SOCKPTR((void *)&type),
				      sizeof(type));
}

static int bind_to_port(struct socket *sock, const struct srnic_datagram_socket *socket)
{
	struct sockaddr_storage any = { .ss_family = socket->family };

	srnic_set_port(&any, socket->port);
	return kernel_bind(sock, (void *)&any, socket->family == AF_INET6 ?
						       sizeof(struct sockaddr_in6) :
						       sizeof(struct sockaddr_in));
}

static int set_up(struct socket *sock, struct srnic_datagram_socket *socket,
		  srnic_datagram_receiver take)
{
	struct sock *sk = sock->sk;

	srnic_compat_own_frag(sk);
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SEND_BUFFER);
	sk->sk_reuse = SK_CAN_REUSE;
	if (socket->family == AF_INET6)
		sk->sk_ipv6only = true;
	rcu_assign_sk_user_data(sk, socket);
	return encapsulate(sock, take) ?: sock_bindtoindex(sk, socket->l3mdev, true) ?:
	       bind_to_port(sock, socket);
}

void srnic_datagram_socket_share(struct srnic_datagram_socket *socket, bool share)
{
	struct sock *sk = socket->sock->sk;

	lock_sock(sk);
	sk->sk_reuse = share ? SK_CAN_REUSE : SK_NO_REUSE;
	release_sock(sk);
}

int srnic_datagram_socket_open(struct srnic_datagram_socket *socket, srnic_datagram_receiver take)
{
	struct socket *sock;
	int ret = sock_create_kern(socket->net, socket->family, SOCK_DGRAM, IPPROTO_UDP, &sock);

	if (ret)
		return ret;
	ret = set_up(sock, socket, take);
	if (ret)
		sock_release(sock);
	else
		socket->sock = sock;
	return ret;
}

/*
 * A queue of netfilter may keep the socket for as long as it likes, with a datagram for it: a
 * multicast one, whose socket is looked up early. Then UDP must find no function.
 */
void srnic_datagram_socket_close(struct srnic_datagram_socket *socket)
{
	WRITE_ONCE(udp_sk(socket->sock->sk)->encap_rcv, NULL);
	kernel_sock_shutdown(socket->sock, SHUT_RDWR);
	sock_release(socket->sock);
	socket->sock = NULL;
}

/* ---- groups ---- */

static int set_group_v4(const struct srnic_datagram_socket *socket, const union ib_gid *group,
			int ifindex, bool join)
{
	const struct ip_mreqn request = {
		.imr_multiaddr.s_addr = ((const struct in6_addr *)group->raw)->s6_addr32[3],
		.imr_ifindex = ifindex,
	};

	return sock_common_setsockopt(socket->sock, SOL_IP,
				      join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				      KERNEL_SOCKPTR((void *)&request), sizeof(request));
}

static int set_group_v6(const struct srnic_datagram_socket *socket, const union ib_gid *group,
			int ifindex, bool join)
{
	const struct ipv6_mreq request = {
		.ipv6mr_multiaddr = *(const struct in6_addr *)group->raw,
		.ipv6mr_ifindex = ifindex,
	};

	return sock_common_setsockopt(socket->sock, SOL_IPV6,
				      join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP,
				      KERNEL_SOCKPTR((void *)&request), sizeof(request));
}

static int set_group(const struct srnic_datagram_socket *socket, const union ib_gid *group,
		     int ifindex, bool join)
{
	return socket->family == AF_INET6 ? set_group_v6(socket, group, ifindex, join) :
					    set_group_v4(socket, group, ifindex, join);
}

int srnic_datagram_socket_join(const struct srnic_datagram_socket *socket,
			       const union ib_gid *group, int ifindex)
{
	return set_group(socket, group, ifindex, true);
}

void srnic_datagram_socket_leave(const struct srnic_datagram_socket *socket,
				 const union ib_gid *group, int ifindex)
{
	set_group(socket, group, ifindex, false);
}

/* ---- sending ---- */

/* Control messages: where from, hop limit, traffic class. */
struct control {
	u8 octets[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int))]
		__aligned(sizeof(size_t));
	size_t len;
};

static void add(struct control *control, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *head = (struct cmsghdr *)(control->octets + control->len);

	*head = (struct cmsghdr) {
		.cmsg_len = CMSG_LEN(len),
		.cmsg_level = level,
		.cmsg_type = type,
	};
	memcpy(CMSG_DATA(head), data, len);
	control->len += CMSG_SPACE(len);
}

static void add_number(struct control *control, int level, int type, int value)
{
	if (value)
		add(control, level, type, &value, sizeof(value));
}

/*
 * The route need not begin at the interface that has the address, but in its VRF. To a group, and
 * between addresses of one link, it does.
 */
static int l3mdev_of(const struct srnic_datagram_socket *socket, const struct srnic_path *path)
{
	return l3mdev_master_ifindex_by_index(socket->net, path->ifindex);
}

static void control_v4(const struct srnic_datagram_socket *socket,
		       const struct srnic_outgoing *out, struct control *control)
{
	const struct sockaddr_in *here = (const struct sockaddr_in *)&out->path.here;
	const struct sockaddr_in *there = (const struct sockaddr_in *)&out->path.there;
	bool local = ipv4_is_multicast(there->sin_addr.s_addr);
	const struct in_pktinfo info = {
		.ipi_ifindex = local ? out->path.ifindex : l3mdev_of(socket, &out->path),
		.ipi_spec_dst = here->sin_addr,
	};

	add(control, SOL_IP, IP_PKTINFO, &info, sizeof(info));
	add_number(control, SOL_IP, IP_TOS, out->path.tos);
	add_number(control, SOL_IP, IP_TTL, out->hops);
}

static bool is_of_one_link(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	return ipv6_addr_type(&in6->sin6_addr) & (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_MULTICAST);
}

static void control_v6(const struct srnic_datagram_socket *socket,
		       const struct srnic_outgoing *out, struct control *control)
{
	const struct srnic_path *path = &out->path;
	bool local = is_of_one_link(&path->here) || is_of_one_link(&path->there);
	const struct in6_pktinfo info = {
		.ipi6_addr = ((const struct sockaddr_in6 *)&path->here)->sin6_addr,
		.ipi6_ifindex = local ? path->ifindex : l3mdev_of(socket, path),
	};

	add(control, SOL_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	add_number(control, SOL_IPV6, IPV6_TCLASS, path->tos);
	add_number(control, SOL_IPV6, IPV6_HOPLIMIT, out->hops);
}

static bool has_room(const struct sock *sk)
{
	return sk_wmem_alloc_get(sk) < READ_ONCE(sk->sk_sndbuf) - RESERVE;
}

/* UDP wakes who waits when half of the buffer is free. */
static bool has_room_soon(struct sock *sk)
{
	return wait_event_interruptible_timeout(*sk_sleep(sk), has_room(sk), PATIENCE) > 0;
}

static bool is_temporary(int error)
{
	switch (error) {
	case -EAGAIN:
	case -ENOBUFS:
		return true;
	default:
		return false;
	}
}

int srnic_datagram_socket_send(const struct srnic_datagram_socket *socket,
			       struct srnic_outgoing *out, bool may_wait)
{
	struct control control = { };
	struct msghdr msg = {
		.msg_name = &out->path.there,
		.msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT,
		.msg_control = control.octets,
	};
	struct sock *sk = socket->sock->sk;
	bool v6 = socket->family == AF_INET6;
	int ret;

	if (!out->of_kernel && !has_room(sk) && !(may_wait && has_room_soon(sk)))
		return -EAGAIN;
	srnic_set_port(&out->path.there, socket->port);
	if (v6)
		control_v6(socket, out, &control);
	else
		control_v4(socket, out, &control);
	msg.msg_controllen = control.len;
	msg.msg_namelen = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	ret = kernel_sendmsg(socket->sock, &msg, out->octets, 2,
			     out->octets[0].iov_len + out->octets[1].iov_len);
	if (ret >= 0)
		return 0;
	return is_temporary(ret) ? -EAGAIN : ret;
}
