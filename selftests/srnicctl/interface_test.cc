// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The interface below a device: rtnetlink and ethtool's generic netlink.
#include "interface.hh"
#include "network.hh"

#include <gtest/gtest.h>

#include <cerrno>

using namespace srnicctl;

namespace {

class InterfaceTest : public ::testing::Test {
protected:
	fake::Kernel kernel;
	fake::Network network;

	InterfaceTest() { fake::serve(kernel, &network); }
};

TEST_F(InterfaceTest, State)
{
	Interface eth = interface_of(kernel, 2);

	EXPECT_EQ(eth.name, "eth0");
	EXPECT_EQ(eth.mtu, 1500u);
	EXPECT_EQ(eth.kind, "vlan");
	EXPECT_TRUE(eth.up);
	EXPECT_TRUE(eth.carrier);
	network.flags = IFF_UP;
	EXPECT_FALSE(interface_of(kernel, 2).carrier);
	network.flags = 0;
	EXPECT_FALSE(interface_of(kernel, 2).up);
}

TEST_F(InterfaceTest, OneThatIsGone)
{
	kernel.route[RTM_GETLINK] = [](const nlmsghdr *, fake::Answer &a) { a.fail(ENODEV); };
	EXPECT_THROW(interface_of(kernel, 2), NetlinkError);
	kernel.route[RTM_GETLINK] = [](const nlmsghdr *, fake::Answer &a) {
		a.message(RTM_NEWLINK);
	};
	EXPECT_THROW(interface_of(kernel, 2), NetlinkError) << "a message without ifinfomsg";
}

TEST_F(InterfaceTest, AddressesOfThisInterfaceOnly)
{
	network.addresses = {1, 2, 2, 3};
	EXPECT_EQ(count_addresses(kernel, 2), 2u);
	EXPECT_EQ(count_addresses(kernel, 4), 0u);
}

TEST_F(InterfaceTest, Features) { EXPECT_EQ(features_of(kernel, 2), network.features); }

TEST_F(InterfaceTest, WithoutEthtoolsNetlink)
{
	network.ethtool = false;
	EXPECT_FALSE(features_of(kernel, 2));
}

TEST_F(InterfaceTest, AnEthtoolThatFails)
{
	kernel.generic[fake::ethtool_family] = [](const nlmsghdr *, fake::Answer &a) {
		a.fail(EIO);
	};
	EXPECT_THROW(features_of(kernel, 2), NetlinkError);
}

} // namespace
