// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "wall.hh"

namespace {

std::string name_of(const char *what, int n) { return what + std::to_string(n); }

// The interface has no offloads: each packet is a whole one, with its checksum.
int tun(const std::string &name)
{
	const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	ifreq request{};

	request.ifr_flags = IFF_TUN | IFF_NO_PI;
	name.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
	expect(fd >= 0 && !ioctl(fd, TUNSETIFF, &request), "a tun interface");
	return fd;
}

void device_up(int n)
{
	const std::string ip = "ip -n sr" + std::to_string(n), link = name_of("tun", n);

	command(ip + " addr add " + Wall::address[n] + "/24 dev " + link + " && " + ip +
		" link set " + link + " up && nsenter --net=/run/netns/sr" + std::to_string(n) +
		" rdma link add " + name_of("srnic", n + 2) + " type srnic_ib netdev " + link);
}

bool is_syn(const uint8_t *packet, size_t len)
{
	const size_t header = (packet[0] & 15) * 4U;

	return len >= header + sizeof(tcphdr) && packet[0] >> 4 == 4 && packet[9] == IPPROTO_TCP &&
	       (packet[header + 13] & (TH_SYN | TH_ACK)) == TH_SYN;
}

} // namespace

Wall::Wall()
{
	for (int n : {0, 1}) {
		inside(name_of("sr", n), [&] { ends[n] = tun(name_of("tun", n)); });
		device_up(n);
	}
	carrier = std::thread([this] { carry(); });
}

Wall::~Wall()
{
	for (const char *device : {"srnic2", "srnic3"})
		if (system((std::string("rdma link delete ") + device).c_str()))
			printf("# failed: rdma link delete %s\n", device);
	over = true;
	carrier.join();
	close(ends[0]);
	close(ends[1]);
}

bool Wall::passes(int from, const uint8_t *packet, size_t len)
{
	if (!is_syn(packet, len) || rand_r(&seed) % 100 >= keeps_back[from])
		return true;
	kept[from]++;
	return false;
}

// A packet that the other end has no room for is lost.
void Wall::carry_one(int from)
{
	uint8_t packet[2048];
	const ssize_t len = read(ends[from], packet, sizeof(packet));
	[[maybe_unused]] ssize_t written;

	if (len > 20 && passes(from, packet, static_cast<size_t>(len)))
		written = write(ends[!from], packet, static_cast<size_t>(len));
}

void Wall::carry()
{
	while (!over) {
		pollfd ready[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};

		poll(ready, 2, 100);
		carry_one(0);
		carry_one(1);
	}
}
