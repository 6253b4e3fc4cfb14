// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Which memory a program may register (RFC 5040 8.1.2, RFC 5042 7.3), and that a peer cannot access
// a region after its end (RFC 5040 8.1.1).
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <thread>

#include "../shared/page.hh"
#include "case.hh"
#include "process.hh"

namespace {

const size_t some = 4 * page;
constexpr int to_write = IBV_ACCESS_LOCAL_WRITE, to_be_written = to_write | IBV_ACCESS_REMOTE_WRITE;

uint8_t *memory(int protection)
{
	void *at = mmap(nullptr, some, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(at != MAP_FAILED, "mmap");
	return static_cast<uint8_t *>(at);
}

struct Domain {
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);

	~Domain() { ibv_dealloc_pd(pd); }
	// The errno of registering this; 0: it succeeds.
	int refusal(void *at, size_t len, int access) const
	{
		ibv_mr *mr = ibv_reg_mr(pd, at, len, access);
		int error = errno;

		return mr ? ibv_dereg_mr(mr) : error;
	}
};

// Before Linux 6.2 the RDMA core gets pages for reading whatever their owner may do with them.
bool reading_is_forced()
{
	utsname kernel;
	unsigned major, minor;

	require(!uname(&kernel) && sscanf(kernel.release, "%u.%u", &major, &minor) == 2, "uname");
	return major < 6 || (major == 6 && minor < 2);
}

void what_may_not_be_written()
{
	Domain domain;
	uint8_t *readable = memory(PROT_READ);

	require(domain.refusal(readable, some, to_write) == EFAULT,
		"read-only memory is registered for writing");
	require(domain.refusal(readable, some, to_be_written) == EFAULT,
		"read-only memory is registered for remote writing");
	require(!domain.refusal(readable, some, IBV_ACCESS_REMOTE_READ),
		"read-only memory cannot be registered for reading");
	require(domain.refusal(memory(PROT_NONE), some, to_write) == EFAULT,
		"memory that nobody may access is registered for writing");
	require(reading_is_forced() || domain.refusal(memory(PROT_NONE), some, 0) == EFAULT,
		"memory that may not be read is registered");
}

void what_is_not_there()
{
	Domain domain;
	uint8_t *holed = memory(PROT_READ | PROT_WRITE);

	require(!domain.refusal(holed, some, to_be_written),
		"a program's own memory cannot be registered");
	require(!munmap(holed + 2 * page, page), "munmap");
	require(domain.refusal(holed, some, to_write) == EFAULT, "a hole is registered");
	require(domain.refusal(holed + 2 * page, 1, to_write) == EFAULT,
		"an octet of a hole is registered");
	require(!domain.refusal(holed, 2 * page, to_write),
		"what is in front of the hole cannot be registered");
	for (uint64_t kernel :
	     {uint64_t{0xffff888000000000}, uint64_t{0xffffffff81000000}, ~uint64_t{page - 1}})
		require(domain.refusal(reinterpret_cast<void *>(kernel), page,
				       IBV_ACCESS_REMOTE_READ),
			"the kernel's memory is registered");
}

// Writes, each with different data, until one is refused.
void keep_writing(End &from, uint64_t to, uint32_t rkey, std::atomic<int> &written)
{
	for (uint64_t i = 1; i < 100000; i++) {
		memset(from.buffer.data(), static_cast<int>(i), from.buffer.size());
		if (from.post_write_to(i, static_cast<uint32_t>(from.buffer.size()), to, rkey))
			return;
		auto wc = from.completion(false);
		if (!wc || wc->status != IBV_WC_SUCCESS)
			return;
		written++;
	}
}

void nothing_lands_behind_dereg_mr()
{
	for (int round = 0; round < 20; round++) {
		Pair pair(address);
		std::vector<uint8_t> &target = pair.server.buffer, then;
		std::atomic<int> written = 0;
		std::atomic<bool> refused = false;
		auto to = reinterpret_cast<uintptr_t>(target.data());
		std::thread writer([&, rkey = pair.server.mr->rkey] {
			keep_writing(pair.client, to, rkey, written);
			refused = true;
		});

		while (written < 3 && !refused)
			std::this_thread::yield();
		sleep_ms(chance() % 5);
		int ret = ibv_dereg_mr(pair.server.mr);
		then = target;
		sleep_ms(20);
		bool same = then == target;
		writer.join();
		require(!ret && written >= 3, "ibv_dereg_mr, or the Writes before it");
		pair.server.mr = nullptr;
		require(same && then == target, "octets land behind dereg_mr");
	}
}

} // namespace

Cases right_cases()
{
	return {
		{"memory that may not be written is not registered for writing",
		 what_may_not_be_written},
		{"memory that is not there, or the kernel's, is not registered", what_is_not_there},
		{"nothing lands behind dereg_mr, however fast a peer writes",
		 nothing_lands_behind_dereg_mr},
	};
}
