// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Non-blocking kernel TCP sockets: creation, options, callbacks, and the frames of the MPA startup
 * phase (RFC 5044 7.1). In full operation the QP uses the socket (stream/).
 */
#include <linux/bvec.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/uio.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat/sock.h"
#include "connection/socket.h"
#include "port_map.h"

/*
 * ---- callbacks ----
 *
 * sk_user_data holds the watch, marked so that the children of a listening socket do not inherit it
 * (they inherit the callbacks, which then find NULL). sk_callback_lock keeps the watch alive while
 * it is called. Callbacks are changed with the socket locked: TCP calls a connection's callbacks
 * under that lock, so an old one is not called later. A listening socket's callbacks are called
 * without it.
 */

/*
 * NULL also if sk_user_data is not ours: a BPF program that puts connections into a map does so
 * before they are accepted, while they have the callbacks of the listening socket.
 */
static struct srnic_watch *watch_of(const struct sock *sk)
{
	uintptr_t data = (uintptr_t)rcu_dereference_raw(__sk_user_data(sk));

	if ((data & ~SK_USER_DATA_PTRMASK) != SK_USER_DATA_NOCOPY)
		return NULL;
	return (struct srnic_watch *)(data & SK_USER_DATA_PTRMASK);
}

static void report_event(struct sock *sk, bool space)
{
	struct srnic_watch *watch;

	read_lock_bh(&sk->sk_callback_lock);
	watch = watch_of(sk);
	if (watch) {
		if (space)
			watch->own_callbacks.write_space(sk);
		watch->event(watch);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void watched_data_ready(struct sock *sk)
{
	report_event(sk, false);
}

static void watched_state_change(struct sock *sk)
{
	report_event(sk, false);
}

static void watched_error_report(struct sock *sk)
{
	report_event(sk, false);
}

static void watched_write_space(struct sock *sk)
{
	report_event(sk, true);
}

static const struct srnic_sock_callbacks ours = {
	.data_ready = watched_data_ready,
	.state_change = watched_state_change,
	.write_space = watched_write_space,
	.error_report = watched_error_report,
};

void srnic_sock_watch(struct socket *sock, struct srnic_watch *watch)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	watch->own_callbacks = srnic_sock_callbacks_of(sk);
	__rcu_assign_sk_user_data_with_flags(sk, watch, SK_USER_DATA_NOCOPY);
	srnic_sock_callbacks_set(sk, &ours);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

void srnic_sock_unwatch(struct socket *sock, struct srnic_watch *watch)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (__locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY) == watch) {
		srnic_sock_callbacks_set(sk, &watch->own_callbacks);
		rcu_assign_sk_user_data(sk, NULL);
	}
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/* ---- opening ---- */

static int addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

/* Options of all our sockets. An accepted socket does not inherit all of them. */
static void tune(struct socket *sock)
{
	srnic_compat_own_frag(sock->sk);
	tcp_sock_set_nodelay(sock->sk);
}

int srnic_sock_create(struct net *net, int l3mdev, int family, struct socket **out)
{
	int ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, out);

	if (ret)
		return ret;
	ret = sock_bindtoindex((*out)->sk, l3mdev, true);
	if (ret) {
		sock_release(*out);
		return ret;
	}
	tune(*out);
	sock_set_flag((*out)->sk, SOCK_URGINLINE); /* accepted sockets inherit it */
	return 0;
}

void srnic_sock_set_tos(struct socket *sock, u8 tos)
{
	ip_sock_set_tos(sock->sk, tos);
#if IS_ENABLED(CONFIG_IPV6)
	if (sock->sk->sk_family == AF_INET6)
		inet6_sk(sock->sk)->tclass = tos;
#endif
}

/*
 * ---- source ports ----
 *
 * connect() may choose a port that connections to other servers have, also in TIME_WAIT, and
 * programs' connections may share ours. A port that bind() takes is lost to every connect() of the
 * host, until the last socket that has it is out of TIME_WAIT.
 *
 * rdma_cm chooses from ip_local_port_range, as connect() does. So a port of that range is not
 * bound: connect() gets a range of one port (before Linux 6.3 it chooses any). Only a consumer can
 * have asked for another port, a privileged one say. connect() never chooses such a port, so
 * binding it takes it from nobody, and with SO_REUSEADDR the consumer's other connections share it.
 */

