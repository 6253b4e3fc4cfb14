// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl show`: whole outputs for what a kernel may report.
#include "fake.hh"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>

using fake::Device;

namespace {

class Show : public ::testing::Test {
protected:
	fake::Machine machine;

	Show()
	{
		machine.devices = {Device{.index = 3, .name = "srnic0"}};
		machine.write_settings("srnic0");
		machine.write("/proc/77/comm", "rping\n");
	}
	Device &device() { return machine.devices[0]; }
	std::string shown(const std::vector<std::string> &words = {"show"})
	{
		EXPECT_EQ(machine.run(words), 0) << machine.err.str();
		return machine.out.str();
	}
};

const std::string settings = "  framing mpa, mpa_crc on, mpa_markers off, mpa_large_fpdus off, "
			     "rdmap_swap off, local_shortcut off, peer_timeout 60, port_map none\n";

TEST_F(Show, ADeviceAlone)
{
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n" + settings);
}

TEST_F(Show, NoDevice)
{
	machine.devices.clear();
	EXPECT_EQ(shown(), "");
	EXPECT_EQ(machine.err.str(), "srnicctl: there is no srnic device: rdma link add NAME type "
				     "srnic netdev INTERFACE\n");
}

TEST_F(Show, OthersDevicesAreNotShown)
{
	machine.devices.push_back({.index = 4, .name = "siw0", .driver = 17});
	machine.devices.push_back({.index = 5, .name = "mlx5_0", .protocol = "roce"});
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n" + settings);
}

TEST_F(Show, OnlyTheOneThatIsNamed)
{
	machine.devices.push_back({.index = 4, .name = "other"});
	EXPECT_EQ(shown({"show", "srnic0"}),
		  "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n" + settings);
}

TEST_F(Show, WithoutUverbsTheSettingsTellItsDriver)
{
	machine.devices.push_back({.index = 4, .name = "siw0"});
	fake::serve(machine.kernel, &machine.devices, {.uverbs = false});
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n" + settings);
}

TEST_F(Show, InANamespaceWithoutTheInterfaceAndItsSysfs)
{
	device().netdev_index = 0;
	machine.remove("/sys");
	EXPECT_EQ(shown(),
		  "srnic0: type srnic on an interface of another network namespace, ACTIVE, 0 QPs\n"
		  "  settings not visible: /sys is of another network namespace\n");
}

TEST_F(Show, SettingsThatAreNotTheDefaults)
{
	std::string dir = "/sys/class/infiniband/srnic0/";

	machine.write(dir + "framing", "any\n");
	machine.write(dir + "mpa_crc", "0\n");
	machine.write(dir + "mpa_markers", "1\n");
	machine.write(dir + "port_map", "3260:13260 445:10445\n");
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n"
			   "  framing any, mpa_crc off, mpa_markers on, mpa_large_fpdus off, "
			   "rdmap_swap off, local_shortcut off, peer_timeout 60, "
			   "port_map 3260:13260 445:10445\n");
}

// It has other settings, and its QPs are connected by hand.
TEST_F(Show, ADeviceOfTypeSrnicIb)
{
	const std::string dir = "/sys/class/infiniband/ib0/";

	machine.devices = {
		Device{.index = 3, .name = "ib0", .protocol = "roce", .driver = 0x53524942}};
	machine.write(dir + "mpa_crc", "0\n");
	machine.write(dir + "local_shortcut", "0\n");
	machine.write(dir + "peer_timeout", "60\n");
	device().qps = {fake::connected_qp(5, 77)};
	device().qps[0].figures["framing"] = 2ul;
	device().qps[0].figures["crc"] = 0ul;
	EXPECT_EQ(shown(),
		  "ib0: type srnic_ib on eth0, ACTIVE, 1 QP\n"
		  "  mpa_crc off, local_shortcut off, peer_timeout 60\n"
		  "  QP 5: RTS, initiator, unknown -> unknown, rping (77)\n"
		  "    MPA, no CRC, acknowledged, FPDUs with up to 1454 bytes, IRD 2, ORD 1\n"
		  "    3 of 64 sends and 5 of 8 receives posted; 1.23MB sent, 89B received\n");
	machine.out.str("");
	std::string json = shown({"-j", "show", "ib0"});

	EXPECT_NE(json.find("\"ifname\":\"ib0\",\"type\":\"srnic_ib\","), std::string::npos);
	EXPECT_NE(json.find("\"framing\":\"ib\""), std::string::npos);
	fake::serve(machine.kernel, &machine.devices, {.uverbs = false});
	EXPECT_EQ(machine.run({"show", "ib0"}), 0) << "its settings show whose it is";
}

