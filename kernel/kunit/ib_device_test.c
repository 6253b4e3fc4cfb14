// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Devices of type srnic_ib: when there may be one, and what it says of itself.
 */
#include <linux/if_addr.h>
#include <linux/inet.h>
#include <linux/kernfs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/netlink.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_cache.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "fixture.h"

#define ADDRESS		0x7f000909	/* 127.0.9.9 */
#define MAPPED		0x0000ffff	/* the third word of an IPv4 address as GID */
#define LINK_LOCAL	0xfe80000000000000ull

/* ---- which devices an interface may have ---- */

static void an_interface_may_have_both(struct kunit *test)
{
	struct srnic_dev *dev = srnic_test_device(test);
	struct srnic_dev *ib = srnic_test_ib_device(test);

	KUNIT_EXPECT_FALSE(test, dev->ib);
	KUNIT_EXPECT_PTR_EQ(test, dev->netdev, ib->netdev);
	KUNIT_EXPECT_NE(test, dev->base.node_guid, ib->base.node_guid);
	KUNIT_EXPECT_NE(test, dev->index, ib->index);
	KUNIT_EXPECT_TRUE(test, dev->connections.open);
	KUNIT_EXPECT_TRUE(test, ib->connections.open);
	KUNIT_EXPECT_EQ(test, srnic_test_link_add("other", "srnic_ib", "lo"), -EBUSY);
	KUNIT_EXPECT_EQ(test, srnic_test_link_add("other", "srnic", "lo"), -EBUSY);
}

static void srnic_comes_first(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);

	KUNIT_EXPECT_EQ(test, srnic_test_link_add("other", "srnic", "lo"), -EADDRINUSE);
	srnic_test_remove_device(test, ib);
	srnic_test_device(test);
}

/* ---- what it says of itself ---- */

static void it_is_an_adapter_of_infiniband(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);
	const struct ib_device_attr *attrs = &ib->base.attrs;

	KUNIT_EXPECT_EQ(test, ib->base.node_type, RDMA_NODE_IB_CA);
	KUNIT_EXPECT_EQ(test, ib->base.ops.driver_id, SRNIC_IB_DRIVER_ID);
	KUNIT_EXPECT_NULL(test, ib->base.ops.iw_connect);
	KUNIT_EXPECT_NULL(test, ib->base.dev.parent);
	KUNIT_EXPECT_EQ(test, attrs->device_cap_flags, IB_DEVICE_RC_RNR_NAK_GEN |
			IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_MEM_MGT_EXTENSIONS |
			IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_MEM_WINDOW |
			IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_SRQ_RESIZE |
			SRNIC_COMPAT_CAN_FLUSH);
	KUNIT_EXPECT_EQ(test, attrs->sys_image_guid, ib->base.node_guid);
	KUNIT_EXPECT_EQ(test, attrs->atomic_cap, IB_ATOMIC_GLOB);
	KUNIT_EXPECT_EQ(test, attrs->masked_atomic_cap, IB_ATOMIC_GLOB);
	KUNIT_EXPECT_TRUE(test, core_framings_have_atomics(ib->framings));
	KUNIT_EXPECT_TRUE(test, core_framings_have_immediate_payload(ib->framings));
}

static void its_port_is_one_of_roce(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);
	struct ib_port_attr port;

	KUNIT_ASSERT_EQ(test, ib_query_port(&ib->base, 1, &port), 0);
	KUNIT_EXPECT_EQ(test, port.state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port.phys_state, IB_PORT_PHYS_STATE_LINK_UP);
	KUNIT_EXPECT_EQ(test, port.max_mtu, IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, port.active_mtu, IB_MTU_4096);	/* lo has 65536 */
	KUNIT_EXPECT_EQ(test, port.gid_tbl_len, 256);
	KUNIT_EXPECT_EQ(test, port.pkey_tbl_len, 1);
	KUNIT_EXPECT_EQ(test, port.max_msg_sz, 1u << 31);
	KUNIT_EXPECT_EQ(test, port.port_cap_flags, IB_PORT_CM_SUP);
	KUNIT_EXPECT_NE(test, port.active_speed, 0);
	KUNIT_EXPECT_NE(test, port.active_width, 0);
	KUNIT_EXPECT_EQ(test, rdma_port_get_link_layer(&ib->base, 1), IB_LINK_LAYER_ETHERNET);
	KUNIT_EXPECT_TRUE(test, rdma_protocol_roce_udp_encap(&ib->base, 1));
	KUNIT_EXPECT_FALSE(test, rdma_protocol_roce_eth_encap(&ib->base, 1));
	KUNIT_EXPECT_TRUE(test, rdma_cap_ib_mad(&ib->base, 1));
	KUNIT_EXPECT_EQ(test, rdma_max_mad_size(&ib->base, 1), IB_MGMT_MAD_SIZE);
	KUNIT_EXPECT_TRUE(test, rdma_cap_ib_cm(&ib->base, 1));
	KUNIT_EXPECT_FALSE(test, rdma_cap_ib_smi(&ib->base, 1));
	KUNIT_EXPECT_FALSE(test, rdma_cap_iw_cm(&ib->base, 1));
}

static bool has_file(const struct srnic_dev *dev, const char *name)
{
	struct kernfs_node *node = kernfs_find_and_get(dev->base.dev.kobj.sd, name);

	kernfs_put(node);
	return node;
}

