// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Regions of dma-bufs: memory that another driver exports; here udmabuf, whose memory is a memfd's.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "../shared/page.hh"
#include "case.hh"
#include "process.hh"

namespace {

const size_t file_len = 16 * page, first = 2 * page, len = 8 * page;
constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// A part of a memfd, as a dma-buf.
struct Exported {
	int memfd, fd = -1;
	uint8_t *memory; // the whole memfd

	Exported() : memfd(memfd_create("exported", MFD_ALLOW_SEALING))
	{
		const int driver = open("/dev/udmabuf", O_RDWR);

		if (driver < 0)
			throw Skip("this kernel has no udmabuf");
		require(memfd >= 0 && !ftruncate(memfd, file_len) &&
				!fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK),
			"a memfd");
		void *at = mmap(nullptr, file_len, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);

		require(at != MAP_FAILED, "mmap");
		memory = static_cast<uint8_t *>(at);
		memset(memory, 1, file_len);
		udmabuf_create create{};

		create.memfd = static_cast<uint32_t>(memfd);
		create.offset = first;
		create.size = len;
		fd = ioctl(driver, UDMABUF_CREATE, &create);
		require(fd >= 0, "UDMABUF_CREATE");
		close(driver);
	}
	Exported(const Exported &) = delete;
	~Exported()
	{
		munmap(memory, file_len);
		close_descriptors();
	}
	void close_descriptors()
	{
		for (int *one : {&memfd, &fd})
			if (*one >= 0)
				close(std::exchange(*one, -1));
	}
	// Those of the memfd from here on have this value, and no others.
	void holds(size_t from, size_t length, uint8_t value) const
	{
		for (size_t i = 0; i < file_len; i++)
			require(memory[i] == (i - from < length ? value : 1),
				"byte " + std::to_string(i));
	}
};

// In several pages, and short enough for one FPDU, which is placed or not as a whole.
constexpr uint64_t iova = 0x5000000000, part = 12295;
const uint64_t offset = 2 * page - 5000;

// A connection, whose server has a part of the buffer as a region.
struct Stage : Exported, Pair {
	ibv_mr *mr;

	Stage() : Pair(address)
	{
		mr = ibv_reg_dmabuf_mr(server.id->pd, offset, part, iova + offset % page, fd,
				       rights);
		require(mr, std::string("ibv_reg_dmabuf_mr: ") + strerror(errno));
		memset(client.buffer.data(), 2, client.buffer.size());
	}
	~Stage() { end(); }
	void end()
	{
		if (mr)
			require(!ibv_dereg_mr(std::exchange(mr, nullptr)), "ibv_dereg_mr");
	}
	uint64_t base() const { return iova + offset % page; }
	void lands(uint64_t to, uint32_t length)
	{
		require(!server.post_recv(3, 0) && !client.post_write_to(2, length, to, mr->rkey) &&
				!client.post_send(3, 0),
			"posting");
		const auto wc = server.completion(true);

		require(wc && wc->status == IBV_WC_SUCCESS, "a Send behind a Write");
	}
	void is_refused(uint64_t to, uint32_t length)
	{
		require(!server.post_recv(3, 0) && !client.post_write_to(2, length, to, mr->rkey),
			"posting");
		const auto wc = server.completion(true);

		require(wc && wc->status == IBV_WC_WR_FLUSH_ERR, "the connection goes on");
		holds(0, 0, 1);
	}
};

void is_written_where_it_was_registered()
{
	Stage s;

	s.lands(s.base(), part);
	s.holds(first + offset, part, 2);
}

// What is sent is what the owner of the memory has written there.
void is_sent_from()
{
	Stage s;
	ibv_sge sge = {s.base(), static_cast<uint32_t>(part), s.mr->lkey};
	ibv_send_wr wr{}, *bad;

	memset(s.memory, 7, file_len);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	require(!s.client.post_recv(1, part) && !ibv_post_send(s.server.id->qp, &wr, &bad),
		"posting");
	const auto wc = s.client.completion(true);

	require(wc && wc->status == IBV_WC_SUCCESS && wc->byte_len == part, "a Send");
	for (size_t i = 0; i < s.client.buffer.size(); i++)
		require(s.client.buffer[i] == (i < part ? 7 : 2), "byte " + std::to_string(i));
}

