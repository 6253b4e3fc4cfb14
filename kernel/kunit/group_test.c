// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * QPs of type UD in multicast groups (datagram/group.c; Documentation/ib.rst, "Groups", whose rules
 * are named by number). All is on lo, where IP takes each datagram to a group once.
 */
#include <rdma/ib_mad.h>

#include "datagram.h"
#include "datagram/ah.h"
#include "datagram/group.h"
#include "datagram/port.h"

#define GROUP	0xef010203	/* 239.1.2.3 */

struct group_ends {
	struct ud_ends *e;
	union ib_gid gid;
	struct ib_ah *ah;
};

static int attach(struct ud_end *end, const union ib_gid *gid)
{
	union ib_gid copy = *gid;

	return ib_attach_mcast(&end->qp->base, &copy, 0);
}

static int detach(struct ud_end *end, const union ib_gid *gid)
{
	union ib_gid copy = *gid;

	return ib_detach_mcast(&end->qp->base, &copy, 0);
}

/* Both in RTS, and in no group. */
static struct group_ends make_group(struct kunit *test)
{
	struct group_ends g = { .e = open_ud_ends(test), .gid = gid_of_v4(GROUP) };
	union ib_gid here = gid_of_v4(INADDR_LOOPBACK);
	struct rdma_ah_attr attr = ah_attr_of(&g.gid, index_of_gid(g.e->dev, &here));

	g.ah = rdma_create_ah(g.e->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, g.ah);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_ah, g.ah), 0);
	return g;
}

/* From a to an address: the group's, or the usual one. */
static void post_to(struct kunit *test, struct group_ends *g, struct ib_ah *ah, u32 qpn, u32 qkey)
{
	struct ud_send send = ud_send_of(g->e, &g->e->b, 10);

	send.wr.ah = ah;
	send.wr.remote_qpn = qpn;
	send.wr.remote_qkey = qkey;
	KUNIT_ASSERT_EQ(test, ud_post(&g->e->a, &send), 0);
}

static void send_to(struct kunit *test, struct group_ends *g, struct ib_ah *ah, u32 qpn, u32 qkey)
{
	post_to(test, g, ah, qpn, qkey);
	ud_expect(test, &g->e->a, IB_WC_SUCCESS);
}

static void send_to_group(struct kunit *test, struct group_ends *g)
{
	send_to(test, g, g->ah, IB_MULTICAST_QPN, QKEY);
}

/* The sender's own may complete before its request does. */
static struct ib_wc wc_of_receive(struct kunit *test, struct ud_end *end)
{
	struct ib_wc wc = ud_wc(test, end);

	return wc.opcode == IB_WC_RECV ? wc : ud_wc(test, end);
}

static void expect_message(struct kunit *test, struct group_ends *g, struct ud_end *end)
{
	const struct iphdr *ip = (void *)g->e->into + CORE_DATAGRAM_GRH - sizeof(*ip);
	struct ib_wc wc = wc_of_receive(test, end);

	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.byte_len, CORE_DATAGRAM_GRH + 10);
	KUNIT_EXPECT_EQ(test, wc.src_qp, g->e->a.qp->base.qp_num);
	KUNIT_EXPECT_EQ(test, ip->daddr, cpu_to_be32(GROUP));
	KUNIT_EXPECT_MEMEQ(test, g->e->into + CORE_DATAGRAM_GRH, g->e->from, 10);
}

/* 101, 103: the sender is one of them. */
static void each_qp_in_the_group_gets_a_copy(struct kunit *test)
{
	struct group_ends g = make_group(test);

	KUNIT_ASSERT_EQ(test, attach(&g.e->a, &g.gid), 0);
	KUNIT_ASSERT_EQ(test, attach(&g.e->b, &g.gid), 0);
	ud_receive(test, g.e, &g.e->b, ROOM);
	send_to_group(test, &g);
	expect_message(test, &g, &g.e->b);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS), 1);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS_NO_RECEIVE), 1);
	ud_receive(test, g.e, &g.e->a, ROOM);
	ud_receive(test, g.e, &g.e->b, ROOM);
	post_to(test, &g, g.ah, IB_MULTICAST_QPN, QKEY);
	expect_message(test, &g, &g.e->b);
	expect_message(test, &g, &g.e->a);
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), 0);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &g.gid), 0);
}

