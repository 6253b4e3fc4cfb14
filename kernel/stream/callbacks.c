// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The callbacks of a QP's socket: received bytes, room to send, and how TCP's connection ends
 * (RFC 5044 7.2 and 8, RFC 5041 6.2.2).
 *
 * sk_callback_lock keeps sk_user_data, qp->owner and the socket's own callbacks in place. It is
 * taken with bottom halves off: TCP also calls from process context (release_sock()), and takes
 * this lock inside the socket's spinlock.
 */
#include <net/sock.h>
#include <net/tcp.h>

#include "stream/callbacks.h"
#include "stream/kick/kick.h"
#include "stream/owner.h"
#include "stream/receive/receive.h"
#include "stream/state.h"

static void data_ready(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp)
		srnic_rx_run(qp, sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

bool srnic_qp_take(struct sock *sk, const struct bio_vec *vec, u32 num)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_data_ready == data_ready ? sk->sk_user_data : NULL;
	if (qp)
		srnic_rx_take(qp, sk, vec, num);
	read_unlock_bh(&sk->sk_callback_lock);
	return qp;
}

static void write_space(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp) {
		if (sk_stream_is_writeable(sk))
			srnic_tx_kick(qp);
		qp->own_callbacks.write_space(sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void tcp_failed(struct srnic_qp *qp, const struct sock *sk)
{
	srnic_qp_note_end(qp, SRNIC_END_TCP, READ_ONCE(sk->sk_err));
	srnic_qp_over(qp, CORE_CONN_RESET);
}

/*
 * FIN may be reported before the bytes ahead of it: srnic_qp_close() and srnic_qp_stop() read them.
 */
void srnic_callbacks_report_end(struct srnic_qp *qp, struct sock *sk)
{
	if (sk->sk_err || sk->sk_state == TCP_CLOSE)
		tcp_failed(qp, sk);
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		srnic_qp_over(qp, CORE_CONN_PEER_CLOSED);
}

static void state_change(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp) {
		srnic_callbacks_report_end(qp, sk);
		qp->own_callbacks.state_change(sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void error_report(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp) {
		tcp_failed(qp, sk);
		qp->own_callbacks.error_report(sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static const struct srnic_sock_callbacks ours = {
	.data_ready = data_ready,
	.state_change = state_change,
	.write_space = write_space,
	.error_report = error_report,
};

void srnic_callbacks_install(struct srnic_qp *qp, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	qp->own_callbacks = srnic_sock_callbacks_of(sk);
	sk->sk_user_data = qp;
	srnic_sock_callbacks_set(sk, &ours);
	write_unlock_bh(&sk->sk_callback_lock);
}

void srnic_callbacks_restore(struct srnic_qp *qp, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	srnic_sock_callbacks_set(sk, &qp->own_callbacks);
	write_unlock_bh(&sk->sk_callback_lock);
}
