// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on receive: takes the octets of a TCP stream as segments (draft-williams-rdmatcp-00 3 to
// 5), checks every field of their headers, and makes a Segment of each, on which message_rules.hh
// decides. A pull parser: it says which octets it wants next.
//
// The first check that fails ends the stream. Headers are checked before any payload is taken, and
// a message is delivered only when the CRCs of all its segments were good.
#pragma once

#include "rdmatcp/rdmatcp.hh"
#include "message_rules.hh"
#include "receiver_step.hh"

namespace srnic::rdmatcp {

class SegmentReceiver {
public:
	void start(const core_rx_params &params);
	core_rx_step next();
	// Always in steps.
	core_rx_taken take_whole(const u8 *, u32) { return {0, CORE_RX_MORE}; }
	// n octets (1..want of the last step) were taken, or were placed.
	core_rx_event took(u32 n);
	core_rx_event placed(const u8 *data, u32 n);
	// None: the CRC is no CRC32C.
	u32 *payload_sum() { return nullptr; }
	// The host failed on the segment in progress, or on the message delivered last.
	core_rx_event fail(core_region_verdict verdict);
	core_rx_event fail_invalidate(core_region_verdict verdict) { return fail(verdict); }
	void stop() { stopped = true; }
	// Is no segment and no message unfinished? Or is the stream over?
	bool between() const;
	u64 segments() const { return whole; }
	const MessageRules &message_rules() const { return rules; }
	core_rdmatcp_fault fault() const { return found; }
	// What an MPA peer would be sent.
	const core_terminate &terminate() const;
	// Of a receive in progress: enum srnic_wc_status.
	u8 receive_status() const;

private:
	enum class Part : u8 { header, ignored, payload, trailer };

	// The message in progress: a Send, RDMA_Write or RDMA_Read_Request (4: the first group).
	struct Open {
		bool active;
		Type type;
		u32 done;   // octets of payload so far
		u32 id;	    // RDMA_Write: the buffer,
		u64 to;	    //	where the next octet goes,
		u32 length; //	and the RDMA Length
	};

	Common common() const { return load<Common>(head); }
	BufferHeader header() const { return load<BufferHeader>(head); }
	Type type() const { return common().bits.type(); }
	bool last() const { return common().bits.end(); }
	u32 control_octets() const { return word * common().clen; }
	u32 payload() const;
	u32 data_offset() const { return load<StreamHeader>(head).data_offset.host(); }
	u64 buffer_offset() const;
	Segment segment(Message message) const;

	core_rx_event want(Part part, u32 up_to);
	core_rx_event want_payload();
	core_rx_event want_trailer();
	core_rx_event on_header();
	core_rx_event on_trailer();
	core_rx_event took_ignored(u32 n);
	core_rx_event refuse(core_rdmatcp_fault why);
	void sum(const u8 *data, u32 n) { crc = check ? add_to_crc(crc, data, n) : crc; }

	core_rdmatcp_fault check_common() const;
	core_rdmatcp_fault check_place_in_message() const;
	core_rdmatcp_fault check_write() const;
	core_rdmatcp_fault begin();
	core_rdmatcp_fault begin_message();
	core_rdmatcp_fault begin_send();
	core_rdmatcp_fault begin_write();
	core_rdmatcp_fault begin_read_request();
	core_rdmatcp_fault begin_read_response();
	core_rx_event deliver();
	core_rx_event deliver_send();
	core_rx_event deliver_write();
	core_rx_event deliver_read_request();

	MessageRules rules;
	u64 connection_id;
	u64 whole;    // valid segments so far
	u32 number;   // of the message in progress, else of the next one
	u32 crc;      // of this segment so far
	u32 left;     // octets of payload to come, or of control data to be ignored
	u16 have;     // octets of head or rest filled,
	u16 need;     //	and wanted
	u32 answered; // octets of the Read Response in progress so far
	bool answering;
	bool check; // CRCs
	bool stopped;
	Part part;
	core_rdmatcp_fault found;
	Open open;
	Control control;			     // of this segment
	u8 head[sizeof(BufferHeader) + max_control]; // stays until the segment is delivered
	u8 rest[56];				     // control data that are ignored; pad and CRC
};

inline core_rx_step SegmentReceiver::next()
{
	if (stopped) [[unlikely]]
		return stop_step();
	if (part == Part::payload)
		return place_step(left, &rules.place());
	if (part == Part::ignored)
		return take_step(min(left, u32{sizeof(rest)}), rest);
	if (part == Part::trailer)
		return take_step(u32{need} - have, rest + have);
	return take_step(u32{need} - have, head + have);
}

} // namespace srnic::rdmatcp
