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
#include <net/tcp.h>

#include "stream/callbacks.h"
#include "stream/qp.h"
#include "stream/socket_pair.h"
#include "stream/transmit/batch.h"
#include "stream/transmit/shortcut.h"

/* ---- which ends there are ---- */

#define TABLE_BITS 10

static DEFINE_HASHTABLE(ends, TABLE_BITS);
static DEFINE_SPINLOCK(ends_lock);	/* @ends, and srnic_shortcut.peer; process context */

/* Addresses mean the same for both: not for two links, or two VRFs. */
static bool in_one_place(const struct sock *a, const struct sock *b)
{
	return net_eq(sock_net(a), sock_net(b)) && a->sk_bound_dev_if == b->sk_bound_dev_if;
}

/* Seeded, because users choose addresses and ports. */
static u32 hash_of(const struct srnic_socket_name *name)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash(name, sizeof(*name), seed);
}

/* Has `to` received bytes that `from` sent, and no more than these? */
static bool receives(const struct sock *to, const struct sock *from)
{
	u32 acked = READ_ONCE(tcp_sk(from)->snd_una), received;

	/* In this order, because each only advances: else the values could be of two moments. */
	smp_rmb();
	received = READ_ONCE(tcp_sk(to)->rcv_nxt);
	smp_rmb();	/* rcv_nxt before write_seq, for the same reason */
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
	const struct srnic_socket_name name = srnic_others_name(sk);
	struct srnic_shortcut *end;

	lockdep_assert_held(&ends_lock);
	hash_for_each_possible(ends, end, node, hash_of(&name))
		if (!end->peer && srnic_is_called(end->sk, &name) && in_one_place(end->sk, sk) &&
		    are_connected(end->sk, sk))
			return end;
	return NULL;
}

static void pair_up(struct srnic_shortcut *end, struct srnic_shortcut *other)
{
	sock_hold(other->sk);
	sock_hold(end->sk);
	end->peer = other->sk;
	/* release: after the reference; read by the other's engine */
	smp_store_release(&other->peer, end->sk);
}

static void add_to_table(struct srnic_shortcut *end)
{
	const struct srnic_socket_name name = srnic_own_name(end->sk);
	struct srnic_shortcut *other;

	spin_lock(&ends_lock);
	other = find_other(end->sk);
	if (other)
		pair_up(end, other);
	hash_add(ends, &end->node, hash_of(&name));
	spin_unlock(&ends_lock);
}

void srnic_shortcut_begin(struct srnic_qp *qp)
{
	struct srnic_shortcut *end;

	lockdep_assert_held(&qp->tx.mutex);
	WRITE_ONCE(qp->shortcut_used, false);
	if (!READ_ONCE(qp->dev->settings.local_shortcut))
		return;
	end = srnic_qp_zalloc(qp, sizeof(*end), GFP_KERNEL_ACCOUNT);
	if (!end)
		return;
	end->sk = qp->sock->sk;
	/* release: what it is before; pairs with srnic_shortcut_exists() */
	smp_store_release(&qp->shortcut, end);
	add_to_table(end);
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

bool srnic_shortcut_expected(const struct srnic_qp *qp)
{
	return qp->shortcut && READ_ONCE(qp->shortcut_used);
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
