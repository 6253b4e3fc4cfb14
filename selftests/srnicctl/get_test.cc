// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl get`: one setting and all of them, and each way it can fail.
#include "fake.hh"

#include <gtest/gtest.h>

namespace {

class Get : public ::testing::Test {
protected:
	fake::Machine machine;

	Get()
	{
		machine.devices = {
			{.index = 3, .name = "srnic0"},
			{.index = 4, .name = "siw0", .driver = 17},
			{.index = 5, .name = "ib0", .protocol = "roce", .driver = 0x53524942}};
		machine.write_settings("srnic0");
		machine.write("/sys/class/infiniband/srnic0/peer_timeout", "20\n");
		machine.write("/sys/class/infiniband/ib0/mpa_crc", "0\n");
		machine.write("/sys/class/infiniband/ib0/local_shortcut", "1\n");
	}
	std::string got(const std::vector<std::string> &words)
	{
		machine.out.str("");
		EXPECT_EQ(machine.run(words), 0) << machine.err.str();
		return machine.out.str();
	}
	std::string refused(const std::vector<std::string> &words, int code)
	{
		machine.err.str("");
		EXPECT_EQ(machine.run(words), code);
		EXPECT_EQ(machine.out.str(), "");
		return machine.err.str();
	}
};

TEST_F(Get, OneSetting)
{
	EXPECT_EQ(got({"get", "srnic0", "peer_timeout"}), "20\n");
	EXPECT_EQ(got({"get", "srnic0", "mpa_crc"}), "1\n") << "as set takes it";
	EXPECT_EQ(got({"get", "srnic0", "port_map"}), "\n");
}

TEST_F(Get, AllAsLinesOfAFile)
{
	EXPECT_EQ(got({"get", "srnic0"}), "framing = mpa\nmpa_crc = 1\nmpa_markers = 0\n"
					  "mpa_large_fpdus = 0\nrdmap_swap = 0\n"
					  "local_shortcut = 0\npeer_timeout = 20\nport_map = \n");
	EXPECT_EQ(got({"get", "ib0"}), "mpa_crc = 0\nlocal_shortcut = 1\n");
}

TEST_F(Get, Json)
{
	EXPECT_EQ(got({"-j", "get", "ib0"}),
		  "{\"format\":1,\"settings\":{\"mpa_crc\":false,\"local_shortcut\":true}}\n");
	EXPECT_EQ(got({"-j", "get", "srnic0", "peer_timeout"}),
		  "{\"format\":1,\"settings\":{\"peer_timeout\":20}}\n");
}

TEST_F(Get, WrongArguments)
{
	for (std::vector<std::string> words : {std::vector<std::string>{"get"},
					       {"get", ""},
					       {"get", "srnic0", "mpa_crc", "framing"}})
		EXPECT_EQ(refused(words, 2), "srnicctl: get takes a device, and one setting at "
					     "most (srnicctl --help)\n");
	EXPECT_TRUE(refused({"get", "srnic0", "mtu"}, 2)
			    .starts_with("srnicctl: there is no setting mtu, but framing, "));
	EXPECT_EQ(refused({"get", "ib0", "framing"}, 2),
		  "srnicctl: ib0 is of type srnic_ib, which has no framing, but mpa_crc, "
		  "local_shortcut (srnicctl --help)\n");
}

TEST_F(Get, NoSuchDevice)
{
	refused({"get", "srnic1", "mpa_crc"}, 3);
	refused({"get", "siw0"}, 3);
}

TEST_F(Get, NotInSysfs)
{
	machine.remove("/sys/class/infiniband/srnic0/rdmap_swap");
	EXPECT_EQ(refused({"get", "srnic0", "rdmap_swap"}, 1),
		  "srnicctl: srnic0: rdmap_swap: not in /sys: the module is too old for it, or "
		  "/sys is of another network namespace\n");
	machine.remove("/sys");
	EXPECT_EQ(refused({"get", "srnic0"}, 1),
		  "srnicctl: srnic0: not in /sys: the module is too old for it, or /sys is of "
		  "another network namespace\n");
}

} // namespace