/* 102, 104: a datagram to the other behind it has seen it dropped. */
static void what_is_not_for_the_group_is_dropped(struct kunit *test)
{
	struct group_ends g = make_group(test);
	u32 qpn = g.e->b.qp->base.qp_num;

	KUNIT_ASSERT_EQ(test, attach(&g.e->b, &g.gid), 0);
	send_to(test, &g, g.ah, qpn, QKEY);
	send_to(test, &g, g.ah, CORE_QP1, QKEY);
	send_to(test, &g, g.e->ah, IB_MULTICAST_QPN, QKEY);
	ud_exchange(test, g.e, 4);
	/* that to QP 1 is no MAD */
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS_MALFORMED), 1);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS_NO_QP), 2);
	send_to(test, &g, g.ah, IB_MULTICAST_QPN, QKEY + 1);
	ud_exchange(test, g.e, 4);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS_QKEY), 1);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &g.gid), 0);
}

/* 100, 104: IP takes it for the host no more, or for the other QP alone. */
static void a_qp_that_has_left_gets_none(struct kunit *test)
{
	struct group_ends g = make_group(test);

	KUNIT_ASSERT_EQ(test, attach(&g.e->a, &g.gid), 0);
	KUNIT_ASSERT_EQ(test, attach(&g.e->b, &g.gid), 0);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &g.gid), 0);
	send_to_group(test, &g);
	ud_exchange(test, g.e, 4);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS_NO_RECEIVE), 1);
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), 0);
	send_to_group(test, &g);
	ud_exchange(test, g.e, 5);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS_NO_RECEIVE), 1);
	KUNIT_EXPECT_EQ(test, ud_counted(g.e, SRNIC_RX_DATAGRAMS), 2);
}

/* 102: a QP that does not receive, as after an error. */
static void a_qp_in_error_gets_none(struct kunit *test)
{
	struct group_ends g = make_group(test);
	bool dropped;

	KUNIT_ASSERT_EQ(test, attach(&g.e->b, &g.gid), 0);
	KUNIT_ASSERT_EQ(test, ud_to(&g.e->b, IB_QPS_ERR), 0);
	send_to_group(test, &g);
	dropped = srnic_test_eventually(ud_counted(g.e, SRNIC_RX_DATAGRAMS_NO_QP) == 1);
	KUNIT_EXPECT_TRUE(test, dropped);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &g.gid), 0);
}

/* 99 */
static void what_cannot_be_joined(struct kunit *test)
{
	struct group_ends g = make_group(test);
	union ib_gid here = gid_of_v4(INADDR_LOOPBACK);

	KUNIT_EXPECT_EQ(test, attach(&g.e->a, &here), -EINVAL);
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), -EINVAL);
	KUNIT_ASSERT_EQ(test, attach(&g.e->a, &g.gid), 0);
	KUNIT_EXPECT_EQ(test, attach(&g.e->a, &g.gid), -EINVAL);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &g.gid), -EINVAL);
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), 0);
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), -EINVAL);
	KUNIT_EXPECT_TRUE(test, list_empty(&g.e->dev->datagrams.groups));
}

static union ib_gid nth_group(u16 n)
{
	union ib_gid gid = { .raw = { 0xff, 0x0e } };

	gid.raw[14] = n >> 8;
	gid.raw[15] = n;
	return gid;
}

/* 99 */
static void a_device_has_a_number_of_groups(struct kunit *test)
{
	struct group_ends g = make_group(test);
	union ib_gid gid;

	for (u16 n = 0; n < SRNIC_MAX_GROUPS; n++) {
		gid = nth_group(n);
		KUNIT_ASSERT_EQ(test, attach(&g.e->a, &gid), 0);
	}
	gid = nth_group(SRNIC_MAX_GROUPS);
	KUNIT_EXPECT_EQ(test, attach(&g.e->a, &gid), -ENOMEM);
	for (u16 n = 0; n < SRNIC_MAX_GROUPS; n++) {
		gid = nth_group(n);
		KUNIT_EXPECT_EQ(test, detach(&g.e->a, &gid), 0);
	}
}

