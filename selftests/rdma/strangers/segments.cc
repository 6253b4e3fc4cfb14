// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs that come on a stream, to a victim that sends nothing of its own: what is delivered, what
// is refused for good, and what breaks a rule (Documentation/ib.rst rules 1 to 9, 24, 25, 30).
// The victim plays either role.
#include "../../shared/attacks/rows.hh"
#include "segments.hh"

namespace strangers {
namespace {

Bytes joined(const std::vector<Bytes> &pieces)
{
	Bytes out;

	for (const Bytes &piece : pieces)
		out.insert(out.end(), piece.begin(), piece.end());
	return out;
}

ibv_event_type event_of(const Fate &fate)
{
	const Cause &cause = fate.cause;

	if (fate.kind == Kind::refused)
		return fate.syndrome == access_error ? IBV_EVENT_QP_ACCESS_ERR
						     : IBV_EVENT_QP_REQ_ERR;
	if (cause.layer < 2 && cause.type == 1)
		return IBV_EVENT_QP_ACCESS_ERR;
	return cause.layer == 0 && cause.type == 2 ? IBV_EVENT_QP_REQ_ERR : IBV_EVENT_QP_FATAL;
}

void want_fate(Stage &stage, Stream &stream, const Row &row, const Attack &attack)
{
	std::vector<Bytes> answers = hostile::cut(attack.answer).all;
	const Fate &fate = row.fate;

	if (fate.kind == Kind::done) {
		stream.want(answers, fate.delivered);
		stream.ack({0}, ask);
		stream.want_last({}, {fate.delivered});
		stage.want_delivered(row.more.good);
		stage.want_to_go_on(stream, 0, 0, fate.delivered);
		return;
	}
	if (fate.kind == Kind::refused) {
		stream.want_last(answers, {fate.delivered, fate.syndrome});
		stream.want_last_acks({fate.delivered}); // rule 31
	} else {
		answers.push_back(fpdu(terminate(
			fate.cause, attack.culprit == the_last ? attack.fpdus.back()
							       : attack.fpdus[attack.culprit])));
		stream.want(answers, fate.delivered);
		stream.want_fin();
	}
	stage.want_failed(row.more.good, event_of(fate), row.more.broken);
}

void strike(Stage &stage, Pace pace, Role role, const Row &row)
{
	stage.know(row.more.features);
	stage.ready(role, row.more.options);
	Stream stream = stage.meet(role, pace);
	const Attack attack = row.build.make(Scene{stage.regions, {}, {}});

	stream.say(joined(attack.fpdus));
	for (unsigned i = 0; i < row.more.acks; i++)
		stream.skip_own_ack();
	want_fate(stage, stream, row, attack);
	for (const attacks::Span &span : attack.may_change)
		stage.may_change(span.at, span.length);
	for (const attacks::Change &change : attack.lands)
		stage.has_changed(change.at, change.octets);
	stage.want_aftermath();
}

// ---- octets ----

Build one_write(const char *region, u64 offset, size_t len)
{
	return [=](const Scene &s) { return Attack{{fpdu(write_in(s[region], offset, len))}}; };
}

Build one_read(const char *region, u64 offset, u32 len)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(read_request({.length = len,
						  .source_stag = s[region].stag,
						  .source_to = s[region].to + offset}))}};
	};
}

Build one_atomic(const char *region, u64 offset, u32 code = fetch_add)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(atomic_request({.code = code,
						    .stag = s[region].stag,
						    .to = word_of(s[region]) + offset}))}};
	};
}

Build lands_in_receive(const Untagged &segment)
{
	return [=](const Scene &s) {
		return Attack{{fpdu(segment)}, the_last, {{s["receive0"].to, segment.data}}};
	};
}

Bytes an_ack(size_t len, u32 msn, u8 ddp = 0x41, u32 mo = 0)
{
	Untagged octets = wire::ack({0}, msn);

	octets.ddp = ddp;
	octets.mo = mo;
	octets.data.resize(len);
	return fpdu(octets);
}

Options without(int access)
{
	Options options;

	options.access &= ~access;
	return options;
}

// ---- rows ----

