/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For tests: two QPs of type UD on one device, which send each other datagrams on lo
 * (Documentation/ib.rst, "Datagrams").
 */
#ifndef SRNIC_KUNIT_DATAGRAM_H
#define SRNIC_KUNIT_DATAGRAM_H

#include <rdma/ib_cache.h>

#include "fixture.h"
#include "stream/datagrams.h"

#define QKEY	0x11111111U
#define ROOM	(CORE_DATAGRAM_GRH + CORE_DATAGRAM_MAX)

struct ud_end {
	struct srnic_qp *qp;
	struct srnic_test_cq *cq;
};

/* from, into: memory for payloads, into with the GRH before it. ah: to 127.0.0.1 */
struct ud_ends {
	struct srnic_dev *dev;
	struct ib_pd *pd;
	struct ud_end a, b;
	struct ib_ah *ah;
	u8 *from, *into;
};

/* ---- GIDs and address handles ---- */

static inline union ib_gid gid_of_v4(u32 address)
{
	union ib_gid gid = { };

	ipv6_addr_set_v4mapped(cpu_to_be32(address), (struct in6_addr *)gid.raw);
	return gid;
}

static inline union ib_gid gid_of_lo6(void)
{
	union ib_gid gid = { };

	gid.raw[15] = 1;
	return gid;
}

/* The index in the device's table, or -1. */
static inline int index_of_gid(struct srnic_dev *dev, const union ib_gid *gid)
{
	union ib_gid found;

	for (int i = 0; i < 16; i++)
		if (!rdma_query_gid(&dev->base, 1, i, &found) &&
		    !memcmp(&found, gid, sizeof(found)))
			return i;
	return -1;
}

static inline struct rdma_ah_attr ah_attr_of(const union ib_gid *to, int index)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_ROCE };
	union ib_gid gid = *to;

	rdma_ah_set_port_num(&attr, 1);
	rdma_ah_set_grh(&attr, &gid, 0, index, 64, 0);
	return attr;
}

static inline void destroy_ah(void *ah)
{
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* From this address to itself. */
static inline struct ib_ah *make_ah(struct kunit *test, struct srnic_dev *dev, struct ib_pd *pd,
				    const union ib_gid *gid)
{
	struct rdma_ah_attr attr;
	struct ib_ah *ah;

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(index_of_gid(dev, gid) >= 0));
	attr = ah_attr_of(gid, index_of_gid(dev, gid));
	ah = rdma_create_ah(pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ah);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_ah, ah), 0);
	return ah;
}

/* ---- states ---- */

static inline int ud_to(struct ud_end *end, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state, .port_num = 1, .qkey = QKEY };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
	if (state == IB_QPS_RTS && end->qp->ib_state == IB_QPS_RTR)
		mask |= IB_QP_SQ_PSN;
	return ib_modify_qp(&end->qp->base, &attr, mask);
}

static inline enum ib_qp_state ud_state(struct ud_end *end)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(&end->qp->base, &attr, IB_QP_STATE, &init) ? -1 : attr.qp_state;
}

static inline void ud_up(struct kunit *test, struct ud_end *end)
{
	KUNIT_ASSERT_EQ(test, ud_to(end, IB_QPS_INIT), 0);
	KUNIT_ASSERT_EQ(test, ud_to(end, IB_QPS_RTR), 0);
	KUNIT_ASSERT_EQ(test, ud_to(end, IB_QPS_RTS), 0);
}

static inline void make_ud_end(struct kunit *test, struct ud_ends *e, struct ud_end *end)
{
	end->cq = srnic_test_cq(test, e->dev, 64);
	end->qp = srnic_test_ud_qp(test, e->pd, end->cq, NULL);
}

static inline struct ud_ends *make_ud_ends(struct kunit *test)
{
	struct ud_ends *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	union ib_gid gid = gid_of_v4(INADDR_LOOPBACK);

	KUNIT_ASSERT_NOT_NULL(test, e);
	e->from = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	e->into = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, e->from && e->into);
	get_random_bytes(e->from, ROOM);
	e->dev = srnic_test_ib_device(test);
	e->pd = srnic_test_pd(test, e->dev);
	e->ah = make_ah(test, e->dev, e->pd, &gid);
	make_ud_end(test, e, &e->a);
	make_ud_end(test, e, &e->b);
	return e;
}

/* Both in RTS. */
static inline struct ud_ends *open_ud_ends(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);

	ud_up(test, &e->a);
	ud_up(test, &e->b);
	return e;
}

/* ---- requests ---- */

static inline struct ib_sge ud_memory(struct ud_ends *e, const void *octets, u32 len)
{
	return (struct ib_sge) { .addr = (uintptr_t)octets, .length = len,
				 .lkey = e->pd->local_dma_lkey };
}

static inline void ud_receive(struct kunit *test, struct ud_ends *e, struct ud_end *end, u32 room)
{
	struct ib_sge sge = ud_memory(e, e->into, room);
	struct ib_recv_wr wr = { .wr_id = room, .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&end->qp->base, &wr, NULL), 0);
}

/* A Send of this end's to the other; for changes before it is posted. */
struct ud_send {
	struct ib_ud_wr wr;
	struct ib_sge sge;
};

static inline struct ud_send ud_send_of(struct ud_ends *e, const struct ud_end *to, u32 len)
{
	return (struct ud_send) {
		.wr = {
			.wr = { .wr_id = len, .opcode = IB_WR_SEND,
				.send_flags = IB_SEND_SIGNALED, .num_sge = 1 },
			.ah = e->ah,
			.remote_qpn = to->qp->base.qp_num,
			.remote_qkey = QKEY,
		},
		.sge = ud_memory(e, e->from, len),
	};
}

static inline int ud_post(struct ud_end *from, struct ud_send *send)
{
	send->wr.wr.sg_list = &send->sge;
	return ib_post_send(&from->qp->base, &send->wr.wr, NULL);
}

static inline void ud_send(struct kunit *test, struct ud_ends *e, struct ud_end *from,
			   const struct ud_end *to, u32 len)
{
	struct ud_send send = ud_send_of(e, to, len);

	KUNIT_ASSERT_EQ(test, ud_post(from, &send), 0);
}

static inline struct ib_wc ud_wc(struct kunit *test, struct ud_end *end)
{
	struct ib_wc wc = { };

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(end->cq->base, 1, &wc) == 1));
	return wc;
}

static inline void ud_expect(struct kunit *test, struct ud_end *end, enum ib_wc_status status)
{
	KUNIT_EXPECT_EQ(test, ud_wc(test, end).status, status);
}

/* A message from a to b arrives, so all that was sent before has been processed. */
static inline void ud_exchange(struct kunit *test, struct ud_ends *e, u32 len)
{
	struct ib_wc wc;

	memset(e->into, 0xee, ROOM);
	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, len);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.byte_len, CORE_DATAGRAM_GRH + len);
	KUNIT_EXPECT_EQ(test, wc.src_qp, e->a.qp->base.qp_num);
	KUNIT_EXPECT_MEMEQ(test, e->into + CORE_DATAGRAM_GRH, e->from, len);
}

static inline u64 ud_counted(struct ud_ends *e, enum srnic_counter counter)
{
	return srnic_counted(e->dev, counter);
}

#endif
