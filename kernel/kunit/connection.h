/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the suites of connections share, over 127.0.0.1 and one port: consumers, which are iw_cm's
 * ids and note what they are told, a device that listens, and peers that are plain sockets.
 */
#ifndef SRNIC_KUNIT_CONNECTION_H
#define SRNIC_KUNIT_CONNECTION_H

#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "fixture.h"
#include "connection/connect.h"

#define SRNIC_TEST_EVENTS	8
#define SRNIC_TEST_PEERS	8

struct srnic_test_told {
	enum iw_cm_event_type type;
	int status;
	void *provider_data;
	u8 private_data[256];
	u32 private_len;
};

/*
 * A consumer. id: as iw_cm has it; cma: as rdma_cm has it, in front of what is its own (all 0);
 * refs: that srnic took and did not give back; answer: what the handler returns
 */
struct srnic_test_consumer {
	struct iw_cm_id id;
	union {
		struct rdma_cm_id cma;
		u8 rdma_cm_own[4096];
	};
	atomic_t refs;
	int answer;
	u32 num;
	struct srnic_test_told told[SRNIC_TEST_EVENTS];
};

struct srnic_test_consumer *srnic_test_consumer(struct kunit *test, struct srnic_dev *dev);
/* The num-th event, counted from 1, comes and is this. */
struct srnic_test_told *srnic_test_expect_event(struct kunit *test,
						struct srnic_test_consumer *consumer, u32 num,
						enum iw_cm_event_type type, int status);
/* What the consumer asks for, and rdma_cm's part in it: whose QP it is. */
struct iw_cm_conn_param srnic_test_param(struct srnic_test_consumer *consumer, struct srnic_qp *qp);

/* The case, in test->priv: a device that listens, its QP, and peers. */
struct srnic_test_conn {
	struct srnic_test_set set;
	struct srnic_test_consumer *listener;	/* the listening id */
	struct srnic_test_consumer *server;	/* the id that iw_cm makes of a request */
	struct socket *peer[SRNIC_TEST_PEERS];
	u32 num_peers;
};

int srnic_test_conn_init(struct kunit *test);
/* Also of a case that was given up in its middle. */
void srnic_test_conn_exit(struct kunit *test);

void srnic_test_listen(struct kunit *test, struct srnic_test_conn *c, int backlog);
void srnic_test_stop_listening(struct srnic_test_conn *c);
/* Where everybody listens. */
void srnic_test_address(struct sockaddr_storage *addr);

/* A socket, closed with the case. */
struct socket *srnic_test_peer(struct kunit *test, struct srnic_test_conn *c);
void srnic_test_add_peer(struct srnic_test_conn *c, struct socket *sock);
/* A peer that has connected to the listener and said nothing. */
int srnic_test_connect(struct socket *sock);
struct socket *srnic_test_connect_peer(struct kunit *test, struct srnic_test_conn *c);
void srnic_test_close_peer(struct srnic_test_conn *c, u32 n);
/* A peer whose request was announced; c->server is the id for it. */
struct socket *srnic_test_announce(struct kunit *test, struct srnic_test_conn *c);

void srnic_test_send(struct kunit *test, struct socket *sock, const void *octets, u32 len);
/* Octets read, 0 at the peer's FIN, or -errno; waits for all of them. */
int srnic_test_recv(struct socket *sock, void *octets, u32 len);
bool srnic_test_is_reset(struct socket *sock);
/* Nothing has come from the other end, nor has it gone. */
bool srnic_test_is_open(struct socket *sock);
/* An MPA Request with this much private data of the ULP; returns its length. */
u32 srnic_test_request(u8 *octets, const void *private, u32 len);

u32 srnic_test_num_eps(struct srnic_test_conn *c);
/* For all that has a deadline it is now. */
void srnic_test_let_time_pass(struct srnic_test_conn *c);
/*
 * All connections end, by themselves or in their time, and no consumer's id or QP is referenced any
 * more.
 */
void srnic_test_expect_nothing_left(struct kunit *test, struct srnic_test_conn *c);

#endif
