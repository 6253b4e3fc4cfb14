// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "requester.hh"

#include <arpa/inet.h>

namespace strangers {
namespace {

constexpr u32 stag = 0x77;
constexpr u64 where = 0x1000;

Bytes octets_of(Stage &stage)
{
	const auto &buffer = stage.victim().buffer;

	return {buffer.begin(), buffer.begin() + five_octets};
}

Bytes a_send(Stage &stage, u32 msn)
{
	return fpdu(Untagged{.rdmap = op_send | ask, .msn = msn, .data = octets_of(stage)});
}

Bytes a_write(Stage &stage, u8 bits)
{
	return fpdu(Tagged{.rdmap = static_cast<u8>(op_write | bits),
			   .stag = stag,
			   .to = where,
			   .data = octets_of(stage)});
}

attacks::Read read_in(const Bytes &octets)
{
	const ReadRequest want = {.sink_stag = static_cast<u32>(number(octets, 20, 4)),
				  .sink_to = number(octets, 24, 8),
				  .length = five_octets,
				  .source_stag = stag,
				  .source_to = where};

	want_octets("the Read Request", octets, fpdu(read_request(want)));
	return {want.sink_stag, want.sink_to, want.length};
}

} // namespace

void post_all_five(Stage &stage)
{
	::End &victim = stage.victim();
	Name remote{};

	remote.addr = where;
	remote.rkey = stag;
	ibv_send_wr with_immediate = victim.request(IBV_WR_RDMA_WRITE_WITH_IMM, 4, &remote);

	with_immediate.imm_data = htonl(five_immediate);
	victim.send(1, five_octets);
	victim.post(IBV_WR_RDMA_WRITE, 2, remote, five_octets);
	victim.post(victim.request(IBV_WR_RDMA_READ, 3, &remote), stage.sink(0, five_octets));
	victim.post(with_immediate, victim.piece(0, five_octets));
	victim.send(5, five_octets);
}

std::vector<Bytes> last_of_five(Stage &stage)
{
	Untagged data = immediate(u64{five_immediate} << 32, 2);

	data.rdmap |= ask;
	return {a_write(stage, more), fpdu(data), a_send(stage, 3)};
}

Five take_five(Stage &stage, Stream &stream, u32 delivered)
{
	Five five;

	stream.want({a_send(stage, 1), a_write(stage, ask)}, delivered);
	five.read = read_in(stream.behind_acks(delivered));
	stream.want(last_of_five(stage), delivered);
	return five;
}

Five post_five(Stage &stage, Stream &stream)
{
	post_all_five(stage);
	return take_five(stage, stream);
}

} // namespace strangers
