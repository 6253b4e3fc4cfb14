// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows: what programs bind, what a peer may do through one, and what it may not.
#include <cerrno>

#include "case.hh"

namespace {

constexpr uint32_t start = 1000, length = 600; // of the part that is bound
constexpr int writes = IBV_ACCESS_REMOTE_WRITE, all_rights = IBV_ACCESS_REMOTE_WRITE |
							     IBV_ACCESS_REMOTE_READ |
							     IBV_ACCESS_REMOTE_ATOMIC;

enum : uint64_t { binding = 1, using_it, invalidating, culprit, arriving };

Options with_region(int access)
{
	Options options;

	options.region = access;
	return options;
}

// The region itself grants a peer nothing.
const Options bindable = with_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

struct Window {
	ibv_mw *mw;

	Window(const End &owner, ibv_mw_type type) : mw(ibv_alloc_mw(owner.port.pd, type))
	{
		expect(mw, "ibv_alloc_mw");
	}
	Window(const Window &) = delete;
	~Window() { free(); }
	void free()
	{
		if (mw)
			expect(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
		mw = nullptr;
	}
};

// The requester, the owner of the windows, and one of each type.
struct Stage {
	Ports ports;
	Pair pair;
	End &peer = pair.a, &owner = pair.b;
	Window one, two;

	explicit Stage(const Options &options = bindable)
		: pair(ports.here, ports.there, {}, options), one(owner, IBV_MW_TYPE_1),
		  two(owner, IBV_MW_TYPE_2)
	{
		memset(owner.buffer.data(), 1, owner.buffer.size());
		memset(peer.buffer.data(), 2, peer.buffer.size());
	}

	ibv_mw_bind_info part(int access, uint64_t from = start, uint64_t len = length) const
	{
		return {owner.mr, owner.name().addr + from, len, static_cast<unsigned>(access)};
	}
	void post_bind_1(const ibv_mw_bind_info &info)
	{
		ibv_mw_bind bind = {binding, IBV_SEND_SIGNALED, info};

		expect(!ibv_bind_mw(owner.qp, one.mw, &bind), "ibv_bind_mw");
	}
	void bind_1(const ibv_mw_bind_info &info)
	{
		post_bind_1(info);
		expect(owner.sends.is(binding).opcode == IBV_WC_BIND_MW, "the opcode of a bind");
	}
	void post_bind_2(const ibv_mw_bind_info &info)
	{
		ibv_send_wr wr = owner.request(IBV_WR_BIND_MW, binding);

		two.mw->rkey = ibv_inc_rkey(two.mw->rkey);
		wr.bind_mw = {two.mw, two.mw->rkey, info};
		owner.post(wr, {});
	}
	void bind_2(const ibv_mw_bind_info &info)
	{
		post_bind_2(info);
		expect(owner.sends.is(binding).opcode == IBV_WC_BIND_MW, "the opcode of a bind");
	}
	void invalidate(uint32_t rkey)
	{
		ibv_send_wr wr = owner.request(IBV_WR_LOCAL_INV, invalidating);

		wr.invalidate_rkey = rkey;
		owner.post(wr, {});
		expect(owner.sends.is(invalidating).opcode == IBV_WC_LOCAL_INV,
		       "the opcode of an invalidation");
	}
	Name at(uint32_t rkey, uint64_t offset = start) const
	{
		Name name = owner.name();

		name.addr += offset;
		name.rkey = rkey;
		return name;
	}
	void write(const Name &to, uint32_t len = length)
	{
		peer.post(IBV_WR_RDMA_WRITE, using_it, to, len);
		peer.sends.is(using_it);
	}
	void is_refused(ibv_wr_opcode opcode, const Name &to, uint32_t len)
	{
		const std::vector<uint8_t> before = owner.buffer;

		peer.post(opcode, culprit, to, len);
		peer.sends.is(culprit, IBV_WC_REM_ACCESS_ERR);
		expect(owner.buffer == before, "memory has changed");
	}
	// Exactly the part that is bound has what the peer wrote.
	void holds_the_part() const
	{
		for (uint32_t i = 0; i < owner.buffer.size(); i++)
			expect(owner.buffer[i] == (i - start < length ? 2 : 1),
			       "byte " + std::to_string(i) + " of the region");
	}
};

void every_operation_through(Stage &s, uint32_t rkey)
{
	s.write(s.at(rkey));
	s.holds_the_part();
	s.peer.post(IBV_WR_RDMA_READ, using_it, s.at(rkey), length);
	s.peer.sends.is(using_it);
	s.owner.words<uint64_t>()[start / 8] = 41;
	s.peer.post(IBV_WR_ATOMIC_FETCH_AND_ADD, using_it, s.at(rkey), 8);
	s.peer.sends.is(using_it);
	expect(s.owner.words<uint64_t>()[start / 8] == 42, "an addition");
}

void type_1()
{
	Stage s;

	s.bind_1(s.part(all_rights));
	every_operation_through(s, s.one.mw->rkey);
}

void type_2()
{
	Stage s;

	s.bind_2(s.part(all_rights));
	every_operation_through(s, s.two.mw->rkey);
}

void zero_based()
{
	Stage s;
	Name zero = {};

	s.bind_2(s.part(writes | IBV_ACCESS_ZERO_BASED));
	zero.rkey = s.two.mw->rkey;
	s.write(zero);
	s.holds_the_part();
	zero.addr = length - 63;
	s.is_refused(IBV_WR_RDMA_WRITE, zero, 64);
}

void call_by_call()
{
	Ports ports;
	Pair pair(ports.here, ports.there, {}, bindable);
	Window window(pair.b, IBV_MW_TYPE_2);
	ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.b.qp);
	const uint32_t rkey = ibv_inc_rkey(window.mw->rkey);
	const ibv_mw_bind_info info = {pair.b.mr, pair.b.name().addr, 64, writes};

