// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kill -9 at a random moment of a process that loops over one verb and its opposite. KILL_ROUNDS:
// of each.
#include <cstdlib>
#include <poll.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "case.hh"
#include "process.hh"

namespace {

void kill_while(const std::function<void()> &forever)
{
	const char *rounds = getenv("KILL_ROUNDS");

	for (int i = rounds ? atoi(rounds) : 5; i; i--) {
		pid_t child = start(forever);

		usleep(chance() % 60000);
		kill_alive(child);
	}
}

void contexts()
{
	kill_while([] {
		for (;;)
			Context();
	});
}

void domains()
{
	kill_while([] {
		for (Context context;;)
			ibv_dealloc_pd(ibv_alloc_pd(context.verbs));
	});
}

void regions()
{
	kill_while([] {
		Context context;
		ibv_pd *pd = ibv_alloc_pd(context.verbs);
		std::vector<uint8_t> memory(4 << 20);

		for (;;) {
			ibv_mr *mr = ibv_reg_mr(pd, memory.data(), 1 + chance() % memory.size(),
						IBV_ACCESS_LOCAL_WRITE);
			require(mr, "ibv_reg_mr");
			ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, pd, nullptr, 0, 0);
			ibv_dereg_mr(mr);
		}
	});
}

void completion_queues()
{
	kill_while([] {
		for (Context context;;) {
			ibv_comp_channel *channel = ibv_create_comp_channel(context.verbs);
			ibv_cq *cq =
				ibv_create_cq(context.verbs, static_cast<int>(1 + chance() % 5000),
					      nullptr, channel, 0);

			require(cq, "ibv_create_cq");
			ibv_req_notify_cq(cq, 0);
			ibv_resize_cq(cq, static_cast<int>(1 + chance() % 5000));
			ibv_destroy_cq(cq);
			ibv_destroy_comp_channel(channel);
		}
	});
}

void shared_receive_queues()
{
	kill_while([] {
		Context context;
		ibv_pd *pd = ibv_alloc_pd(context.verbs);

		for (;;) {
			ibv_srq_init_attr attr{nullptr,
					       {static_cast<uint32_t>(1 + chance() % 1000), 4, 0}};
			ibv_srq *srq = ibv_create_srq(pd, &attr);
			ibv_srq_attr limit{0, 0, 1};

			require(srq, "ibv_create_srq");
			ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT);
			limit.max_wr = 2000;
			ibv_modify_srq(srq, &limit, IBV_SRQ_MAX_WR);
			ibv_destroy_srq(srq);
		}
	});
}

void queue_pairs()
{
	kill_while([] {
		Context context;
		ibv_pd *pd = ibv_alloc_pd(context.verbs);
		ibv_cq *cq = ibv_create_cq(context.verbs, 100, nullptr, nullptr, 0);

		for (;;) {
			ibv_qp_init_attr init{};
			ibv_qp_attr attr{};

			init.send_cq = init.recv_cq = cq;
			init.cap = {static_cast<uint32_t>(1 + chance() % 500), 64, 4, 4, 64};
			init.qp_type = IBV_QPT_RC;
			ibv_qp *qp = ibv_create_qp(pd, &init);
			require(qp, "ibv_create_qp");
			for (ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_ERR, IBV_QPS_RESET}) {
				attr.qp_state = state;
				ibv_modify_qp(qp, &attr, IBV_QP_STATE);
			}
			ibv_destroy_qp(qp);
		}
	});
}

void connections()
{
	kill_while([] {
		for (;;)
			Pair pair(address);
	});
}

void disconnections()
{
	kill_while([] {
		for (;;) {
			Pair pair(address);

			pair.client.post_write(1, 65536, pair.server);
			rdma_disconnect(chance() & 1 ? pair.client.id : pair.server.id);
		}
	});
}

void posts_and_polls()
{
	kill_while([] {
		for (Pair pair(address);;) {
			pair.server.post_recv(1, 65536);
			pair.client.post_send(1, 65536);
			pair.client.post_write(2, 65536, pair.server);
			pair.server.post_write(3, 65536, pair.client);
			for (End *end : {&pair.client, &pair.server})
				while (end->completion(false, 0) || end->completion(true, 0))
					;
		}
	});
}

void await_event(ibv_comp_channel *channel)
{
	ibv_cq *cq;
	void *context;

	require(!ibv_get_cq_event(channel, &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
}

void event_waits()
{
	kill_while([] {
		for (Pair pair(address);;) {
			ibv_req_notify_cq(pair.server.id->recv_cq, 0);
			pair.server.post_recv(1, 64);
			pair.client.post_send(1, 64);
			await_event(pair.server.id->recv_cq_channel);
			while (pair.server.completion(true, 0) || pair.client.completion(false, 0))
				;
		}
	});
}

// A thread waits for each kind of event, and none comes.
void endless_waits()
{
	kill_while([] {
		Pair pair(address);
		std::thread([&] {
			rdma_cm_event *event;
			rdma_get_cm_event(pair.client.id->channel, &event);
		}).detach();
		std::thread([&] {
			ibv_async_event event;
			ibv_get_async_event(pair.client.id->verbs, &event);
		}).detach();
		ibv_req_notify_cq(pair.client.id->send_cq, 0);
		await_event(pair.client.id->send_cq_channel);
	});
}

} // namespace

Cases kill_cases()
{
	return {
		{"kill -9 while opening and closing the device", contexts},
		{"kill -9 while allocating protection domains", domains},
		{"kill -9 while registering memory", regions},
		{"kill -9 while creating completion queues", completion_queues},
		{"kill -9 while creating shared receive queues", shared_receive_queues},
		{"kill -9 while creating and moving queue pairs", queue_pairs},
		{"kill -9 while listening, connecting and accepting", connections},
		{"kill -9 while disconnecting", disconnections},
		{"kill -9 while posting and polling", posts_and_polls},
		{"kill -9 while waiting for completions that come", event_waits},
		{"kill -9 while waiting for events that do not", endless_waits},
	};
}
