// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Timestamps of completions (<rdma/srnic-abi.h>, struct srnic_cqe_times).
#include <cerrno>
#include <ctime>

#include "case.hh"
#include "process.hh"

namespace {

constexpr uint32_t both =
	IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

uint64_t now(clockid_t clock)
{
	timespec time{};

	require(!clock_gettime(clock, &time), "clock_gettime");
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

struct Moment {
	uint64_t monotonic = now(CLOCK_MONOTONIC), realtime = now(CLOCK_REALTIME);
};

ibv_cq_ex *create_cq(ibv_context *verbs, uint64_t wc_flags)
{
	ibv_cq_init_attr_ex attr{};

	attr.cqe = 8;
	attr.wc_flags = wc_flags;
	return ibv_create_cq_ex(verbs, &attr);
}

// Two ends; the client's Sends complete in a CQ with timestamps.
struct Timed {
	End client, server;
	ibv_cq_ex *cq = nullptr;

	Timed()
	{
		join(client, server, [&](int flags) {
			return flags & RAI_PASSIVE ? create_ep(address, flags) : create();
		});
	}
	~Timed()
	{
		rdma_destroy_qp(client.id);
		ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	}
	rdma_cm_id *create()
	{
		rdma_cm_id *id = create_ep(address, 0);
		ibv_qp_init_attr init{};

		rdma_destroy_qp(id);
		cq = create_cq(id->verbs, both);
		require(cq, "ibv_create_cq_ex");
		init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
		init.cap = {16, 16, 1, 1, 0};
		init.qp_type = IBV_QPT_RC;
		require(!rdma_create_qp(id, id->pd, &init), "rdma_create_qp");
		return id;
	}
	void send(uint64_t wr_id)
	{
		require(!server.post_recv(wr_id, 64) && !client.post_send(wr_id, 64), "post");
		require(server.completion(true).has_value(), "a Send");
	}
	// Of the next completion, which is this one.
	std::pair<uint64_t, uint64_t> times(uint64_t wr_id)
	{
		ibv_poll_cq_attr attr{};

		for (int tries = 0; ibv_start_poll(cq, &attr); tries++) {
			require(tries < 10000, "no completion");
			sleep_ms(1);
		}
		require(cq->wr_id == wr_id && cq->status == IBV_WC_SUCCESS, "another completion");
		std::pair times{ibv_wc_read_completion_ts(cq),
				ibv_wc_read_completion_wallclock_ns(cq)};
		ibv_end_poll(cq);
		return times;
	}
};

// Those of a request are between its post and its completion, also after a resize.
void are_of_the_completion()
{
	std::vector<Moment> moments(1);
	Timed timed;

	for (uint64_t i = 0; i < 6; i++) {
		timed.send(i);
		sleep_ms(2);
		moments.emplace_back();
	}
	require(!ibv_resize_cq(ibv_cq_ex_to_cq(timed.cq), 64), "ibv_resize_cq");
	for (uint64_t i = 0; i < 6; i++) {
		auto [monotonic, realtime] = timed.times(i);

		require(moments[i].monotonic <= monotonic &&
				monotonic <= moments[i + 1].monotonic,
			"a time of another moment");
		require(moments[i].realtime <= realtime && realtime <= moments[i + 1].realtime,
			"a wall clock's time of another moment");
	}
}

void are_of_the_devices_clock()
{
	ibv_device_attr_ex attr{};
	ibv_values_ex values{};
	Context context;
	Moment before;

	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 0x80;
	require(!ibv_query_rt_values_ex(context.verbs, &values), "ibv_query_rt_values_ex");
	require(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK, "a value that is not known");
	const uint64_t raw = values.raw_clock.tv_sec * 1000000000ull + values.raw_clock.tv_nsec;
	require(before.monotonic <= raw && raw <= Moment().monotonic, "the device's clock");
	require(!ibv_query_device_ex(context.verbs, nullptr, &attr), "ibv_query_device_ex");
	require(attr.completion_timestamp_mask == ~uint64_t{0} && attr.hca_core_clock == 1000000,
		"a clock of nanoseconds, of 64 bits");
}

// Those that ask for one of them, or for what no device of ours has.
void are_for_cqs_that_ask()
{
	Context context;

	for (uint64_t flags : {0u, unsigned{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP},
			       unsigned{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}}) {
		ibv_cq_ex *cq = create_cq(context.verbs, flags);

		require(cq && !cq->read_completion_ts == !flags, "a CQ of another kind");
		require(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "ibv_destroy_cq");
	}
	require(!create_cq(context.verbs, IBV_WC_EX_WITH_CVLAN) && errno == EOPNOTSUPP, "VLANs");
}

} // namespace

Cases time_cases()
{
	return {
		{"timestamps are those of the completion", are_of_the_completion},
		{"timestamps are of the clock that the device names", are_of_the_devices_clock},
		{"timestamps are for CQs that ask", are_for_cqs_that_ask},
	};
}