// It is connected by hand, and the peer is not there yet, or does not want it.
TEST_F(Show, AQpThatWaitsForItsPeer)
{
	fake::Qp fresh = fake::connected_qp(5, 77), refused = fresh, silent = fresh, paired = fresh;

	for (fake::Qp *qp : {&fresh, &refused, &silent, &paired}) {
		qp->figures["end"] = "never";
		qp->figures["pairing"] = 1ul;
	}
	refused.figures["pairing_reason"] = 1ul;
	silent.figures["pairing"] = 2ul;
	silent.figures["pairing_error"] = 110ul;
	paired.figures["pairing"] = 4ul;
	device().qps = {fresh, refused, silent, paired};
	EXPECT_EQ(shown(),
		  "srnic0: type srnic on eth0, ACTIVE, 4 QPs\n" + settings +
			  "  QP 5: RTS, rping (77)\n    waits for its peer\n"
			  "  QP 5: RTS, rping (77)\n    waits for its peer; the last attempt: "
			  "the QP is not in RTR or RTS\n"
			  "  QP 5: RTS, rping (77)\n    waits for its peer; the last attempt: "
			  "there was no answer (Connection timed out)\n"
			  "  QP 5: RTS, rping (77)\n");
	machine.out.str("");
	EXPECT_NE(shown({"-j", "show"})
			  .find("\"pairing\":{\"failures\":0,\"reason\":1,"
				"\"error\":0,\"text\":\"waits for its peer; the "),
		  std::string::npos);
}

TEST_F(Show, AnInitiatorOfAProgram)
{
	device().qps = {fake::connected_qp(5, 77)};
	device().cm_ids = {{5, 5, "10.0.0.1:40000", "10.0.0.2:7174", 77}};
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 1 QP\n" + settings +
				   "  QP 5: RTS, initiator, 10.0.0.1:40000 -> 10.0.0.2:7174, "
				   "rping (77)\n"
				   "    MPA, CRC, no markers, FPDUs with up to 1454 bytes, IRD 2, "
				   "ORD 1\n"
				   "    3 of 64 sends and 5 of 8 receives posted; 1.23MB sent, "
				   "89B received\n");
}

TEST_F(Show, AResponderOfTheKernelWithASharedQueue)
{
	fake::Qp qp = fake::connected_qp(6, 0);

	qp.kernel = "nvmet_rdma";
	qp.figures["initiator"] = 0ul;
	qp.figures["crc"] = 0ul;
	qp.figures["tx_markers"] = 1ul;
	qp.figures["large_fpdus"] = 1ul;
	qp.figures["mulpdu"] = 64768ul;
	qp.figures["srq"] = 1ul;
	device().qps = {qp};
	device().cm_ids = {{6, 6, "[fd00::1]:4420", "[fd00::2]:40000", 0, "nvmet_rdma"},
			   {5, 6, "[fd00::1]:4420", "[fd00::2]:40001", 0, "nvmet_rdma"}};
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 1 QP\n" + settings +
				   "  QP 6: RTS, responder, [fd00::1]:4420 <- [fd00::2]:40001, "
				   "[nvmet_rdma]\n"
				   "    MPA, no CRC, markers sent, large FPDUs with up to 64768 "
				   "bytes, IRD 2, ORD 1\n"
				   "    3 of 64 sends and receives from a shared queue posted; "
				   "1.23MB sent, 89B received\n");
}

TEST_F(Show, AConnectionWhoseBytesBypassTcp)
{
	device().qps = {fake::connected_qp(5, 77)};
	device().qps[0].figures["shortcut"] = 1ul;
	EXPECT_NE(shown().find("FPDUs with up to 1454 bytes, without TCP, IRD 2, ORD 1\n"),
		  std::string::npos);
}

