/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The callbacks of a socket as one value, to be saved, replaced and restored.
 */
#ifndef SRNIC_SOCK_CALLBACKS_H
#define SRNIC_SOCK_CALLBACKS_H

#include <net/sock.h>

/* A socket calls them for data, for another state, for space to send, and for an error. */
struct srnic_sock_callbacks {
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*error_report)(struct sock *sk);
};

/* sk_callback_lock held. */
static inline struct srnic_sock_callbacks srnic_sock_callbacks_of(const struct sock *sk)
{
	return (struct srnic_sock_callbacks) {
		.data_ready = sk->sk_data_ready,
		.state_change = sk->sk_state_change,
		.write_space = sk->sk_write_space,
		.error_report = sk->sk_error_report,
	};
}

/* sk_callback_lock held for writing. */
static inline void srnic_sock_callbacks_set(struct sock *sk,
					    const struct srnic_sock_callbacks *callbacks)
{
	sk->sk_data_ready = callbacks->data_ready;
	sk->sk_state_change = callbacks->state_change;
	sk->sk_write_space = callbacks->write_space;
	sk->sk_error_report = callbacks->error_report;
}

#endif
