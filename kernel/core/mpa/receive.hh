// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA's receive side (RFC 5044 4 and 6): the octets of a TCP stream become ULPDUs. A pull parser:
// it says which octets it wants next. FPDU lengths, pads, markers and CRCs end here; ulpdu.hh is
// what the layer above sees.
//
// Every FPDU is fed in steps: the length and the shortest header above, which the smallest ULPDU
// fills; the rest of a longer header; payload, placed by the host (or gathered, or skipped); pad
// and CRC. Markers cut these steps, and are taken out.
//
// The layer above hears of an error in a ULPDU only when the CRC was found good: RFC 5044 4.4, "the
// receiver MUST first". Only then has a responder received and validated an FPDU, and may tell
// anything (7.1.2, 4).
#pragma once

#include "mpa/framing.hh"
#include "mpa/ulpdu.hh"

namespace srnic {

// Steps, as the host has them.
constexpr core_rx_step take(u32 want, u8 *into)
{
	return {.kind = CORE_RX_BYTES, .want = want, .into = into};
}

constexpr core_rx_step place(u32 want, const core_place *where)
{
	return {.kind = CORE_RX_PLACE, .want = want, .place = where};
}

template <class Upper> class FpduReceiver {
public:
	Upper upper;

	void start(bool crcs, bool with_markers);
	// What to do with the next octets of the stream.
	core_rx_step next();
	// n octets (1..want of the last step) were taken.
	core_rx_event took(u32 n);
	// n octets were payload, and the host has placed them.
	core_rx_event placed(const u8 *data, u32 n);
	// Is the stream at an end of an FPDU, and of all messages?
	bool between() const;
	u64 fpdus() const { return whole; }
	// The ULPDU in progress, or until the next octet the last one: what was gathered of it.
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

	core_rx_event refuse_marker();
	core_rx_event on_marker();
	core_rx_event took_between_markers(u32 n);
	core_rx_step next_octets();
	core_rx_step next_between_markers();

	u64 whole;   // valid FPDUs so far
	u32 crc;     // of this FPDU, as far as `summed` and the payload that went by
	u32 left;    // octets of payload to come, or to be skipped
	u16 len;     // ULPDU_Length
	u16 have;    // octets of buf filled,
	u16 need;    // wanted,
	u16 summed;  // and in crc
	Part part;
	bool check;  // CRCs
	bool lost;   // this FPDU is not where it seems: to be told if its CRC is good
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

// gathered: octets of payload that come into buf, in front of the trailer.
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

// The CRC field of an FPDU whose other octets are of no interest any more.
template <class Upper> core_rx_event FpduReceiver<Upper>::want_field()
{
	have = 0;
	summed = 0;
	return want(Part::trailer, crc_field_len);
}

// Skips n octets, and then looks at the CRC.
template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::skip(u32 n)
{
	left = n;
	return n ? want(Part::skipped, have) : want_field();
}

// Skips what is left of the FPDU whose header is at hand.
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

// Over what has been gathered in buf since the CRC was last brought up to date.
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

// RFC 5044 8, 3: "in the event that the CRC is valid". Until then nothing of this FPDU goes up (6).
template <class Upper> [[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::misplaced()
{
	if (!check)
		return upper.fault(FramingFault::start);
	lost = true;
	return CORE_RX_MORE;
}

// A ULPDU_Length that leaves no room for a header: FPDUs do not start where we believe. All of this
// one fits buf, and may be there already.
template <class Upper>
[[gnu::cold, gnu::noinline]] core_rx_event FpduReceiver<Upper>::refuse_length()
{
	core_rx_event event = misplaced();

	if (event != CORE_RX_MORE)
		return event;
	want(Part::trailer, fpdu_len(announced()));
	return have < need ? CORE_RX_MORE : on_trailer();
}

// As soon as it can be known that the length is too short: FPDUs as short as that end before a
// header would.
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
		rest = upper.begin(ulpdu(), len, whole == 0);
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

// n octets of an FPDU, no marker among them.
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
		return place(left, &upper.place());
	if (part == Part::skipped) [[unlikely]]
		return take(min(left, u32{sizeof(buf)}), buf);
	return take(u32{need} - have, buf + have);
}

// ---- Markers (RFC 5044 4.3) ----

// RFC 5044 8, 3: a marker and the lengths do not agree on where this FPDU starts. No more of it is
// placed.
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
		return take(u32{CORE_MARKER_LEN} - marker_have, marker + marker_have);
	step.want = min(step.want, u32{markers.left});
	return step;
}

// ---- The border ----

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
		return {CORE_RX_STOP, 0, {nullptr}};
	return markers.on ? next_between_markers() : next_octets();
}

template <class Upper> core_rx_event FpduReceiver<Upper>::took(u32 n)
{
	return markers.on ? took_between_markers(n) : took_octets(n);
}

template <class Upper> core_rx_event FpduReceiver<Upper>::placed(const u8 *data, u32 n)
{
	sum(data, n);
	if (markers.on) [[unlikely]]
		return took_between_markers(n);
	return took_payload(n);
}

// A marker between two FPDUs is part of the second (RFC 5044 4.3); one that is whole has its gap
// before it.
template <class Upper> bool FpduReceiver<Upper>::between() const
{
	bool marked = marker_have || markers.left == marker_gap;

	return upper.over() || (part == Part::header && !have && !marked && upper.between());
}

} // namespace srnic