TEST_F(Show, RdmaTcpAndAProcessThatIsGone)
{
	fake::Qp qp = fake::connected_qp(5, 78);

	qp.figures["framing"] = 1ul;
	qp.figures["mulpdu"] = 0ul;
	device().qps = {qp};
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 1 QP\n" + settings +
				   "  QP 5: RTS, initiator, unknown -> unknown, process (78)\n"
				   "    RDMA/TCP, CRC, IRD 2, ORD 1\n"
				   "    3 of 64 sends and 5 of 8 receives posted; 1.23MB sent, "
				   "89B received\n");
}

TEST_F(Show, WhyTheLastConnectionEnded)
{
	fake::Qp qp = fake::connected_qp(5, 77);

	qp.state = 6;
	qp.figures["state"] = 3ul;
	qp.figures["rx_markers"] = 1ul;
	qp.figures["end"] = "terminate";
	qp.figures["end_detail"] = 0x1202ul;
	device().qps = {qp};
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 1 QP\n" + settings +
				   "  QP 5: ERR, initiator, unknown -> unknown, rping (77)\n"
				   "    MPA, CRC, markers received, FPDUs with up to 1454 bytes, "
				   "IRD 2, ORD 1\n"
				   "    3 of 64 sends and 5 of 8 receives posted; 1.23MB sent, "
				   "89B received\n"
				   "    ended: Terminate received: untagged message: no receive "
				   "was posted for it (0x1202)\n");
}

TEST_F(Show, AQpThatWasNeverConnected)
{
	fake::Qp qp = fake::connected_qp(5, 77);

	qp.state = 1;
	qp.figures["end"] = "never";
	device().qps = {qp, {6, 0}};
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 2 QPs\n" + settings +
				   "  QP 5: INIT, rping (77)\n"
				   "  QP 6: RESET\n");
}

// Its own state says nothing: it was reset, and waits for its next connection.
TEST_F(Show, AQpThatWasResetKeepsItsEnd)
{
	fake::Qp qp = fake::connected_qp(5, 77);

	qp.state = 0;
	qp.figures["state"] = 0ul;
	qp.figures["end"] = "closed";
	device().qps = {qp};
	EXPECT_NE(shown().find("  QP 5: RESET, initiator, unknown -> unknown, rping (77)\n"),
		  std::string::npos);
	EXPECT_NE(shown().find("    ended: closed at this end\n"), std::string::npos);
}

// Between the kernel's reading of one index and the next the queue went on.
TEST_F(Show, IndicesThatDoNotMatch)
{
	fake::Qp qp = fake::connected_qp(5, 77);

	qp.figures["sq_done"] = 8ul;
	qp.figures["rq_posted"] = 2ul;
	qp.figures["rq_taken"] = 0xffffffff;
	device().qps = {qp};
	EXPECT_NE(shown().find("    0 of 64 sends and 3 of 8 receives posted;"), std::string::npos);
}

const fake::Queue busy_cq = {.number = 2,
			     .pid = 77,
			     .figures = {{"id", 1ul},
					 {"entries", 256ul},
					 {"produced", 2ul}, // the indices wrap
					 {"consumed", 0xfffffffful},
					 {"peak", 17ul},
					 {"overrun", 0ul}}};
const fake::Queue armed_srq = {
	.number = 9,
	.kernel = "nvmet_rdma",
	.figures = {{"entries", 8ul}, {"posted", 105ul}, {"taken", 100ul}, {"limit", 2ul}}};

TEST_F(Show, HowFullQueuesAre)
{
	fake::Queue lost = busy_cq, not_armed = armed_srq;

	lost.number = 3;
	lost.pid = 0;
	lost.figures["overrun"] = 1ul;
	not_armed.figures["limit"] = 0ul;
	device().cqs = {busy_cq, lost};
	device().srqs = {armed_srq, not_armed};
	EXPECT_EQ(shown(),
		  "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n" + settings +
			  "  CQ 2: 3 of 256 completions waiting, 17 at most, rping (77)\n"
			  "  CQ 3: 3 of 256 completions waiting, 17 at most, some were lost\n"
			  "  SRQ 9: 5 of 8 receives posted, event below 2, [nvmet_rdma]\n"
			  "  SRQ 9: 5 of 8 receives posted, [nvmet_rdma]\n");
}