std::vector<Row> header_rows()
{
	return {
		{"ib 3: bits of a Send that have no meaning there are not checked",
		 done(),
		 lands_in_receive(send(payload(5), op_send | more)),
		 {.good = 1}},
		{"ib 3: nor are those of a Read Request", done(),
		 [](const Scene &s) {
			 Untagged request = read_request(
				 {.sink_stag = 7, .length = 0, .source_stag = s["both"].stag});

			 request.rdmap |= more | ask;
			 return Attack{
				 {fpdu(request)},
				 the_last,
				 {},
				 {},
				 fpdu(Tagged{.rdmap = op_read_response, .stag = 7, .to = 0x1000})};
		 }},
		{"ib 3: nor are those of an Ack",
		 done(0),
		 fpdu(wire::ack({0}, 2, op_ack | more)),
		 {.acks = 1}},
		{"ib 4, 111: there is no opcode 15 where it is not agreed", breaks(unexpected),
		 fpdu(of_queue(0, 0x4f))},
		{"ib 4, 111: nor on the queue of Acks", breaks(unexpected),
		 fpdu(of_queue(4, 0x4f))},
		{"ib 4: an Ack on the queue of Sends", breaks(unexpected),
		 fpdu(of_queue(0, op_ack))},
		{"ib 4: an Ack on the queue of requests", breaks(unexpected),
		 fpdu(of_queue(1, op_ack))},
		{"ib 4: an Ack that is tagged", breaks(unexpected), fpdu(Tagged{.rdmap = op_ack})},
		{"ib 4: a Send on the queue of Acks", breaks(unexpected),
		 fpdu(of_queue(4, op_send))},
		{"ib 4: a Send with Immediate Data on the queue of Acks", breaks(unexpected),
		 fpdu(of_queue(4, op_send_imm))},
		{"ib 4: queue 5", breaks(untagged(1)), fpdu(of_queue(5, op_send))},
		{"ib 4: queue 2^32 - 1", breaks(untagged(1)), fpdu(of_queue(~0u, op_ack))},
		{"ib 4: a Send begins with MSN 1, not 2", breaks(untagged(3)),
		 fpdu(send(payload(4), op_send, 2))},
		{"ib 4: not 0", breaks(untagged(3)), fpdu(send(payload(4), op_send, 0))},
		{"ib 4: a Send with Immediate Data has the MSN after the Send before it",
		 breaks(untagged(3), 1),
		 [](const Scene &s) {
			 return Attack{{fpdu(send(payload(4))), fpdu(send({}, op_send_imm, 1))},
				       the_last,
				       {{s["receive0"].to, payload(4)}}};
		 },
		 {.good = 1}},
		{"ib 4: a Read Request begins with MSN 1, not 2", breaks(untagged(3)),
		 fpdu(read_request({}, 2))},
		{"ib 4: an Atomic Request begins with MSN 1, not 0", breaks(untagged(3)),
		 fpdu(atomic_request({}, 0))},
		{"ib 4: the first segment has MO 0", breaks(untagged(4)),
		 fpdu(Untagged{.mo = 1, .data = payload(4)})},
		{"ib 4: the second continues the first", breaks(untagged(4)),
		 inside_a_send(fpdu(Untagged{.mo = 9, .data = payload(4)}))},
		{"ib 8: an Ack of no octets", breaks(operation(unspecified)), an_ack(0, 2)},
		{"ib 8: of one", breaks(operation(unspecified)), an_ack(1, 2)},
		{"ib 8: of seven", breaks(operation(unspecified)), an_ack(7, 2)},
		{"ib 8: of nine", breaks(untagged(5)), an_ack(9, 2)},
		{"ib 8: of as many as there can be", breaks(untagged(5)), an_ack(65535 - 18, 2)},
		{"ib 8: an Ack of more than one segment", breaks(operation(unspecified)),
		 an_ack(8, 2, more_untagged)},
		{"ib 8: an Ack that begins behind its first octet", breaks(untagged(4)),
		 an_ack(8, 2, 0x41, 8)},
		{"ib 4, 8: the MSN of an Ack that came before", breaks(untagged(3)), an_ack(8, 1)},
		{"ib 4, 8: an Ack is left out", breaks(untagged(3)), an_ack(8, 3)},
	};
}

