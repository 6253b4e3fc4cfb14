// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shortcuts between two QPs of one network namespace: how their ends find each other, and when an
 * engine may hand bytes over.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "stream/attach.h"
#include "stream/qp.h"
#include "stream/shortcut.h"

/* ---- which ends there are ---- */

#define TABLE_BITS 10

static DEFINE_HASHTABLE(ends, TABLE_BITS);
static DEFINE_SPINLOCK(ends_lock);	/* @ends, and srnic_shortcut.peer; process context */

/* A connection, as one of its ends names it. No padding: it is hashed, and compared, as bytes. */
struct name {
	struct in6_addr here, there;
	__be16 port, other_port;
};

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

static struct name own_name(const struct sock *sk)
{
	return (struct name) {
		.here = address_of(sk, false),
		.there = address_of(sk, true),
		.port = inet_sk(sk)->inet_sport,
		.other_port = inet_sk(sk)->inet_dport,
	};
}

/* What the other end calls it. */
static struct name others_name(const struct sock *sk)
{
	const struct name own = own_name(sk);

	return (struct name) { own.there, own.here, own.other_port, own.port };
}

static bool is_called(const struct sock *sk, const struct name *name)
{
	const struct name own = own_name(sk);

	return !memcmp(&own, name, sizeof(own));
}

bool srnic_is_other_end(const struct sock *a, const struct sock *b)
{
	const struct name name = others_name(a);

	return is_called(b, &name);
}

/* Addresses mean the same for both: not for two links, or two VRFs. */
static bool in_one_place(const struct sock *a, const struct sock *b)
{
	return net_eq(sock_net(a), sock_net(b)) && a->sk_bound_dev_if == b->sk_bound_dev_if;
}

/* Seeded, because users choose addresses and ports. */
static u32 hash_of(const struct name *name)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash(name, sizeof(*name), seed);
}

/* Has `to` received bytes that `from` sent, and no more than these? */
static bool receives(const struct sock *to, const struct sock *from)
{
	u32 acked = READ_ONCE(tcp_sk(from)->snd_una), received;

	/* in this order, because each only advances: else some moment would be told wrong */
	smp_rmb();
	received = READ_ONCE(tcp_sk(to)->rcv_nxt);
	smp_rmb();	/* likewise */
	return between(received, acked, READ_ONCE(tcp_sk(from)->write_seq));
}

/* Their addresses fit: are they of one connection, and not of two that somebody translates? */
static bool are_connected(const struct sock *a, const struct sock *b)
{
	return READ_ONCE(a->sk_state) == TCP_ESTABLISHED &&
	       READ_ONCE(b->sk_state) == TCP_ESTABLISHED && receives(a, b) && receives(b, a);
}

/* The end that is connected with this socket and has not been found yet, or NULL. */
static struct srnic_shortcut *find_other(const struct sock *sk)
{
	const struct name name = others_name(sk);
	struct srnic_shortcut *end;

	lockdep_assert_held(&ends_lock);
	hash_for_each_possible(ends, end, node, hash_of(&name))
		if (!end->peer && is_called(end->sk, &name) && in_one_place(end->sk, sk) &&
		    are_connected(end->sk, sk))
			return end;
	return NULL;
}

static void join(struct srnic_shortcut *end, struct srnic_shortcut *other)
{
	sock_hold(other->sk);
	sock_hold(end->sk);
	end->peer = other->sk;
	/* release: after the reference; read by the other's engine */
	smp_store_release(&other->peer, end->sk);
}

static void enter(struct srnic_shortcut *end)
{
	const struct name name = own_name(end->sk);
	struct srnic_shortcut *other;

	spin_lock(&ends_lock);
	other = find_other(end->sk);
	if (other)
		join(end, other);
	hash_add(ends, &end->node, hash_of(&name));
	spin_unlock(&ends_lock);
}

void srnic_shortcut_begin(struct srnic_qp *qp)
{
	struct srnic_shortcut *end;

	lockdep_assert_held(&qp->tx.mutex);
	WRITE_ONCE(qp->shortcut_used, false);
	if (!READ_ONCE(qp->dev->shortcut))
		return;
	end = srnic_qp_zalloc(qp, sizeof(*end), GFP_KERNEL_ACCOUNT);
	if (!end)
		return;
	end->sk = qp->sock->sk;
	qp->shortcut = end;
	enter(end);
}

void srnic_shortcut_end(struct srnic_qp *qp)
{
	struct srnic_shortcut *end = qp->shortcut;

	lockdep_assert_held(&qp->tx.mutex);
	if (!end)
		return;
	qp->shortcut = NULL;
	spin_lock(&ends_lock);
	hash_del(&end->node);
	spin_unlock(&ends_lock);
	if (end->peer)
		sock_put(end->peer);
	kfree(end);
}

/* ---- handing over ---- */

/*
 * The other end has consumed all that TCP was given for it: one stream's bytes have the same
 * numbers at both ends. Only this engine gives TCP more; the peer's spinlock is held.
 */
static bool caught_up(const struct sock *sk, const struct sock *peer)
{
	return READ_ONCE(sk->sk_state) == TCP_ESTABLISHED &&
	       peer->sk_state == TCP_ESTABLISHED &&
	       tcp_sk(peer)->copied_seq == READ_ONCE(tcp_sk(sk)->write_seq);
}

int srnic_shortcut_send(struct srnic_qp *qp)
{
	struct sock *peer = qp->shortcut ? READ_ONCE(qp->shortcut->peer) : NULL;
	struct srnic_batch *batch = qp->tx.batch;
	u32 len = batch->len;
	bool taken;

	lockdep_assert_held(&qp->tx.mutex);
	/* does not wait: TCP can take the bytes */
	if (!peer || !spin_trylock_bh(&peer->sk_lock.slock))
		return 0;
	taken = !sock_owned_by_user(peer) && caught_up(qp->sock->sk, peer) &&
		srnic_qp_take(peer, &batch->vec[batch->first], batch->num - batch->first);
	spin_unlock_bh(&peer->sk_lock.slock);
	if (!taken)
		return 0;
	srnic_batch_taken(batch, len);
	WRITE_ONCE(qp->shortcut_used, true);
	srnic_qp_count(qp, SRNIC_TX_SHORTCUT, len);
	return len;
}
