// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP's startup: the first message of each end, a Send of one segment whose control data say
// connect, accept or reject (Documentation/rdmatcp.rst, "Startup").
#include "rdmatcp/rdmatcp.hh"

namespace srnic::rdmatcp {
namespace {

struct StartupWords {
	u8 kind;
	u8 flags;
	be<u16> reserved;
	be<u16> ird;
	be<u16> ord;
};
static_assert(sizeof(StartupWords) == startup_len);

constexpr u8 wants_crc = 0x01;
constexpr u8 wants_long_segments = 0x02;

constexpr u32 control_octets = control_len(startup);
static_assert(CORE_HELLO_HEAD == sizeof(StreamHeader));
static_assert(CORE_HELLO_MAX <= wire_len(max_length));

StreamHeader header_of(const core_hello &hello)
{
	u32 length = sizeof(StreamHeader) + control_octets + hello.private_len;

	return {{version, Bits::make(Type::send, true, true),
		 be<u16>::from_host(static_cast<u16>(length)),
		 be<u64>::from_host(hello.connection_id), be<u32>::from_host(hello.number),
		 be<u16>::from_host(in_order), 0, control_octets / word},
		be<u32>::from_host(0)};
}

StartupWords words_of(const core_hello &hello)
{
	u8 flags = (hello.crc ? wants_crc : 0) | (hello.long_segments ? wants_long_segments : 0);

	return {hello.kind, flags, be<u16>::from_host(0), be<u16>::from_host(hello.ird),
		be<u16>::from_host(hello.ord)};
}

bool is_kind(u8 kind) { return kind >= CORE_HELLO_CONNECT && kind <= CORE_HELLO_REJECT; }

// The CRC of a first message is always there.
bool crc_good(const u8 *octets, u32 len)
{
	const u32 field = len - crc_field_len;

	return is_crc(add_to_crc(crc_seed, octets, field), octets + field);
}

core_rdmatcp_fault check_first_message(const StreamHeader &header, u32 len)
{
	const Common &common = header.common;

	if (common.version != version)
		return CORE_RDMATCP_VERSION;
	if (common.bits.type() != Type::send || !common.bits.begin() || !common.bits.end())
		return CORE_RDMATCP_BITS;
	if (wire_len(common.length.host()) != len)
		return CORE_RDMATCP_LENGTH;
	return header.data_offset.host() ? CORE_RDMATCP_OFFSET : CORE_RDMATCP_FINE;
}

} // namespace
} // namespace srnic::rdmatcp

using namespace srnic;
using namespace srnic::rdmatcp;

enum core_framing core_framing_of(u8 first)
{
	return first == version ? CORE_FRAMING_RDMATCP : CORE_FRAMING_MPA;
}

u32 core_hello_build(const struct core_hello *hello, const u8 *private_data, u8 out[CORE_HELLO_MAX])
{
	const StartupWords words = words_of(*hello);
	const Control control = {startup, 0, 0, nullptr, reinterpret_cast<const u8 *>(&words)};
	u8 *at = out + sizeof(StreamHeader);
	u32 pad = pad_len(hello->private_len);

	store(out, header_of(*hello));
	at += encode(control, at);
	if (hello->private_len)
		__builtin_memcpy(at, private_data, hello->private_len);
	at += hello->private_len;
	__builtin_memset(at, 0, pad);
	at += pad;
	put_crc(add_to_crc(crc_seed, out, static_cast<u32>(at - out)), at);
	return static_cast<u32>(at - out) + rdmatcp::crc_field_len;
}

u32 core_hello_len(const u8 head[CORE_HELLO_HEAD])
{
	const auto header = load<StreamHeader>(head);
	const u32 length = header.common.length.host();
	const u32 own = sizeof(StreamHeader) + word * header.common.clen;

	if (length < own || length - own > CORE_HELLO_MAX_PRIVATE ||
	    check_first_message(header, wire_len(length)) != CORE_RDMATCP_FINE)
		return 0;
	return wire_len(length);
}

enum core_rdmatcp_fault core_hello_parse(const u8 *octets, u32 len, struct core_hello *out,
					 const u8 **private_data)
{
	const auto header = load<StreamHeader>(octets);
	const u32 own = word * header.common.clen;
	Control control;

	if (!crc_good(octets, len))
		return CORE_RDMATCP_CRC;
	if (!decode(octets + sizeof(header), own, control) || control.flags != startup)
		return CORE_RDMATCP_CONTROL;
	const auto words = load<StartupWords>(control.startup);

	if (!is_kind(words.kind))
		return CORE_RDMATCP_CONTROL;
	*private_data = octets + sizeof(header) + own;
	*out = {.connection_id = header.common.connection_id.host(),
		.number = header.common.number.host(),
		.private_len = static_cast<u16>(header.common.length.host() - sizeof(header) - own),
		.ird = words.ird.host(),
		.ord = words.ord.host(),
		.kind = words.kind,
		.crc = (words.flags & wants_crc) != 0,
		.long_segments = (words.flags & wants_long_segments) != 0};
	return CORE_RDMATCP_FINE;
}

// ---- what the two ends agree on ----
//
// This end takes octets as they come in the stream, so it always prefers long segments.

void core_hello_connect(const struct core_startup_local *local, u16 private_len,
			const u64 random[2], struct core_hello *out)
{
	*out = {.connection_id = random[0],
		.number = static_cast<u32>(random[1]),
		.private_len = private_len,
		.ird = min(local->ird, local->max_ird),
		.ord = local->ord,
		.kind = CORE_HELLO_CONNECT,
		.crc = local->crc,
		.long_segments = true};
}

// The IRD grows to the initiator's ORD, up to this end's limit; beyond it the initiator lowers its
// ORD. The ORD is no more than the initiator's IRD.
void core_hello_respond(const struct core_hello *connect, const struct core_startup_local *local,
			bool reject, u16 private_len, u64 random, struct core_hello *reply,
			struct core_startup_agreed *out)
{
	*out = {};
	out->connection_id = connect->connection_id;
	out->send_msn = static_cast<u32>(random) + 1;
	out->recv_msn = connect->number + 1;
	out->ird = min(max(local->ird, connect->ord), local->max_ird);
	out->ord = min(local->ord, connect->ird);
	out->framing = CORE_FRAMING_RDMATCP;
	out->crc = local->crc || connect->crc;
	out->long_segments = connect->long_segments;
	*reply = {.connection_id = connect->connection_id,
		  .number = static_cast<u32>(random),
		  .private_len = private_len,
		  .ird = out->ird,
		  .ord = out->ord,
		  .kind = reject ? u8{CORE_HELLO_REJECT} : u8{CORE_HELLO_ACCEPT},
		  .crc = out->crc,
		  .long_segments = true};
}

// A responder whose ORD is more than this end offered breaks rule 20; room is made for it if there
// is some.
void core_hello_conclude(const struct core_hello *connect, const struct core_hello *reply,
			 const struct core_startup_local *local, struct core_startup_agreed *out)
{
	*out = {};
	out->connection_id = connect->connection_id;
	out->send_msn = connect->number + 1;
	out->recv_msn = reply->number + 1;
	out->ird = max(connect->ird, reply->ord);
	out->ord = min(connect->ord, reply->ird);
	out->framing = CORE_FRAMING_RDMATCP;
	out->crc = connect->crc || reply->crc;
	out->long_segments = reply->long_segments;
	out->error = reply->connection_id != connect->connection_id || reply->ord > local->max_ird;
}
