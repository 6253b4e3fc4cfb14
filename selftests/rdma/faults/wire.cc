// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A wire that corrupts data without TCP noticing: a tap device in each of two namespaces, and a
// forwarder between them that changes the payload of some TCP segments and corrects their checksum,
// as a bad router does. Only MPA's CRC can detect that.
//	wire NAMESPACE DEVICE NAMESPACE DEVICE PER-MILLE [SEED]
// Runs until SIGTERM; then prints how many segments it carried and how many it damaged.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

volatile sig_atomic_t stop;
unsigned long carried, damaged;
std::mt19937 chance;

[[noreturn]] void die(const std::string &what)
{
	perror(what.c_str());
	exit(1);
}

int tap_in(const char *ns, const char *name)
{
	ifreq request{};
	int fd = open((std::string("/run/netns/") + ns).c_str(), O_RDONLY);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(ns);
	close(fd);
	if ((fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK)) < 0)
		die("/dev/net/tun");
	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	request.ifr_flags = IFF_TAP | IFF_NO_PI;
	if (ioctl(fd, TUNSETIFF, &request))
		die(name);
	return fd;
}

uint16_t get16(const uint8_t *at) { return at[0] << 8 | at[1]; }

// A TCP segment inside an Ethernet frame; tcp is null if it is something else.
struct Segment {
	uint8_t *ip = nullptr, *tcp = nullptr, *payload = nullptr;
	size_t tcp_len = 0, payload_len = 0;

	Segment(uint8_t *frame, size_t len)
	{
		if (len < 14 + 40 || get16(frame + 12) != 0x0800 || frame[14] >> 4 != 4 ||
		    frame[23] != IPPROTO_TCP)
			return;
		ip = frame + 14;
		const size_t ip_header = (ip[0] & 15) * 4, ip_len = get16(ip + 2);
		if (ip_len > len - 14 || ip_len < ip_header + 20)
			return;
		tcp = ip + ip_header;
		tcp_len = ip_len - ip_header;
		payload = tcp + (tcp[12] >> 4) * 4;
		payload_len = payload > tcp + tcp_len ? 0 : tcp + tcp_len - payload;
	}

	// RFC 9293 3.1: over the pseudo header, the header and the payload.
	void make_checksum_right()
	{
		uint32_t sum = IPPROTO_TCP + tcp_len;

		tcp[16] = tcp[17] = 0;
		for (int i = 12; i < 20; i += 2)
			sum += get16(ip + i);
		for (size_t i = 0; i + 1 < tcp_len; i += 2)
			sum += get16(tcp + i);
		if (tcp_len & 1)
			sum += tcp[tcp_len - 1] << 8;
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		tcp[16] = ~sum >> 8;
		tcp[17] = ~sum;
	}
};

size_t below(size_t n) { return chance() % n; }

// One bit, one octet, a run of octets, or two halves of the payload in the wrong order.
void damage(uint8_t *at, size_t len)
{
	const size_t where = below(len), run = std::min(len - where, 1 + below(64));

	switch (below(4)) {
	case 0:
		at[where] ^= 1 << below(8);
		break;
	case 1:
		at[where] ^= 1 + below(255);
		break;
	case 2:
		at[where] ^= 1 + below(255);
		for (size_t i = 1; i < run; i++)
			at[where + i] = chance();
		break;
	default:
		at[0] ^= 0x80; // also if both halves are the same
		std::rotate(at, at + len / 2, at + len);
	}
}

void carry(int from, int to, unsigned per_mille)
{
	uint8_t frame[65536];
	const ssize_t len = read(from, frame, sizeof(frame));

	if (len <= 0)
		return;
	Segment segment(frame, len);
	if (segment.payload_len) {
		carried++;
		if (below(1000) < per_mille) {
			damage(segment.payload, segment.payload_len);
			segment.make_checksum_right();
			damaged++;
		}
	}
	if (write(to, frame, len) < 0 && errno != EIO &&
	    errno != EAGAIN) // EIO: the other end is down
		die("write");
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 6) {
		fprintf(stderr, "wire NAMESPACE DEVICE NAMESPACE DEVICE PER-MILLE [SEED]\n");
		return 2;
	}
	const unsigned per_mille = atoi(argv[5]);
	chance.seed(argc > 6 ? atoi(argv[6]) : 1);
	pollfd ends[2] = {{tap_in(argv[1], argv[2]), POLLIN, 0},
			  {tap_in(argv[3], argv[4]), POLLIN, 0}};
	struct sigaction on_term{};
	on_term.sa_handler = [](int) { stop = 1; };
	sigaction(SIGTERM, &on_term, nullptr); // without SA_RESTART: poll must return

	while (!stop) {
		if (poll(ends, 2, 200) <= 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (ends[i].revents & POLLIN)
				carry(ends[i].fd, ends[!i].fd, per_mille);
	}
	printf("%lu segments with payload, %lu of them damaged\n", carried, damaged);
	return 0;
}