static void it_has_the_settings_that_mean_something(struct kunit *test)
{
	static const char *const others[] = {
		"framing", "mpa_markers", "mpa_large_fpdus", "rdmap_swap", "port_map",
	};
	struct srnic_dev *dev = srnic_test_device(test);
	struct srnic_dev *ib = srnic_test_ib_device(test);

	KUNIT_EXPECT_TRUE(test, has_file(ib, "mpa_crc"));
	KUNIT_EXPECT_TRUE(test, has_file(ib, "local_shortcut"));
	KUNIT_EXPECT_TRUE(test, has_file(ib, "peer_timeout"));
	KUNIT_EXPECT_TRUE(test, has_file(ib, "board_id"));
	for (int i = 0; i < ARRAY_SIZE(others); i++) {
		KUNIT_EXPECT_TRUE(test, has_file(dev, others[i]));
		KUNIT_EXPECT_FALSE(test, has_file(ib, others[i]));
	}
	KUNIT_EXPECT_TRUE(test, dev->settings.mpa_crc);
	KUNIT_EXPECT_FALSE(test, ib->settings.mpa_crc);
	KUNIT_EXPECT_FALSE(test, ib->settings.local_shortcut);
	KUNIT_EXPECT_EQ(test, ib->settings.peer_timeout, dev->settings.peer_timeout);
	KUNIT_EXPECT_EQ(test, ib->framings, BIT(CORE_FRAMING_IB));
}

/* ---- GIDs ---- */

static union ib_gid gid_of(u32 word0, u32 word1, u32 word2, u32 word3)
{
	__be32 words[] = {
		cpu_to_be32(word0), cpu_to_be32(word1), cpu_to_be32(word2), cpu_to_be32(word3),
	};
	union ib_gid gid;

	memcpy(&gid, words, sizeof(gid));
	return gid;
}

/* Is it in the table, as one of RoCE v2? */
static bool has_gid(struct srnic_dev *dev, const union ib_gid *gid)
{
	const struct ib_gid_attr *attr =
		rdma_find_gid_by_port(&dev->base, gid, IB_GID_TYPE_ROCE_UDP_ENCAP, 1, dev->netdev);

	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

static void the_first_gid_is_made_of_the_hardware_address(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);
	union ib_gid gid;

	KUNIT_ASSERT_EQ(test, rdma_query_gid(&ib->base, 1, 0, &gid), 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(gid.global.subnet_prefix), LINK_LOCAL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(gid.global.interface_id), 0x020000fffe000000ull);
}

static void its_addresses_are_gids(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);
	union ib_gid loopback = gid_of(0, 0, MAPPED, INADDR_LOOPBACK);
	union ib_gid loopback6 = gid_of(0, 0, 0, 1);

	KUNIT_EXPECT_TRUE(test, has_gid(ib, &loopback));
	KUNIT_EXPECT_TRUE(test, has_gid(ib, &loopback6));
}

/* ip addr add|del ADDRESS dev lo */
static int change_address(int type)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct ifaddrmsg *message;
	struct nlmsghdr *head;
	int ret = -EMSGSIZE;

	if (!skb)
		return -ENOMEM;
	head = nlmsg_put(skb, 0, 1, type, sizeof(*message), NLM_F_REQUEST | NLM_F_ACK |
			 (type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0));
	if (head && !nla_put_in_addr(skb, IFA_LOCAL, cpu_to_be32(ADDRESS))) {
		message = nlmsg_data(head);
		*message = (struct ifaddrmsg){
			.ifa_family = AF_INET,
			.ifa_prefixlen = 32,
			.ifa_index = init_net.loopback_dev->ifindex,
		};
		nlmsg_end(skb, head);
		ret = srnic_test_netlink(skb, NETLINK_ROUTE);
	}
	kfree_skb(skb);
	return ret;
}

static void remove_address(void *arg)
{
	change_address(RTM_DELADDR);
}

static void add_address(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, change_address(RTM_NEWADDR), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_address, NULL), 0);
}

static void gids_follow_the_addresses_of_lo(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);
	union ib_gid gid = gid_of(0, 0, MAPPED, ADDRESS);

	KUNIT_EXPECT_FALSE(test, has_gid(ib, &gid));
	for (int i = 0; i < 3; i++) {
		add_address(test);
		KUNIT_EXPECT_TRUE(test, srnic_test_eventually(has_gid(ib, &gid)));
		kunit_release_action(test, remove_address, NULL);
		KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!has_gid(ib, &gid)));
	}
	gid = gid_of(0, 0, MAPPED, INADDR_LOOPBACK);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(has_gid(ib, &gid)));
}

/* To remove one GID is to remove all, also those of QPs. */
static void no_gid_leaves_while_there_are_qps(struct kunit *test)
{
	struct srnic_dev *ib = srnic_test_ib_device(test);
	union ib_gid gid = gid_of(0, 0, MAPPED, ADDRESS);

	add_address(test);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(has_gid(ib, &gid)));
	flush_work(&ib->gids.rescan);
	atomic_inc(&ib->num_qps);
	kunit_release_action(test, remove_address, NULL);
	flush_work(&ib->gids.rescan);
	KUNIT_EXPECT_TRUE(test, has_gid(ib, &gid));
	atomic_dec(&ib->num_qps);
	add_address(test);
	flush_work(&ib->gids.rescan);
	KUNIT_EXPECT_TRUE(test, has_gid(ib, &gid));
	kunit_release_action(test, remove_address, NULL);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!has_gid(ib, &gid)));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(an_interface_may_have_both),
	KUNIT_CASE(srnic_comes_first),
	KUNIT_CASE(it_is_an_adapter_of_infiniband),
	KUNIT_CASE(its_port_is_one_of_roce),
	KUNIT_CASE(it_has_the_settings_that_mean_something),
	KUNIT_CASE(the_first_gid_is_made_of_the_hardware_address),
	KUNIT_CASE(its_addresses_are_gids),
	KUNIT_CASE(gids_follow_the_addresses_of_lo),
	KUNIT_CASE(no_gid_leaves_while_there_are_qps),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_ib_device", .test_cases = cases };

kunit_test_suite(suite);
