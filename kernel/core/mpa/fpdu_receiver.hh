// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA's receive side (RFC 5044 4 and 6): turns the octets of a TCP stream into ULPDUs. A pull
// parser: it says which octets it wants next. Handles FPDU lengths, pads, markers and CRCs; the
// layer above sees only ulpdu.hh.
//
// It takes every FPDU in steps: the length and the shortest header above, which the smallest ULPDU
// fills; the rest of a longer header; payload, placed by the host (or gathered, or skipped); pad
// and CRC. Markers split these steps, and are removed. But an FPDU without markers that lies in one
// piece of the stream is taken at once.
//
// An error in a ULPDU is reported only when its CRC was good: RFC 5044 4.4, "the receiver MUST
// first". Only then has a responder received and validated an FPDU, and may send (7.1.2, 4).
#pragma once

#include "mpa/framing.hh"
#include "mpa/ulpdu.hh"
#include "receiver_step.hh"

namespace srnic {

template <class Upper> class FpduReceiver {
public:
	Upper upper;

	void start(bool crcs, bool with_markers);
	// The FPDU that begins in the first of these octets, if all of it is there and no other has
	// begun. Else none are taken.
	core_rx_taken take_whole(const u8 *data, u32 n);
	// The next step of the stream.
	core_rx_step next();
	// n octets (1..want of the last step) were taken.
	core_rx_event took(u32 n);
	// What payload is added to; nothing if CRCs are off.
	u32 *payload_sum() { return check ? &crc : nullptr; }
	// The host has placed n octets of payload. No data: and added them to payload_sum().
	core_rx_event placed(const u8 *data, u32 n);
	// Is the stream between two FPDUs, and no message unfinished? Or over?
	bool between() const;
	u64 fpdus() const { return whole; }
	// The gathered part of the ULPDU in progress, or of the last one until the next octet.
	const u8 *ulpdu() const { return buf + fpdu_header_len; }
	u32 ulpdu_len() const { return len; }

private:
	enum class Part : u8 { header, payload, skipped, trailer };

	core_rx_event want(Part next_part, u32 up_to);
	core_rx_event want_trailer(u32 gathered);
	core_rx_event want_payload();
	core_rx_event want_field();
	core_rx_event skip(u32 n);
	core_rx_event skip_rest();
	void start_fpdu();

	void sum(const u8 *data, u32 n);
	void sum_up_to(u32 end);
	bool crc_good();

	u32 announced() const { return load<FpduHeader>(buf).ulpdu_length.host(); }
	core_rx_event misplaced();
	core_rx_event refuse_length();
	core_rx_event on_partial();
	core_rx_event on_header();
	core_rx_event on_trailer();
	core_rx_event took_payload(u32 n);
	core_rx_event took_skipped(u32 n);
	core_rx_event took_octets(u32 n);

	bool is_whole(const u8 *data, u32 n);
	core_rx_event gather_all(const u8 *data, u32 n);
	core_rx_event place_all(const u8 *data, u32 n);
	core_rx_event skip_all(const u8 *data, u32 n);
	core_rx_event take_rest(Rest rest, const u8 *data, u32 n);
	core_rx_event end_whole(const u8 *trailer);

	core_rx_event refuse_marker();
	core_rx_event on_marker();
	core_rx_event took_between_markers(u32 n);
	core_rx_step next_octets();
	core_rx_step next_between_markers();

	u64 whole;   // valid FPDUs so far
	u32 crc;     // of this FPDU, up to `summed` and the payload so far
	u32 left;    // octets of payload to come, or to be skipped
	u16 len;     // ULPDU_Length
	u16 have;    // octets of buf filled,
	u16 need;    // wanted,
	u16 summed;  // and in crc
	Part part;
	bool check;  // CRCs
	bool lost;   // this FPDU starts elsewhere: to be reported if its CRC is good
	u8 marker_have;
	u8 marker[CORE_MARKER_LEN];
	core_markers markers;
	u8 buf[fpdu_header_len + Upper::max_header + Upper::max_gathered + CORE_FPDU_TRAILER];
};

// ---- Steps ----

template <class Upper> core_rx_event FpduReceiver<Upper>::want(Part next_part, u32 up_to)
{
	part = next_part;
	need = static_cast<u16>(up_to);
	return CORE_RX_MORE;
}

template <class Upper> void FpduReceiver<Upper>::start_fpdu()
{
	have = 0;
	summed = 0;
	lost = false;
	crc = CORE_CRC_SEED;
	markers.back = 0;
	want(Part::header, fpdu_header_len + Upper::first_header);
}

// gathered: octets of payload that go into buf, before the trailer.
template <class Upper> core_rx_event FpduReceiver<Upper>::want_trailer(u32 gathered)
{
	return want(Part::trailer, have + gathered + fpdu_trailer(len));
}

template <class Upper> core_rx_event FpduReceiver<Upper>::want_payload()
{
	left = fpdu_header_len + len - have;
	if (!left)
		return want_trailer(0);
	sum_up_to(have);
	return want(Part::payload, have);
}

// Only the CRC field is left of a skipped FPDU.
template <class Upper> core_rx_event FpduReceiver<Upper>::want_field()
{
	have = 0;
	summed = 0;
	return want(Part::trailer, crc_field_len);
}

// Skips n octets, then checks the CRC.
template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::skip(u32 n)
{
	left = n;
	return n ? want(Part::skipped, have) : want_field();
}

// Skips the rest of the FPDU after its header.
template <class Upper> [[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::skip_rest()
{
	sum_up_to(have);
	return skip(fpdu_header_len + len + fpdu_pad(len) - have);
}

// ---- CRC (RFC 5044 4.4) ----

template <class Upper> void FpduReceiver<Upper>::sum(const u8 *data, u32 n)
{
	if (check)
		crc = core_host_crc32c(crc, data, n);
}

// Adds the octets of buf that are not in the CRC yet.
template <class Upper> void FpduReceiver<Upper>::sum_up_to(u32 end)
{
	if (end > summed)
		sum(buf + summed, end - summed);
	summed = static_cast<u16>(end);
}

template <class Upper> bool FpduReceiver<Upper>::crc_good()
{
	u32 field = need - crc_field_len;

	if (!check)
		return true;
	sum_up_to(field);
	return crc == crc_from_field(buf + field);
}

// ---- Lengths and headers ----

// RFC 5044 8, 3: "in the event that the CRC is valid". Until then nothing of this FPDU is passed up
// (6).
template <class Upper> [[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::misplaced()
{
	if (!check)
		return upper.fault(FramingFault::start);
	lost = true;
	return CORE_RX_MORE;
}

// A ULPDU_Length too short for a header: FPDUs do not start where expected. All of this one fits
// into buf, and may be there already.
template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::refuse_length()
{
	core_rx_event event = misplaced();

	if (event != CORE_RX_MORE)
		return event;
	want(Part::trailer, fpdu_len(announced()));
	return have < need ? CORE_RX_MORE : on_trailer();
}

// Checks the length as early as possible, because an FPDU that is too short ends before a header
// would.
template <class Upper> [[gnu::noinline]] core_rx_event FpduReceiver<Upper>::on_partial()
{
	if (part != Part::header || have < fpdu_header_len)
		return CORE_RX_MORE;
	if (announced() >= Upper::header_len(ulpdu(), have - fpdu_header_len))
		return CORE_RX_MORE;
	return refuse_length();
}

template <class Upper> core_rx_event FpduReceiver<Upper>::on_header()
{
	u32 wanted = Upper::header_len(ulpdu(), Upper::first_header);
	Rest rest = Rest::skipped;

	len = static_cast<u16>(announced());
	if (len < wanted) [[unlikely]]
		return refuse_length();
	if (have < fpdu_header_len + wanted)
		return want(Part::header, fpdu_header_len + wanted);
	if (!lost) [[likely]]
		rest = upper.begin(ulpdu(), len, whole == 0, Grant::at_header);
	if (rest == Rest::placed) [[likely]]
		return want_payload();
	if (rest == Rest::gathered)
		return want_trailer(fpdu_header_len + len - have);
	return rest == Rest::skipped ? skip_rest() : CORE_RX_ERROR;
}

template <class Upper> core_rx_event FpduReceiver<Upper>::on_trailer()
{
	if (!crc_good()) [[unlikely]]
		return upper.fault(FramingFault::crc);
	whole++;
	if (lost) [[unlikely]]
		return upper.fault(FramingFault::start);
	start_fpdu();
	return upper.end(ulpdu(), len);
}

// ---- Octets taken ----

template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::took_skipped(u32 n)
{
	sum(buf, n);
	left -= n;
	return left ? CORE_RX_MORE : want_field();
}

template <class Upper> core_rx_event FpduReceiver<Upper>::took_payload(u32 n)
{
	upper.placed(n);
	left -= n;
	return left ? CORE_RX_MORE : want_trailer(0);
}

// n octets of an FPDU, without markers.
template <class Upper> core_rx_event FpduReceiver<Upper>::took_octets(u32 n)
{
	if (part == Part::payload)
		return took_payload(n);
	if (part == Part::skipped) [[unlikely]]
		return took_skipped(n);
	have = static_cast<u16>(have + n);
	if (have < need)
		return on_partial();
	return part == Part::header ? on_header() : on_trailer();
}

template <class Upper> core_rx_step FpduReceiver<Upper>::next_octets()
{
	if (part == Part::payload)
		return place_step(left, &upper.place());
	if (part == Part::skipped) [[unlikely]]
		return take_step(min(left, u32{sizeof(buf)}), buf);
	return take_step(u32{need} - have, buf + have);
}

// ---- Whole FPDUs ----

// The octets may be pages of a program that changes them meanwhile: what decides is read once, and
// then from buf. The compiler must not read it again.
inline void copy_once(u8 *to, const u8 *from, u32 n)
{
	__builtin_memcpy(to, from, n);
	__asm__ volatile("" : : "r"(to) : "memory");
}

template <class Upper> bool FpduReceiver<Upper>::is_whole(const u8 *data, u32 n)
{
	constexpr u32 longest_header = fpdu_header_len + Upper::max_header;

	static_assert(longest_header <= fpdu_len(Upper::first_header));
	if (part != Part::header || have || n < longest_header || markers.on || upper.over())
		return false;
	copy_once(buf, data, longest_header);
	len = static_cast<u16>(announced());
	return fpdu_len(len) <= n && len >= Upper::header_len(ulpdu(), Upper::first_header);
}

// begin() takes no more than max_gathered.
template <class Upper> core_rx_event FpduReceiver<Upper>::gather_all(const u8 *data, u32 n)
{
	u8 *into = buf + (fpdu_header_len + len - n);

	copy_once(into, data, n);
	sum(into, n);
	return CORE_RX_MORE;
}

template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::skip_all(const u8 *data, u32 n)
{
	sum(data, n);
	return CORE_RX_MORE;
}

template <class Upper> core_rx_event FpduReceiver<Upper>::place_all(const u8 *data, u32 n)
{
	const core_place &place = upper.place();
	core_region_verdict verdict;

	if (!n)
		return CORE_RX_MORE;
	verdict = core_host_place(upper.host(), &place, data, n, payload_sum());
	if (verdict == CORE_REGION_OK) [[likely]]
		return CORE_RX_MORE;
	if (place.kind != CORE_PLACE_REGION)
		return upper.fail(ulpdu(), len, CORE_REGION_OK);
	upper.deny(ulpdu(), len, verdict);
	return skip_all(data, n);
}

// n octets after the header, but for the trailer.
template <class Upper>
core_rx_event FpduReceiver<Upper>::take_rest(Rest rest, const u8 *data, u32 n)
{
	if (rest == Rest::placed) [[likely]]
		return place_all(data, n);
	if (rest == Rest::gathered)
		return gather_all(data, n);
	return rest == Rest::skipped ? skip_all(data, n) : CORE_RX_ERROR;
}

template <class Upper> core_rx_event FpduReceiver<Upper>::end_whole(const u8 *trailer)
{
	const u32 pad = fpdu_pad(len);

	if (pad)
		sum(trailer, pad);
	if (check && crc != crc_from_field(trailer + pad)) [[unlikely]]
		return upper.fault(FramingFault::crc);
	crc = CORE_CRC_SEED;
	whole++;
	return upper.end(ulpdu(), len);
}

// The state stays that between two FPDUs.
template <class Upper> core_rx_taken FpduReceiver<Upper>::take_whole(const u8 *data, u32 n)
{
	core_rx_event event;
	u32 header;
	Rest rest;

	if (!is_whole(data, n))
		return {0, CORE_RX_MORE};
	header = fpdu_header_len + Upper::header_len(ulpdu(), Upper::first_header);
	sum(buf, header);
	rest = upper.begin(ulpdu(), len, whole == 0, Grant::when_placed);
	event = take_rest(rest, data + header, fpdu_header_len + len - header);
	if (event == CORE_RX_MORE) [[likely]]
		event = end_whole(data + fpdu_header_len + len);
	return {fpdu_len(len), event};
}

// ---- Markers (RFC 5044 4.3) ----

// RFC 5044 8, 3: a marker and the lengths disagree about the start of this FPDU. Nothing more of it
// is placed.
template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::refuse_marker()
{
	core_rx_event event = misplaced();

	if (event == CORE_RX_MORE && part == Part::payload)
		return skip(left + fpdu_pad(len));
	return event;
}

// 4.4: the CRC covers markers, in their place.
template <class Upper> core_rx_event FpduReceiver<Upper>::on_marker()
{
	bool good = marker_points_back(load<Marker>(marker), markers.back);
	u8 ignored[CORE_MARKER_LEN];

	sum_up_to(have);
	sum(marker, sizeof(marker));
	marker_have = 0;
	core_markers_build(&markers, ignored);
	return good ? CORE_RX_MORE : refuse_marker();
}

template <class Upper>
[[gnu::noinline]] core_rx_event FpduReceiver<Upper>::took_between_markers(u32 n)
{
	if (markers.left) {
		core_markers_pass(&markers, n);
		return took_octets(n);
	}
	marker_have = static_cast<u8>(marker_have + n);
	return marker_have < CORE_MARKER_LEN ? CORE_RX_MORE : on_marker();
}

template <class Upper>
[[gnu::noinline]] core_rx_step FpduReceiver<Upper>::next_between_markers()
{
	core_rx_step step = next_octets();

	if (!markers.left)
		return take_step(u32{CORE_MARKER_LEN} - marker_have, marker + marker_have);
	step.want = min(step.want, u32{markers.left});
	return step;
}

// ---- The interface ----

template <class Upper> void FpduReceiver<Upper>::start(bool crcs, bool with_markers)
{
	whole = 0;
	left = 0;
	len = 0;
	check = crcs;
	marker_have = 0;
	core_markers_start(&markers, with_markers);
	start_fpdu();
}

template <class Upper> core_rx_step FpduReceiver<Upper>::next()
{
	if (upper.over()) [[unlikely]]
		return stop_step();
	return markers.on ? next_between_markers() : next_octets();
}

template <class Upper> core_rx_event FpduReceiver<Upper>::took(u32 n)
{
	return markers.on ? took_between_markers(n) : took_octets(n);
}

template <class Upper> core_rx_event FpduReceiver<Upper>::placed(const u8 *data, u32 n)
{
	if (data)
		sum(data, n);
	if (markers.on) [[unlikely]]
		return took_between_markers(n);
	return took_payload(n);
}

// A marker between two FPDUs is part of the second (RFC 5044 4.3). After a whole one, left is a
// full gap.
template <class Upper> bool FpduReceiver<Upper>::between() const
{
	bool marked = marker_have || markers.left == marker_gap;

	return upper.over() || (part == Part::header && !have && !marked && upper.between());
}

} // namespace srnic
