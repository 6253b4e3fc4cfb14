// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Verbs and rdma_cm for the victim's program; all errors are exceptions.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace victim {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline constexpr int patience = 10000; // ms, for expected events
inline constexpr u32 queue = 64;

template <class T> T *need(T *what, const char *name)
{
	if (!what)
		throw std::runtime_error(std::string(name) + ": " + std::strerror(errno));
	return what;
}

void need(int ret, const char *name);

bool readable(int fd, int ms);

class Completions {
public:
	ibv_cq *cq;

	explicit Completions(ibv_context *verbs)
	{
		channel = need(ibv_create_comp_channel(verbs), "ibv_create_comp_channel");
		cq = need(ibv_create_cq(verbs, 2 * queue, nullptr, channel, 0), "ibv_create_cq");
	}
	Completions(const Completions &) = delete;
	~Completions()
	{
		ibv_ack_cq_events(cq, events);
		ibv_destroy_cq(cq);
		ibv_destroy_comp_channel(channel);
	}

	// An event may be for a completion already polled: only time or a completion ends the wait.
	bool next(ibv_wc *wc, int ms)
	{
		while (ibv_poll_cq(cq, 1, wc) != 1) {
			ibv_req_notify_cq(cq, 0);
			if (ibv_poll_cq(cq, 1, wc) == 1)
				return true;
			if (!ms || !readable(channel->fd, ms))
				return ibv_poll_cq(cq, 1, wc) == 1;
			take_event();
		}
		return true;
	}

private:
	ibv_comp_channel *channel;
	unsigned events = 0;

	void take_event()
	{
		ibv_cq *which;
		void *context;

		if (!ibv_get_cq_event(channel, &which, &context))
			events++;
	}
};

void create_qp(rdma_cm_id *id, ibv_pd *pd, ibv_cq *cq);
ibv_sge sge_of(const void *at, u32 len, const ibv_mr *mr);
void post_receive(ibv_qp *qp, ibv_sge sge, u64 id);
void post_send(ibv_qp *qp, ibv_wr_opcode opcode, ibv_sge sge, u64 remote = 0, u32 rkey = 0);

// ---- Connection management ----

struct Event {
	bool there = false;
	rdma_cm_event_type type = {};
	int status = 0;
	rdma_cm_id *id = nullptr;
	std::vector<u8> data;
	unsigned depth = 0, resources = 0;

	std::string name() const { return there ? rdma_event_str(type) : "nothing"; }
};

Event next_event(rdma_event_channel *channel, int ms);
Event want_event(rdma_event_channel *channel, rdma_cm_event_type type);
rdma_cm_id *listen_on(rdma_event_channel *channel, const char *host, unsigned port);
rdma_cm_id *resolve(rdma_event_channel *channel, const char *host, unsigned port);
rdma_conn_param depths();

} // namespace victim
