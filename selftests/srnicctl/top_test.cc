// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl top`: rates between two answers of the kernel.
#include "fake.hh"

#include <gtest/gtest.h>

#include <cerrno>

namespace {

class Top : public ::testing::Test {
protected:
	fake::Machine machine;
	int slept = 0;

	Top()
	{
		machine.devices = {{.index = 3, .name = "srnic0"}};
		machine.devices[0].counters = {{"tx_octets", 1000},
					       {"rx_octets", 5000},
					       {"tx_fpdus", 10},
					       {"rx_fpdus", 50}};
		machine.devices[0].qps = {fake::connected_qp(5, 77)};
		machine.devices[0].cm_ids = {{5, 5, "10.0.0.1:40000", "10.0.0.2:7174", 77}};
		machine.write("/proc/77/comm", "rping\n");
	}
	fake::Qp &qp(size_t i) { return machine.devices[0].qps[i]; }
	// Does this while top sleeps.
	void meanwhile(std::function<void()> happens)
	{
		machine.system.sleep = [=, this](double seconds) {
			machine.clock += seconds;
			slept++;
			happens();
		};
	}
	void add(fake::Qp &to, const std::string &name, uint64_t n)
	{
		to.figures[name] = std::get<uint64_t>(to.figures[name]) + n;
	}
	std::string shown(std::vector<std::string> words)
	{
		words.insert(words.begin(), "top");
		EXPECT_EQ(machine.run(words), 0) << machine.err.str();
		return machine.out.str();
	}
};

TEST_F(Top, RatesPerSecond)
{
	meanwhile([this] {
		machine.devices[0].counters["tx_octets"] += 4000;
		machine.devices[0].counters["rx_fpdus"] += 6;
		add(qp(0), "tx_octets", 3000);
		add(qp(0), "rx_octets", 1);
		add(qp(0), "sq_done", 20);
		add(qp(0), "rq_taken", 1000000);
	});
	EXPECT_EQ(shown({"-b", "-n", "1", "-d", "2"}),
		  "DEVICE  QP   PEER           PROGRAM     TX B/s  RX B/s  TX FPDU/s  RX FPDU/s  "
		  "SENDS/s  RECVS/s\n"
		  "srnic0  all  1 QP                        2.00k       0          0          3\n"
		  "srnic0  5    10.0.0.2:7174  rping (77)   1.50k       0                        "
		  "     10     500k\n\n");
	EXPECT_EQ(slept, 1);
}

TEST_F(Top, EachIterationBeginsWhereTheLastEnded)
{
	meanwhile([this] {
		if (slept == 1)
			machine.devices[0].counters["tx_octets"] += 500;
	});
	std::string text = shown({"-j", "-n", "2"});

	EXPECT_NE(text.find("\"tx_octets\":500.000"), std::string::npos);
	EXPECT_EQ(text.find("\"tx_octets\":500.000", text.find('\n')), std::string::npos);
	EXPECT_EQ(slept, 2);
}

TEST_F(Top, TheBusiestFirst)
{
	machine.devices[0].qps.push_back(fake::connected_qp(6, 77));
	machine.devices[0].qps.push_back(fake::connected_qp(7, 77));
	meanwhile([this] { add(qp(2), "rx_octets", 100), add(qp(1), "tx_octets", 50); });
	std::string text = shown({"-j", "-n", "1"});

	EXPECT_LT(text.find("\"lqpn\":7"), text.find("\"lqpn\":6"));
	EXPECT_LT(text.find("\"lqpn\":6"), text.find("\"lqpn\":5"));
}

TEST_F(Top, Json)
{
	meanwhile([this] { add(qp(0), "rx_octets", 8); });
	EXPECT_EQ(shown({"-j", "-n", "1"}),
		  "{\"format\":1,\"rates\":[{\"ifindex\":3,\"ifname\":\"srnic0\","
		  "\"tx_octets\":0.000,\"rx_octets\":0.000,"
		  "\"tx_fpdus\":0.000,\"rx_fpdus\":0.000},{\"ifindex\":3,\"ifname\":\"srnic0\","
		  "\"lqpn\":5,\"pid\":77,\"comm\":\"rping\",\"src-addr\":\"10.0.0.1:40000\","
		  "\"dst-addr\":\"10.0.0.2:7174\",\"tx_octets\":0.000,\"rx_octets\":8.000,"
		  "\"sends\":0.000,\"receives\":0.000}]}\n");
}

// The queue counts them, not the QP.
TEST_F(Top, ReceivesOfASharedQueueAreUnknown)
{
	qp(0).figures["srq"] = 1ul;
	meanwhile([this] { add(qp(0), "sq_done", 2); });
	EXPECT_TRUE(shown({"-b", "-n", "1"}).ends_with("        2\n\n")) << machine.out.str();
	machine.out.str("");
	EXPECT_TRUE(shown({"-j", "-n", "1"}).ends_with("\"sends\":2.000}]}\n"))
		<< machine.out.str();
}

// Requests are counted in 32 bits.
TEST_F(Top, CountersThatWrap)
{
	qp(0).figures["sq_done"] = 0xfffffffe;
	meanwhile([this] { qp(0).figures["sq_done"] = 3ul; });
	EXPECT_NE(shown({"-j", "-n", "1"}).find("\"sends\":5.000"), std::string::npos);
}

TEST_F(Top, ANewConnectionOfTheSameQpCountsItsOwnOctets)
{
	meanwhile([this] {
		qp(0).figures["tx_octets"] = 10ul;
		add(qp(0), "sq_done", 20);
		add(qp(0), "rq_taken", 30);
	});
	EXPECT_NE(shown({"-j", "-n", "1"})
			  .find("\"tx_octets\":10.000,\"rx_octets\":89.000,\"sends\":20.000,"
				"\"receives\":30.000"),
		  std::string::npos)
		<< machine.out.str();
}

TEST_F(Top, ANewQpCountsFromZero)
{
	meanwhile([this] { machine.devices[0].qps.push_back(fake::connected_qp(6, 77)); });
	EXPECT_NE(shown({"-j", "-n", "1"})
			  .find("\"tx_octets\":1234567.000,\"rx_octets\":89.000,\"sends\":4.000,"
				"\"receives\":4.000"),
		  std::string::npos)
		<< machine.out.str();
}

TEST_F(Top, DevicesThatComeAndGo)
{
	meanwhile([this] { machine.devices[0].index = 8; });
	EXPECT_NE(shown({"-j", "-n", "1"})
			  .find("\"ifindex\":8,\"ifname\":\"srnic0\","
				"\"tx_octets\":1000.000"),
		  std::string::npos);
}

TEST_F(Top, ANamedDeviceThatGoesEndsIt)
{
	meanwhile([this] { machine.devices.clear(); });
	EXPECT_EQ(machine.run({"top", "srnic0"}), 3);
}

TEST_F(Top, ATerminalIsCleared)
{
	machine.system.terminal = true;
	EXPECT_EQ(shown({"-n", "1"}).substr(0, 7), "\033[H\033[2J");
	machine.out.str("");
	EXPECT_EQ(shown({"-n", "1", "-b"}).substr(0, 6), "DEVICE");
}

TEST_F(Top, ItEndsWhenNobodyReads)
{
	meanwhile([this] { machine.out.setstate(std::ios::badbit); });
	EXPECT_EQ(machine.run({"top"}), 1);
	EXPECT_EQ(slept, 1);
}

} // namespace
