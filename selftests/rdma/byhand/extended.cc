// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Flush and Atomic Write, as a program sees them (Documentation/ib.rst rules 110 to 116,
// Documentation/programming.rst): what arrives, in which order, and what is refused with which
// status.
#include <atomic>
#include <thread>

#include "case.hh"

namespace {

// Debian 12's libibverbs has neither names nor calls for them.
constexpr int flush_global = 1 << 8, flush_persistent = 1 << 9;
constexpr uint8_t global = 1, persistent = 2, range = 0, region = 1;
constexpr int wc_flush = 8, wc_atomic_write = 9;
constexpr uint64_t cap_flush_global = 1ull << 38, cap_flush_persistent = 1ull << 39,
		   cap_atomic_write = 1ull << 40;

Options with_rights()
{
	Options options;

	options.access |= flush_global | flush_persistent;
	options.region |= flush_global;
	return options;
}

uint64_t caps_of(const Port &port)
{
	ibv_device_attr_ex attr{};

	expect(!ibv_query_device_ex(port.verbs, nullptr, &attr), "ibv_query_device_ex");
	return attr.device_cap_flags_ex;
}

template <class Ex> constexpr bool has_calls = requires(Ex ex) { ex.wr_flush; };

// The kernel and libibverbs know them.
void need_them(const Ports &ports)
{
	if (!has_calls<ibv_qp_ex>)
		throw Skip("this libibverbs has no calls for them");
	if (!(caps_of(ports.here) & cap_flush_global))
		throw Skip("this kernel does not know them");
}

void begin(End &end, uint64_t wr_id)
{
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(end.qp);

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

void complete(End &end) { expect(!ibv_wr_complete(ibv_qp_to_qp_ex(end.qp)), "ibv_wr_complete"); }

template <class Ex> void call_flush(Ex *ex, const Name &at, size_t len, uint8_t type, uint8_t level)
{
	if constexpr (has_calls<Ex>)
		ex->wr_flush(ex, at.rkey, at.addr, len, type, level);
}

template <class Ex> void call_atomic_write(Ex *ex, const Name &at, const void *data)
{
	if constexpr (has_calls<Ex>)
		ex->wr_atomic_write(ex, at.rkey, at.addr, data);
}

void flush(End &end, uint64_t wr_id, const Name &at, size_t len, uint8_t type = global,
	   uint8_t level = range)
{
	begin(end, wr_id);
	call_flush(ibv_qp_to_qp_ex(end.qp), at, len, type, level);
	complete(end);
}

void atomic_write(End &end, uint64_t wr_id, const Name &at, uint64_t data)
{
	begin(end, wr_id);
	call_atomic_write(ibv_qp_to_qp_ex(end.qp), at, &data);
	complete(end);
}

Name moved(Name name, uint64_t by)
{
	name.addr += by;
	return name;
}

// ---- what they do ----

void announced()
{
	Ports ports;

	need_them(ports);
	const uint64_t caps = caps_of(ports.here);
	std::vector<uint8_t> memory(4096);

	expect(caps & cap_atomic_write && !(caps & cap_flush_persistent), "the capabilities");
	expect(!ibv_reg_mr(ports.here.pd, memory.data(), memory.size(),
			   IBV_ACCESS_LOCAL_WRITE | flush_persistent) &&
		       errno == EOPNOTSUPP,
	       "no region can be flushed persistently");
}

void they_arrive()
{
	Ports ports;
	need_them(ports);
	Pair pair(ports.here, ports.there, with_rights(), with_rights());
	const Name peer = pair.b.name();
	constexpr uint64_t word = 0x0123456789abcdef;
	uint64_t came;

	memset(pair.a.buffer.data(), 7, 64);
	pair.a.post(IBV_WR_RDMA_WRITE, 1, peer, 64);
	atomic_write(pair.a, 2, moved(peer, 8), word);
	flush(pair.a, 3, peer, 64);
	flush(pair.a, 4, peer, 0);
	flush(pair.a, 5, moved(peer, ~0ull / 2), ~size_t{0}, global, region);
	pair.a.sends.is(1);
	expect(pair.a.sends.is(2).opcode == static_cast<ibv_wc_opcode>(wc_atomic_write),
	       "IBV_WC_ATOMIC_WRITE");
	for (uint64_t n : {3, 4, 5})
		expect(pair.a.sends.is(n).opcode == static_cast<ibv_wc_opcode>(wc_flush),
		       "IBV_WC_FLUSH");
	memcpy(&came, &pair.b.buffer[8], sizeof(came));
	expect(came == word && pair.b.buffer[7] == 7 && pair.b.buffer[16] == 7, "the octets");
	pair.exercise();
}

// A reader sees whole words, and with each all that was written before.
void they_are_whole_and_in_order()
{
	constexpr uint64_t ones = 0x0101010101010101;
	Ports ports;
	need_them(ports);
	Pair pair(ports.here, ports.there, with_rights(), with_rights());
	const Name flag = pair.b.name(), data = moved(flag, 64);
	auto &word = *pair.b.words<std::atomic<uint64_t>>();
	std::atomic<uint8_t> &written =
		*reinterpret_cast<std::atomic<uint8_t> *>(&pair.b.buffer[64]);
	std::atomic<bool> over = false, torn = false, early = false;
	std::thread reader([&] {
		while (!over) {
			const uint64_t seen = word;

			torn = torn || seen % ones;
			early = early || written < seen / ones;
		}
	});

	for (int n = 1; n < 200; n++) {
		memset(pair.a.buffer.data(), n, 16);
		pair.a.post(IBV_WR_RDMA_WRITE, 1, data, 16);
		atomic_write(pair.a, 2, flag, static_cast<uint64_t>(n) * ones);
		pair.a.sends.is(1);
		pair.a.sends.is(2);
	}
	over = true;
	reader.join();
	expect(!torn, "a word is seen in part");
	expect(!early, "a word is seen before the Write in front of it");
}

// ---- what is refused ----

struct Wrong {
	const char *name;
	std::function<void(End &from, const Name &peer)> post;
	ibv_wc_status status;
	Options of_peer = with_rights();
};

Options without(int access, int of_region)
{
	Options options = with_rights();

	options.access &= ~access;
	options.region &= ~of_region;
	return options;
}

const Wrong all_wrong[] = {
	{"a Flush of no type", [](End &a, const Name &b) { flush(a, 2, b, 1, 0); },
	 IBV_WC_LOC_QP_OP_ERR},
	{"of type 4", [](End &a, const Name &b) { flush(a, 2, b, 1, 4); }, IBV_WC_LOC_QP_OP_ERR},
	{"of types 1 and 128", [](End &a, const Name &b) { flush(a, 2, b, 1, 129); },
	 IBV_WC_LOC_QP_OP_ERR},
	{"of level 2", [](End &a, const Name &b) { flush(a, 2, b, 1, global, 2); },
	 IBV_WC_LOC_QP_OP_ERR},
	{"of level 255", [](End &a, const Name &b) { flush(a, 2, b, 1, global, 255); },
	 IBV_WC_LOC_QP_OP_ERR},
	{"a Flush with a list",
	 [](End &a, const Name &b) {
		 begin(a, 2);
		 call_flush(ibv_qp_to_qp_ex(a.qp), b, 1, global, range);
		 ibv_wr_set_sge(ibv_qp_to_qp_ex(a.qp), a.mr->lkey, a.name().addr, 8);
		 complete(a);
	 },
	 IBV_WC_LOC_QP_OP_ERR},
	{"persistence", [](End &a, const Name &b) { flush(a, 2, b, 1, persistent); },
	 IBV_WC_REM_ACCESS_ERR},
	{"both types", [](End &a, const Name &b) { flush(a, 2, b, 1, 3, region); },
	 IBV_WC_REM_ACCESS_ERR},
	{"a Flush beyond the end", [](End &a, const Name &b) { flush(a, 2, b, 4097); },
	 IBV_WC_REM_ACCESS_ERR},
	{"of 2^64 - 1 bytes", [](End &a, const Name &b) { flush(a, 2, b, ~size_t{0}); },
	 IBV_WC_REM_ACCESS_ERR},
	{"without the region's right", [](End &a, const Name &b) { flush(a, 2, b, 1); },
	 IBV_WC_REM_ACCESS_ERR, without(0, flush_global)},
	{"without the QP's", [](End &a, const Name &b) { flush(a, 2, b, 1); },
	 IBV_WC_REM_INV_REQ_ERR, without(flush_global, 0)},
	{"an Atomic Write that is not aligned",
	 [](End &a, const Name &b) { atomic_write(a, 2, moved(b, 4), 1); }, IBV_WC_REM_INV_REQ_ERR},
	{"beyond the end", [](End &a, const Name &b) { atomic_write(a, 2, moved(b, 4096), 1); },
	 IBV_WC_REM_ACCESS_ERR},
	{"an Atomic Write without the region's right",
	 [](End &a, const Name &b) { atomic_write(a, 2, b, 1); }, IBV_WC_REM_ACCESS_ERR,
	 without(0, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)},
	{"without the QP's (Atomic Write)", [](End &a, const Name &b) { atomic_write(a, 2, b, 1); },
	 IBV_WC_REM_INV_REQ_ERR, without(IBV_ACCESS_REMOTE_WRITE, 0)},
};

// What comes before succeeds, what comes after is flushed, and both can begin anew.
void wrong(const Ports &ports, const Wrong &one)
try {
	Pair pair(ports.here, ports.there, with_rights(), one.of_peer);
	const std::vector<uint8_t> before = pair.b.buffer;

	pair.b.receive(1);
	pair.a.send(1, 0);
	one.post(pair.a, pair.b.name());
	pair.a.send(3, 0);
	pair.a.sends.is(1);
	pair.a.sends.is(2, one.status);
	pair.a.sends.is(3, IBV_WC_WR_FLUSH_ERR);
	pair.b.receives.is(1);
	expect(pair.b.buffer == before, "the peer's memory has changed");
	join_again(pair.a, pair.b);
	pair.exercise();
} catch (const Failure &failure) {
	throw Failure(std::string(one.name) + ": " + failure.what());
}

void they_are_refused()
{
	Ports ports;

	need_them(ports);
	for (const Wrong &one : all_wrong)
		wrong(ports, one);
}

} // namespace

Cases extended_cases()
{
	return {
		{"Flush and Atomic Write are announced, and persistence is not", announced},
		{"Flush and Atomic Write arrive", they_arrive},
		{"Atomic Writes are whole, and come after the Writes before",
		 they_are_whole_and_in_order},
		{"what is wrong of a Flush or an Atomic Write fails, as what", they_are_refused},
	};
}
