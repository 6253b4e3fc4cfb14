// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MADs of performance management: those that the RDMA core sends for sysfs, and those that nobody
 * should send.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "fixture.h"
#include "report/counters.h"

#define ANSWERED	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)

struct mads {
	struct srnic_dev *dev;
	struct ib_pma_mad ask, answer;
};

/* What the core asks for. */
static struct mads *begin(struct kunit *test, __be16 attribute)
{
	struct mads *mads = kunit_kzalloc(test, sizeof(*mads), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mads);
	mads->dev = srnic_test_device(test);
	mads->ask.mad_hdr = (struct ib_mad_hdr) {
		.base_version = 1,
		.mgmt_class = IB_MGMT_CLASS_PERF_MGMT,
		.class_version = 1,
		.method = IB_MGMT_METHOD_GET,
		.attr_id = attribute,
		.tid = cpu_to_be64(0x1234),
	};
	mads->ask.data[1] = 1;	/* the port */
	return mads;
}

static int process(struct mads *mads)
{
	size_t size = sizeof(mads->answer);
	u16 pkey = 0;

	memset(&mads->answer, 0xaa, sizeof(mads->answer));
	return mads->dev->base.ops.process_mad(&mads->dev->base, IB_MAD_IGNORE_MKEY, 1, NULL, NULL,
					       (void *)&mads->ask, (void *)&mads->answer, &size,
					       &pkey);
}

static void expect_status(struct kunit *test, struct mads *mads, u16 status)
{
	KUNIT_EXPECT_EQ(test, process(mads), ANSWERED);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mads->answer.mad_hdr.status), status);
	KUNIT_EXPECT_EQ(test, mads->answer.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(mads->answer.mad_hdr.tid), 0x1234);
	KUNIT_EXPECT_NULL(test, memchr(mads->answer.reserved, 0xaa, sizeof(mads->answer.reserved)));
	KUNIT_EXPECT_NULL(test, memchr(mads->answer.data, 0xaa, sizeof(mads->answer.data)));
}

static void counters_have_64_bits(struct kunit *test)
{
	struct mads *mads = begin(test, IB_PMA_CLASS_PORT_INFO);
	const struct ib_class_port_info *info = (void *)mads->answer.data;
	const struct ib_pma_portcounters_ext *wide = (void *)mads->answer.data;

	expect_status(test, mads, IB_MGMT_MAD_STATUS_SUCCESS);
	KUNIT_EXPECT_TRUE(test, info->capability_mask & IB_PMA_CLASS_CAP_EXT_WIDTH);

	srnic_count(mads->dev, SRNIC_TX_OCTETS, 0x1234567890);
	srnic_count(mads->dev, SRNIC_RX_OCTETS, 0x223456789f);
	srnic_count(mads->dev, SRNIC_TX_FPDUS, 0x3234567890);
	srnic_count(mads->dev, SRNIC_RX_FPDUS, 0x4234567890);
	mads->ask.mad_hdr.attr_id = IB_PMA_PORT_COUNTERS_EXT;
	expect_status(test, mads, IB_MGMT_MAD_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(wide->port_xmit_data), 0x1234567890 / 4);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(wide->port_rcv_data), 0x223456789f / 4);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(wide->port_xmit_packets), 0x3234567890);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(wide->port_unicast_xmit_packets), 0x3234567890);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(wide->port_rcv_packets), 0x4234567890);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(wide->port_unicast_rcv_packets), 0x4234567890);
}

static void smaller_ones_stop_at_their_largest_value(struct kunit *test)
{
	struct mads *mads = begin(test, IB_PMA_PORT_COUNTERS);
	const struct ib_pma_portcounters *narrow = (void *)mads->answer.data;

	srnic_count(mads->dev, SRNIC_RX_ERRORS, U16_MAX);
	srnic_count(mads->dev, SRNIC_TX_OCTETS, 4ull * U32_MAX);
	srnic_count(mads->dev, SRNIC_RX_FPDUS, U32_MAX);
	expect_status(test, mads, IB_MGMT_MAD_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(narrow->port_rcv_errors), U16_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(narrow->port_xmit_data), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(narrow->port_rcv_packets), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(narrow->port_rcv_data), 0);

	srnic_count(mads->dev, SRNIC_RX_ERRORS, 1);
	srnic_count(mads->dev, SRNIC_TX_OCTETS, 4);
	srnic_count(mads->dev, SRNIC_RX_FPDUS, 1);
	expect_status(test, mads, IB_MGMT_MAD_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(narrow->port_rcv_errors), U16_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(narrow->port_xmit_data), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(narrow->port_rcv_packets), U32_MAX);
}

static void other_ports_versions_methods_and_attributes_are_refused(struct kunit *test)
{
	struct mads *mads = begin(test, IB_PMA_PORT_COUNTERS);

	for (u32 port = 0; port < 256; port++) {
		mads->ask.data[1] = port;
		expect_status(test, mads, port == 1 || port == 255 ?
			      IB_MGMT_MAD_STATUS_SUCCESS : IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	}
	for (u32 attribute = 0; attribute < 256; attribute++) {
		mads->ask.mad_hdr.attr_id = cpu_to_be16(attribute);
		expect_status(test, mads, attribute == 1 || attribute == 0x12 || attribute == 0x1d ?
			      IB_MGMT_MAD_STATUS_SUCCESS :
			      IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	}
	mads->ask.mad_hdr.method = IB_MGMT_METHOD_SET;
	expect_status(test, mads, IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD);
	mads->ask.mad_hdr.class_version = 2;
	expect_status(test, mads, IB_MGMT_MAD_STATUS_BAD_VERSION);
	mads->ask.mad_hdr.class_version = 1;
	mads->ask.mad_hdr.base_version = 0x80;
	expect_status(test, mads, IB_MGMT_MAD_STATUS_BAD_VERSION);
}

static void other_classes_and_answers_get_no_answer(struct kunit *test)
{
	struct mads *mads = begin(test, IB_PMA_PORT_COUNTERS);

	mads->ask.mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	KUNIT_EXPECT_EQ(test, process(mads), IB_MAD_RESULT_SUCCESS);
	mads->ask.mad_hdr.method = IB_MGMT_METHOD_GET;
	for (u32 class = 0; class < 256; class++) {
		mads->ask.mad_hdr.mgmt_class = class;
		KUNIT_EXPECT_EQ(test, process(mads), class == IB_MGMT_CLASS_PERF_MGMT ?
				ANSWERED : IB_MAD_RESULT_SUCCESS);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(counters_have_64_bits),
	KUNIT_CASE(smaller_ones_stop_at_their_largest_value),
	KUNIT_CASE(other_ports_versions_methods_and_attributes_are_refused),
	KUNIT_CASE(other_classes_and_answers_get_no_answer),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_mad", .test_cases = cases };

kunit_test_suite(suite);
