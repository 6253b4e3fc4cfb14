// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Concurrent operations, and what must hold of their order.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

#include "case.hh"
#include "process.hh"
#include "raw_peer.hh"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds a_while(1500);

// ---- QP numbers ----

// An idle QP of its own context.
struct IdleQp {
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);
	ibv_cq *cq = ibv_create_cq(context.verbs, 16, nullptr, nullptr, 0);
	ibv_qp *qp = nullptr;

	void create()
	{
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = cq;
		init.cap = {4, 4, 1, 1, 0};
		init.qp_type = IBV_QPT_RC;
		qp = ibv_create_qp(pd, &init);
		require(qp, "ibv_create_qp");
	}
	void destroy() { require(!ibv_destroy_qp(qp), "ibv_destroy_qp"); }
	ibv_qp_state state() const
	{
		ibv_qp_attr attr;
		ibv_qp_init_attr init;

		require(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
		return attr.qp_state;
	}
};

// rdma_connect() of a QP that is known by its number only; 0 or an errno. It fails at once if
// nothing listens.
int connect_by_number(uint32_t number, const char *port = "7199")
{
	rdma_addrinfo hints{}, *found;
	rdma_conn_param param{};
	rdma_cm_id *id = nullptr;
	int ret;

	hints.ai_port_space = RDMA_PS_TCP;
	require(!rdma_getaddrinfo(address.c_str(), port, &hints, &found), "rdma_getaddrinfo");
	require(!rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	param.qp_num = number;
	ret = rdma_resolve_addr(id, found->ai_src_addr, found->ai_dst_addr, 2000)
		      ?: rdma_resolve_route(id, 2000);
	require(!ret, "resolving the local address");
	ret = rdma_connect(id, &param) ? errno : 0;
	rdma_freeaddrinfo(found);
	rdma_destroy_id(id);
	return ret;
}

// The next QP numbers, tried before and while QPs with them are created and destroyed.
void guessed_numbers()
{
	IdleQp probe;

	probe.create();
	const uint32_t first = probe.qp->qp_num;
	probe.destroy();
	pid_t guessing = start([=] {
		for (uint32_t i = 0;; i++)
			connect_by_number(first + i % 512);
	});
	for (auto end = Clock::now() + a_while; Clock::now() < end;) {
		probe.create();
		probe.destroy();
	}
	kill_alive(guessing);
}

void own_number_while_it_goes()
{
	std::atomic<uint32_t> number = 0;
	std::atomic<bool> stop = false;
	std::thread connecting([&] {
		while (!stop)
			if (uint32_t n = number)
				connect_by_number(n);
	});
	{
		IdleQp probe;

		for (auto end = Clock::now() + a_while; Clock::now() < end;) {
			probe.create();
			number = probe.qp->qp_num;
			usleep(chance() % 2000);
			probe.destroy();
		}
	}
	stop = true;
	connecting.join();
}

// iw_cm connects any QP number it is given. Numbers are no secret: one must not be enough to
// connect another process's QP.
void number_of_another_process()
{
	IdleQp victim;
	RawPeer peer(address, "7198");

	victim.create();
	in_child([&] {
		require(connect_by_number(victim.qp->qp_num, "7198"),
			"another process's QP can be connected");
	});
	require(victim.state() == IBV_QPS_INIT, "another process's QP has moved");
}

// ---- inspection ----

void inspected_meanwhile()
{
	pid_t inspecting = start([] {
		for (;;)
			if (system("for what in qp cq mr pd cm_id srq ctx; do rdma -dd resource "
				   "show $what; done "
				   ">/dev/null 2>&1; "
				   "rdma resource show >/dev/null"))
				_exit(1);
	});
	pid_t creating = start([] {
		for (IdleQp probe;;) {
			probe.create();
			probe.destroy();
		}
	});
	for (auto end = Clock::now() + a_while; Clock::now() < end;)
		Pair(address).exercise();
	kill_alive(creating);
	kill_alive(inspecting);
}

// ---- order of completions ----

// What a queue has posted and polled. Completions must come in this order, each once, and no
// successful one after a failed one.
struct Queue {
	const char *name;
	uint64_t posted = 0, polled = 0;
	bool failed = false;

	static constexpr uint64_t depth = 64;
	bool has_room() const { return posted - polled < depth; }
	void note(const ibv_wc &wc)
	{
		require(wc.wr_id == polled, std::string(name) + ": completion of " +
						    std::to_string(wc.wr_id) + " instead of " +
						    std::to_string(polled));
		require(!failed || wc.status != IBV_WC_SUCCESS,
			std::string(name) + ": success after an error");
		failed |= wc.status != IBV_WC_SUCCESS;
		polled++;
	}
};

void turn(Pair &pair, Queue &sends, Queue &receives)
{
	while (receives.has_room() && !pair.server.post_recv(receives.posted, 4096))
		receives.posted++;
	for (int i = 0; i < 8 && sends.has_room() && receives.posted - sends.posted > 8; i++) {
		int ret = sends.posted % 3
				  ? pair.client.post_send(sends.posted, chance() % 4096)
				  : pair.client.post_write(sends.posted, 20000, pair.server);
		if (ret)
			break;
		sends.posted++;
	}
	while (auto wc = pair.client.completion(false, 0))
		sends.note(*wc);
	while (auto wc = pair.server.completion(true, 0))
		receives.note(*wc);
}

void in_order_until(const std::function<void(Pair &)> &end_of_it)
{
	for (int round = 0; round < 4; round++) {
		Pair pair(address);
		Queue sends{"send queue"}, receives{"receive queue"};

		for (unsigned long i = 10 + chance() % 40; i; i--)
			turn(pair, sends, receives);
		end_of_it(pair);
		const auto late = Clock::now() + std::chrono::seconds(10);
		// slots are reused, also in the error state
		for (int i = 0; i < 20 || !(sends.failed && receives.failed); i++) {
			turn(pair, sends, receives);
			require(Clock::now() < late, "nothing is flushed");
		}
		while (sends.polled < sends.posted || receives.polled < receives.posted) {
			bool of_sends = sends.polled < sends.posted;
			auto wc = of_sends ? pair.client.completion(false)
					   : pair.server.completion(true);

			require(wc.has_value(), std::string(of_sends ? sends.name : receives.name) +
							": a completion is missing");
			(of_sends ? sends : receives).note(*wc);
		}
		require(!pair.client.completion(false, 5) && !pair.server.completion(true, 5),
			"a completion too many");
	}
}

void flush_after_local_error()
{
	in_order_until([](Pair &pair) { pair.client.modify_to_error(); });
}

void flush_after_peers_error()
{
	in_order_until([](Pair &pair) { pair.server.modify_to_error(); });
}

void flush_after_disconnect()
{
	in_order_until([](Pair &pair) { rdma_disconnect(pair.client.id); });
}

void states_from_many_threads()
{
	for (int round = 0; round < 4; round++) {
		Pair pair(address);
		auto moving = [](End &end, int seed) {
			std::mt19937 own(static_cast<unsigned int>(seed));

			for (int i = 0; i < 200; i++) {
				constexpr ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT,
								   IBV_QPS_ERR, IBV_QPS_SQD,
								   IBV_QPS_RTS};
				ibv_qp_attr attr{};

				attr.qp_state = states[own() % std::size(states)];
				ibv_modify_qp(end.id->qp, &attr, IBV_QP_STATE);
				end.ring_doorbell();
			}
		};
		for (uint64_t i = 0; i < 32; i++) {
			pair.server.post_recv(i, 65536);
			pair.client.post_send(i, 65536);
		}
		std::thread threads[] = {std::thread(moving, std::ref(pair.client), round),
					 std::thread(moving, std::ref(pair.client), round + 100),
					 std::thread(moving, std::ref(pair.server), round + 200)};
		for (std::thread &thread : threads)
			thread.join();
	}
}

