// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Messages above 2 GiB (RFC 5040 1.1: up to 2^32 - 1 octets), in a guest with less memory: most of
// a buffer is one piece of memory, mapped many times. Only the parts around its 2 GiB mark and at
// its end are unique, so that data which lands 2 GiB off is seen.
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "case.hh"

namespace {

constexpr size_t stretch = 64 << 20, window = 1 << 20, mark = size_t{1} << 31;

class Huge {
public:
	explicit Huge(size_t length)
		: len(length), mapped((len / stretch + 2) * stretch),
		  fd(memfd_create("stretch", MFD_CLOEXEC))
	{
		need(fd >= 0 && !ftruncate(fd, stretch), "memfd_create");
		void *room = mmap(nullptr, mapped, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		need(room != MAP_FAILED, "mmap");
		at = static_cast<uint8_t *>(room);
		for (size_t from = 0; from < mapped; from += stretch)
			map(from, stretch, MAP_SHARED, fd);
		map(middle(), window, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		map(tail(), 2 * window, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	}
	~Huge()
	{
		munmap(at, mapped);
		close(fd);
	}
	Huge(const Huge &) = delete;

	void fill()
	{
		::fill(at, stretch, 1);
		::fill(at + middle(), window, 2);
		::fill(at + tail(), 2 * window, 3);
	}
	void expect_same(const Huge &as) const
	{
		expect(!memcmp(at, as.at, stretch), "the octets are wrong");
		expect(!memcmp(at + middle(), as.at + middle(), window),
		       "the octets around 2 GiB are wrong");
		expect(!memcmp(at + tail(), as.at + tail(), len - tail()),
		       "the last octets are wrong");
		expect(!at[len] && !at[len + 1], "an octet lies behind the end");
	}

	uint8_t *at;
	const size_t len;

private:
	size_t middle() const { return mark - window / 2; }
	size_t tail() const { return (len - window) & ~size_t{4095}; }
	void map(size_t from, size_t size, int flags, int of)
	{
		need(mmap(at + from, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, of, 0) !=
			     MAP_FAILED,
		     "mmap");
	}

	const size_t mapped;
	const int fd;
};

struct HugeTransfer {
	Joint joint{settings.there, settings.here};
	Huge ours, theirs;
	Region our_region, their_region;
	const uint32_t len;

	explicit HugeTransfer(uint64_t length) :
		ours(length), theirs(length), our_region(joint.client, ours.at, length),
		their_region(joint.server, theirs.at, length), len(static_cast<uint32_t>(length)) {}
	ibv_sge all(const Region &region) const { return region.piece(0, len); }
};

uint64_t wanted_length()
{
	if (!settings.huge)
		throw Skip("HUGE=0");
	return settings.huge;
}

void huge_write()
{
	HugeTransfer of(wanted_length());

	of.ours.fill();
	of.joint.client.post(1, IBV_WR_RDMA_WRITE, {of.all(of.our_region)}, IBV_SEND_SIGNALED,
			     of.their_region.target());
	of.joint.server.receive(2, {});
	of.joint.client.post(3, IBV_WR_SEND, {});
	of.joint.client.sends->good(1);
	of.joint.server.receives->good(2);
	of.theirs.expect_same(of.ours);
}

void huge_read()
{
	HugeTransfer of(wanted_length());

	of.theirs.fill();
	of.joint.client.post(1, IBV_WR_RDMA_READ, {of.all(of.our_region)}, IBV_SEND_SIGNALED,
			     of.their_region.target());
	expect(of.joint.client.sends->good(1).byte_len == of.len, "byte_len");
	of.ours.expect_same(of.theirs);
}

void huge_send()
{
	HugeTransfer of(wanted_length());

	of.ours.fill();
	of.joint.server.receive(1, {of.all(of.their_region)});
	of.joint.client.post(2, IBV_WR_SEND, {of.all(of.our_region)});
	expect(of.joint.server.receives->good(1).byte_len == of.len, "byte_len");
	of.joint.client.sends->good(2);
	of.theirs.expect_same(of.ours);
}

} // namespace

Cases huge_cases()
{
	return {
		{"one RDMA Write above 2 GiB", huge_write},
		{"one RDMA Read above 2 GiB, and its byte_len", huge_read},
		{"one Send above 2 GiB, and its byte_len", huge_send},
	};
}
