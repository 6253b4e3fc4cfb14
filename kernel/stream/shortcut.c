// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shortcuts between two QPs of one network namespace: how their ends find each other, and when an
 * engine may hand bytes over.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
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

/* One end of a connection, as that end or the other one names it. */
struct address {
	struct in6_addr addr;
	__be16 port;
};

static struct address address_of(const struct sock *sk, bool other)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct address at = { .port = other ? inet->inet_dport : inet->inet_sport };

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		at.addr = other ? sk->sk_v6_daddr : sk->sk_v6_rcv_saddr;
		return at;
	}
#endif
	ipv6_addr_set_v4mapped(other ? inet->inet_daddr : inet->inet_rcv_saddr, &at.addr);
	return at;
}

static bool is_same(const struct address *a, const struct address *b)
{
	return ipv6_addr_equal(&a->addr, &b->addr) && a->port == b->port;
}

/* Addresses mean the same for both: not for two links, or two VRFs. */
static bool in_one_place(const struct sock *a, const struct sock *b)
{
	return net_eq(sock_net(a), sock_net(b)) && a->sk_bound_dev_if == b->sk_bound_dev_if;
}

/* Seeded, because users choose addresses and ports. */
static u32 hash_of(const struct address *here, const struct address *there)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash_3words((__force u32)here->addr.s6_addr32[3],
			    (__force u32)there->addr.s6_addr32[3],
			    (__force u32)here->port << 16 | (__force u32)there->port, seed);
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
	const struct address here = address_of(sk, false), there = address_of(sk, true);
	struct srnic_shortcut *end;

	lockdep_assert_held(&ends_lock);
	hash_for_each_possible(ends, end, node, hash_of(&there, &here)) {
		const struct address its = address_of(end->sk, false);
		const struct address its_other = address_of(end->sk, true);

		if (!end->peer && in_one_place(end->sk, sk) && is_same(&its, &there) &&
		    is_same(&its_other, &here) && are_connected(end->sk, sk))
			return end;
	}
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
	const struct address here = address_of(end->sk, false), there = address_of(end->sk, true);
	struct srnic_shortcut *other;

	spin_lock(&ends_lock);
	other = find_other(end->sk);
	if (other)
		join(end, other);
	hash_add(ends, &end->node, hash_of(&here, &there));
	spin_unlock(&ends_lock);
}

void srnic_shortcut_begin(struct srnic_qp *qp)
{
	struct srnic_shortcut *end;
	struct mem_cgroup *former;

	lockdep_assert_held(&qp->tx.mutex);
	WRITE_ONCE(qp->shortcut_used, false);
	if (!READ_ONCE(qp->dev->shortcut))
		return;
	former = set_active_memcg(qp->payer);
	end = kzalloc(sizeof(*end), GFP_KERNEL_ACCOUNT);
	set_active_memcg(former);
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
