// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA netlink: answers as the kernel gives them, and as it never should.
#include "fake.hh"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>

using namespace srnicctl;
using fake::Answer;

namespace {

class RdmaTest : public ::testing::Test {
protected:
	fake::Kernel kernel;
	std::vector<fake::Device> devices = {{3, "srnic0"}};
	Rdma rdma{kernel};

	RdmaTest() { fake::serve(kernel, &devices); }
	void answer(uint16_t command, std::function<void(Answer &)> fill)
	{
		kernel.rdma[command] = [=](const nlmsghdr *, Answer &answer) { fill(answer); };
	}
};

TEST_F(RdmaTest, Devices)
{
	devices.push_back({4, "mlx5_0", "roce"});
	auto found = rdma.devices();

	ASSERT_EQ(found.size(), 2u);
	EXPECT_EQ(found[0].index, 3u);
	EXPECT_EQ(found[0].name, "srnic0");
	EXPECT_EQ(found[0].protocol, "iw");
	EXPECT_EQ(found[1].protocol, "roce");
}

TEST_F(RdmaTest, ADeviceWithoutNumberOrNameIsSkipped)
{
	answer(RDMA_NLDEV_CMD_GET, [](Answer &a) {
		a.message().u32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
		a.message().text(RDMA_NLDEV_ATTR_DEV_NAME, "x");
	});
	EXPECT_TRUE(rdma.devices().empty());
}

TEST_F(RdmaTest, Port)
{
	auto port = rdma.port(3);

	EXPECT_EQ(port.state, "ACTIVE");
	EXPECT_EQ(port.physical_state, "LINK_UP");
	EXPECT_EQ(port.netdev_index, 2u);
	EXPECT_EQ(port.netdev, "eth0");
}

TEST_F(RdmaTest, PortOfAnInterfaceInAnotherNamespace)
{
	devices[0].netdev_index = 0;
	EXPECT_FALSE(rdma.port(3).netdev_index);
	EXPECT_EQ(rdma.port(3).netdev, "");
}

TEST_F(RdmaTest, StatesWithoutANameKeepTheirNumber)
{
	devices[0].port_state = 99;
	EXPECT_EQ(rdma.port(3).state, "99");
	answer(RDMA_NLDEV_CMD_PORT_GET, [](Answer &a) { a.message(); });
	EXPECT_EQ(rdma.port(3).state, "UNKNOWN");
}

TEST_F(RdmaTest, Chardev)
{
	auto uverbs = rdma.chardev("uverbs", 3);

	EXPECT_EQ(uverbs->name, "uverbs3");
	EXPECT_EQ(uverbs->abi, 1u);
	EXPECT_EQ(uverbs->driver, 0x53524e49u);
}

TEST_F(RdmaTest, ChardevOfNoDevice)
{
	EXPECT_EQ(rdma.chardev("rdma_cm")->name, "rdma_cm");
	EXPECT_FALSE(rdma.chardev("rdma_cm")->driver);
}

TEST_F(RdmaTest, OnlyAModuleThatIsNotThereIsNoChardev)
{
	fake::serve(kernel, &devices, {.uverbs = false});
	EXPECT_FALSE(rdma.chardev("uverbs", 3));
	for (int error : {EPERM, EINVAL, ENOMEM}) {
		answer(RDMA_NLDEV_CMD_GET_CHARDEV, [=](Answer &a) { a.fail(error); });
		EXPECT_THROW(rdma.chardev("uverbs", 3), NetlinkError) << error;
	}
	answer(RDMA_NLDEV_CMD_GET_CHARDEV, [](Answer &a) { a.message(); });
	EXPECT_THROW(rdma.chardev("uverbs", 3), NetlinkError) << "an answer without a name";
}

TEST_F(RdmaTest, Qps)
{
	devices[0].qps = {
		fake::connected_qp(5, 77), {6, 0, 0, "nvme_rdma"}, fake::connected_qp(7, 1)};
	auto qps = rdma.qps(3);

	ASSERT_EQ(qps.size(), 3u);
	EXPECT_EQ(qps[0].number, 5u);
	EXPECT_EQ(qps[0].state, "RTS");
	EXPECT_EQ(qps[0].owner.pid, 77u);
	EXPECT_EQ(qps[0].figure("mulpdu"), 1454u);
	EXPECT_EQ(qps[0].figure("tx_octets"), 1234567u);
	EXPECT_EQ(qps[0].word("end"), "none");
	EXPECT_FALSE(qps[0].figure("end")) << "it is a word";
	EXPECT_EQ(qps[0].word("mulpdu"), "") << "it is a number";
	EXPECT_EQ(qps[1].state, "RESET");
	EXPECT_EQ(qps[1].owner.kernel_name, "nvme_rdma");
	EXPECT_FALSE(qps[1].owner.pid);
	EXPECT_FALSE(qps[1].figure("mulpdu"));
	EXPECT_EQ(qps[2].number, 7u);
}

// A driver may say how a value is to be printed, and give values that only it knows.
TEST_F(RdmaTest, DriverAttributesOfAnyKind)
{
	answer(RDMA_NLDEV_CMD_RES_QP_GET, [](Answer &a) {
		a.message()
			.open(RDMA_NLDEV_ATTR_RES_QP)
			.open(RDMA_NLDEV_ATTR_RES_QP_ENTRY)
			.u32(RDMA_NLDEV_ATTR_RES_LQPN, 5)
			.open(RDMA_NLDEV_ATTR_DRIVER)
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "hex")
			.u8(RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE, RDMA_NLDEV_PRINT_TYPE_HEX)
			.u32(RDMA_NLDEV_ATTR_DRIVER_U32, 0x10)
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "signed")
			.u32(RDMA_NLDEV_ATTR_DRIVER_S32, 1)
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "short")
			.u8(RDMA_NLDEV_ATTR_DRIVER_U64, 1)
			.u32(RDMA_NLDEV_ATTR_DRIVER_U32, 99)
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "word")
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "hex")
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "last")
			.open(RDMA_NLDEV_ATTR_PAD)
			.close()
			.u64(RDMA_NLDEV_ATTR_DRIVER_U64, 1ull << 40)
			.text(RDMA_NLDEV_ATTR_DRIVER_STRING, "alone")
			.close()
			.close()
			.close();
	});
	RdmaQp qp = rdma.qps(3).at(0);

	EXPECT_EQ(qp.driver.size(), 3u);
	EXPECT_EQ(qp.figure("hex"), 0x10u);
	EXPECT_EQ(qp.word("word"), "hex");
	EXPECT_EQ(qp.figure("last"), 1ull << 40);
}

