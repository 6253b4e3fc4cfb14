// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Descriptors closed and processes forked or ended while work is in flight in both directions.
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "case.hh"
#include "process.hh"

namespace {

// Writes and sends both ways until the queues are full, enough to be in flight for a while.
void put_in_flight(Pair &pair)
{
	for (uint64_t i = 0; i < 16; i++) {
		pair.server.post_recv(i, 65536);
		pair.client.post_recv(i, 65536);
	}
	for (uint64_t i = 0; i < 16; i++) {
		pair.client.post_write(i, 65536, pair.server);
		pair.server.post_write(i, 65536, pair.client);
		pair.client.post_send(i, 65536);
		pair.server.post_send(i, 65536);
	}
}

void unmap_rings(const Pair &pair)
{
	for (const Ring &ring : pair.rings)
		munmap(const_cast<srnic_ring_hdr *>(ring.header), ring.size());
}

// Puts work in flight, does something to the process, and lets it exit without calling the library.
void in_flight_then(const std::function<void(Pair &)> &act)
{
	for (unsigned int ms : {0u, 1u, 20u})
		in_child([&] {
			Pair pair(address);

			put_in_flight(pair);
			act(pair);
			sleep_ms(ms);
			_exit(0);
		});
}

void exit_in_flight()
{
	in_flight_then([](Pair &) {});
}

void close_uverbs()
{
	in_flight_then([](Pair &pair) { require(!close(pair.client.id->verbs->cmd_fd), "close"); });
}

// The mappings hold the file too: without them the close is the end of all objects.
void close_uverbs_and_unmap()
{
	in_flight_then([](Pair &pair) {
		require(!close(pair.client.id->verbs->cmd_fd), "close");
		unmap_rings(pair);
	});
}

void close_async()
{
	in_flight_then([](Pair &pair) {
		require(!close(pair.client.id->verbs->async_fd), "close");
		pair.client.modify_to_error();
	});
}

void close_comp_channels()
{
	in_flight_then([](Pair &pair) {
		for (End *end : {&pair.client, &pair.server}) {
			ibv_req_notify_cq(end->id->send_cq, 0);
			ibv_req_notify_cq(end->id->recv_cq, 0);
			require(!close(end->id->send_cq_channel->fd), "close");
			require(!close(end->id->recv_cq_channel->fd), "close");
		}
		put_in_flight(pair);
	});
}

// The connection belongs to the cm id: both ends lose it, and requests are flushed.
void close_cm_channels()
{
	in_child([] {
		Pair pair(address);

		require(!pair.client.post_recv(99, 65536), "post_recv");
		put_in_flight(pair);
		require(!close(pair.client.id->channel->fd) && !close(pair.server.id->channel->fd),
			"close");
		auto flushed = pair.client.completion(true);
		while (flushed && flushed->status == IBV_WC_SUCCESS)
			flushed = pair.client.completion(true);
		require(flushed && flushed->status == IBV_WC_WR_FLUSH_ERR, "nothing was flushed");
		_exit(0);
	});
}

void close_everything_from_another_thread()
{
	for (int round = 0; round < 3; round++)
		in_child([] {
			Pair pair(address);
			std::thread closing([&] {
				usleep(chance() % 3000);
				for (int fd = 3; fd < 64; fd++)
					close(fd);
			});
			for (int i = 0; i < 10; i++)
				put_in_flight(pair);
			closing.join();
			_exit(0);
		});
}

// A child does not inherit the rings. When it exits, the parent's connection goes on.
void fork_leaves_the_connection_alone()
{
	Pair pair(address);

	in_child([] { require(mapped_rings().empty(), "the child maps the rings"); });
	pair.exercise();
}

// Newer kernels (7.2, and not yet 6.12) refuse that for a driver's mappings: then no child can have
// the rings.
void inherit(const Pair &pair)
{
	for (const Ring &ring : pair.rings)
		if (madvise(const_cast<srnic_ring_hdr *>(ring.header), ring.size(), MADV_DOFORK)) {
			require(errno == EINVAL, "MADV_DOFORK");
			throw Skip("this kernel lets no child inherit a driver's mappings");
		}
}

// Descriptors and registered memory are inherited, but the parent's are unaffected.
void child_that_exits_in_flight()
{
	Pair pair(address);

	put_in_flight(pair);
	in_child([&] {
		close(pair.client.id->verbs->cmd_fd);
		memset(pair.client.buffer.data(), 1, pair.client.buffer.size());
	});
	for (int i = 0; i < 32; i++)
		for (End *end : {&pair.client, &pair.server}) {
			auto wc = end->completion(false);
			require(wc && wc->status == IBV_WC_SUCCESS,
				"a child's exit harmed a transfer");
		}
}

// A program that undoes the provider's madvise shares the rings with its child: that harms only
// these queues.
void child_that_scribbles()
{
	for (int round = 0; round < 5; round++) {
		Pair pair(address);

		inherit(pair);
		put_in_flight(pair);
		in_child([&] {
			for (const Ring &ring : pair.rings) {
				for (size_t i = 0; i < ring.slots_len; i += 1 + chance() % 16)
					ring.slots[i] ^= static_cast<uint8_t>(chance());
				ring.header->prod = ring.header->prod + (chance() & 3);
			}
		});
		put_in_flight(pair);
		pair.client.ring_doorbell();
		pair.server.ring_doorbell();
	}
}

// The queues live until the last descriptor is closed, and complete for any process that maps them.
// (uverbs takes no commands from an inherited descriptor: the child can post and poll, but not ring
// the doorbell.)
void child_that_survives_its_parent()
{
	int result[2];

	inherit(Pair(address));	// or it cannot be tried
	require(!pipe(result), "pipe");
	require(!finish(start([&] {
		Pair pair(address);

		inherit(pair);
		const pid_t parent = getpid();
		put_in_flight(pair);
		start([&] {
			while (getppid() == parent)
				sleep_ms(1);
			for (int i = 0; i < 32; i++)
				require(pair.client.completion(false).has_value(),
					"a completion is missing");
			pair.client.post_write(1, 64, pair.server);
			[[maybe_unused]] ssize_t n = write(result[1], "y", 1);
			_exit(0);
		});
		_exit(0);
	})),
		"the parent failed");
	close(result[1]);
	char got = 0;
	require(read(result[0], &got, 1) == 1,
		"the parent's work does not complete for the surviving child");
}

} // namespace

Cases process_cases()
{
	return {
		{"exit with work in flight", exit_in_flight},
		{"close of the uverbs fd with work in flight", close_uverbs},
		{"close of the uverbs fd and munmap of the rings with work in flight",
		 close_uverbs_and_unmap},
		{"close of the async event fd with work in flight", close_async},
		{"close of the completion channels with work in flight", close_comp_channels},
		{"close of the cm channels with work in flight flushes it", close_cm_channels},
		{"close of all descriptors from another thread while posting",
		 close_everything_from_another_thread},
		{"fork", fork_leaves_the_connection_alone},
		{"a child exits, and the parent's work in flight completes",
		 child_that_exits_in_flight},
		{"a child that inherited the rings scribbles", child_that_scribbles},
		{"a child lives on with the queues of its parent", child_that_survives_its_parent},
	};
}
