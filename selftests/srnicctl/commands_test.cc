// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The command line, and the exit codes of all commands but those that other files have.
#include "fake.hh"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>

#include "version.h"

namespace {

class Commands : public ::testing::Test {
protected:
	fake::Machine machine;

	Commands()
	{
		machine.devices = {{.index = 3, .name = "srnic0"},
				   {.index = 4, .name = "siw0", .driver = 17}};
		machine.write_settings("srnic0");
	}
	std::string wrong(const std::vector<std::string> &words, int code)
	{
		machine.err.str("");
		EXPECT_EQ(machine.run(words), code);
		EXPECT_EQ(machine.out.str(), "");
		return machine.err.str();
	}
	void fail(uint16_t command, int error)
	{
		machine.kernel.rdma[command] = [=](const nlmsghdr *, fake::Answer &a) {
			a.fail(error);
		};
	}
};

TEST_F(Commands, Help)
{
	EXPECT_EQ(machine.run({"--help"}), 0);
	EXPECT_EQ(machine.out.str().substr(0, 15), "usage: srnicctl");
}

// Each way to ask for it.
TEST_F(Commands, HelpOfACommand)
{
	const std::string of_get = "usage: srnicctl [OPTION...] get DEVICE [SETTING]\n";

	for (std::vector<std::string> words : {std::vector<std::string>{"help", "get"},
					       {"get", "--help"},
					       {"-h", "get", "srnic0"}}) {
		machine.out.str("");
		EXPECT_EQ(machine.run(words), 0);
		EXPECT_TRUE(machine.out.str().starts_with(of_get)) << machine.out.str();
		EXPECT_EQ(machine.out.str().find("--iterations"), std::string::npos);
	}
	machine.out.str("");
	EXPECT_EQ(machine.run({"help"}), 0);
	for (const char *word : {"  show [", "  top [", "  get ", "  set ", "  doctor [", "--qp="})
		EXPECT_NE(machine.out.str().find(word), std::string::npos) << word;
}

TEST_F(Commands, Version)
{
	EXPECT_EQ(machine.run({"-V"}), 0);
	EXPECT_EQ(machine.out.str(), "srnicctl " SRNIC_VERSION "\n");
}

// ---- 2: usage ----

TEST_F(Commands, WhichOne)
{
	EXPECT_EQ(wrong({}, 2), "srnicctl: which command: show, top, get, set, doctor or help? "
				"(srnicctl --help)\n");
	EXPECT_EQ(wrong({"sh\now"}, 2), "srnicctl: there is no command sh?ow (srnicctl --help)\n");
}

TEST_F(Commands, WrongOptions)
{
	EXPECT_EQ(wrong({"show", "-jx"}, 2), "srnicctl: wrong option -x (srnicctl --help)\n");
	EXPECT_EQ(wrong({"--wide", "show"}, 2),
		  "srnicctl: wrong option --wide (srnicctl --help)\n");
	EXPECT_EQ(wrong({"top", "-n"}, 2), "srnicctl: option -n needs a value (srnicctl --help)\n");
	EXPECT_EQ(wrong({"top", "--delay"}, 2),
		  "srnicctl: option -d needs a value (srnicctl --help)\n");
}

TEST_F(Commands, WrongFilters)
{
	for (const char *n : {"-1", "", "1x", "4294967296"}) {
		EXPECT_EQ(wrong({"show", "--pid", n}, 2), "srnicctl: --pid takes a number, not " +
								  std::string(n) +
								  " (srnicctl --help)\n");
		EXPECT_EQ(wrong({"show", "--qp", n}, 2), "srnicctl: --qp takes a number, not " +
								 std::string(n) +
								 " (srnicctl --help)\n");
	}
	for (const char *peer : {"", "host", "10.0.0", "10.0.0.2:", "10.0.0.2:0", "10.0.0.2:65536",
				 "10.0.0.2:x", "[fd00::2", "[fd00::2]7174", "fd00::2]:7174"})
		EXPECT_EQ(wrong({"show", "--peer", peer}, 2),
			  "srnicctl: --peer takes an address, as 10.0.0.2, 10.0.0.2:7174 or "
			  "[fd00::2]:7174, not " +
				  std::string(peer) + " (srnicctl --help)\n");
	EXPECT_EQ(wrong({"show", "--peer"}, 2),
		  "srnicctl: option --peer needs a value (srnicctl --help)\n");
}

TEST_F(Commands, OptionsOfShow)
{
	for (std::vector<std::string> words :
	     {std::vector<std::string>{"top", "--qp=5"}, {"doctor", "-s"}, {"get", "x", "--pid=1"}})
		EXPECT_EQ(wrong(words, 2), "srnicctl: --short, --peer, --pid and --qp are options "
					   "of show (srnicctl --help)\n");
	EXPECT_EQ(wrong({"show", "-sj"}, 2),
		  "srnicctl: --short is text, not JSON (srnicctl --help)\n");
}

TEST_F(Commands, HelpOfNoCommand)
{
	EXPECT_EQ(wrong({"help", "sh\now"}, 2),
		  "srnicctl: there is no command sh?ow (srnicctl --help)\n");
	EXPECT_EQ(wrong({"help", "show", "top"}, 2),
		  "srnicctl: help takes one command at most (srnicctl --help)\n");
}

TEST_F(Commands, WrongIterations)
{
	for (const char *n : {"0", "-1", "", "1x", " 1", "99999999999999999999"})
		EXPECT_EQ(wrong({"top", "-n", n}, 2),
			  "srnicctl: -n takes a number from 1 on, not " + std::string(n) +
				  " (srnicctl --help)\n");
}

TEST_F(Commands, WrongDelays)
{
	for (const char *d : {"0", "-1", "", "1s", "nan", "inf", "1e9"})
		EXPECT_EQ(wrong({"top", "-d", d}, 2),
			  "srnicctl: -d takes seconds from 0.01 to 86400, not " + std::string(d) +
				  " (srnicctl --help)\n");
}

TEST_F(Commands, OneDeviceAtMost)
{
	for (const char *command : {"show", "top", "doctor"}) {
		EXPECT_EQ(wrong({command, "srnic0", "srnic0"}, 2),
			  "srnicctl: " + std::string(command) +
				  " takes one device at most (srnicctl --help)\n");
		EXPECT_EQ(wrong({command, ""}, 2),
			  "srnicctl: a device has a name (srnicctl --help)\n");
	}
}

// ---- 3: devices ----

TEST_F(Commands, NoSuchDevice)
{
	for (const char *command : {"show", "top", "doctor"}) {
		EXPECT_EQ(wrong({command, "srnic\033"}, 3),
			  "srnicctl: srnic?: there is no RDMA device of that name (srnicctl show "
			  "lists them)\n");
		EXPECT_EQ(wrong({command, "siw0"}, 3),
			  "srnicctl: siw0 is not an srnic device (srnicctl show lists them)\n");
	}
}

// ---- 4, 5, 1: netlink ----

TEST_F(Commands, NotPermitted)
{
	fail(RDMA_NLDEV_CMD_GET, EPERM);
	for (const char *command : {"show", "top", "doctor"})
		EXPECT_EQ(wrong({command}, 4),
			  "srnicctl: the kernel does not permit it: Operation not permitted\n");
}

TEST_F(Commands, NotPermittedForOneDevice)
{
	fail(RDMA_NLDEV_CMD_GET_CHARDEV, EACCES);
	EXPECT_EQ(wrong({"show"}, 4),
		  "srnicctl: the kernel does not permit it: Permission denied\n");
}

TEST_F(Commands, NoRdma)
{
	machine.kernel.no_socket = EPROTONOSUPPORT;
	for (std::vector<std::string> words :
	     {std::vector<std::string>{"show"}, {"top"}, {"set", "srnic0", "mpa_crc", "1"}})
		EXPECT_EQ(wrong(words, 5), "srnicctl: the kernel has no RDMA: load srnic (modprobe "
					   "srnic), or in a container have the host load it\n");
}

TEST_F(Commands, AnotherErrorOfTheKernel)
{
	fail(RDMA_NLDEV_CMD_RES_QP_GET, ENOMEM);
	EXPECT_EQ(wrong({"show"}, 1), "srnicctl: netlink: Cannot allocate memory\n");
}

TEST_F(Commands, TheOutputCannotBeWritten)
{
	machine.out.setstate(std::ios::badbit);
	EXPECT_EQ(wrong({"show"}, 1), "srnicctl: the output cannot be written\n");
}

} // namespace