// ---- the engine goes idle during a post ----

void posts_from_many_threads()
{
	constexpr int threads = 4, each = 1500;
	Pair pair(address);
	std::atomic<int> credits = 48, done = 0;
	std::vector<std::thread> posting;

	for (unsigned int t = 0; t < threads; t++)
		posting.emplace_back([&, t] {
			std::mt19937 own(t);

			for (int i = 0; i < each; i++) {
				while (credits.fetch_sub(1) <= 0) {
					credits++;
					std::this_thread::yield();
				}
				pair.client.post_write(1, 1 + own() % 256, pair.server);
				if (own() % 4 == 0)
					usleep(own() % 100);
			}
		});
	std::string failure;
	while (done < threads * each && failure.empty()) {
		auto wc = pair.client.completion(false);

		if (!wc)
			failure =
				"a wakeup was lost after " + std::to_string(done) + " completions";
		else if (wc->status != IBV_WC_SUCCESS)
			failure = ibv_wc_status_str(wc->status);
		credits++;
		done++;
	}
	if (!failure.empty())
		credits = threads * each;
	for (std::thread &thread : posting)
		thread.join();
	require(failure.empty(), failure);
}

// ---- a Terminate that cannot be sent ----

// RFC 5040 6.2.1: the connection gets closed, whatever the peer does: here it reads nothing, and
// its FPDU has no CRC.
void peer_that_never_reads()
{
	RawPeer peer(address, "7197");
	End end;
	ibv_qp_attr attr;
	ibv_qp_init_attr init;

	end.adopt(create_ep(address, 0, "7197"));
	require(!rdma_connect(end.id, nullptr), "rdma_connect");
	peer.wait();
	for (uint64_t i = 0; i < 64; i++)
		require(!end.post_write_to(i, 65536, 0, 1), "post_write");
	sleep_ms(100);
	peer.send(std::string("\0\x14\x41\x40", 4) + std::string(24, 'x'));
	auto begin = Clock::now();
	for (uint64_t i = 0; i < 64; i++) {
		auto wc = end.completion(false, 4000);

		require(wc && wc->wr_id == i, "a Write that cannot be sent is not flushed");
	}
	do {
		require(Clock::now() - begin < std::chrono::seconds(20),
			"the QP waits for ever to send a Terminate");
		sleep_ms(20);
		require(!ibv_query_qp(end.id->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	} while (attr.qp_state != IBV_QPS_ERR);
	require(Clock::now() - begin > std::chrono::seconds(3),
		"the peer had no time to take a Terminate");
}

} // namespace

Cases race_cases()
{
	return {
		{"QPs come and go while another process connects by guessed numbers",
		 guessed_numbers},
		{"a QP goes while it is being connected", own_number_while_it_goes},
		{"a QP cannot be connected by another process that knows its number",
		 number_of_another_process},
		{"rdma resource show -dd while all objects come and go", inspected_meanwhile},
		{"completions come once and in order when the QP is moved to error",
		 flush_after_local_error},
		{"completions come once and in order when the peer's QP is moved to error",
		 flush_after_peers_error},
		{"completions come once and in order when the connection ends",
		 flush_after_disconnect},
		{"QP states from many threads, with work in flight", states_from_many_threads},
		{"posts from many threads while the engine goes idle", posts_from_many_threads},
		{"a peer that never reads holds up a Terminate for 5 seconds at most",
		 peer_that_never_reads},
	};
}