TEST_F(RdmaTest, AQpWithoutNumberIsSkipped)
{
	answer(RDMA_NLDEV_CMD_RES_QP_GET, [](Answer &a) {
		a.message()
			.open(RDMA_NLDEV_ATTR_RES_QP)
			.open(RDMA_NLDEV_ATTR_RES_QP_ENTRY)
			.u8(RDMA_NLDEV_ATTR_RES_STATE, 3)
			.close()
			.octets(RDMA_NLDEV_ATTR_RES_QP_ENTRY, "\1\2", 2)
			.close();
	});
	EXPECT_TRUE(rdma.qps(3).empty());
}

TEST_F(RdmaTest, CmIds)
{
	devices[0].cm_ids = {{8, 0, "0.0.0.0:7174", "", 77},
			     {5, 5, "[fd00::1]:40000", "[fd00::2]:7174", 0, "rpcrdma"}};
	auto ids = rdma.cm_ids(3);

	ASSERT_EQ(ids.size(), 2u);
	EXPECT_EQ(ids[0].state, "LISTEN");
	EXPECT_FALSE(ids[0].qp_number);
	EXPECT_EQ(ids[0].source->text(), "0.0.0.0:7174");
	EXPECT_FALSE(ids[0].destination);
	EXPECT_EQ(ids[1].state, "CONNECT");
	EXPECT_EQ(ids[1].qp_number, 5u);
	EXPECT_EQ(ids[1].destination->text(), "[fd00::2]:7174");
	EXPECT_EQ(ids[1].owner.kernel_name, "rpcrdma");
}

TEST_F(RdmaTest, Counters)
{
	devices[0].counters = {{"tx_octets", 1ull << 50}, {"resets", 0}};
	EXPECT_EQ(rdma.counters(3), devices[0].counters);
}

TEST_F(RdmaTest, NamespaceMode)
{
	EXPECT_EQ(rdma.shared(), true);
	answer(RDMA_NLDEV_CMD_SYS_GET,
	       [](Answer &a) { a.message().u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0); });
	EXPECT_EQ(rdma.shared(), false);
	answer(RDMA_NLDEV_CMD_SYS_GET, [](Answer &a) { a.message(); });
	EXPECT_FALSE(rdma.shared());
}

TEST_F(RdmaTest, ADeviceThatIsGone)
{
	const std::function<void()> asks[] = {[&] { rdma.port(9); }, [&] { rdma.qps(9); },
					      [&] { rdma.cm_ids(9); }, [&] { rdma.counters(9); }};

	for (const auto &ask : asks) {
		try {
			ask();
			ADD_FAILURE() << "no error";
		} catch (const NetlinkError &error) {
			EXPECT_EQ(error.code, EINVAL);
		}
	}
}

} // namespace