static void set_option(struct socket *sock, int option, u32 value)
{
	sock->ops->setsockopt(sock, SOL_IP, option, KERNEL_SOCKPTR(&value), sizeof(value));
}

/* Is it a port that connect() may choose? */
static bool is_local_port(const struct socket *sock, u16 port)
{
	int low, high;

	inet_get_local_port_range(sock_net(sock->sk), &low, &high);
	return port >= low && port <= high;
}

/* Takes the port away from an address that must not be bound to it. */
static void leave_port_to_connect(struct socket *sock, struct sockaddr_storage *from)
{
	u16 port = ntohs(srnic_port_of(from));

	if (port && !is_local_port(sock, port))
		return;
	srnic_set_port(from, 0);
	set_option(sock, IP_BIND_ADDRESS_NO_PORT, 1);
	if (port)
		set_option(sock, IP_LOCAL_PORT_RANGE, port | (u32)port << 16);
}

static int start_to_connect(struct socket *sock, struct sockaddr_storage *to)
{
	int ret = kernel_connect(sock, (void *)to, addr_len(to), O_NONBLOCK);

	return ret == -EINPROGRESS ? 0 : ret;
}

/* TCP's simultaneous open, of both ends at once (RFC 9293 3.5). */
static int connect_to_itself(struct socket *sock, struct sockaddr_storage *addr)
{
	int ret = kernel_bind(sock, (void *)addr, addr_len(addr));

	if (ret)
		return ret;
	srnic_set_port(addr, srnic_sock_port(sock));
	return start_to_connect(sock, addr);
}

int srnic_sock_connect(struct socket *sock, const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote)
{
	struct sockaddr_storage from = *local, to = *remote;

	if (!srnic_port_of(&to))
		return connect_to_itself(sock, &from);
	leave_port_to_connect(sock, &from);
	/*
	 * rdma_cm does not know TCP's ports and may also let a consumer listen on this one, also
	 * while this connection lingers or is in TIME_WAIT.
	 */
	sock->sk->sk_reuse = SK_CAN_REUSE;
	return kernel_bind(sock, (void *)&from, addr_len(&from)) ?: start_to_connect(sock, &to);
}

__be16 srnic_sock_port(const struct socket *sock)
{
	return inet_sk(sock->sk)->inet_sport;
}

/* ---- listening and accepting ---- */

int srnic_sock_listen(struct socket *sock, const struct sockaddr_storage *local, bool v6only,
		      int backlog)
{
	struct sockaddr_storage addr = *local;
	int ret;

	sock->sk->sk_reuse = SK_CAN_REUSE;
	if (local->ss_family == AF_INET6)
		sock->sk->sk_ipv6only = v6only;
	ret = kernel_bind(sock, (void *)&addr, addr_len(&addr));
	return ret ?: kernel_listen(sock, backlog);
}

void srnic_sock_defer_accept(struct socket *sock, int seconds)
{
	/* Cannot fail; and connections work without it as well. */
	sock_common_setsockopt(sock, SOL_TCP, TCP_DEFER_ACCEPT, KERNEL_SOCKPTR(&seconds),
			       sizeof(seconds));
}

bool srnic_sock_has_connection(const struct socket *listening)
{
	return !reqsk_queue_empty(&inet_csk(listening->sk)->icsk_accept_queue);
}

int srnic_sock_accept(struct socket *listening, const struct srnic_watch *watch,
		      struct socket **out)
{
	int ret = kernel_accept(listening, out, O_NONBLOCK);
	struct sock *sk;

	if (ret)
		return ret;
	sk = (*out)->sk;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (!srnic_sock_is_taken(*out))
		srnic_sock_callbacks_set(sk, &watch->own_callbacks);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	tune(*out);
	return 0;
}

