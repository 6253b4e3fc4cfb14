// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl doctor`: a machine on which all is well, and each thing that may be wrong with it.
#include "network.hh"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <rdma/rdma_netlink.h>
#include <unistd.h>

#include "version.h"

using namespace std::string_literals;

namespace {

constexpr const char *library = "/lib/here/libibverbs.so.1";
constexpr const char *provider = "/lib/here/libibverbs/libsrnic-rdmav34.so";

class Doctor : public ::testing::Test {
protected:
	fake::Machine machine;
	fake::Network network;

	Doctor()
	{
		fake::serve(machine.kernel, &network);
		machine.devices = {{.index = 3, .name = "srnic0"}};
		machine.write_settings("srnic0");
		machine.write("/sys/module/ib_core/x", "");
		machine.write("/sys/module/srnic/version", SRNIC_VERSION "\n");
		machine.write("/sys/module/srnic/srcversion", "C5B7FBC8\n");
		machine.outputs = {{"modinfo -F srcversion srnic", "C5B7FBC8\n"}};
		machine.write("/sys/module/ib_uverbs/x", "");
		machine.write("/sys/class/infiniband_verbs/abi_version", "6\n");
		machine.write("/dev/infiniband/rdma_cm", "");
		machine.write("/dev/infiniband/uverbs3", "");
		machine.write(library, "ELF\0IBVERBS_1.1\0IBVERBS_PRIVATE_34\0"s);
		machine.write(provider, "");
		machine.write("/etc/here/libibverbs.d/srnic.driver", "# comment\ndriver srnic\n");
	}
	std::string says(int code, const std::vector<std::string> &words = {"doctor"})
	{
		machine.out.str("");
		EXPECT_EQ(machine.run(words), code) << machine.out.str() << machine.err.str();
		return machine.out.str();
	}
	void forbid(const std::string &file)
	{
		machine.remove(file);
		ASSERT_EQ(symlink("/proc/sys/kernel/ostype", (machine.system.root + file).c_str()),
			  0);
	}
	// The output has these lines.
	void expect(int code, const std::string &lines)
	{
		std::string all = says(code);

		EXPECT_NE(all.find(lines), std::string::npos) << all;
	}
};

const std::string well = "ok\tib_core: the kernel has its RDMA core\n"
			 "ok\tmodule: srnic " SRNIC_VERSION " is loaded\n"
			 "ok\tinstalled module: the loaded one\n"
			 "ok\tib_uverbs: programs can use devices\n"
			 "ok\trdma_ucm: programs can connect\n"
			 "ok\tverbs ABI: version 6\n"
			 "ok\tprovider: /lib/here/libibverbs/libsrnic-rdmav34.so\n"
			 "ok\tdriver file: /etc/here/libibverbs.d/srnic.driver\n"
			 "ok\tnamespaces: shared: every network namespace has all devices\n"
			 "ok\tmemlock: no limit\n"
			 "ok\tport mapper: iwpmd does not run here\n"
			 "ok\tsiw: no device of siw is here\n"
			 "ok\tfirewall: nothing filters what comes in\n"
			 "ok\tsrnic0, ABI: version 1\n"
			 "ok\tsrnic0, file: /dev/infiniband/uverbs3\n"
			 "ok\tsrnic0, ports: nobody listens\n"
			 "ok\tsrnic0, startups: 0 connections failed to begin so far\n"
			 "ok\tsrnic0, errors: no wrong CRC so far\n"
			 "ok\tsrnic0, interface: eth0 is up\n"
			 "ok\tsrnic0, MTU: 1500\n"
			 "ok\tsrnic0, addresses: 2 of eth0\n"
			 "ok\tsrnic0, offloads: those that matter are on\n";

TEST_F(Doctor, AllIsWell) { EXPECT_EQ(says(0), well); }

TEST_F(Doctor, OneDeviceOfTwo)
{
	machine.devices.push_back({.index = 9, .name = "srnic1"});
	EXPECT_EQ(says(0, {"doctor", "srnic0"}), well);
	EXPECT_NE(says(8), well) << "there is no file for the other";
}

TEST_F(Doctor, NoSuchDevice) { EXPECT_EQ(says(3, {"doctor", "srnic1"}), ""); }

TEST_F(Doctor, Json)
{
	network.mtu = 1000;
	std::string text = says(7, {"-j", "doctor"});

	EXPECT_TRUE(text.starts_with(
		"{\"format\":1,\"checks\":[{\"check\":\"ib_core\",\"level\":\"ok\",\"text\":\"the "
		"kernel has its RDMA core\"},{\"check\":\"module\",\"level\":\"ok\",\"text\":\""
		"srnic " SRNIC_VERSION " is loaded\"},{\"check\""))
		<< text;
	EXPECT_NE(
		text.find("{\"check\":\"MTU\",\"ifname\":\"srnic0\",\"level\":\"warn\",\"text\":\""
			  "1000: too small for IPv6, and slow\",\"do\":\"ip link set eth0 mtu "
			  "1500\"}"),
		std::string::npos)
		<< text;
}

// ---- the machine ----

TEST_F(Doctor, TheModuleIsNotLoaded)
{
	machine.remove("/sys/module/srnic");
	expect(8, "FAIL\tmodule: srnic is not loaded\n\tdo: modprobe srnic\n");
}

TEST_F(Doctor, ThereIsNoRdmaAtAll)
{
	machine.kernel.no_socket = EPROTONOSUPPORT;
	expect(8, "FAIL\tnamespaces: the kernel has no RDMA netlink: Protocol not supported\n"
		  "\tdo: modprobe srnic, or in a container have the host load it\n");
	expect(8, "FAIL\tdevices: there is no srnic device\n"
		  "\tdo: rdma link add NAME type srnic netdev INTERFACE\n");
}

TEST_F(Doctor, AnotherVersionOfTheModule)
{
	machine.write("/sys/module/srnic/version", "9.9\n");
	expect(7, "warn\tmodule: srnic 9.9 is loaded, but this is the srnicctl of " SRNIC_VERSION
		  "\n\tdo: install module and user space of the same version");
}

TEST_F(Doctor, AnotherModuleIsInstalledThanIsLoaded)
{
	machine.outputs = {{"modinfo -F srcversion srnic", "0123ABCD\n"}};
	expect(7, "warn\tinstalled module: another srnic is installed than is loaded (srcversion "
		  "0123ABCD, not C5B7FBC8)\n"
		  "\tdo: systemctl restart srnic.target; or delete the devices, ");
}

// In a container, or when the module was unpacked by hand.
TEST_F(Doctor, NoModuleIsInstalled)
{
	machine.outputs.clear();
	expect(0, "ok\tinstalled module: unknown here\n");
	machine.outputs = {{"modinfo -F srcversion srnic", "0123ABCD\n"}};
	machine.remove("/sys/module/srnic/srcversion");
	expect(0, "ok\tinstalled module: unknown here\n");
}

constexpr const char *modules = "/lib/modules/6.12.1-test/modules.dep";

TEST_F(Doctor, TheRdmaCoreIsNotInstalled)
{
	machine.remove("/sys/module");
	machine.remove("/sys/class/infiniband");
	machine.write(modules, "updates/srnic.ko: \nkernel/x/not_ib_core.ko.xz: \n");
	expect(8, "FAIL\tib_core: Linux 6.12.1-test has no RDMA core installed, which srnic needs\n"
		  "\tdo: install the package of this kernel that has it: "
		  "linux-modules-extra-6.12.1-test on Ubuntu, kernel-modules-6.12.1-test on Fedora "
		  "and RHEL, kernel-default on SUSE\n");
}

// A line's end lists what its module needs.
TEST_F(Doctor, TheRdmaCoreIsNotInstalledBecauseItIsNeeded)
{
	machine.remove("/sys/module");
	machine.remove("/sys/class/infiniband");
	machine.write(modules, "updates/srnic.ko: kernel/drivers/infiniband/core/ib_core.ko.xz\n");
	expect(8, "FAIL\tib_core: ");
}

TEST_F(Doctor, TheRdmaCoreIsInstalled)
{
	machine.remove("/sys/module");
	machine.remove("/sys/class/infiniband");
	for (const char *end : {".ko", ".ko.xz", ".ko.zst"}) {
		machine.write(modules, "kernel/drivers/infiniband/core/ib_core" + std::string(end) +
					       ": kernel/net/x.ko\n");
		expect(8, "ok\tib_core: installed, not loaded\n");
	}
	machine.write(modules, "");
	machine.write("/lib/modules/6.12.1-test/modules.builtin",
		      "kernel/drivers/infiniband/core/ib_core.ko\n");
	expect(8, "ok\tib_core: installed, not loaded\n");
	machine.remove("/lib/modules");
	expect(8, "ok\tib_core: not loaded; modules are not visible here\n");
	machine.write("/sys/class/infiniband/x/y", "");
	expect(8, "ok\tib_core: the kernel has its RDMA core\n");
}

TEST_F(Doctor, ADeviceOfSiw)
{
	machine.devices.push_back({.index = 4, .name = "siw0", .driver = 18});
	expect(7, "warn\tsiw: siw0 of siw here: a program that listens on all addresses fails, or "
		  "listens on one of siw and srnic only\n"
		  "\tdo: rdma link delete siw0\n");
	machine.devices[1].driver = 17; // another driver's
	expect(0, "ok\tsiw: no device of siw is here\n");
}

TEST_F(Doctor, NoUverbs)
{
	machine.remove("/sys/module/ib_uverbs");
	machine.remove("/sys/class/infiniband_verbs");
	fake::serve(machine.kernel, &machine.devices, {.uverbs = false});
	std::string all = says(8);

	EXPECT_NE(all.find("FAIL\tib_uverbs: it is not loaded"), std::string::npos);
	EXPECT_NE(all.find("warn\tverbs ABI: it is unknown"), std::string::npos);
	EXPECT_NE(all.find("warn\tsrnic0, ABI: it is unknown"), std::string::npos);
	EXPECT_NE(all.find("warn\tsrnic0, file: there is none"), std::string::npos);
}

TEST_F(Doctor, NoRdmaUcm)
{
	fake::serve(machine.kernel, &machine.devices, {.ucm = false});
	expect(7, "warn\trdma_ucm: it is not loaded");
}

TEST_F(Doctor, NoFileForRdmaUcm)
{
	machine.remove("/dev/infiniband/rdma_cm");
	expect(8,
	       "FAIL\trdma_ucm: there is no /dev/infiniband/rdma_cm\n\tdo: check that udev runs");
}

// Not even root may write the link's target.
TEST_F(Doctor, AFileForRdmaUcmThatTheUserMayNotOpen)
{
	forbid("/dev/infiniband/rdma_cm");
	expect(8, "FAIL\trdma_ucm: this user may not open /dev/infiniband/rdma_cm\n"
		  "\tdo: let a udev rule give it to a group that the user is in\n");
}

TEST_F(Doctor, AFileForRdmaUcmThatEverybodyMayOpen)
{
	machine.allow_all("/dev/infiniband/rdma_cm");
	expect(7, "warn\trdma_ucm: every user may open /dev/infiniband/rdma_cm, and with it crash "
		  "the kernel\n"
		  "\tdo: cp /share/here/90-rdma-cm.rules /etc/udev/rules.d/, then reboot\n");
	machine.write("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	expect(0, "ok\trdma_ucm: programs can connect\n");
	machine.write("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
	expect(7, "warn\trdma_ucm: every user may open");
}

TEST_F(Doctor, AnotherVerbsAbi)
{
	machine.write("/sys/class/infiniband_verbs/abi_version", "7\n");
	expect(8, "FAIL\tverbs ABI: the kernel's is 7, not 6\n");
}

TEST_F(Doctor, NamespaceModes)
{
	machine.kernel.rdma[RDMA_NLDEV_CMD_SYS_GET] = [](const nlmsghdr *, fake::Answer &a) {
		a.message().u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
	};
	expect(0, "ok\tnamespaces: exclusive: a network namespace has only devices that");
	machine.kernel.rdma[RDMA_NLDEV_CMD_SYS_GET] = [](const nlmsghdr *, fake::Answer &a) {
		a.message();
	};
	expect(0, "ok\tnamespaces: the kernel does not report their mode\n");
}

TEST_F(Doctor, LittleMemoryMayBeLocked)
{
	machine.system.memlock = 64 << 10;
	expect(7, "warn\tmemlock: programs of this user may register only 65.5kB of memory\n"
		  "\tdo: raise memlock in /etc/security/limits.conf, or LimitMEMLOCK= of the "
		  "service\n");
	machine.system.memlock = (8 << 20) - 1;
	expect(7, "warn\tmemlock");
	machine.system.memlock = 8 << 20;
	expect(0, "ok\tmemlock: programs of this user may register 8.39MB; more with memlock in "
		  "/etc/security/limits.conf, or LimitMEMLOCK= of a service\n");
}

TEST_F(Doctor, ButThisUserIsExempt)
{
	machine.system.memlock = 8 << 20;
	machine.write("/proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
	expect(0, "ok\tmemlock: this user is exempt; others may register 8.39MB\n");
	machine.write("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	expect(0, "ok\tmemlock: programs of this user may register 8.39MB;");
}

// On a machine as it is installed.
TEST_F(Doctor, AllIsWellForAnOrdinaryUser)
{
	machine.system.memlock = 8 << 20;
	machine.allow_all("/dev/infiniband/rdma_cm");
	machine.write("/sys/module/nf_tables/x", "");
	machine.kernel.netfilter[NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN] =
		[](const nlmsghdr *, fake::Answer &answer) { answer.refuse(EPERM); };
	machine.write("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	EXPECT_EQ(says(0).find("warn"), std::string::npos);
}

TEST_F(Doctor, APacketFilter)
{
	machine.write("/sys/module/nf_tables/x", "");
	machine.write("/sys/module/ip_tables/x", "");
	expect(0, "ok\tfirewall: nf_tables and ip_tables may filter: RDMA ports are TCP ports");
}

// What nft calls `type filter hook HOOK; policy POLICY`.
void put_chain(fake::Answer &answer, uint8_t family, const char *name, uint32_t hook,
	       uint32_t policy)
{
	answer.message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, NLM_F_MULTI, sizeof(nfgenmsg));
	answer.header<nfgenmsg>()->nfgen_family = family;
	answer.text(NFTA_CHAIN_TABLE, "filter").text(NFTA_CHAIN_NAME, name);
	answer.open(NFTA_CHAIN_HOOK).u32(NFTA_HOOK_HOOKNUM, htonl(hook)).close();
	answer.u32(NFTA_CHAIN_POLICY, htonl(policy));
}

TEST_F(Doctor, ChainsOfNfTables)
{
	auto &chains = machine.kernel.netfilter[NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN];

	machine.write("/sys/module/nf_tables/x", "");
	chains = [](const nlmsghdr *, fake::Answer &answer) {
		put_chain(answer, NFPROTO_INET, "forward", NF_INET_FORWARD, NF_DROP);
		put_chain(answer, NFPROTO_BRIDGE, "input", NF_INET_LOCAL_IN, NF_DROP);
		answer.message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN, NLM_F_MULTI,
			       sizeof(nfgenmsg)); // no base chain
		answer.text(NFTA_CHAIN_TABLE, "filter").text(NFTA_CHAIN_NAME, "ssh");
	};
	expect(0, "ok\tfirewall: nothing filters what comes in\n");
	chains = [](const nlmsghdr *, fake::Answer &answer) {
		put_chain(answer, NFPROTO_IPV6, "input", NF_INET_LOCAL_IN, NF_ACCEPT);
		put_chain(answer, NFPROTO_INET, "in\x1bput", NF_INET_LOCAL_IN, NF_DROP);
	};
	expect(0, "ok\tfirewall: nf_tables' \"inet filter in?put\" drops what no rule accepts, "
		  "nf_tables' \"ip6 filter input\" may filter: RDMA ports are TCP ports, and must "
		  "be open like any other\n");
}

TEST_F(Doctor, ChainsThatOnlyRootMayList)
{
	machine.write("/sys/module/nf_tables/x", "");
	machine.kernel.netfilter[NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN] =
		[](const nlmsghdr *, fake::Answer &answer) { answer.refuse(EPERM); };
	expect(0, "ok\tfirewall: nf_tables may filter: RDMA ports are TCP ports");
}

// ---- the provider ----

TEST_F(Doctor, NoLibibverbs)
{
	machine.remove(library);
	expect(7, "warn\tprovider: libibverbs is not installed\n");
}

TEST_F(Doctor, AnotherLibibverbs)
{
	machine.write(library, "IBVERBS_PRIVATE_ IBVERBS_PRIVATE_59");
	expect(8,
	       "FAIL\tprovider: /lib/here/libibverbs/libsrnic-rdmav59.so is missing, so programs "
	       "find no srnic device\n\tdo: build the provider");
}

// As after `make install PREFIX=/usr/local`: libibverbs looks for providers next to itself.
TEST_F(Doctor, AProviderThatLibibverbsDoesNotFind)
{
	machine.remove(library);
	machine.write("/usr/lib/here-linux/libibverbs.so.1", "IBVERBS_PRIVATE_34");
	expect(8,
	       "FAIL\tprovider: /usr/lib/here-linux/libibverbs/libsrnic-rdmav34.so is missing, so "
	       "programs find no srnic device\n\tdo: build the provider for the installed "
	       "rdma-core: userspace/prepare-rdma-core, make, make install "
	       "LIBDIR=/usr/lib/here-linux; or make deb, and install libsrnic1\n");
	machine.write("/usr/lib/here-linux/libibverbs/libsrnic-rdmav34.so", "");
	expect(0, "ok\tprovider: /usr/lib/here-linux/libibverbs/libsrnic-rdmav34.so\n");
}

TEST_F(Doctor, ALibibverbsWithoutAVersion)
{
	machine.write(library, "IBVERBS_PRIVATE_");
	expect(8,
	       "FAIL\tprovider: /lib/here/libibverbs.so.1 does not show its private interface\n");
}

TEST_F(Doctor, ALinkToAProviderThatIsGone)
{
	machine.remove(provider);
	ASSERT_EQ(symlink("../gone", (machine.system.root + provider).c_str()), 0);
	expect(8, "FAIL\tprovider: /lib/here/libibverbs/libsrnic-rdmav34.so is missing");
}

TEST_F(Doctor, NoDriverFile)
{
	machine.remove("/etc/here/libibverbs.d");
	expect(8, "FAIL\tdriver file: /etc/here/libibverbs.d/srnic.driver is missing, so "
		  "libibverbs does not load the provider\n");
	machine.write("/etc/here/libibverbs.d/srnic.driver", "# driver srnic\n");
	expect(8, "FAIL\tdriver file: /etc/here/libibverbs.d/srnic.driver does not name srnic");
}

// ---- a device ----

TEST_F(Doctor, NoDevice)
{
	machine.devices.clear();
	expect(8, "FAIL\tdevices: there is no srnic device\n");
}

TEST_F(Doctor, AnOlderAbi)
{
	machine.devices[0].abi = 0;
	expect(8, "FAIL\tsrnic0, ABI: the module's is 0, user space needs 1\n");
}

// A newer module may speak older versions, too.
TEST_F(Doctor, ANewerAbi)
{
	machine.devices[0].abi = 2;
	expect(7, "warn\tsrnic0, ABI: the module's is 2, user space's 1: it works if");
}

TEST_F(Doctor, NoDeviceFile)
{
	machine.remove("/dev/infiniband/uverbs3");
	expect(8, "FAIL\tsrnic0, file: there is no /dev/infiniband/uverbs3\n");
}

TEST_F(Doctor, ADeviceFileThatTheUserMayNotOpen)
{
	forbid("/dev/infiniband/uverbs3");
	expect(8, "FAIL\tsrnic0, file: this user may not open /dev/infiniband/uverbs3\n"
		  "\tdo: let a udev rule give it to a group that the user is in\n");
}

// The first question is whether the device is srnic's.
TEST_F(Doctor, ADeviceThatGoesMeanwhileIsNoMissingModule)
{
	auto answer = machine.kernel.rdma[RDMA_NLDEV_CMD_GET_CHARDEV];
	int asked = 0;

	machine.kernel.rdma[RDMA_NLDEV_CMD_GET_CHARDEV] = [&](const nlmsghdr *request,
							      fake::Answer &a) {
		if (asked++)
			a.fail(EINVAL);
		else
			answer(request, a);
	};
	expect(7,
	       "warn\tsrnic0, ABI: the kernel does not say: Invalid argument\n\tdo: try again\n"
	       "warn\tsrnic0, file: the kernel does not say: Invalid argument\n\tdo: try again\n");
}

TEST_F(Doctor, TheInterfaceIsDown)
{
	network.flags = 0;
	expect(8, "FAIL\tsrnic0, interface: eth0 is down\n\tdo: ip link set eth0 up\n");
	network.flags = IFF_UP;
	expect(8, "FAIL\tsrnic0, interface: eth0 has no carrier\n");
}

TEST_F(Doctor, TheInterfaceIsElsewhere)
{
	machine.devices[0].netdev_index = 0;
	std::string all = says(7);

	EXPECT_TRUE(
		all.ends_with("warn\tsrnic0, interface: it is in another network namespace, and "
			      "not checked from here\n"
			      "\tdo: run srnicctl there: nsenter --net=...\n"))
		<< all;
	EXPECT_EQ(all.find("warn"), all.rfind("warn"));
}

TEST_F(Doctor, TheKernelFailsToTell)
{
	machine.kernel.route.clear();
	expect(7, "warn\tsrnic0, MTU: the kernel does not say: Invalid argument\n");
}

TEST_F(Doctor, AnInterfaceThatBecameAPort)
{
	network.master = 7;
	network.part = "bridge";
	network.above = "br0";
	network.addresses = {1};
	expect(8, "FAIL\tsrnic0, interface: eth0 has become a port of br0\n"
		  "\tdo: rdma link delete srnic0 && rdma link add srnic0 type srnic netdev br0\n");
	expect(8, "FAIL\tsrnic0, addresses: a port has none\n"
		  "\tdo: make the device on what has them: see interface\n");
	network.part = "openvswitch";
	expect(8, "FAIL\tsrnic0, interface: eth0 has become a port of an Open vSwitch\n"
		  "\tdo: rdma link delete srnic0, and make it on the switch's internal "
		  "interface\n");
	network.part = "vrf";
	network.addresses = {2};
	expect(0, "ok\tsrnic0, interface: eth0 is up\n");
}

TEST_F(Doctor, ThePortMapperRuns)
{
	const std::string head = "   sl  local_address rem_address   st tx_queue rx_queue\n",
			  other = "  9: 00000000:0044 00000000:0F5F 07 00000000:00000000\n";

	machine.write("/proc/net/udp", head + other);
	expect(0, "ok\tport mapper: iwpmd does not run here\n");
	machine.write("/proc/net/udp6",
		      head + " 17: 00000000000000000000000000000000:0F5F "
			     "00000000000000000000000000000000:0000 07 00000000:00000000\n");
	expect(7, "warn\tport mapper: iwpmd runs: a connection to a peer without it begins ten "
		  "seconds late\n"
		  "\tdo: if this machine has no iWARP hardware: systemctl mask --now iwpmd\n");
}

TEST_F(Doctor, NoAddress)
{
	network.addresses = {1};
	expect(8, "FAIL\tsrnic0, addresses: eth0 has no address, and rdma_cm finds devices by "
		  "address\n"
		  "\tdo: ip addr add ADDRESS/PREFIX dev eth0\n");
}

// Programs connect its QPs by hand, by GIDs.
TEST_F(Doctor, ADeviceOfTypeSrnicIb)
{
	machine.devices = {{.index = 3, .name = "ib0", .protocol = "roce", .driver = 0x53524942}};
	machine.write("/sys/class/infiniband/ib0/ports/1/gids/0",
		      "fe80:0000:0000:0000:0002:03ff:fe04:0506\n");
	machine.allow_all("/dev/infiniband/rdma_cm");
	network.addresses.clear();
	network.ipv6 = {"fe80::2:3ff:fe04:506"};
	std::string all = says(0);

	EXPECT_NE(all.find("ok\tib0, GID 0: fe80::2:3ff:fe04:506 of eth0\n"), std::string::npos)
		<< all;
	for (const char *check : {"rdma_ucm", "port mapper", "ports", "startups", "addresses"})
		EXPECT_EQ(all.find(check), std::string::npos) << all;
	network.ipv6 = {"fe80::1", "fd00::1"};
	expect(7, "warn\tib0, GID 0: fe80::2:3ff:fe04:506 is no address of eth0, so programs that "
		  "use this GID do not connect\n"
		  "\tdo: ip -6 addr add fe80::2:3ff:fe04:506/64 dev eth0\n");
	machine.devices.push_back({.index = 4, .name = "srnic0"});
	EXPECT_NE(says(8).find("port mapper"), std::string::npos);
}

TEST_F(Doctor, OffloadsThatAreOff)
{
	network.features = {"tx-checksum-ipv4", "rx-gro"};
	expect(7, "warn\tsrnic0, offloads: off, which costs time: sg, gso\n"
		  "\tdo: ethtool -K eth0 sg on gso on\n");
}

TEST_F(Doctor, AVethNeedsNoGro)
{
	network.features.erase("rx-gro");
	expect(7, "warn\tsrnic0, offloads: off, which costs time: gro\n");
	network.kind = "veth";
	expect(0, "ok\tsrnic0, offloads: those that matter are on\n");
}

TEST_F(Doctor, OffloadsThatAreUnknown)
{
	network.ethtool = false;
	expect(0, "ok\tsrnic0, offloads: the kernel does not say\n");
}

TEST_F(Doctor, PortsThatMustBeOpen)
{
	machine.write("/sys/class/infiniband/srnic0/port_map", "3260:13260\n");
	machine.devices[0].cm_ids = {
		{8, 0, "0.0.0.0:7174", ""}, {8, 0, "[::]:7174", ""}, {8, 0, "[::]:3260", ""}};
	expect(0, "ok\tsrnic0, ports: peers connect to TCP ports that a firewall must leave open: "
		  "7174, 13260\n");
}

TEST_F(Doctor, StartupsThatFailed)
{
	machine.devices[0].counters = {{"startup_failures", 3}};
	expect(0, "ok\tsrnic0, startups: 3 connections failed to begin so far\n");
}

TEST_F(Doctor, ConnectionsToAnAddressOfNoDevice)
{
	machine.devices[0].counters = {{"startup_failures", 3}, {"startup_no_device", 1}};
	expect(7, "warn\tsrnic0, startups: 1 connection came for an address of no device, as one "
		  "on lo or a dummy interface\n"
		  "\tdo: have peers connect to an address of a device's interface; the kernel log "
		  "has the others\n");
}

TEST_F(Doctor, ConnectionsThatFoundNoRoom)
{
	machine.devices[0].counters = {{"startup_gave_way", 2}, {"backlog_full", 5}};
	expect(7, "warn\tsrnic0, startups: 2 connections owed a Request when the port was full; 5 "
		  "connections met a program whose backlog was full\n"
		  "\tdo: look for peers that connect and say nothing, or raise the parameter "
		  "max_startups; have it listen with a larger backlog\n");
}

TEST_F(Doctor, WrongCrcs)
{
	machine.devices[0].counters = {{"rx_crc_errors", 1}};
	expect(7, "warn\tsrnic0, errors: 1 connection ended because of a wrong CRC\n");
}

} // namespace
