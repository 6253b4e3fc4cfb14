/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receiving datagrams.
 */
#ifndef SRNIC_DATAGRAM_RECEIVE_H
#define SRNIC_DATAGRAM_RECEIVE_H

#include "stream/datagrams.h"

struct sk_buff;
struct sock;

/* A srnic_datagram_receiver. */
int srnic_datagram_receive(struct sock *sk, struct sk_buff *skb);

/* Datagrams may name the QP, and find it while it is open. 0 or -ENOMEM. Process context. */
int srnic_datagram_add_receiver(struct srnic_datagrams *datagrams);
/* No datagram finds the QP any more: it can be destroyed. Process context. */
void srnic_datagram_remove_receiver(struct srnic_datagrams *datagrams);

/* The module is unloaded. */
void srnic_datagram_receive_exit(void);

#endif