	ibv_wr_start(qp);
	qp->wr_id = binding;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qp, window.mw, rkey, &info);
	qp->wr_id = invalidating;
	ibv_wr_local_inv(qp, rkey);
	expect(!ibv_wr_complete(qp), "ibv_wr_complete");
	pair.b.sends.is(binding);
	pair.b.sends.is(invalidating);
}

// ---- what a peer may not do ----

void beyond_its_bounds()
{
	for (uint64_t from : {uint64_t{start - 1}, uint64_t{start + length - 63}, uint64_t{0}}) {
		Stage s;

		s.bind_2(s.part(all_rights));
		s.is_refused(IBV_WR_RDMA_WRITE, s.at(s.two.mw->rkey, from), 64);
	}
	Stage s;

	s.bind_1(s.part(all_rights));
	s.is_refused(IBV_WR_RDMA_READ, s.at(s.one.mw->rkey, start + length), 1);
}

void without_the_right()
{
	const std::pair<int, ibv_wr_opcode> rows[] = {
		{IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE},
		{IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ},
		{IBV_ACCESS_REMOTE_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD},
		{0, IBV_WR_RDMA_WRITE},
	};

	for (const auto &[access, opcode] : rows) {
		Stage s;

		s.bind_2(s.part(access));
		s.is_refused(opcode, s.at(s.two.mw->rkey), 8);
	}
}

// A key that never was one, or no longer is.
void with_a_stale_key()
{
	const std::function<uint32_t(Stage &)> rows[] = {
		[](Stage &s) { return s.one.mw->rkey; }, // never bound
		[](Stage &s) { return s.two.mw->rkey; },
		[](Stage &s) {
			s.bind_2(s.part(all_rights));
			return ibv_inc_rkey(s.two.mw->rkey);
		},
		[](Stage &s) {
			s.bind_2(s.part(all_rights));
			s.invalidate(s.two.mw->rkey);
			return s.two.mw->rkey;
		},
		[](Stage &s) {
			s.bind_1(s.part(all_rights));
			const uint32_t old = s.one.mw->rkey;

			s.bind_1(s.part(all_rights));
			return old;
		},
		[](Stage &s) {
			s.bind_1(s.part(all_rights));
			s.bind_1({});
			return s.one.mw->rkey;
		},
		[](Stage &s) {
			s.bind_1(s.part(all_rights));
			const uint32_t old = s.one.mw->rkey;

			s.one.free();
			return old;
		},
	};

	for (const auto &row : rows) {
		Stage s;
		const uint32_t rkey = row(s);

		s.is_refused(IBV_WR_RDMA_WRITE, s.at(rkey), 64);
	}
}

// Type 2 is for the QP that bound it, type 1 for all of its protection domain.
void of_another_qp()
{
	Stage s;
	End peer(s.ports.here), owner(s.ports.there);

	join(peer, owner);
	s.bind_1(s.part(writes));
	s.bind_2(s.part(writes));
	peer.post(IBV_WR_RDMA_WRITE, using_it, s.at(s.one.mw->rkey), 8);
	peer.sends.is(using_it);
	peer.post(IBV_WR_RDMA_WRITE, culprit, s.at(s.two.mw->rkey), 8);
	peer.sends.is(culprit, IBV_WC_REM_ACCESS_ERR);
}

