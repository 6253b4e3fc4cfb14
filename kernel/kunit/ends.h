/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For tests: two QPs of one device, whose requests complete when the other end has done them
 * (Documentation/ib.rst). How they come to their stream is the suite's business.
 */
#ifndef SRNIC_KUNIT_ENDS_H
#define SRNIC_KUNIT_ENDS_H

#include "fixture.h"

#define OCTETS	64U	/* of every payload */

struct owner;

/* owner: the suite's own; NULL: srnic's */
struct end {
	struct srnic_qp *qp;
	struct srnic_test_cq *cq;
	struct owner *owner;
};

/* Two ends of one device. from, into: memory of theirs, for payloads. */
struct ends {
	struct srnic_dev *dev;
	struct ib_pd *pd;
	struct end a, b;
	u8 *from, *into;
};

static inline void make_end(struct kunit *test, struct ends *e, struct end *end)
{
	end->cq = srnic_test_cq(test, e->dev, 64);
	end->qp = srnic_test_qp(test, e->pd, end->cq, NULL, IB_SIGNAL_REQ_WR);
}

/* All but the ends themselves. */
static inline void prepare(struct kunit *test, struct ends *e, struct srnic_dev *dev)
{
	e->from = kunit_kzalloc(test, 2 * OCTETS, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->from);
	e->into = e->from + OCTETS;
	get_random_bytes(e->from, OCTETS);
	e->dev = dev;
	e->pd = srnic_test_pd(test, dev);
}

/* ---- requests ---- */

static inline struct ib_sge memory_of(struct ends *e, const void *octets, u32 len)
{
	return (struct ib_sge) { .addr = (uintptr_t)octets, .length = len,
				 .lkey = e->pd->local_dma_lkey };
}

static inline void post_receive(struct kunit *test, struct ends *e, struct end *end)
{
	struct ib_sge sge = memory_of(e, e->into, OCTETS);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&end->qp->base, &wr, NULL), 0);
}

static inline void post_send(struct kunit *test, struct ends *e, struct end *end)
{
	struct ib_sge sge = memory_of(e, e->from, OCTETS);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
				 .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_send(&end->qp->base, &wr, NULL), 0);
}

static inline void expect(struct kunit *test, struct end *end, enum ib_wc_status status)
{
	struct ib_wc wc = { };

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(end->cq->base, 1, &wc) == 1));
	KUNIT_EXPECT_EQ(test, wc.status, status);
}

/* 28: a request fails since nobody acknowledges it; least: in ms, since begun. */
static inline void expect_overdue(struct kunit *test, struct end *end, unsigned long begun,
				  u32 least)
{
	expect(test, end, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - begun), least);
	KUNIT_EXPECT_LE(test, jiffies_to_msecs(jiffies - begun), 2700);
}

static inline void exchange(struct kunit *test, struct ends *e, struct end *from, struct end *into)
{
	memset(e->into, 0, OCTETS);
	post_receive(test, e, into);
	post_send(test, e, from);
	expect(test, from, IB_WC_SUCCESS);
	expect(test, into, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, e->into, e->from, OCTETS);
}

#endif