std::vector<Row> order_rows()
{
	return {
		{"ib 6: Immediate Data without an RDMA Write", breaks(no_order),
		 fpdu(immediate(1))},
		{"ib 6: a Send where Immediate Data must come", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{
				 {fpdu(write_in(s["both"], 0, 8, op_write | more)), fpdu(send({}))},
				 the_last,
				 {{s["both"].to, payload(8)}}};
		 }},
		{"ib 6: another RDMA Write where Immediate Data must come", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{fpdu(write_in(s["both"], 0, 8, op_write | more)),
					fpdu(write_in(s["both"], 8, 8))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 }},
		{"ib 6: a Read Request where Immediate Data must come", breaks(no_order),
		 [](const Scene &) {
			 return Attack{
				 {fpdu(Tagged{.rdmap = op_write | more}), fpdu(read_request({}))}};
		 }},
		{"ib 6: Immediate Data are eight octets, not seven", breaks(operation(unspecified)),
		 [](const Scene &) {
			 return Attack{{fpdu(Tagged{.rdmap = op_write | more}),
					fpdu(Untagged{.rdmap = op_immediate, .data = Bytes(7)})}};
		 }},
		{"ib 6: not nine", breaks(untagged(5)),
		 [](const Scene &) {
			 return Attack{{fpdu(Tagged{.rdmap = op_write | more}),
					fpdu(Untagged{.rdmap = op_immediate, .data = Bytes(9)})}};
		 }},
		{"ib 3, 6: more is in all segments of an RDMA Write, not only the first",
		 breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{begun(write_in(s["both"], 0, 8, op_write | more)),
					fpdu(write_in(s["both"], 8, 8))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 }},
		{"ib 3, 6: nor only the last", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{begun(write_in(s["both"], 0, 8)),
					fpdu(write_in(s["both"], 8, 8, op_write | more))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 }},
		{"ib 7: a Send inside an RDMA Write", breaks(no_order),
		 inside_a_write(fpdu(send({})))},
		{"ib 7: a Read Request inside an RDMA Write", breaks(no_order),
		 inside_a_write(fpdu(read_request({})))},
		{"ib 7: an Atomic Request inside an RDMA Write", breaks(no_order),
		 inside_a_write(fpdu(atomic_request({})))},
		{"ib 7: Immediate Data inside an RDMA Write", breaks(no_order),
		 inside_a_write(fpdu(immediate(1)), more)},
		{"ib 7: an RDMA Write inside a Send", breaks(no_order),
		 inside_a_send(fpdu(Tagged{}))},
		{"ib 7: a Read Request inside a Send", breaks(no_order),
		 inside_a_send(fpdu(read_request({})))},
		{"ib 7: a Send with Immediate Data that goes on as a Send", breaks(no_order),
		 inside_a_send(fpdu(Untagged{.rdmap = op_send_imm, .mo = 8, .data = payload(4)}))},
		{"ib 7: a gap in an RDMA Write", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{begun(write_in(s["both"], 0, 8)),
					fpdu(write_in(s["both"], 9, 8))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 }},
		{"ib 7: an RDMA Write that goes back", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{begun(write_in(s["both"], 0, 8)),
					fpdu(write_in(s["both"], 0, 8))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 }},
		{"ib 7: an RDMA Write that goes on in another region", breaks(no_order),
		 [](const Scene &s) {
			 return Attack{{begun(write_in(s["both"], 0, 8)),
					fpdu(write_in(s["write-only"], 0, 8))},
				       the_last,
				       {{s["both"].to, payload(8)}}};
		 }},
		{"ib 7: Acks may come inside a Send",
		 done(),
		 [](const Scene &s) {
			 return Attack{{begun(send(payload(8))), fpdu(wire::ack({0}, 2)),
					fpdu(wire::ack({0}, 3)),
					fpdu(Untagged{.mo = 8, .data = payload(4)})},
				       the_last,
				       {{s["receive0"].to, payload(8) + payload(4)}}};
		 },
		 {.good = 1, .acks = 2}},
		{"ib 18: a Read Response that nobody asked for", breaks(operation(0x10)),
		 fpdu(Tagged{.rdmap = op_read_response, .stag = 5, .data = payload(8)})},
		{"ib 18: an empty one", breaks(operation(0x10)),
		 fpdu(Tagged{.rdmap = op_read_response})},
		{"ib 18: an Atomic Response that nobody asked for", breaks(operation(0x10)),
		 fpdu(atomic_response(5, 5))},
	};
}

