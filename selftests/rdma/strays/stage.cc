// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stage.hh"

#include <arpa/inet.h>

#include <fstream>

namespace strays {
namespace {

const std::map<Drop, std::string> counter_of = {
	{Drop::malformed, "rx_datagrams_malformed"}, {Drop::no_qp, "rx_datagrams_no_qp"},
	{Drop::qkey, "rx_datagrams_qkey"},	     {Drop::no_receive, "rx_datagrams_no_receive"},
	{Drop::too_long, "rx_datagrams_too_long"},
};

u64 read_counter(const std::string &device, const std::string &name)
{
	std::ifstream file("/sys/class/infiniband/" + device + "/ports/1/hw_counters/" + name);
	u64 value = 0;

	expect(static_cast<bool>(file >> value), "there is a counter " + name);
	return value;
}

} // namespace

Stage::Stage(const Settings &all)
	: settings(all), port(all.device, all.address), port6(all.device, all.address6),
	  link_local(all.device, "first"), victim(port)
{
}

Way Stage::way(bool v6) const
{
	return v6 ? Way{settings.own6, settings.address6} : Way{settings.own, settings.address};
}

Way Stage::local_way() const
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, link_local.gid.raw, text, sizeof(text));
	return {settings.link_local + "%" + settings.interface,
		std::string(text) + "%" + settings.interface};
}

// Of a network of 24 bits.
std::string Stage::broadcast() const
{
	return settings.address.substr(0, settings.address.rfind('.')) + ".255";
}

int Stage::index_of(const Way &way) const
{
	if (way.destination.find('%') != std::string::npos)
		return link_local.gid_index;
	return way.is_v6() ? port6.gid_index : port.gid_index;
}

Datagram Stage::datagram_to(const ibv_qp *qp, size_t length)
{
	return {.to = qp->qp_num, .payload = payload(length, ++seed)};
}

void Stage::exercise(const Way &way)
{
	const Datagram good = datagram();

	send(good, way);
	victim.want(good, way);
}

// The RDMA core keeps counters for 10 ms, counted in ticks.
std::map<std::string, u64> Stage::counters() const
{
	std::map<std::string, u64> all;

	sleep_ms(25);
	for (const auto &[why, name] : counter_of)
		all[name] = read_counter(settings.device, name);
	return all;
}

void Stage::want_drops(Drop why, unsigned count, const std::function<void()> &send_them)
{
	const auto before = counters();

	send_them();
	for (const auto &[name, value] : counters()) {
		const auto wanted = counter_of.find(why);
		const bool is_it = wanted != counter_of.end() && wanted->second == name;
		const u64 grown = value - before.at(name);

		expect(grown == (is_it ? count : 0),
		       name + " has grown by " + std::to_string(grown));
	}
}

} // namespace strays
