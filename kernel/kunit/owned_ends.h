/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For tests: ends whose streams the suite owns, over sockets that it has connected itself.
 */
#ifndef SRNIC_KUNIT_OWNED_ENDS_H
#define SRNIC_KUNIT_OWNED_ENDS_H

#include <linux/in.h>
#include <net/sock.h>

#include "ends.h"
#include "stream/acks.h"
#include "stream/attach.h"
#include "stream/overdue.h"
#include "stream/start.h"
#include "stream/transmit/rest.h"

/*
 * Of one end: a is the requester, b the responder. over: why it was to end the stream, if it was;
 * rest: what the QP left to it.
 */
struct owner {
	struct srnic_qp_owner base;
	struct srnic_qp *qp;
	struct socket *sock;
	u32 over;
	struct srnic_rest rest;
};

/* ---- owners ---- */

static inline void hold(struct srnic_qp_owner *owner)
{
}

static inline void over(struct srnic_qp_owner *base, enum core_conn_input why)
{
	WRITE_ONCE(container_of(base, struct owner, base)->over, why);
}

static inline void leave_rest(struct srnic_qp_owner *base, const struct srnic_rest *rest)
{
	struct owner *owner = container_of(base, struct owner, base);

	srnic_rest_free(&owner->rest);
	owner->rest = *rest;
}

static const struct srnic_qp_owner_ops owner_ops = {
	.hold = hold,
	.put = hold,
	.over = over,
	.leave_rest = leave_rest,
};

/* ---- two ends of a connection ---- */

static inline void release(void *sock)
{
	sock_release(sock);
}

static inline struct socket *own_socket(struct kunit *test, struct socket *sock)
{
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release, sock), 0);
	return sock;
}

static inline struct socket *new_socket(struct kunit *test)
{
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock),
			0);
	return own_socket(test, sock);
}

/* window: octets of the receive buffer of b's socket; 0: TCP decides. */
static inline void connect_sockets_with(struct kunit *test, struct ends *e, u32 window)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct socket *listener = new_socket(test), *accepted;
	struct sockaddr_storage bound;

	KUNIT_ASSERT_EQ(test, kernel_bind(listener, (void *)&addr, sizeof(addr)), 0);
	if (window)
		sock_set_rcvbuf(listener->sk, window);
	KUNIT_ASSERT_EQ(test, kernel_listen(listener, 1), 0);
	KUNIT_ASSERT_GT(test, kernel_getsockname(listener, (struct sockaddr *)&bound), 0);
	e->a.owner->sock = new_socket(test);
	KUNIT_ASSERT_EQ(test, kernel_connect(e->a.owner->sock, (void *)&bound, sizeof(addr), 0), 0);
	KUNIT_ASSERT_EQ(test, kernel_accept(listener, &accepted, 0), 0);
	e->b.owner->sock = own_socket(test, accepted);
}

static inline void connect_sockets(struct kunit *test, struct ends *e)
{
	connect_sockets_with(test, e, 0);
}

static inline void stop(void *owner)
{
	struct owner *it = owner;

	srnic_qp_stop(it->qp, &it->base);
	srnic_rest_free(&it->rest);
}

static inline void start_with(struct kunit *test, struct end *end, bool initiator, bool crc)
{
	struct srnic_qp_start with = {
		.owner = &end->owner->base,
		.sock = end->owner->sock,
		.initiator = initiator,
		.agreed = { .framing = CORE_FRAMING_IB, .ird = 4, .ord = 4, .crc = crc,
			    .long_segments = true },
	};

	KUNIT_ASSERT_EQ(test, srnic_qp_claim(end->qp, &end->owner->base), 0);
	KUNIT_ASSERT_EQ(test, srnic_qp_start(end->qp, &with), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop, end->owner), 0);
}

static inline void start(struct kunit *test, struct end *end, bool initiator)
{
	start_with(test, end, initiator, true);
}

static inline void make_owned_end(struct kunit *test, struct ends *e, struct end *end)
{
	end->owner = kunit_kzalloc(test, sizeof(*end->owner), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, end->owner);
	make_end(test, e, end);
	end->owner->base.ops = &owner_ops;
	end->owner->qp = end->qp;
	end->qp->access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_ASSERT_EQ(test, srnic_acks_alloc(end->qp), 0);
	srnic_overdue_init(end->qp);
	end->qp->acks->core.min_rnr_timer = 1;
}

/* Two ends, and sockets for them. */
static inline struct ends *make_owned_ends_with(struct kunit *test, u32 window)
{
	struct ends *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	prepare(test, e, srnic_test_device(test));
	make_owned_end(test, e, &e->a);
	make_owned_end(test, e, &e->b);
	connect_sockets_with(test, e, window);
	return e;
}

static inline struct ends *make_owned_ends(struct kunit *test)
{
	return make_owned_ends_with(test, 0);
}

#endif
