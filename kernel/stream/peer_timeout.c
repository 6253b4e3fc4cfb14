// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A peer that is gone without a FIN or RST: after which time TCP gives up.
 */
#include <net/sock.h>
#include <net/tcp.h>

#include "stream/acks.h"
#include "stream/kick/kick.h"
#include "stream/peer_timeout.h"

#define MIN_PEER_TIMEOUT	2000	/* ms: time for TCP to retransmit a few times */
#define MAX_PEER_TIMEOUT	(24 * 60 * 60 * MSEC_PER_SEC)

#define MAX_ACK_TIMEOUT		31	/* IBTA has five bits for it */

/* In ms; 0: TCP's own time. IBTA's timeout t is 4.096 us * 2^t, for each try. */
static u32 peer_timeout(const struct srnic_qp *qp)
{
	u32 tries = 1 + qp->retry_cnt;

	/* Of acknowledged requests this end knows when they are overdue (overdue.c). */
	if (!qp->ack_timeout || qp->acks)
		return READ_ONCE(qp->dev->settings.peer_timeout) * MSEC_PER_SEC;
	return clamp_t(u64, div_u64((4096ULL << qp->ack_timeout) * tries, NSEC_PER_MSEC),
		       MIN_PEER_TIMEOUT, MAX_PEER_TIMEOUT);
}

static void stop_keepalive(struct sock *sk)
{
	lock_sock(sk);
	if (sk->sk_prot->keepalive)
		sk->sk_prot->keepalive(sk, 0);
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	release_sock(sk);
}

/*
 * ib.rst rule 68: an idle end does not look for its peer; but an end that must not send yet (rule
 * 61) would never know.
 */
static bool idles(struct srnic_qp *qp)
{
	if (!qp->acks)
		return false;
	qp->acks->keepalive = !qp->tx.core.params.initiator && !READ_ONCE(qp->tx.validated);
	return !qp->acks->keepalive;
}

void srnic_qp_watch_peer(struct srnic_qp *qp)
{
	u32 timeout = peer_timeout(qp), seconds = timeout / MSEC_PER_SEC;
	struct sock *sk = qp->sock->sk;

	lockdep_assert_held(&qp->tx.mutex);
	/* Bounds unacknowledged bytes and probes, so the number of probes does not matter. */
	tcp_sock_set_user_timeout(sk, timeout);
	if (!timeout || idles(qp)) {
		stop_keepalive(sk);
		return;
	}
	tcp_sock_set_keepidle(sk, max(seconds / 3, 1U));
	tcp_sock_set_keepintvl(sk, max(seconds / 6, 1U));
	sock_set_keepalive(sk);
}

void srnic_qp_set_ack_timeout(struct srnic_qp *qp, const struct srnic_qp_owner *owner, u8 timeout)
{
	if (!timeout)
		return;
	mutex_lock(&qp->tx.mutex);
	if (srnic_qp_is_owner(qp, owner))
		qp->ack_timeout = min_t(u8, timeout, MAX_ACK_TIMEOUT);
	srnic_tx_unlock(qp);
}
