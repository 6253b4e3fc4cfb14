// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Each operation both ways, over each kind of address.
#include "case.hh"

namespace {

void fill(End &end, uint8_t with) { memset(end.buffer.data(), with, end.buffer.size()); }

void holds(const End &end, uint8_t value, uint32_t len, const std::string &what)
{
	for (uint32_t i = 0; i < len; i++)
		expect(end.buffer[i] == value, what);
}

void tagged(End &from, End &to)
{
	fill(from, 1);
	fill(to, 2);
	from.post(IBV_WR_RDMA_WRITE, 1, to.name(), 3000);
	from.sends.is(1);
	holds(to, 1, 3000, "a Write that completed is at the peer");
	fill(to, 3);
	from.post(IBV_WR_RDMA_READ, 2, to.name(), 3000);
	expect(from.sends.is(2).byte_len == 3000, "the length of a Read");
	holds(from, 3, 3000, "the octets of a Read");
}

void atomics(End &from, End &to)
{
	ibv_send_wr swap = from.request(IBV_WR_ATOMIC_CMP_AND_SWP, 2);

	to.words<uint64_t>()[0] = 41;
	from.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, to.name(), 8);
	from.sends.is(1);
	expect(from.words<uint64_t>()[0] == 41 && to.words<uint64_t>()[0] == 42, "an addition");
	swap.wr.atomic = {to.name().addr, 42, 7, to.name().rkey};
	from.post(swap, from.piece(0, 8));
	from.sends.is(2);
	expect(from.words<uint64_t>()[0] == 42 && to.words<uint64_t>()[0] == 7, "a swap");
}

void immediate(End &from, End &to, ibv_wr_opcode opcode, ibv_wc_opcode seen)
{
	const Name peer = to.name();
	ibv_send_wr wr = from.request(opcode, 1, &peer);

	wr.imm_data = 0x12345678;
	fill(from, 5);
	fill(to, 6);
	to.receive(2, 2000);
	from.post(wr, from.piece(0, 2000));
	const ibv_wc wc = to.receives.is(2);

	expect(wc.opcode == seen && wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == 0x12345678 &&
		       wc.byte_len == 2000 && wc.qp_num == to.qp->qp_num,
	       "the completion of a receive with Immediate Data");
	holds(to, 5, 2000, "the octets before the Immediate Data");
	from.sends.is(1);
}

void one_way(End &from, End &to)
{
	tagged(from, to);
	atomics(from, to);
	immediate(from, to, IBV_WR_SEND_WITH_IMM, IBV_WC_RECV);
	immediate(from, to, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
}

void all_operations(const Port &here, const Port &there)
{
	Pair pair(here, there);

	pair.exercise();
	one_way(pair.a, pair.b);
	one_way(pair.b, pair.a);
}

void between(const std::string &address, const std::string &other)
{
	Ports ports(address, other);

	all_operations(ports.here, ports.there);
}

void ipv4() { between(settings.here.address, settings.there.address); }

void ipv6() { between(settings.here.address6, settings.there.address6); }

void link_local() { between("first", "first"); }

void one_device()
{
	Port port(settings.here.device, settings.here.address);

	all_operations(port, port);
}

void long_messages()
{
	Options options;

	options.bytes = 4 << 20;
	Ports ports;
	Pair pair(ports.here, ports.there, options, options);

	for (int i = 0; i < 4; i++) {
		pair.b.receive(1, options.bytes);
		pair.a.send(2, options.bytes);
		pair.b.post(IBV_WR_RDMA_READ, 3, pair.a.name(), options.bytes);
		pair.b.receives.is(1);
		pair.a.sends.is(2);
		pair.b.sends.is(3);
	}
}

} // namespace

Cases transfer_cases()
{
	return {
		{"every operation both ways over IPv4", ipv4},
		{"every operation both ways over IPv6", ipv6},
		{"every operation both ways over link-local addresses", link_local},
		{"every operation between two QPs of one device", one_device},
		{"messages of 4 MiB", long_messages},
	};
}