// Before Linux 6.7 there are none of SRQs; an older module has some.
TEST_F(Show, QueuesWithoutFiguresAreNotShown)
{
	fake::Queue cq = busy_cq, srq = armed_srq;

	cq.figures.erase("consumed");
	srq.figures.erase("posted");
	device().cqs = {cq};
	device().srqs = {srq, {.number = 9, .pid = 77}};
	EXPECT_EQ(shown(), "srnic0: type srnic on eth0, ACTIVE, 0 QPs\n" + settings);
}

TEST_F(Show, WhoListens)
{
	machine.write("/sys/class/infiniband/srnic0/port_map", "3260:13260\n");
	device().cm_ids = {{8, 0, "0.0.0.0:7174", "", 77}, {8, 0, "[::]:3260", "", 0, "isert"}};
	EXPECT_NE(shown().find("  listening on 0.0.0.0:7174 rping (77)\n"
			       "  listening on [::]:3260 (TCP port 13260) [isert]\n"),
		  std::string::npos);
}

TEST_F(Show, NamesCannotSteerTheTerminal)
{
	device().netdev = "\033[2J";
	device().qps = {fake::connected_qp(5, 77)};
	machine.write("/proc/77/comm", "\033]0;x\a\n");
	EXPECT_EQ(shown().find('\033'), std::string::npos);
	EXPECT_NE(shown().find("on ?[2J"), std::string::npos);
}

// ---- one line each ----

TEST_F(Show, Short)
{
	fake::Qp shared = fake::connected_qp(6, 0), fresh = {7, 0};

	shared.kernel = "nvmet_rdma";
	shared.figures["srq"] = 1ul;
	device().qps = {fake::connected_qp(5, 77), shared, fresh};
	device().cm_ids = {{5, 5, "10.0.0.1:40000", "10.0.0.2:7174", 77}};
	EXPECT_EQ(shown({"show", "-s"}),
		  "DEVICE  QP   STATE   PEER           PROGRAM       SENDS   RECVS   TX B  RX B\n"
		  "srnic0  all  ACTIVE  eth0           3 QPs\n"
		  "srnic0  5    RTS     10.0.0.2:7174  rping (77)     3/64     5/8  1.23M    89\n"
		  "srnic0  6    RTS                    [nvmet_rdma]   3/64  shared  1.23M    89\n"
		  "srnic0  7    RESET                                  0/0     0/0      0     0\n");
}

// ---- some of it ----

class ShowSome : public Show {
protected:
	ShowSome()
	{
		machine.devices.push_back(Device{.index = 4, .name = "idle"});
		device().qps = {fake::connected_qp(5, 77), fake::connected_qp(6, 77),
				fake::connected_qp(7, 78)};
		device().cm_ids = {{5, 5, "10.0.0.1:40000", "10.0.0.2:7174", 77},
				   {5, 6, "[fd00::1]:40000", "[fd00::2]:7175", 77},
				   {8, 0, "[::]:7174", "", 77},
				   {8, 0, "[::]:7175", "", 78}};
		device().cqs = {{.number = 2, .pid = 77, .figures = {{"consumed", 0ul}}},
				{.number = 3, .pid = 78, .figures = {{"consumed", 0ul}}}};
	}
	// The objects that are shown: "QP 5", "CQ 2", "listening".
	std::vector<std::string> objects(std::vector<std::string> words)
	{
		std::vector<std::string> found;
		std::string line;

		machine.out.str("");
		words.insert(words.begin(), "show");
		std::istringstream lines(shown(words));
		while (std::getline(lines, line))
			if (line.starts_with("  QP") || line.starts_with("  CQ") ||
			    line.starts_with("  listening"))
				found.push_back(line.substr(2, line.find_first_of(":[") - 2));
		return found;
	}
	using Objects = std::vector<std::string>;
};

TEST_F(ShowSome, ByQp)
{
	EXPECT_EQ(objects({"--qp=6"}), Objects{"QP 6"});
	EXPECT_EQ(machine.out.str().find("idle"), std::string::npos);
}

