// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl set`: what it writes, and each way it can fail.
#include "fake.hh"
#include "settings.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace {

class Set : public ::testing::Test {
protected:
	fake::Machine machine;

	Set()
	{
		machine.devices = {{.index = 3, .name = "srnic0"},
				   {.index = 4, .name = "siw0", .driver = 17}};
		machine.write_settings("srnic0");
	}
	std::string value(const std::string &setting)
	{
		return machine.read("/sys/class/infiniband/srnic0/" + setting);
	}
	std::string refused(const std::vector<std::string> &words, int code)
	{
		machine.err.str("");
		EXPECT_EQ(machine.run(words), code);
		EXPECT_EQ(machine.out.str(), "");
		return machine.err.str();
	}
};

TEST_F(Set, WritesTheValue)
{
	EXPECT_EQ(machine.run({"set", "srnic0", "peer_timeout", "20"}), 0);
	EXPECT_EQ(value("peer_timeout"), "20\n");
	EXPECT_EQ(machine.out.str() + machine.err.str(), "");
}

TEST_F(Set, Several)
{
	EXPECT_EQ(machine.run({"set", "srnic0", "mpa_crc", "0", "port_map", "1:2 3:4"}), 0);
	EXPECT_EQ(value("mpa_crc"), "0\n");
	EXPECT_EQ(value("port_map"), "1:2 3:4\n");
}

TEST_F(Set, AnEmptyMapTakesAllBack)
{
	machine.write("/sys/class/infiniband/srnic0/port_map", "1:2\n");
	EXPECT_EQ(machine.run({"set", "srnic0", "port_map", ""}), 0);
	EXPECT_EQ(value("port_map"), "\n");
}

TEST_F(Set, WrongNumberOfArguments)
{
	for (std::vector<std::string> words : {std::vector<std::string>{"set"},
					       {"set", "srnic0"},
					       {"set", "srnic0", "mpa_crc"},
					       {"set", "srnic0", "mpa_crc", "1", "mpa_markers"},
					       {"set", "", "mpa_crc", "1"}})
		EXPECT_EQ(refused(words, 2),
			  "srnicctl: set takes a device, and settings with a value "
			  "each (srnicctl --help)\n");
}

std::string names()
{
	std::string names;

	for (const srnicctl::Setting &setting : srnicctl::known_settings())
		names += std::string(names.empty() ? "" : ", ") + setting.name;
	return names;
}

// Nothing is set if a later name is wrong.
TEST_F(Set, NoSuchSetting)
{
	EXPECT_EQ(refused({"set", "srnic0", "mpa_crc", "0", "../x", "1"}, 2),
		  "srnicctl: there is no setting ../x, but " + names() + " (srnicctl --help)\n");
	EXPECT_EQ(value("mpa_crc"), "1\n");
}

TEST_F(Set, NoSuchDevice)
{
	EXPECT_EQ(refused({"set", "srnic9", "mpa_crc", "0"}, 3),
		  "srnicctl: srnic9: there is no RDMA device of that name (srnicctl show lists "
		  "them)\n");
	EXPECT_EQ(refused({"set", "../infiniband/srnic0", "mpa_crc", "0"}, 3).substr(0, 10),
		  "srnicctl: ");
}

TEST_F(Set, AnothersDevice)
{
	EXPECT_EQ(refused({"set", "siw0", "mpa_crc", "0"}, 3),
		  "srnicctl: siw0 is not an srnic device (srnicctl show lists them)\n");
}

TEST_F(Set, AModuleWithoutTheSetting)
{
	machine.remove("/sys/class/infiniband/srnic0/rdmap_swap");
	EXPECT_EQ(
		refused({"set", "srnic0", "rdmap_swap", "1"}, 1),
		"srnicctl: srnic0: rdmap_swap: not in /sys: the module is too old for it, or /sys "
		"is of another network namespace\n");
}

// Nothing is set if the type lacks a later one.
TEST_F(Set, ASettingThatTheTypeDoesNotHave)
{
	machine.devices.push_back(
		{.index = 5, .name = "ib0", .protocol = "roce", .driver = 0x53524942});
	for (const char *setting : {"mpa_crc", "local_shortcut", "peer_timeout"})
		machine.write(std::string("/sys/class/infiniband/ib0/") + setting, "0\n");
	EXPECT_EQ(refused({"set", "ib0", "peer_timeout", "9", "framing", "any"}, 2),
		  "srnicctl: ib0 is of type srnic_ib, which has no framing, but mpa_crc, "
		  "local_shortcut, peer_timeout (srnicctl --help)\n");
	EXPECT_EQ(machine.read("/sys/class/infiniband/ib0/peer_timeout"), "0\n");
	EXPECT_EQ(machine.run({"set", "ib0", "peer_timeout", "9"}), 0);
	EXPECT_EQ(machine.read("/sys/class/infiniband/ib0/peer_timeout"), "9\n");
}

// The errors of the kernel's file, from files that have the same.
void replace(fake::Machine &machine, const std::string &setting, const char *target)
{
	std::string path = "/sys/class/infiniband/srnic0/" + setting;

	machine.remove(path);
	ASSERT_EQ(symlink(target, (machine.system.root + path).c_str()), 0);
}

TEST_F(Set, AValueThatTheKernelRefuses)
{
	replace(machine, "peer_timeout", "/proc/self/oom_score_adj");
	EXPECT_EQ(refused({"set", "srnic0", "peer_timeout", "soon"}, 6),
		  "srnicctl: srnic0: peer_timeout takes 0 to 86400 seconds, not \"soon\"\n");
}

// Errors of kernel/device/sysfs.c, device/framing.c and port_map.c.
TEST(RefusesValue, ButNothingElse)
{
	for (int error : {EINVAL, ERANGE, E2BIG, EEXIST})
		EXPECT_TRUE(srnicctl::refuses_value(error)) << error;
	for (int error : {EPERM, EACCES, EROFS, ENOENT, ENODEV, ENOMEM, EIO})
		EXPECT_FALSE(srnicctl::refuses_value(error)) << error;
}

TEST_F(Set, AnErrorWithoutItsOwnMessage)
{
	replace(machine, "peer_timeout", "/dev/full");
	EXPECT_EQ(refused({"set", "srnic0", "peer_timeout", "1"}, 1),
		  "srnicctl: srnic0: peer_timeout: No space left on device\n");
}

TEST_F(Set, NotPermitted)
{
	replace(machine, "mpa_crc", "/proc/sys/kernel/ostype");
	EXPECT_EQ(refused({"set", "srnic0", "mpa_crc", "0"}, 4),
		  "srnicctl: srnic0: mpa_crc: only root with CAP_NET_ADMIN may set it, "
		  "where /sys is writable (Permission denied)\n");
}

} // namespace