void has_exact_bounds()
{
	const std::pair<uint64_t, uint32_t> rows[] = {
		{uint64_t{0} - 1, 1}, {part, 1}, {0, part + 1}};

	for (const auto &[to, length] : rows)
		Stage().is_refused(iova + offset % page + to, length);
}

void outlives_its_descriptors()
{
	Stage s;

	s.close_descriptors();
	s.lands(s.base(), part);
	s.holds(first + offset, part, 2);
}

int refusal(ibv_pd *pd, uint64_t at, size_t length, uint64_t to, int fd, int access = rights)
{
	ibv_mr *mr = ibv_reg_dmabuf_mr(pd, at, length, to, fd, access);
	const int error = errno;

	return mr ? ibv_dereg_mr(mr) : error;
}

void what_it_has_not_is_refused()
{
	Exported e;
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);

	require(refusal(pd, 0, len, 0, e.fd) == 0, "the whole buffer");
	require(refusal(pd, 0, len + 1, 0, e.fd) == EINVAL, "a byte more");
	require(refusal(pd, len, 1, 0, e.fd) == EINVAL, "the byte behind");
	require(refusal(pd, ~uint64_t{0} - page + 1, 2 * page, 0, e.fd) == EINVAL, "a wrap");
	require(refusal(pd, 0, ~size_t{0}, 0, e.fd) == EINVAL, "all there is");
	require(refusal(pd, 0, 2 * page, uint64_t{0} - page, e.fd) == EINVAL, "TOs that wrap");
	require(refusal(pd, 1, page, 0, e.fd) == EINVAL, "another place in the page");
	require(refusal(pd, 0, page, 0, e.memfd) == EINVAL, "what is no dma-buf");
	require(refusal(pd, 0, page, 0, -1) == EBADF, "no descriptor");
	require(refusal(pd, 0, page, 0, e.fd, IBV_ACCESS_REMOTE_WRITE) == EINVAL,
		"remote writing without local");
	ibv_dealloc_pd(pd);
}

// libibverbs refuses it; the module's own answer is in kunit/dmabuf_test.c.
void is_not_registered_again()
{
	Stage s;

	require(ibv_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, s.client.buffer.data(),
			     page, 0) == IBV_REREG_MR_ERR_INPUT,
		"other memory for a region of a dma-buf");
	s.lands(s.base(), part);
	s.holds(first + offset, part, 2);
}

// The peer writes all the time; after the region's end nothing lands.
void nothing_lands_after_its_end()
{
	for (int round = 0; round < 20; round++) {
		Stage s;
		const uint32_t rkey = s.mr->rkey;
		std::atomic<bool> stop = false;
		std::thread writing([&] {
			while (!stop) {
				s.client.post_write_to(2, part, s.base(), rkey);
				s.client.completion(false, 0);
			}
		});

		sleep_ms(2);
		s.end();
		memset(s.memory, 1, file_len);
		sleep_ms(5);
		stop = true;
		writing.join();
		s.holds(0, 0, 1);
	}
}

// main.cc looks whether anything is left.
void a_process_ends_with_one() { new Stage; }

} // namespace

Cases exported_cases()
{
	return {
		{"a dma-buf is written where it was registered",
		 is_written_where_it_was_registered},
		{"a Send from a dma-buf has what its owner wrote", is_sent_from},
		{"a region of a dma-buf has exact bounds", has_exact_bounds},
		{"a region of a dma-buf outlives its descriptors", outlives_its_descriptors},
		{"what a dma-buf has not is refused", what_it_has_not_is_refused},
		{"a region of a dma-buf is not registered again", is_not_registered_again},
		{"nothing lands after the end of a dma-buf's region", nothing_lands_after_its_end},
		{"a process ends with a dma-buf registered", a_process_ends_with_one},
	};
}
