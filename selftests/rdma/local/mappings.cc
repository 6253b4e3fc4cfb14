// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Rings mapped differently from the provider, and mappings removed while the kernel works.
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "../shared/page.hh"
#include "case.hh"
#include "process.hh"

namespace {

void *map(const Pair &pair, size_t size, int prot, int flags, uint64_t offset)
{
	return mmap(nullptr, size, prot, flags, pair.client.id->verbs->cmd_fd,
		    static_cast<off_t>(offset));
}

void refused(const char *how, const Pair &pair, size_t size, int prot, int flags, uint64_t offset)
{
	require(map(pair, size, prot, flags, offset) == MAP_FAILED,
		std::string("a ring can be mapped ") + how);
}

void wrong_mmaps()
{
	constexpr int rw = PROT_READ | PROT_WRITE;
	Pair pair(address);

	for (const Ring &ring : pair.rings) {
		if (ring.size() > page)
			refused("in part", pair, ring.size() - page, rw, MAP_SHARED, ring.offset);
		refused("with more behind it", pair, ring.size() + page, rw, MAP_SHARED,
			ring.offset);
		refused("from elsewhere", pair, ring.size(), rw, MAP_SHARED,
			ring.offset + (1ull << 40));
		refused("from the end of offsets", pair, ring.size(), rw, MAP_SHARED, ~0ull << 13);
		refused("privately", pair, ring.size(), rw, MAP_PRIVATE, ring.offset);
		refused("executable", pair, ring.size(), rw | PROT_EXEC, MAP_SHARED, ring.offset);
	}
	pair.exercise();
}

void no_execution_later()
{
	Pair pair(address);

	for (const Ring &ring : pair.rings)
		require(mprotect(const_cast<srnic_ring_hdr *>(ring.header), ring.size(),
				 PROT_READ | PROT_EXEC) &&
				errno == EACCES,
			"a mapped ring can be made executable");
	pair.exercise();
}

// Offsets are valid only in their own context.
void offsets_of_another_process()
{
	Pair pair(address);

	in_child([&] {
		Context other;

		for (const Ring &ring : pair.rings)
			require(mmap(nullptr, ring.size(), PROT_READ | PROT_WRITE, MAP_SHARED,
				     other.verbs->cmd_fd,
				     static_cast<off_t>(ring.offset)) == MAP_FAILED,
				"another process maps the rings");
	});
	pair.exercise();
}

void twice_and_half_of_it_unmapped()
{
	Pair pair(address);

	for (const Ring &ring : pair.rings) {
		void *again =
			map(pair, ring.size(), PROT_READ | PROT_WRITE, MAP_SHARED, ring.offset);

		require(again != MAP_FAILED &&
				!memcmp(again, const_cast<srnic_ring_hdr *>(ring.header), 16),
			"a second mapping");
		munmap(static_cast<uint8_t *>(again) + ring.size() - page, page);
	}
	pair.exercise();
}

void mremap_moves_but_does_not_grow()
{
	Pair pair(address);

	for (const Ring &ring : pair.rings) {
		void *again =
			map(pair, ring.size(), PROT_READ | PROT_WRITE, MAP_SHARED, ring.offset);

		require(again != MAP_FAILED, "a second mapping");
		require(mremap(again, ring.size(), ring.size() + page, MREMAP_MAYMOVE) ==
				MAP_FAILED,
			"a mapping grows");
		void *place =
			mmap(nullptr, ring.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *moved = mremap(again, ring.size(), ring.size(), MREMAP_MAYMOVE | MREMAP_FIXED,
				     place);
		require(moved == place && *static_cast<uint32_t *>(moved) == SRNIC_RING_MAGIC,
			"a mapping moves");
	}
	pair.exercise();
}

void post_everywhere(Pair &pair)
{
	for (uint64_t i = 0; i < 16; i++) {
		pair.server.post_recv(i, 65536);
		pair.client.post_send(i, 65536);
		pair.server.post_write(i, 65536, pair.client);
	}
}

// Only the process itself loses by it; the kernel has its own mappings.
void taken_away(const std::function<void(const Ring &)> &take)
{
	for (int round = 0; round < 3; round++)
		in_child([&] {
			Pair pair(address);

			post_everywhere(pair);
			for (const Ring &ring : pair.rings)
				take(ring);
			pair.client.ring_doorbell();
			pair.server.ring_doorbell();
			sleep_ms(10);
			_exit(0);
		});
}

void munmap_meanwhile()
{
	taken_away([](const Ring &ring) {
		munmap(const_cast<srnic_ring_hdr *>(ring.header), ring.size());
	});
}

void replaced_meanwhile()
{
	taken_away([](const Ring &ring) {
		mmap(const_cast<srnic_ring_hdr *>(ring.header), ring.size(), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	});
}

void madvise_meanwhile()
{
	for (int advice : {MADV_DONTNEED, MADV_REMOVE, MADV_FREE, MADV_COLD, MADV_PAGEOUT,
			   MADV_HUGEPAGE, MADV_MERGEABLE})
		in_child([=] {
			Pair pair(address);

			post_everywhere(pair);
			for (const Ring &ring : pair.rings)
				madvise(const_cast<srnic_ring_hdr *>(ring.header), ring.size(),
					advice);
			pair.client.ring_doorbell();
			pair.server.ring_doorbell();
			sleep_ms(5);
			_exit(0);
		});
}

// Unmaps memory that requests refer to. It is pinned, so data still lands in it, not in others'.
void buffers_unmapped_meanwhile()
{
	in_child([] {
		Pair pair(address);
		void *memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ibv_mr *mr = ibv_reg_mr(pair.server.id->pd, memory, 1 << 20,
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

		require(mr, "ibv_reg_mr");
		munmap(memory, 1 << 20);
		for (int i = 0; i < 16; i++) {
			require(!pair.client.post_write_to(
					7, 65536, reinterpret_cast<uintptr_t>(memory), mr->rkey),
				"post_write");
			auto wc = pair.client.completion(false);
			require(wc && wc->status == IBV_WC_SUCCESS, "a Write to pinned memory");
		}
		_exit(0);
	});
}

} // namespace

Cases mapping_cases()
{
	return {
		{"mmap of a ring with another length, offset or protection is refused",
		 wrong_mmaps},
		{"a mapped ring never becomes executable", no_execution_later},
		{"the offsets of another process are refused", offsets_of_another_process},
		{"a second mapping, of which a part goes", twice_and_half_of_it_unmapped},
		{"mremap moves a ring but does not grow it", mremap_moves_but_does_not_grow},
		{"munmap of the rings with work in flight", munmap_meanwhile},
		{"other memory where the rings were, with work in flight", replaced_meanwhile},
		{"madvise on the rings with work in flight", madvise_meanwhile},
		{"munmap of registered memory with Writes in flight", buffers_unmapped_meanwhile},
	};
}
