/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the suites of connections, over 127.0.0.1 and one port: consumers, which are iw_cm ids
 * that record events, a device that listens, and plain sockets as peers.
 */
#ifndef SRNIC_KUNIT_CONNECTION_H
#define SRNIC_KUNIT_CONNECTION_H

#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "fixture.h"
#include "connection/connect.h"

#define SRNIC_TEST_EVENTS	8
#define SRNIC_TEST_PEERS	8

struct srnic_test_event {
	enum iw_cm_event_type type;
	int status;
	u8 ird, ord;
	void *provider_data;
	u8 private_data[256];
	u32 private_len;
	bool points;	/* to private data, even if there are none */
};

/*
 * A consumer. id: iw_cm's; cma: rdma_cm's, the start of its private id (all 0); refs: references
 * that srnic holds; answer: what the handler returns; processed: events that iw_cm's client has
 */
struct srnic_test_consumer {
	struct iw_cm_id id;
	union {
		struct rdma_cm_id cma;
		u8 rdma_cm_own[4096];
	};
	atomic_t refs;
	int answer;
	u32 processed;
	u32 num;
	struct srnic_test_event events[SRNIC_TEST_EVENTS];
};

struct srnic_test_consumer *srnic_test_consumer(struct kunit *test, struct srnic_dev *dev);
/* Waits for event number num, counted from 1, and checks it. */
struct srnic_test_event *srnic_test_expect_event(struct kunit *test,
						 struct srnic_test_consumer *consumer, u32 num,
						 enum iw_cm_event_type type, int status);
/* The consumer's parameters. Also sets rdma_cm's pointer to the QP. */
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
/* Also for a case that was aborted. */
void srnic_test_conn_exit(struct kunit *test);

void srnic_test_listen(struct kunit *test, struct srnic_test_conn *c, int backlog);
void srnic_test_stop_listening(struct srnic_test_conn *c);
/* The address of all listeners. */
void srnic_test_address(struct sockaddr_storage *addr);

/* A socket, closed with the case. */
struct socket *srnic_test_peer(struct kunit *test, struct srnic_test_conn *c);
void srnic_test_add_peer(struct srnic_test_conn *c, struct socket *sock);
/* A peer that has connected to the listener and sent nothing. */
int srnic_test_connect(struct socket *sock);
struct socket *srnic_test_connect_peer(struct kunit *test, struct srnic_test_conn *c);
void srnic_test_close_peer(struct srnic_test_conn *c, u32 n);
/* A peer whose first message, of any framing, was announced; c->server is the id for it. */
struct socket *srnic_test_announce_by(struct kunit *test, struct srnic_test_conn *c,
				      const u8 *octets, u32 len);
/* The same with an MPA Request. */
struct socket *srnic_test_announce(struct kunit *test, struct srnic_test_conn *c);

void srnic_test_send(struct kunit *test, struct socket *sock, const void *octets, u32 len);
/* Bytes read, 0 at the peer's FIN, or -errno; waits for all of them. */
int srnic_test_recv(struct socket *sock, void *octets, u32 len);
bool srnic_test_is_reset(struct socket *sock);
/* The other end has sent nothing and not closed. */
bool srnic_test_is_open(struct socket *sock);
/* An MPA Request with this much private data of the ULP; returns its length. */
u32 srnic_test_request(u8 *octets, const void *private, u32 len);

/* The local port of what it does next. */
void srnic_test_set_port(struct srnic_test_consumer *consumer, u16 port);
/* The consumer of a QP, which connects to the listeners' port from this port; 0: from any. */
struct srnic_test_consumer *srnic_test_connect_from(struct kunit *test, struct srnic_test_conn *c,
						    struct srnic_qp *qp, u16 port);

/* Two QPs that are connected. qp: the one that connected, and its consumer; the other is set.qp. */
struct srnic_test_pair {
	struct srnic_qp *qp;
	struct srnic_test_consumer *client;
};

void srnic_test_pair(struct kunit *test, struct srnic_test_conn *c, struct srnic_test_pair *pair);

/* The end that connected disconnects, and nothing is left. */
void srnic_test_disconnect(struct kunit *test, struct srnic_test_conn *c,
			   struct srnic_test_pair *pair);

/* Memory of the test's own, for requests of the set's QPs. */
struct ib_sge srnic_test_sge(struct srnic_test_conn *c, const void *octets, u32 len);
/* Waits for the next completion of the set's CQ. */
struct ib_wc srnic_test_next_wc(struct kunit *test);

/* The QP's engine does not run, and nobody runs it unless asked to. It keeps its batch. */
void srnic_test_calm(struct srnic_qp *qp);
/* This task runs on the caller's processor only, from now on. */
void srnic_test_stay_here(struct kunit *test, struct task_struct *task);

u32 srnic_test_num_eps(struct srnic_test_conn *c);
/* Lets all deadlines expire. */
void srnic_test_let_time_pass(struct srnic_test_conn *c);
/*
 * Closes the listener and the peers, waits until all connections have ended, and checks that no id
 * or QP is referenced.
 */
void srnic_test_expect_nothing_left(struct kunit *test, struct srnic_test_conn *c);
/* Whichever end closed: one CLOSE, last, and at most one DISCONNECT before it. */
void srnic_test_expect_close(struct kunit *test, struct srnic_test_consumer *consumer);
/* Both ends have closed so, and nothing is left. */
void srnic_test_expect_end(struct kunit *test, struct srnic_test_conn *c,
			   struct srnic_test_pair *pair);

#endif
