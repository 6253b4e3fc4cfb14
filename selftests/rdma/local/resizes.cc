// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CQs and SRQs of another size: while threads poll and messages arrive, and by commands that no
// library sends (<rdma/srnic-abi.h>, struct srnic_resize_req).
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "case.hh"
#include "process.hh"

namespace {

// Takes all completions of so many receives, which come in order of their wr_id.
void take(ibv_cq *cq, uint64_t total, std::atomic<uint64_t> &taken, std::atomic<bool> &wrong)
{
	ibv_wc wc[4];

	while (taken < total && !wrong) {
		const int n = ibv_poll_cq(cq, 4, wc);

		for (int i = 0; i < n; i++) {
			if (wc[i].wr_id != taken || wc[i].status != IBV_WC_SUCCESS)
				wrong = true;
			++taken;
		}
		if (n <= 0)
			std::this_thread::yield();
	}
}

// The receives arrive in a CQ whose size changes all the time.
void while_messages_arrive()
{
	constexpr uint64_t total = 20000, ahead = 32;
	std::atomic<uint64_t> taken{0};
	std::atomic<bool> wrong{false};
	Pair pair(address);
	ibv_cq *cq = pair.server.id->recv_cq;
	std::thread poller([&] { take(cq, total, taken, wrong); });
	std::thread resizer([&] {
		while (taken < total && !wrong) {
			const int size = 64 << chance() % 5;

			if (ibv_resize_cq(cq, size) || cq->cqe < size)
				wrong = true;
			sleep_ms(1);
		}
	});
	for (uint64_t i = 0; i < total && !wrong; i++) {
		while (i >= taken + ahead && !wrong)
			std::this_thread::yield();
		if (pair.server.post_recv(i, 64) || pair.client.post_send(i, 64) ||
		    !pair.client.completion(false))
			wrong = true;
	}
	poller.join();
	resizer.join();
	require(!wrong && taken == total, "a completion is lost, or a resize fails");
}

void too_small_for_what_is_there()
{
	Pair pair(address);
	ibv_cq *cq = pair.server.id->recv_cq;
	const int before = cq->cqe;

	for (uint64_t i = 0; i < 3; i++) {
		pair.server.post_recv(i, 64);
		require(!pair.client.post_send(i, 64) && pair.client.completion(false), "send");
	}
	sleep_ms(100);
	require(ibv_resize_cq(cq, 2) == EINVAL && cq->cqe == before, "three fit into two");
	require(ibv_resize_cq(cq, 0) == EINVAL && ibv_resize_cq(cq, -1) == EINVAL,
		"a CQ of no size");
	require(!ibv_resize_cq(cq, 4) && cq->cqe >= 4, "three do not fit into four");
	for (uint64_t i = 0; i < 3; i++)
		require(pair.server.completion(true).value().wr_id == i, "order");
	pair.exercise();
}

// An SRQ that is full before and after.
void of_an_srq()
{
	Objects objects;
	ibv_srq_init_attr init{};
	ibv_srq_attr attr{};

	init.attr.max_wr = 4;
	init.attr.max_sge = 1;
	ibv_srq *srq = ibv_create_srq(objects.pd, &init);
	require(srq, "ibv_create_srq");
	auto post = [&](uint64_t id) {
		ibv_recv_wr wr{}, *bad;

		wr.wr_id = id;
		return ibv_post_srq_recv(srq, &wr, &bad);
	};
	for (uint64_t i = 0; i < 4; i++)
		require(!post(i), "post");
	require(post(4) == ENOMEM, "more than its size");
	attr.max_wr = 2;
	require(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EINVAL, "four fit into two");
	attr.max_wr = 8;
	attr.srq_limit = 9;
	require(ibv_modify_srq(srq, &attr, static_cast<ibv_srq_attr_mask>(3)) == EINVAL,
		"a limit beyond the size");
	attr.srq_limit = 7;
	require(!ibv_modify_srq(srq, &attr, static_cast<ibv_srq_attr_mask>(3)), "a larger one");
	require(!ibv_query_srq(srq, &attr) && attr.max_wr == 8 && attr.srq_limit == 7, "query");
	for (uint64_t i = 4; i < 8; i++)
		require(!post(i), "post");
	require(post(8) == ENOMEM, "more than its new size");
	require(!ibv_destroy_srq(srq), "ibv_destroy_srq");
}

// The command alone, of one step, from a provider whose struct has one more member; 0 or an errno.
// What a longer response has room for becomes zero.
int step(const Objects &objects, uint32_t cqe, uint32_t step, uint32_t rsvd = 0,
	 uint64_t unknown = 0)
{
	uint64_t response[3] = {0, ~0ull, ~0ull}; // struct ib_uverbs_resize_cq_resp, and more
	struct { // struct ib_uverbs_resize_cq, and what follows it
		ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		uint32_t cq_handle, cqe;
		srnic_resize_req req;
		uint64_t unknown;
	} call{};

	call.hdr.command = IB_USER_VERBS_CMD_RESIZE_CQ;
	call.hdr.in_words = sizeof(call) / 4;
	call.hdr.out_words = sizeof(response) / 4;
	call.response = reinterpret_cast<uintptr_t>(response);
	call.cq_handle = objects.cq->handle;
	call.cqe = cqe;
	call.req = {step, rsvd};
	call.unknown = unknown;
	if (write(objects.fd(), &call, sizeof(call)) != sizeof(call))
		return errno;
	require(!response[1] && !response[2], "the rest of the response");
	return 0;
}

void steps_in_disorder()
{
	Objects objects;

	for (uint32_t unknown : {0u, 3u, ~0u})
		require(step(objects, 64, unknown) == EINVAL, "an unknown step is not refused");
	require(step(objects, 64, SRNIC_RESIZE_PREPARE, 1) == EOPNOTSUPP, "rsvd is not refused");
	require(step(objects, 64, SRNIC_RESIZE_PREPARE, 0, 1) == EOPNOTSUPP,
		"a member that this module does not know is not refused");
	require(step(objects, 64, SRNIC_RESIZE_SWITCH) == EINVAL, "a switch to nothing");
	for (uint32_t size : {0u, 0x80000000u, ~0u})
		require(step(objects, size, SRNIC_RESIZE_PREPARE) == EINVAL, "a CQ of any size");
	for (int i = 0; i < 100; i++)
		require(!step(objects, 1000, SRNIC_RESIZE_PREPARE), "a ring that is not used");
	require(step(objects, 64, SRNIC_RESIZE_SWITCH) == EINVAL, "a switch to another size");
	require(!step(objects, 1000, SRNIC_RESIZE_PREPARE) &&
			!step(objects, 1000, SRNIC_RESIZE_SWITCH),
		"a ring that nobody maps");
	require(step(objects, 1000, SRNIC_RESIZE_SWITCH) == EINVAL, "a switch to what is used");
	require(!ibv_resize_cq(objects.cq, 16), "the library's own, after that");
}

// Commands of two threads that do not know of each other, and destruction in the middle.
void two_threads_at_once()
{
	for (int round = 0; round < 20; round++) {
		Objects objects;
		auto some = [&](uint32_t size) {
			for (int i = 0; i < 50; i++) {
				step(objects, size, SRNIC_RESIZE_PREPARE);
				step(objects, size, SRNIC_RESIZE_SWITCH);
			}
		};
		std::thread other([&] { some(100); });

		some(round % 2 ? 100 : 1000);
		other.join();
	}
}

} // namespace

Cases resize_cases()
{
	return {
		{"a CQ changes its size while messages arrive and threads poll",
		 while_messages_arrive},
		{"a CQ does not become too small for its completions", too_small_for_what_is_there},
		{"an SRQ changes its size", of_an_srq},
		{"steps of a resize in disorder are refused", steps_in_disorder},
		{"two threads resize a CQ by commands of their own", two_threads_at_once},
	};
}