/* 99 */
static void a_group_has_a_number_of_qps(struct kunit *test)
{
	struct group_ends g = make_group(test);
	struct ud_end *ends = kunit_kzalloc(test, (SRNIC_MAX_GROUP_QPS + 1) * sizeof(*ends),
					    GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ends);
	for (int n = 0; n <= SRNIC_MAX_GROUP_QPS; n++) {
		ends[n].cq = g.e->a.cq;
		ends[n].qp = srnic_test_ud_qp(test, g.e->pd, g.e->a.cq, NULL);
		KUNIT_EXPECT_EQ(test, attach(&ends[n], &g.gid),
				n < SRNIC_MAX_GROUP_QPS ? 0 : -ENOMEM);
	}
	for (int n = 0; n < SRNIC_MAX_GROUP_QPS; n++)
		KUNIT_EXPECT_EQ(test, detach(&ends[n], &g.gid), 0);
}

/* 102: the same address elsewhere is another group. */
static void a_group_is_of_one_interface(struct kunit *test)
{
	struct group_ends g = make_group(test);
	const int lo = g.e->dev->netdev->ifindex;
	const struct net *elsewhere = kunit_kzalloc(test, 1, GFP_KERNEL);
	union ib_gid other = gid_of_v4(GROUP + 1);

	KUNIT_ASSERT_EQ(test, attach(&g.e->a, &g.gid), 0);
	rcu_read_lock();
	KUNIT_EXPECT_NOT_NULL(test, srnic_group_find(&g.gid, &init_net, lo));
	KUNIT_EXPECT_NULL(test, srnic_group_find(&g.gid, &init_net, lo + 1));
	KUNIT_EXPECT_NULL(test, srnic_group_find(&g.gid, elsewhere, lo));
	KUNIT_EXPECT_NULL(test, srnic_group_find(&other, &init_net, lo));
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), 0);
}

static void leave_port(struct srnic_port *port, struct srnic_place *place)
{
	mutex_lock(port->lock);
	port->leave(place);
	mutex_unlock(port->lock);
}

static int join_port(struct srnic_port *port, struct srnic_place *place)
{
	int ret;

	mutex_lock(port->lock);
	ret = port->join(place);
	mutex_unlock(port->lock);
	return ret;
}

/* 99, 100: as when the namespace has ended, or a port was not free in a VRF. */
static void a_device_without_sockets_keeps_its_groups(struct kunit *test)
{
	struct group_ends g = make_group(test);
	struct srnic_place *place = &g.e->dev->datagrams.place;
	union ib_gid other = gid_of_v4(GROUP + 1), third = gid_of_v4(GROUP + 2);

	KUNIT_ASSERT_EQ(test, attach(&g.e->a, &g.gid), 0);
	KUNIT_ASSERT_EQ(test, attach(&g.e->b, &g.gid), 0);
	KUNIT_ASSERT_EQ(test, attach(&g.e->b, &other), 0);
	leave_port(&srnic_udp_port, place);
	KUNIT_EXPECT_EQ(test, attach(&g.e->a, &third), -ENETDOWN);
	KUNIT_EXPECT_EQ(test, g.e->dev->datagrams.num_groups, 2);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &other), 0);
	KUNIT_EXPECT_EQ(test, detach(&g.e->b, &g.gid), 0);
	KUNIT_ASSERT_EQ(test, join_port(&srnic_udp_port, place), 0);
	ud_receive(test, g.e, &g.e->a, ROOM);
	post_to(test, &g, g.ah, IB_MULTICAST_QPN, QKEY);
	expect_message(test, &g, &g.e->a);
	KUNIT_EXPECT_EQ(test, detach(&g.e->a, &g.gid), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(each_qp_in_the_group_gets_a_copy),
	KUNIT_CASE(what_is_not_for_the_group_is_dropped),
	KUNIT_CASE(a_qp_that_has_left_gets_none),
	KUNIT_CASE(a_qp_in_error_gets_none),
	KUNIT_CASE(what_cannot_be_joined),
	KUNIT_CASE(a_device_has_a_number_of_groups),
	KUNIT_CASE(a_group_has_a_number_of_qps),
	KUNIT_CASE(a_group_is_of_one_interface),
	KUNIT_CASE(a_device_without_sockets_keeps_its_groups),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_group", .test_cases = cases };

kunit_test_suite(suite);
