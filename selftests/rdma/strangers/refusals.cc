// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "refusals.hh"

namespace strangers {
namespace {

// Rule 52: nothing of its QP.
bool is_for_strangers(u8 reason)
{
	return reason == not_ready || reason == other_pair || reason == version ||
	       reason == shutting_down || reason == malformed;
}

bool may_name_nobody(u8 reason) { return reason == version || reason == malformed; }

Frame nobody_says(const Frame &asked, u8 reason)
{
	return {.reason = reason,
		.source_gid = asked.destination_gid,
		.destination_gid = asked.source_gid,
		.source_qpn = asked.destination_qpn & 0xffffff,
		.destination_qpn = asked.source_qpn & 0xffffff,
		.ird = 0,
		.ord = 0,
		.source_attempt = 0,
		.source_incarnation = 0};
}

void want_introduction(const Frame &is, const Frame &asked, u8 reason)
{
	Frame want = is;

	want.magic = Frame{}.magic;
	want.version = 1;
	want.reason = reason;
	want.zero = 0;
	want.features &= feature_extended; // not of all kernels
	want.needs = 0;
	want.source_gid = asked.destination_gid;
	want.destination_gid = asked.source_gid;
	want.source_qpn = asked.destination_qpn;
	want.destination_qpn = asked.source_qpn;
	want_octets("the Reply", is.data(), want.data());
	if (!is.ird || !is.source_attempt || !is.source_incarnation)
		fail("the Reply does not introduce the victim: ", hex(is.data()));
}

} // namespace

void want_refusal(const Frame &is, const Frame &asked, u8 reason)
{
	Frame nobody = nobody_says(asked, reason), nameless = nobody;

	nameless.source_gid = nameless.destination_gid = Bytes(16);
	nameless.source_qpn = nameless.destination_qpn = 0;
	if ((is.flags & ~flag_crc) != flag_reject || is.revision != 2 || is.says != 96)
		fail("the Reply's header is ", hex(is.octets().slice(0, 20)));
	if (!is_for_strangers(reason))
		want_introduction(is, asked, reason);
	else if (!may_name_nobody(reason) || is.data() != nameless.data())
		want_octets("the Reply", is.data(), nobody.data());
}

Frame refused(const Socket &socket, const Frame &asked, u8 reason)
{
	const Frame reply = frame_of(socket.receive(frame_size));
	Over over;

	want_refusal(reply, asked, reason);
	want_octets("what follows the Reply", socket.rest(&over, 2000), {});
	if (over != Over::fin)
		fail("the refusal is not followed by the end of the victim's half");
	return reply;
}

Frame asks_in_vain(const Stage &stage, const Frame &request, u8 reason, Pace pace)
{
	Socket socket = stage.dial();

	socket.send(request.octets(), pace);
	const Frame reply = refused(socket, request, reason);

	socket.reset();
	return reply;
}

} // namespace strangers