// One QP binds it, another of the program invalidates it.
void invalidated_by_another_qp()
{
	Stage s;
	End peer(s.ports.here), owner(s.ports.there);
	ibv_send_wr wr = owner.request(IBV_WR_LOCAL_INV, culprit);

	join(peer, owner);
	s.bind_2(s.part(writes));
	wr.invalidate_rkey = s.two.mw->rkey;
	owner.post(wr, {});
	owner.sends.is(culprit, IBV_WC_LOC_PROT_ERR);
	s.write(s.at(s.two.mw->rkey));
	s.holds_the_part();
	s.invalidate(s.two.mw->rkey);
}

void as_a_key_to_local_memory()
{
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_READ}) {
		Stage s;
		const Name peer = s.peer.name();
		ibv_send_wr wr = s.owner.request(opcode, culprit, &peer);

		s.bind_2(s.part(all_rights));
		s.owner.post(wr, {s.at(0).addr, 8, s.two.mw->rkey});
		s.owner.sends.is(culprit, IBV_WC_LOC_PROT_ERR);
	}
}

// ---- binding ----

void what_cannot_be_bound()
{
	const uint64_t size = Options().bytes;
	const std::pair<Options, std::function<void(Stage &)>> rows[] = {
		{bindable, [=](Stage &s) { s.post_bind_2(s.part(writes, size - 8, 9)); }},
		{bindable, [](Stage &s) { s.post_bind_2(s.part(writes, ~uint64_t{0}, 2)); }},
		{bindable, [](Stage &s) { s.post_bind_1(s.part(writes, 0, ~uint64_t{0})); }},
		{bindable, [](Stage &s) { s.post_bind_2(s.part(writes, 0, 0)); }},
		{bindable, [](Stage &s) { s.post_bind_2(s.part(1 << 20)); }},
		{bindable, [](Stage &s) { s.post_bind_2(s.part(IBV_ACCESS_MW_BIND)); }},
		{bindable, [](Stage &s) { s.post_bind_1(s.part(writes | IBV_ACCESS_ZERO_BASED)); }},
		{bindable,
		 [](Stage &s) {
			 s.bind_2(s.part(writes));
			 s.post_bind_2(s.part(writes)); // it is bound
		 }},
		{with_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
		 [](Stage &s) { s.post_bind_2(s.part(writes)); }},
		{with_region(IBV_ACCESS_MW_BIND), [](Stage &s) { s.post_bind_2(s.part(writes)); }},
		{with_region(IBV_ACCESS_MW_BIND),
		 [](Stage &s) { s.post_bind_1(s.part(IBV_ACCESS_REMOTE_ATOMIC)); }},
	};

	for (const auto &[options, post] : rows) {
		Stage s(options);

		post(s);
		s.owner.send(culprit);
		s.owner.sends.is(binding, IBV_WC_MW_BIND_ERR);
		s.owner.sends.is(culprit, IBV_WC_WR_FLUSH_ERR);
	}
}

void a_region_may_not_go()
{
	Stage s;

	s.bind_2(s.part(writes));
	expect(ibv_dereg_mr(s.owner.mr) == EBUSY, "a region with a window is deregistered");
	expect(ibv_rereg_mr(s.owner.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			    IBV_ACCESS_LOCAL_WRITE),
	       "a region with a window is registered again");
	s.write(s.at(s.two.mw->rkey));
	s.holds_the_part();
	s.invalidate(s.two.mw->rkey);
	expect(!ibv_rereg_mr(s.owner.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			     IBV_ACCESS_LOCAL_WRITE),
	       "a region that had a window is not registered again");
	s.post_bind_2(s.part(writes));
	s.owner.sends.is(binding, IBV_WC_MW_BIND_ERR); // it lost the right
}

// The QP goes first: its window grants nothing, and goes, and then the region.
void a_qp_may_go()
{
	Stage s;
	End peer(s.ports.here), owner(s.ports.there);

	join(peer, owner);
	s.bind_2(s.part(writes));
	const Name stale = s.at(s.two.mw->rkey);

	s.owner.destroy_qp();
	peer.post(IBV_WR_RDMA_WRITE, culprit, stale, 8);
	peer.sends.is(culprit, IBV_WC_REM_ACCESS_ERR);
	expect(ibv_dereg_mr(s.owner.mr) == EBUSY, "a region with a window is deregistered");
	s.two.free();
}

// ---- the peer invalidates ----

void send_with_invalidate(Stage &s, uint32_t rkey)
{
	ibv_send_wr wr = s.peer.request(IBV_WR_SEND_WITH_INV, using_it);

	wr.invalidate_rkey = rkey;
	s.owner.receive(arriving);
	s.peer.post(wr, s.peer.piece(0, 8));
}