std::vector<Row> refused_rows()
{
	const u64 large = 256 * 1024 - 2 * 0x123;

	return {
		{"ib 24, 25: access: an RDMA Write to an STag of nobody", refused(access_error),
		 and_then_a_write(fpdu(Tagged{.stag = 0xdeadbe00, .data = payload(8)}))},
		{"ib 24: access: to a region that is no more", refused(access_error),
		 and_then_a_write(one_write("stale", 0, 8))},
		{"ib 24: access: to a region of another domain", refused(access_error),
		 one_write("foreign", 0, 8)},
		{"ib 24: access: to a region for reading", refused(access_error),
		 one_write("read-only", 0, 8)},
		{"ib 24: access: to a region for this end alone", refused(access_error),
		 one_write("private", 0, 8)},
		{"ib 24: access: by one octet beyond the end", refused(access_error),
		 one_write("both", large - 7, 8)},
		{"ib 24: access: before the start", refused(access_error),
		 one_write("both", ~0ull, 8)},
		{"ib 24: access: around the end of all addresses", refused(access_error),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{
				 .stag = s["both"].stag, .to = ~0ull - 3, .data = payload(8)})}};
		 }},
		{"ib 24: access: the second segment of an RDMA Write is beyond the end",
		 refused(access_error),
		 [=](const Scene &s) {
			 return Attack{{begun(write_in(s["both"], large - 8, 8)),
					fpdu(write_in(s["both"], large, 1))},
				       the_last,
				       {{s["both"].to + large - 8, payload(8)}}};
		 }},
		{"ib 24: access: 65521 octets where 4096 may be written", refused(access_error),
		 one_write("write-only", 0, 65535 - 14)},
		{"ib 24: of length 0 the STag is not checked", done(),
		 fpdu(Tagged{.stag = 1, .to = ~0ull})},
		{"ib 24: access: a Read of an STag of nobody", refused(access_error),
		 and_then_a_write(fpdu(read_request({.length = 8, .source_stag = 0xdeadbe00})))},
		{"ib 24: access: of a region that is no more", refused(access_error),
		 one_read("stale", 0, 8)},
		{"ib 24: access: of a region of another domain", refused(access_error),
		 one_read("foreign", 0, 8)},
		{"ib 24: access: of a region for writing", refused(access_error),
		 one_read("write-only", 0, 8)},
		{"ib 24: access: a Read by one octet beyond the end", refused(access_error),
		 one_read("both", 1, large)},
		{"ib 24: access: a Read of 2^32 - 1 octets", refused(access_error),
		 one_read("both", 0, ~0u)},
		{"ib 24: of a Read of length 0 the STag is not checked", done(),
		 [](const Scene &) {
			 return Attack{
				 {fpdu(read_request({.sink_stag = 9, .source_stag = 1}))},
				 the_last,
				 {},
				 {},
				 fpdu(Tagged{.rdmap = op_read_response, .stag = 9, .to = 0x1000})};
		 }},
		{"ib 24: access: an atomic operation on an STag of nobody", refused(access_error),
		 and_then_a_write(fpdu(atomic_request({.stag = 0xdeadbe00})))},
		{"ib 24: access: in a region of another domain", refused(access_error),
		 one_atomic("foreign", 0)},
		{"ib 24: access: in a region without that right", refused(access_error),
		 one_atomic("both", 0)},
		{"ib 24: access: an atomic operation beyond the end", refused(access_error),
		 one_atomic("atomic", 4096)},
		{"ib 24: invalid: an atomic operation on a word that is not aligned",
		 refused(invalid_request), one_atomic("atomic", 4)},
		{"ib 24: invalid: an atomic operation with code 3", refused(invalid_request),
		 one_atomic("atomic", 0, 3)},
		{"ib 24: invalid: with code 2^32 - 1", refused(invalid_request),
		 one_atomic("atomic", 0, ~0u)},
		{"ib 24: invalid: the QP's flags forbid an RDMA Write",
		 refused(invalid_request),
		 and_then_a_write(one_write("both", 0, 8)),
		 {.options = without(IBV_ACCESS_REMOTE_WRITE)}},
		{"ib 24: invalid: also one of length 0",
		 refused(invalid_request),
		 fpdu(Tagged{}),
		 {.options = without(IBV_ACCESS_REMOTE_WRITE)}},
		{"ib 24: invalid: the QP's flags forbid a Read",
		 refused(invalid_request),
		 one_read("both", 0, 8),
		 {.options = without(IBV_ACCESS_REMOTE_READ)}},
		{"ib 24: invalid: also one of length 0 (Read)",
		 refused(invalid_request),
		 one_read("both", 0, 0),
		 {.options = without(IBV_ACCESS_REMOTE_READ)}},
		{"ib 24: invalid: the QP's flags forbid an atomic operation",
		 refused(invalid_request),
		 one_atomic("atomic", 0),
		 {.options = without(IBV_ACCESS_REMOTE_ATOMIC)}},
		{"ib 24: invalid: a Send is longer than its receive",
		 refused(invalid_request),
		 and_then_a_write(fpdu(send(payload(65)))),
		 {.broken = IBV_WC_LOC_LEN_ERR}},
		{"ib 24: invalid: a Send with Immediate Data is",
		 refused(invalid_request),
		 fpdu(send(payload(65), op_send_imm)),
		 {.broken = IBV_WC_LOC_LEN_ERR}},
		{"ib 24: invalid: a Send of 65517 octets is",
		 refused(invalid_request),
		 fpdu(send(payload(65535 - 18))),
		 {.broken = IBV_WC_LOC_LEN_ERR}},
		{"ib 24: invalid: the second segment of a Send is too long",
		 refused(invalid_request),
		 inside_a_send(fpdu(Untagged{.mo = 8, .data = payload(57)})),
		 {.broken = IBV_WC_LOC_LEN_ERR}},
		{"ib 24, 9: invalid: a Send invalidates a region that the peer may not invalidate",
		 refused(invalid_request),
		 [](const Scene &s) {
			 Untagged it = send({}, op_send_inv);

			 it.inv_stag = s["both"].stag;
			 return Attack{{fpdu(it), fpdu(write_in(s["both"], 0, 8))}};
		 },
		 {.broken = IBV_WC_REM_INV_REQ_ERR}},
		{"ib 24, 9: invalid: a region of another domain",
		 refused(invalid_request),
		 [](const Scene &s) {
			 Untagged it = send({}, op_send_inv);

			 it.inv_stag = s["foreign"].stag;
			 return Attack{{fpdu(it)}};
		 },
		 {.broken = IBV_WC_REM_INV_REQ_ERR}},
		{"ib 24, 9: invalid: an STag of nobody",
		 refused(invalid_request),
		 [](const Scene &) {
			 Untagged it = send({}, op_send_se_inv);

			 it.inv_stag = 0xdeadbe00;
			 return Attack{{fpdu(it)}};
		 },
		 {.broken = IBV_WC_REM_INV_REQ_ERR}},
		{"ib 25: what was delivered before is acknowledged by the refusal",
		 refused(access_error, 2),
		 [](const Scene &s) {
			 return Attack{
				 {fpdu(send(payload(4))), fpdu(write_in(s["both"], 0, 8)),
				  fpdu(Tagged{.stag = 1, .data = payload(1)})},
				 the_last,
				 {{s["receive0"].to, payload(4)}, {s["both"].to, payload(8)}}};
		 },
		 {.good = 1}},
		{"ib 25: responses to requests before it come before the refusal",
		 refused(access_error, 2),
		 [](const Scene &s) {
			 const ReadRequest read = {.sink_stag = 9, .length = 0, .source_stag = 1};
			 const Bytes answer =
				 fpdu(Tagged{.rdmap = op_read_response, .stag = 9, .to = 0x1000});

			 return Attack{{fpdu(read_request(read)), fpdu(read_request(read, 2)),
					fpdu(read_request({.length = 1, .source_stag = 1}, 3)),
					fpdu(read_request(read, 4)),
					fpdu(write_in(s["both"], 0, 8))},
				       the_last,
				       {},
				       {},
				       answer + answer};
		 }},
		{"ib 25: what a header says is refused once the CRC is good", breaks(bad_crc),
		 damaged(fpdu(Tagged{.stag = 1, .data = payload(8)}), 20)},
	};
}

