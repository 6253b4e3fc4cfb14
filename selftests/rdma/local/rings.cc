// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A user's errors give the completions and errnos that verbs define; garbage in a mapped ring gives
// an error of its QP.
#include <atomic>
#include <chrono>
#include <poll.h>
#include <thread>

#include "case.hh"

namespace {

// ---- errors ----

void expect(const std::optional<ibv_wc> &wc, uint64_t wr_id, ibv_wc_status status)
{
	require(wc.has_value(), "no completion came for " + std::to_string(wr_id));
	require(wc->wr_id == wr_id, "completion of " + std::to_string(wc->wr_id) + " instead of " +
					    std::to_string(wr_id));
	require(wc->status == status, std::string("status ") + ibv_wc_status_str(wc->status));
}

void error_flushes_receives_in_order()
{
	Pair pair(address);

	for (uint64_t i = 0; i < 8; i++)
		require(!pair.server.post_recv(i, 64), "post_recv");
	require(!pair.server.modify_to_error(), "modify_qp");
	for (uint64_t i = 0; i < 8; i++)
		expect(pair.server.completion(true), i, IBV_WC_WR_FLUSH_ERR);
}

void posting_in_error_flushes()
{
	Pair pair(address);

	require(!pair.client.modify_to_error(), "modify_qp");
	for (uint64_t i = 0; i < 200; i++) { // beyond what the queues hold
		require(!pair.client.post_recv(i, 64) && !pair.client.post_send(i, 64), "posting");
		expect(pair.client.completion(true), i, IBV_WC_WR_FLUSH_ERR);
		expect(pair.client.completion(false), i, IBV_WC_WR_FLUSH_ERR);
	}
}

void disconnect_flushes_both_ends()
{
	Pair pair(address);

	require(!pair.server.post_recv(1, 64) && !pair.client.post_recv(2, 64), "post_recv");
	require(!rdma_disconnect(pair.client.id), "rdma_disconnect");
	expect(pair.client.completion(true), 2, IBV_WC_WR_FLUSH_ERR);
	expect(pair.server.completion(true), 1, IBV_WC_WR_FLUSH_ERR);
}

void foreign_lkey_is_a_local_protection_error()
{
	Pair pair(address);

	require(!pair.server.post_recv(1, 4096) && !pair.client.post_send(7, 64, 0x5a00),
		"posting");
	expect(pair.client.completion(false), 7, IBV_WC_LOC_PROT_ERR);
	require(!pair.client.post_send(8, 64), "post_send");
	expect(pair.client.completion(false), 8, IBV_WC_WR_FLUSH_ERR);
	expect(pair.server.completion(true), 1, IBV_WC_WR_FLUSH_ERR);
}

void foreign_lkey_of_a_receive_is_a_local_protection_error()
{
	Pair pair(address);

	require(!pair.server.post_recv(1, 4096, 0x5a00) && !pair.client.post_send(7, 64),
		"posting");
	expect(pair.server.completion(true), 1, IBV_WC_LOC_PROT_ERR);
}

void beyond_the_region_is_a_local_protection_error()
{
	Pair pair(address);

	require(!pair.client.post_send(7, (1 << 16) + 1), "post_send");
	expect(pair.client.completion(false), 7, IBV_WC_LOC_PROT_ERR);
}

void full_queue_is_enomem()
{
	Pair pair(address);
	int ret = 0;

	for (int i = 0; i < 70000 && !ret; i++)
		ret = pair.client.post_recv(1, 64);
	require(ret == ENOMEM, "post_recv to a full queue gives " + std::to_string(ret));
}

// ---- garbage ----

void scribble(uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = static_cast<uint8_t>(chance());
}

// Slots full of noise, and a producer index that makes them all new.
void garbage_in_slots()
{
	for (int round = 0; round < 20; round++) {
		Pair pair(address);

		for (const Ring &ring : pair.rings)
			scribble(ring.slots, ring.slots_len);
		for (const Ring &ring : pair.rings)
			ring.header->prod = ring.header->prod + (chance() % 64);
		pair.client.ring_doorbell();
		pair.server.ring_doorbell();
	}
}

void garbage_in_headers()
{
	for (int round = 0; round < 20; round++) {
		Pair pair(address);

		pair.server.post_recv(1, 4096);
		for (const Ring &ring : pair.rings)
			scribble(reinterpret_cast<uint8_t *>(
					 const_cast<srnic_ring_hdr *>(ring.header)),
				 sizeof(srnic_ring_hdr));
		pair.client.ring_doorbell();
		pair.server.ring_doorbell();
	}
}

void producer_far_ahead()
{
	for (uint32_t jump : {65u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
		Pair pair(address);

		for (const Ring &ring : pair.rings)
			if (!ring.is_cq())
				ring.header->prod = ring.header->prod + jump;
		pair.client.ring_doorbell();
		pair.server.ring_doorbell();
	}
}

// Plausible requests of every opcode with fields from the edges.
void edge_values_in_requests()
{
	const uint64_t edges[] = {
		0, 1, 0xfff, 0x1000, 0xffffffff, ~0ull, ~0ull - 1, 1ull << 63, 0xffff888000000000};

	for (int opcode = 0; opcode < 256; opcode = opcode < 18 ? opcode + 1 : opcode * 2) {
		Pair pair(address);

		for (const Ring &ring : pair.rings) {
			if (ring.is_cq())
				continue;
			for (uint32_t i = 0; i < ring.header->entries; i++) {
				auto *wqe = reinterpret_cast<srnic_send_wqe *>(
					ring.slots + i * ring.header->slot_size);
				auto *sge = reinterpret_cast<srnic_sge *>(wqe + 1);

				scribble(reinterpret_cast<uint8_t *>(wqe), ring.header->slot_size);
				wqe->opcode = static_cast<uint8_t>(opcode);
				wqe->flags = static_cast<uint8_t>(chance() & 15);
				wqe->num_sge = static_cast<uint8_t>(chance() % 3);
				sge->addr = edges[chance() % std::size(edges)];
				sge->length =
					static_cast<uint32_t>(edges[chance() % std::size(edges)]);
				sge->lkey = chance() & 1 ? pair.client.mr->lkey
							 : 1; // 1: the key of kernel consumers
			}
			ring.header->prod = ring.header->prod + ring.header->entries;
		}
		pair.client.ring_doorbell();
		pair.server.ring_doorbell();
	}
}

// Requests that change while the kernel reads them.
void requests_that_change_meanwhile()
{
	for (int round = 0; round < 3; round++) {
		Pair pair(address);
		std::atomic<bool> stop = false;
		std::thread changing([&] {
			while (!stop)
				for (const Ring &ring : pair.rings)
					if (!ring.is_cq())
						ring.slots[chance() % ring.slots_len] ^=
							static_cast<uint8_t>(chance());
		});
		for (uint64_t i = 0; i < 200; i++) {
			pair.server.post_recv(i, 4096);
			pair.client.post_send(i, 4096);
			pair.client.post_write(i, 4096, pair.server);
			while (pair.client.completion(false, 0) || pair.server.completion(true, 0))
				;
		}
		stop = true;
		changing.join();
	}
}

void write_once_there_is_room(Pair &pair, uint64_t wr_id)
{
	using Clock = std::chrono::steady_clock;
	const auto end = Clock::now() + std::chrono::seconds(10);
	int ret;

	while ((ret = pair.client.post_write(wr_id, 64, pair.server)) == ENOMEM &&
	       Clock::now() < end)
		std::this_thread::yield();
	require(!ret, "post_write gives " + std::to_string(ret));
}

ibv_async_event next_event(ibv_context *verbs)
{
	pollfd wanted = {verbs->async_fd, POLLIN, 0};
	ibv_async_event event;

	require(poll(&wanted, 1, 10000) == 1, "no event came");
	require(!ibv_get_async_event(verbs, &event), "ibv_get_async_event");
	ibv_ack_async_event(&event);
	return event;
}

// Nothing polls: the CQ overruns, and its owner gets an event. The entries that fitted are still
// there.
void completions_that_nobody_polls()
{
	Pair pair(address);
	const ibv_cq *cq = pair.client.id->send_cq;

	for (uint64_t i = 0; i < 500; i++) {
		write_once_there_is_room(pair, i);
		pair.client.ring_doorbell();
	}
	const ibv_async_event event = next_event(pair.client.id->verbs);
	require(event.event_type == IBV_EVENT_CQ_ERR,
		std::string("event: ") + ibv_event_type_str(event.event_type));
	require(event.element.cq == cq, "the event is of another CQ");
	for (int i = 0; i < cq->cqe; i++)
		expect(pair.client.completion(false), static_cast<uint64_t>(i), IBV_WC_SUCCESS);
}

} // namespace

Cases ring_cases()
{
	return {
		{"the error state flushes receives in the order of posting",
		 error_flushes_receives_in_order},
		{"what is posted in the error state is flushed", posting_in_error_flushes},
		{"a disconnect flushes both ends", disconnect_flushes_both_ends},
		{"a send with a foreign lkey completes in LOC_PROT_ERR, what follows is flushed",
		 foreign_lkey_is_a_local_protection_error},
		{"a receive with a foreign lkey completes in LOC_PROT_ERR",
		 foreign_lkey_of_a_receive_is_a_local_protection_error},
		{"a send from beyond its region completes in LOC_PROT_ERR",
		 beyond_the_region_is_a_local_protection_error},
		{"posting to a full queue gives ENOMEM", full_queue_is_enomem},
		{"noise in the slots of all rings", garbage_in_slots},
		{"noise in the headers of all rings", garbage_in_headers},
		{"producer indices far ahead", producer_far_ahead},
		{"requests with values from the edges", edge_values_in_requests},
		{"requests that change while the kernel looks", requests_that_change_meanwhile},
		{"completions that nobody polls: the CQ overruns, and its owner gets an event",
		 completions_that_nobody_polls},
	};
}