TEST_F(ShowSome, ByPid)
{
	EXPECT_EQ(objects({"--pid", "78"}), (Objects{"listening on ", "QP 7", "CQ 3"}));
}

TEST_F(ShowSome, ByPeer)
{
	EXPECT_EQ(objects({"--peer=10.0.0.2"}), Objects{"QP 5"});
	EXPECT_EQ(objects({"--peer=10.0.0.2:7174"}), Objects{"QP 5"});
	EXPECT_EQ(objects({"--peer=[FD00:0::2]:7175"}), Objects{"QP 6"});
	EXPECT_EQ(objects({"--peer=[fd00::2]"}), Objects{"QP 6"});
	EXPECT_EQ(objects({"--peer=fd00::2"}), Objects{"QP 6"});
}

TEST_F(ShowSome, AllMustApply)
{
	EXPECT_EQ(objects({"--pid=77", "--peer=fd00::2"}), Objects{"QP 6"});
	EXPECT_EQ(objects({"--pid=77", "--qp=5"}), Objects{"QP 5"});
	EXPECT_EQ(objects({"--pid=77", "--qp=7"}), Objects{});
}

TEST_F(ShowSome, NothingMatches)
{
	EXPECT_EQ(objects({"--peer=10.0.0.2:7175"}), Objects{});
	EXPECT_EQ(machine.out.str(), "");
	EXPECT_EQ(machine.err.str(), "srnicctl: nothing matches\n");
	EXPECT_EQ(shown({"show", "-j", "--pid=1"}), "{\"format\":1,\"devices\":[]}\n");
}

TEST_F(ShowSome, InJson)
{
	std::string json = shown({"show", "-j", "--qp=7"});

	EXPECT_NE(json.find("\"lqpn\":7"), std::string::npos);
	EXPECT_EQ(json.find("\"lqpn\":5"), std::string::npos);
}

// ---- JSON ----

TEST_F(Show, JsonOfNothing)
{
	machine.devices.clear();
	EXPECT_EQ(shown({"-j", "show"}), "{\"format\":1,\"devices\":[]}\n");
	EXPECT_EQ(machine.err.str(), "");
}

const std::string json_head =
	"{\"format\":1,\"devices\":[{\"ifindex\":3,\"ifname\":\"srnic0\",\"type\":\"srnic\","
	"\"state\":\"ACTIVE\",\"physical_"
	"state\":\"LINK_UP\","
	"\"netdev\":\"eth0\",\"netdev_index\":2,\"settings\":{\"framing\":\"mpa\",\"mpa_crc\":true,"
	"\"mpa_markers\":false,\"mpa_large_fpdus\":false,\"rdmap_swap\":false,"
	"\"local_shortcut\":false,\"peer_timeout\":60,\"port_map\":\"\"},";

TEST_F(Show, JsonOfAConnection)
{
	device().qps = {fake::connected_qp(5, 77)};
	device().cm_ids = {{5, 5, "10.0.0.1:40000", "10.0.0.2:7174", 77},
			   {8, 0, "[::]:3260", "", 0, "isert"}};
	EXPECT_EQ(shown({"show", "-j"}),
		  json_head + "\"listening\":[{\"src-addr\":\"[::]:3260\",\"tcp-port\":3260,"
			      "\"comm\":\"isert\"}],\"connections\":[{\"lqpn\":5,\"state\":\"RTS\","
			      "\"pid\":77,\"comm\":\"rping\",\"src-addr\":\"10.0.0.1:40000\","
			      "\"dst-addr\":\"10.0.0.2:7174\",\"role\":\"initiator\",\"framing\":"
			      "\"mpa\",\"crc\":true,\"tx_markers\":false,\"rx_markers\":false,"
			      "\"large_fpdus\":false,\"shortcut\":false,\"mulpdu\":1454,"
			      "\"ird\":2,\"ord\":1,\"tx_octets\":1234567,\"rx_octets\":89,"
			      "\"sq\":{\"entries\":64,\"outstanding\":3,"
			      "\"completed\":4},\"srq\":false,"
			      "\"rq\":{\"entries\":8,"
			      "\"available\":5,\"taken\":4}}],\"cqs\":[],\"srqs\":[]}]}\n");
}