void the_peer_invalidates()
{
	Stage s;

	s.bind_2(s.part(writes));
	for (int n = 0; n < 3; n++) {
		const uint32_t rkey = s.two.mw->rkey;

		send_with_invalidate(s, rkey);
		const ibv_wc wc = s.owner.receives.is(arriving);

		expect(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == rkey,
		       "the completion names the key");
		s.peer.sends.is(using_it);
		s.bind_2(s.part(writes));
	}
	s.write(s.at(s.two.mw->rkey), 8);
}

void the_peer_may_not_invalidate()
{
	const std::function<uint32_t(Stage &)> rows[] = {
		[](Stage &s) {
			s.bind_1(s.part(writes));
			return s.one.mw->rkey;
		},
		[](Stage &s) { return s.two.mw->rkey; },
		[](Stage &s) {
			s.bind_2(s.part(writes));
			return ibv_inc_rkey(s.two.mw->rkey);
		},
		[](Stage &s) { return s.owner.mr->rkey; },
	};

	for (const auto &row : rows) {
		Stage s;

		send_with_invalidate(s, row(s));
		const auto wc = s.peer.sends.next(20000);

		expect(wc && (wc->status == IBV_WC_REM_ACCESS_ERR ||
			      wc->status == IBV_WC_REM_INV_REQ_ERR),
		       "an invalidation that is not the peer's");
	}
}

// ---- order ----

// The Send before it comes again and again; the bind does not, or it would find the window bound.
void a_bind_behind_a_refused_send()
{
	Stage s;

	s.owner.send(using_it);
	s.post_bind_2(s.part(writes));
	s.owner.send(culprit);
	s.owner.sends.none(200);
	s.peer.receive(arriving);
	s.owner.sends.is(using_it);
	s.owner.sends.is(binding);
	s.peer.receive(arriving);
	s.owner.sends.is(culprit);
	memset(s.peer.buffer.data(), 2, s.peer.buffer.size()); // it has received 1
	s.write(s.at(s.two.mw->rkey));
	s.holds_the_part();
}

// More than the engine does in one go, by one doorbell; the Send behind them comes all the same.
void many_at_once()
{
	constexpr int many = 5000;
	Options options = bindable;

	options.depth = many + 1;
	Stage s(options);
	std::vector<ibv_send_wr> list(many + 1, s.owner.request(IBV_WR_LOCAL_INV, binding));
	ibv_send_wr *bad;

	for (int n = 0; n < many; n++) {
		list[n].send_flags = 0;
		list[n].invalidate_rkey = s.two.mw->rkey;
		list[n].next = &list[n + 1];
	}
	list[many] = s.owner.request(IBV_WR_SEND, using_it);
	s.peer.receive(arriving);
	expect(!ibv_post_send(s.owner.qp, list.data(), &bad), "ibv_post_send");
	s.owner.sends.is(using_it);
	s.peer.receives.is(arriving);
}

// What is posted behind it finds the window bound: the peer uses the key that a Send brought.
void bound_and_announced_at_once()
{
	Stage s;

	for (int n = 0; n < settings.rounds; n++) {
		s.peer.receive(arriving);
		s.post_bind_2(s.part(writes));
		s.owner.send(using_it);
		s.peer.receives.is(arriving);
		s.write(s.at(s.two.mw->rkey), 8);
		s.owner.sends.is(binding);
		s.owner.sends.is(using_it);
		s.invalidate(s.two.mw->rkey);
	}
}

} // namespace

Cases window_cases()
{
	return {
		{"windows: every operation through one of type 1", type_1},
		{"windows: every operation through one of type 2", type_2},
		{"windows: one that counts from zero", zero_based},
		{"windows: ibv_wr_bind_mw() and ibv_wr_local_inv()", call_by_call},
		{"windows: not beyond its bounds", beyond_its_bounds},
		{"windows: not without the right", without_the_right},
		{"windows: not with a stale key", with_a_stale_key},
		{"windows: type 2 is for its QP", of_another_qp},
		{"windows: another QP does not invalidate one of type 2",
		 invalidated_by_another_qp},
		{"windows: no key to local memory", as_a_key_to_local_memory},
		{"windows: what cannot be bound", what_cannot_be_bound},
		{"windows: a region may not go before them", a_region_may_not_go},
		{"windows: a QP may go before its window", a_qp_may_go},
		{"windows: the peer invalidates one", the_peer_invalidates},
		{"windows: the peer may not invalidate another", the_peer_may_not_invalidate},
		{"windows: a bind behind a refused Send is done once",
		 a_bind_behind_a_refused_send},
		{"windows: more requests than the engine does in one go", many_at_once},
		{"windows: bound and announced at once", bound_and_announced_at_once},
	};
}