bool srnic_sock_is_taken(const struct socket *sock)
{
	return READ_ONCE(sock->sk->sk_user_data);
}

static void unmap_v4(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *mapped = (struct sockaddr_in6 *)addr;
	struct sockaddr_in plain = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&mapped->sin6_addr))
		return;
	plain.sin_port = mapped->sin6_port;
	plain.sin_addr.s_addr = mapped->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &plain, sizeof(plain));
}

int srnic_sock_names(struct socket *sock, struct sockaddr_storage *local,
		     struct sockaddr_storage *remote)
{
	int ret;

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	ret = kernel_getsockname(sock, (struct sockaddr *)local);
	if (ret >= 0)
		ret = kernel_getpeername(sock, (struct sockaddr *)remote);
	if (ret < 0)
		return ret;
	unmap_v4(local);
	unmap_v4(remote);
	return 0;
}

int srnic_sock_l3mdev(const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	return l3mdev_master_ifindex_by_index(sock_net(sk), READ_ONCE(sk->sk_bound_dev_if));
}

/* ---- data ---- */

/*
 * Sends from a page of its own: a socket keeps the fragment that it copies bytes into, of up to
 * 32 KiB, until it is closed.
 */
int srnic_sock_send(struct socket *sock, const void *data, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | SRNIC_COMPAT_SPLICE };
	struct page *page = alloc_page(GFP_NOIO);
	struct bio_vec vec;
	int ret;

	if (!page)
		return -ENOMEM;
	len = min_t(size_t, len, PAGE_SIZE);
	memcpy(page_address(page), data, len);
	vec = (struct bio_vec) { .bv_page = page, .bv_len = len };
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	ret = sock_sendmsg(sock, &msg);
	put_page(page);
	return ret;
}

int srnic_sock_recv(struct socket *sock, void *data, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	struct kvec vec = { .iov_base = data, .iov_len = len };
	int ret = kernel_recvmsg(sock, &msg, &vec, 1, len, MSG_DONTWAIT);

	return ret ?: -ECONNRESET;
}

bool srnic_sock_unread(struct socket *sock)
{
	const struct tcp_sock *tp = tcp_sk(sock->sk);

	return READ_ONCE(tp->rcv_nxt) != READ_ONCE(tp->copied_seq);
}

#define DISCARD_PIECE	(64 * 1024)
#define DISCARD_PIECES	64

bool srnic_sock_discard(struct socket *sock)
{
	int i;

	/* With MSG_TRUNC TCP copies nothing, so no buffer is needed. */
	for (i = 0; i < DISCARD_PIECES; i++) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_TRUNC };
		struct kvec vec = { .iov_base = NULL, .iov_len = DISCARD_PIECE };

		if (kernel_recvmsg(sock, &msg, &vec, 1, DISCARD_PIECE, MSG_DONTWAIT | MSG_TRUNC) <=
		    0)
			return false;
	}
	return true;
}

/* ---- closing ---- */

u32 srnic_sock_acked(struct socket *sock)
{
	return READ_ONCE(tcp_sk(sock->sk)->snd_una);
}

u32 srnic_sock_progress(struct socket *sock)
{
	const struct tcp_sock *tp = tcp_sk(sock->sk);

	return READ_ONCE(tp->snd_una) + READ_ONCE(tp->rcv_nxt);	/* both only advance */
}

bool srnic_sock_closed(struct socket *sock)
{
	return inet_sk_state_load(sock->sk) == TCP_CLOSE;
}

bool srnic_sock_fin_acked(struct socket *sock)
{
	int state = inet_sk_state_load(sock->sk);

	return state == TCP_FIN_WAIT2 || state == TCP_TIME_WAIT || state == TCP_CLOSE;
}

bool srnic_sock_peer_gone(struct socket *sock)
{
	return srnic_sock_closed(sock) || READ_ONCE(sock->sk->sk_shutdown) & RCV_SHUTDOWN;
}

void srnic_sock_release(struct socket *sock)
{
	if (!srnic_sock_closed(sock))
		sock_no_linger(sock->sk);
	sock_release(sock);
}