TEST_F(Show, JsonOfEnds)
{
	fake::Qp check = fake::connected_qp(5, 0), idle = fake::connected_qp(6, 0);

	check.figures["end"] = "check";
	check.figures["end_check"] = "crc";
	check.figures["framing"] = 1ul;
	check.figures["srq"] = 1ul;
	idle.figures["end"] = "never";
	idle.state = 0;
	device().qps = {check, idle};
	EXPECT_EQ(
		shown({"show", "-j"}),
		json_head +
			"\"listening\":[],\"connections\":[{\"lqpn\":5,\"state\":\"RTS\",\"role\":"
			"\"initiator\",\"framing\":\"rdmatcp\",\"crc\":true,\"tx_markers\":false,"
			"\"rx_markers\":false,\"large_fpdus\":false,\"shortcut\":false,"
			"\"mulpdu\":1454,\"ird\":2,\"ord\":1,\"tx_octets\":1234567,"
			"\"rx_octets\":89,\"sq\":{\"entries\":64,\"outstanding\":3,"
			"\"completed\":4},"
			"\"srq\":true,\"end\":{\"reason\":\"check\","
			"\"check\":\"crc\",\"text\":\"error found here: a segment of the "
			"peer failed the check crc\"}},{\"lqpn\":6,\"state\":"
			"\"RESET\",\"sq\":{\"entries\":64,"
			"\"outstanding\":3,\"completed\":4},\"srq\":false,\"rq\":{\"entries\":8,"
			"\"available\":5,\"taken\":4}}],\"cqs\":[],\"srqs\":[]}]}\n");
}

TEST_F(Show, JsonOfQueues)
{
	device().cqs = {busy_cq};
	device().srqs = {armed_srq};
	EXPECT_EQ(shown({"show", "-j"}),
		  json_head + "\"listening\":[],\"connections\":[],\"cqs\":[{\"cqn\":2,\"pid\":77,"
			      "\"comm\":\"rping\",\"entries\":256,\"waiting\":3,\"peak\":17,"
			      "\"produced\":2,\"overrun\":false}],\"srqs\":[{\"srqn\":9,\"comm\":"
			      "\"nvmet_rdma\",\"entries\":8,\"available\":5,\"taken\":100,"
			      "\"limit\":2}]}]}\n");
}

TEST_F(Show, JsonWithLineBreaks)
{
	EXPECT_TRUE(shown({"-p", "show"})
			    .starts_with("{\n    \"format\": 1,\n    "
					 "\"devices\": [\n        {\n"))
		<< machine.out.str();
}

// ---- errors ----

TEST_F(Show, ADeviceThatGoesMeanwhileIsLeftOut)
{
	for (uint16_t command :
	     {RDMA_NLDEV_CMD_PORT_GET, RDMA_NLDEV_CMD_STAT_GET, RDMA_NLDEV_CMD_RES_CM_ID_GET,
	      RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_CMD_RES_SRQ_GET}) {
		auto answer = machine.kernel.rdma[command];

		machine.out.str("");
		machine.kernel.rdma[command] = [](const nlmsghdr *, fake::Answer &a) {
			a.fail(EINVAL);
		};
		EXPECT_EQ(shown({"show", "-j"}), "{\"format\":1,\"devices\":[]}\n") << command;
		machine.out.str("");
		EXPECT_EQ(machine.run({"show", "-j", "srnic0"}), 3) << command;
		EXPECT_EQ(machine.out.str(), "") << command;
		machine.kernel.rdma[command] = answer;
	}
}

TEST_F(Show, AListThatBreaksOffIsNotShown)
{
	machine.kernel.rdma[RDMA_NLDEV_CMD_RES_CM_ID_GET] = [](const nlmsghdr *, fake::Answer &a) {
		a.message(0, NLM_F_MULTI).fail(ENOMEM);
	};
	EXPECT_EQ(machine.run({"show"}), 1);
	EXPECT_EQ(machine.out.str(), "");
	EXPECT_EQ(machine.err.str(), "srnicctl: netlink: Cannot allocate memory\n");
}

} // namespace