// RFC 5044's: what they do does not depend on what is above.
std::vector<Row> framing_rows()
{
	std::vector<Row> rows;

	for (const attacks::Row &row : attacks::framing_rows())
		if (!row.cause || row.cause->layer == 2)
			rows.push_back({"ib 30: " + row.name,
					row.cause ? breaks(*row.cause, row.more.delivered) : done(),
					row.build,
					{.good = row.more.delivered}});
	return rows;
}

std::vector<Row> version_rows()
{
	return {
		{"ib 30: RFC 5041 4.1: DDP version 0", breaks(untagged(6)),
		 fpdu(Untagged{.ddp = 0x40, .data = payload(4)})},
		{"ib 30: RFC 5041 4.1: DDP version 3 of an RDMA Write", breaks(tagged(4)),
		 fpdu(Tagged{.ddp = 0xc3})},
		{"ib 30: RFC 5040 4.1: RDMAP version 2", breaks(operation(5)),
		 fpdu(send({}, 0x83))},
		{"ib 30: RFC 5040 4.1: RDMAP version 3 of an Ack", breaks(operation(5)),
		 fpdu(wire::ack({0}, 2, 0xcc))},
	};
}

} // namespace

Cases segment_cases()
{
	Cases all;

	for (auto rows :
	     {header_rows, order_rows, refused_rows, extended_rows, version_rows, framing_rows})
		for (const Row &row : rows())
			for (const Role role : {Role::listener, Role::connector})
				all.push_back({row.name + " (" + name_of(role) + ")",
					       [row, role](Stage &stage, Pace pace) {
						       strike(stage, pace, role, row);
					       },
					       false, row.more.features});
	return all;
}

} // namespace strangers
