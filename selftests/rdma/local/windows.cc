// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows of a program that breaks their rules: requests with wild fields, written into the
// ring itself; peers with keys that are not theirs; and all of it at the same time.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "case.hh"
#include "process.hh"

namespace {

constexpr uint32_t start = 4096, length = 1000;
constexpr unsigned writes = IBV_ACCESS_REMOTE_WRITE;

struct Window {
	ibv_mw *mw;

	Window(const End &owner, ibv_mw_type type) : mw(ibv_alloc_mw(owner.id->pd, type))
	{
		require(mw, "ibv_alloc_mw");
	}
	Window(const Window &) = delete;
	~Window() { free(); }
	void free()
	{
		if (mw)
			ibv_dealloc_mw(mw);
		mw = nullptr;
	}
};

// A connection; the server's buffer is a region to which windows may be bound.
struct Stage : Pair {
	Window one, two;

	Stage() : Pair(address), one(server, IBV_MW_TYPE_1), two(server, IBV_MW_TYPE_2)
	{
		ibv_dereg_mr(server.mr);
		server.mr = ibv_reg_mr(server.id->pd, server.buffer.data(), server.buffer.size(),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
		require(server.mr, "ibv_reg_mr");
		memset(server.buffer.data(), 1, server.buffer.size());
		memset(client.buffer.data(), 2, client.buffer.size());
	}

	uint64_t at(uint64_t offset = start) const
	{
		return reinterpret_cast<uintptr_t>(server.buffer.data()) + offset;
	}
	int post_bind_2(uint64_t wr_id = 1)
	{
		ibv_send_wr wr{}, *bad;

		two.mw->rkey = ibv_inc_rkey(two.mw->rkey);
		wr.wr_id = wr_id;
		wr.opcode = IBV_WR_BIND_MW;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.bind_mw = {two.mw, two.mw->rkey, {server.mr, at(), length, writes}};
		return ibv_post_send(server.id->qp, &wr, &bad);
	}
	int post_bind_1(uint64_t len = length)
	{
		ibv_mw_bind bind = {1, IBV_SEND_SIGNALED, {server.mr, at(), len, writes}};

		return ibv_bind_mw(server.id->qp, one.mw, &bind);
	}
	int post_invalidation(uint32_t rkey)
	{
		ibv_send_wr wr{}, *bad;

		wr.wr_id = 1;
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.invalidate_rkey = rkey;
		return ibv_post_send(server.id->qp, &wr, &bad);
	}
	void completes(int posted, ibv_wc_opcode opcode)
	{
		require(!posted, "posting");
		const auto wc = server.completion(false);

		require(wc && wc->status == IBV_WC_SUCCESS && wc->opcode == opcode,
			"a request of a window");
	}
	// A Write of the peer lands, or ends the connection.
	void lands(uint32_t rkey, uint64_t to, uint32_t len)
	{
		require(!server.post_recv(3, 0) && !client.post_write_to(2, len, to, rkey) &&
				!client.post_send(3, 0),
			"posting");
		const auto wc = server.completion(true);

		require(wc && wc->status == IBV_WC_SUCCESS, "a Send behind a Write");
	}
	void is_refused(uint32_t rkey, uint64_t to, uint32_t len)
	{
		require(!server.post_recv(3, 0) && !client.post_write_to(2, len, to, rkey),
			"posting");
		const auto wc = server.completion(true);

		require(wc && wc->status == IBV_WC_WR_FLUSH_ERR, "the connection goes on");
		for (uint8_t byte : server.buffer)
			require(byte == 1, "memory has changed");
	}
	void holds_the_part() const
	{
		for (uint32_t i = 0; i < server.buffer.size(); i++)
			require(server.buffer[i] == (i - start < length ? 2 : 1),
				"byte " + std::to_string(i));
	}
};

// ---- peers ----

void both_types_grant_their_part()
{
	Stage s;

	s.completes(s.post_bind_1(), IBV_WC_BIND_MW);
	s.lands(s.one.mw->rkey, s.at(), length);
	s.holds_the_part();
	memset(s.server.buffer.data(), 1, s.server.buffer.size());
	s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
	s.lands(s.two.mw->rkey, s.at(), length);
	s.holds_the_part();
	s.completes(s.post_invalidation(s.two.mw->rkey), IBV_WC_LOCAL_INV);
	s.completes(s.post_bind_1(0), IBV_WC_BIND_MW);
}

void peers_that_have_no_right()
{
	const std::function<void(Stage &)> rows[] = {
		[](Stage &s) { s.is_refused(s.one.mw->rkey, s.at(), 1); }, // never bound
		[](Stage &s) {
			s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
			s.is_refused(ibv_inc_rkey(s.two.mw->rkey), s.at(), 1);
		},
		[](Stage &s) {
			s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
			s.completes(s.post_invalidation(s.two.mw->rkey), IBV_WC_LOCAL_INV);
			s.is_refused(s.two.mw->rkey, s.at(), 1);
		},
		[](Stage &s) {
			s.completes(s.post_bind_1(), IBV_WC_BIND_MW);
			const uint32_t old = s.one.mw->rkey;

			s.completes(s.post_bind_1(), IBV_WC_BIND_MW);
			s.is_refused(old, s.at(), 1);
		},
		[](Stage &s) {
			s.completes(s.post_bind_1(), IBV_WC_BIND_MW);
			const uint32_t old = s.one.mw->rkey;

			s.one.free();
			s.is_refused(old, s.at(), 1);
		},
		[](Stage &s) {
			s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
			s.is_refused(s.two.mw->rkey, s.at(start + length), 1);
		},
		[](Stage &s) {
			s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
			s.is_refused(s.two.mw->rkey, s.at(start - 1), 8);
		},
		[](Stage &s) {
			s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
			s.is_refused(s.server.mr->rkey, s.at(), 1); // the region has no such right
		},
	};

	for (const auto &row : rows) {
		Stage s;

		row(s);
	}
}

// ---- wild requests ----

// What a request says; the provider copies it into the ring.
struct Wild {
	ibv_mw mw{};
	ibv_mr mr{};
	uint64_t addr, bytes = length;
	unsigned access = writes;
};

void is_no_bind(const std::function<void(Stage &, Wild &)> &change)
{
	Stage s;
	Wild wild;
	ibv_send_wr wr{}, *bad;

	wild.mw.rkey = s.two.mw->rkey;
	wild.mw.type = IBV_MW_TYPE_2;
	wild.mr.lkey = s.server.mr->lkey;
	wild.addr = s.at();
	change(s, wild);
	wr.wr_id = 7;
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw = {&wild.mw, wild.mw.rkey, {&wild.mr, wild.addr, wild.bytes, wild.access}};
	require(!ibv_post_send(s.server.id->qp, &wr, &bad), "ibv_post_send");
	const auto wc = s.server.completion(false);

	require(wc && wc->wr_id == 7 && wc->status == IBV_WC_MW_BIND_ERR,
		std::string("a wild request: ") + (wc ? ibv_wc_status_str(wc->status) : "none"));
	s.is_refused(wild.mw.rkey, s.at(), 1);
}

// Of another protection domain of this process, as those of another process are.
struct Stranger {
	ibv_pd *pd;
	ibv_mr *mr;
	ibv_mw *mw;

