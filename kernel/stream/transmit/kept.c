// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Kept payload: of which streams, and how it ends (Documentation/ib.rst rule 117).
 */
#include <net/tcp.h>

#include "compat/sock.h"
#include "stream/acks.h"
#include "stream/transmit/batch.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/shortcut_end.h"

/* ---- of which streams ---- */

/*
 * Not of programs, which use their pages again. TCP counts as delivered what the peer acknowledges,
 * and that may still wait in a queue of an interface, or of a neighbour that does not answer: a
 * hostile peer could acknowledge first and get what is there later. And what stays in this host is
 * in the sender's pages until the other end's socket is read.
 */
static bool is_wanted(const struct srnic_qp *qp, bool crc)
{
	return SRNIC_COMPAT_SPLICE && !crc && !qp->user;
}

void srnic_kept_start(struct srnic_qp *qp, const struct sock *sk, bool crc)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	lockdep_assert(lockdep_sock_is_held(sk));
	if (!qp->acks)
		return;
	qp->acks->kept = (struct srnic_kept) {
		.wanted = is_wanted(qp, crc),
		.base = tp->bytes_acked + (tp->write_seq - tp->snd_una),
	};
}

bool srnic_kept_wanted(const struct srnic_qp *qp)
{
	return qp->acks && qp->acks->kept.wanted && !qp->acks->kept.ended;
}

/* ---- while it is kept ---- */

void srnic_kept_give(struct srnic_qp *qp, u32 bytes)
{
	lockdep_assert_held(&qp->tx.mutex);
	if (bytes)
		qp->acks->kept.given = true;
}

/* Not counting what came before the stream. */
static u64 delivered(const struct srnic_kept *kept, const struct sock *sk)
{
	u64 acked = tcp_sk(sk)->bytes_acked;

	return acked > kept->base ? acked - kept->base : 0;
}

void srnic_kept_look(struct srnic_qp *qp, const struct sock *sk)
{
	struct srnic_acks *acks = qp->acks;

	lockdep_assert(lockdep_sock_is_held(sk));
	if (!acks->kept.wanted)
		return;
	/* Acks of a QP of this host, which are true, may come before TCP's acknowledgements. */
	acks->core.gone = srnic_shortcut_exists(qp) ? CORE_GONE_ALL : delivered(&acks->kept, sk);
}

/* ---- its end ---- */

/* Storage may wait for this, so rather not at all. TCP's sum of what buffers take is as it was. */
static bool copy_buffer(struct sk_buff *skb)
{
	u32 truesize = skb->truesize;
	bool copied = !skb_copy_ubufs(skb, GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN);

	skb->truesize = truesize;
	return copied;
}

/* What is not sent yet, and what may have to be sent again. */
static bool copy_buffers(struct sock *sk)
{
	struct sk_buff *skb;

	lockdep_assert(lockdep_sock_is_held(sk));
	skb_queue_walk(&sk->sk_write_queue, skb)
		if (!copy_buffer(skb))
			return false;
	skb_rbtree_walk(skb, &sk->tcp_rtx_queue)
		if (!copy_buffer(skb))
			return false;
	return true;
}

void srnic_kept_end(struct srnic_qp *qp)
{
	struct sock *sk = qp->sock ? qp->sock->sk : NULL;
	bool copied;

	lockdep_assert_held(&qp->tx.mutex);
	srnic_batch_own(qp->tx.batch);
	if (!sk || !srnic_kept_wanted(qp))
		return;
	qp->acks->kept.ended = true;
	if (!qp->acks->kept.given)
		return;
	lock_sock(sk);
	copied = copy_buffers(sk);
	release_sock(sk);
	if (!copied)
		tcp_abort(sk, ENOMEM);
}