	explicit Stranger(Stage &s) : pd(ibv_alloc_pd(s.server.id->verbs))
	{
		require(pd, "ibv_alloc_pd");
		mr = ibv_reg_mr(pd, s.server.buffer.data(), s.server.buffer.size(),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		require(mr && mw, "objects of another protection domain");
	}
	Stranger(const Stranger &) = delete;
	~Stranger()
	{
		ibv_dealloc_mw(mw);
		ibv_dereg_mr(mr);
		ibv_dealloc_pd(pd);
	}
};

void keys_of_nothing_and_of_others()
{
	for (uint32_t key : {0u, 1u, 255u, 256u, 0x5a5a5a5au, 0xffff8880u, ~0u}) {
		is_no_bind([=](Stage &, Wild &wild) { wild.mw.rkey = key; });
		is_no_bind([=](Stage &, Wild &wild) { wild.mr.lkey = key; });
	}
	is_no_bind([](Stage &s, Wild &wild) { wild.mw.rkey = s.server.mr->rkey; });
	is_no_bind([](Stage &s, Wild &wild) { wild.mr.lkey = s.two.mw->rkey; });
	is_no_bind([](Stage &s, Wild &wild) { wild.mr.lkey = s.one.mw->rkey; });
	is_no_bind([](Stage &s, Wild &wild) { wild.mr.lkey = s.client.mr->lkey; });
	for (bool window : {true, false}) {
		std::unique_ptr<Stranger> stranger;

		is_no_bind([&](Stage &s, Wild &wild) {
			stranger = std::make_unique<Stranger>(s);
			(window ? wild.mw.rkey : wild.mr.lkey) =
				window ? stranger->mw->rkey : stranger->mr->lkey;
		});
	}
}

void parts_and_rights_that_there_are_not()
{
	for (uint64_t bytes : {uint64_t{0}, uint64_t{1} << 16, uint64_t{1} << 32, uint64_t{1} << 63,
			       ~uint64_t{0}, ~uint64_t{0} - start})
		is_no_bind([=](Stage &, Wild &wild) { wild.bytes = bytes; });
	for (uint64_t addr : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, ~uint64_t{0},
			      ~uint64_t{0} - 999, uint64_t{0xffff888000000000}})
		is_no_bind([=](Stage &, Wild &wild) { wild.addr = addr; });
	for (unsigned access : {16u, 64u, 128u, 1u << 20, 1u << 31, ~0u})
		is_no_bind([=](Stage &, Wild &wild) { wild.access = access; });
}

void invalidations_of_others()
{
	const std::function<uint32_t(Stage &)> rows[] = {
		[](Stage &s) { return s.server.mr->rkey; },
		[](Stage &s) { return s.one.mw->rkey; },
		[](Stage &) { return 1; },
		[](Stage &) { return ~0u; },
		[](Stage &s) { return s.client.mr->lkey; },
	};

	for (const auto &row : rows) {
		Stage s;

		require(!s.post_invalidation(row(s)), "posting");
		const auto wc = s.server.completion(false);

		require(wc && wc->status == IBV_WC_LOC_PROT_ERR, "an invalidation");
	}
}

// ---- the ends of things ----

void a_region_with_a_window_stays()
{
	Stage s;

	s.completes(s.post_bind_2(), IBV_WC_BIND_MW);
	require(ibv_dereg_mr(s.server.mr) == EBUSY, "a region with a window is deregistered");
	s.lands(s.two.mw->rkey, s.at(), length);
	s.holds_the_part();
}

// The process ends with windows bound: main.cc looks whether anything is left.
void a_process_that_ends_with_windows_bound()
{
	auto *s = new Stage;

	s->completes(s->post_bind_1(), IBV_WC_BIND_MW);
	s->completes(s->post_bind_2(), IBV_WC_BIND_MW);
}

// The peer writes all the time; after the invalidation has completed nothing lands.
void nothing_lands_after_an_invalidation()
{
	for (int round = 0; round < 30; round++) {
		Stage s;
		std::atomic<bool> stop = false;
		const bool by_key = round & 1;

		s.completes(by_key ? s.post_bind_2() : s.post_bind_1(), IBV_WC_BIND_MW);
		const uint32_t rkey = by_key ? s.two.mw->rkey : s.one.mw->rkey;
		std::thread writing([&] {
			while (!stop) {
				s.client.post_write_to(2, length, s.at(), rkey);
				s.client.completion(false, 0);
			}
		});

		sleep_ms(2);
		const int posted = by_key ? s.post_invalidation(rkey) : s.post_bind_1(0);
		const auto wc = s.server.completion(false);

		memset(s.server.buffer.data(), 1, s.server.buffer.size());
		sleep_ms(5);
		stop = true;
		writing.join();
		require(!posted && wc, "unbinding"); // the peer may have ended the connection first
		for (uint8_t byte : s.server.buffer)
			require(byte == 1 || wc->status != IBV_WC_SUCCESS,
				"bytes landed after the invalidation");
	}
}

// One thread binds a window again and again, another deallocates it and deregisters its region.
void bound_while_everything_goes()
{
	for (int round = 0; round < 30; round++) {
		Stage s;
		const ibv_mr mr = *s.server.mr;
		ibv_mw mw = *s.one.mw;
		int err = 0;
		std::thread going([&] {
			sleep_ms(static_cast<unsigned>(chance() % 3));
			s.one.free();
			err = ibv_dereg_mr(s.server.mr);
		});

		for (int n = 0; n < 40; n++) {
			ibv_mr region = mr;
			ibv_mw_bind bind = {1, 0, {&region, s.at(), length, writes}};

			ibv_bind_mw(s.server.id->qp, &mw, &bind);
		}
		going.join();
		s.server.mr = nullptr;
		require(!err, "ibv_dereg_mr: " + std::to_string(err));
	}
}

} // namespace

Cases window_cases()
{
	return {
		{"windows of both types grant their part of a region", both_types_grant_their_part},
		{"a peer with a stale key of a window, or beyond its bounds",
		 peers_that_have_no_right},
		{"binding with keys of nothing, or of others", keys_of_nothing_and_of_others},
		{"binding parts and rights that there are not",
		 parts_and_rights_that_there_are_not},
		{"invalidating what is no window of type 2", invalidations_of_others},
		{"a region with a window stays", a_region_with_a_window_stays},
		{"a process that ends with windows bound", a_process_that_ends_with_windows_bound},
		{"nothing lands after a window was invalidated",
		 nothing_lands_after_an_invalidation},
		{"windows are bound while they and their region go", bound_while_everything_goes},
	};
}
