// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, headers, of streams with acknowledgements (Documentation/ib.rst): as RDMAP, but that a
// request which cannot be delivered is refused, and dropped with all that follow it, until it comes
// again. Responses and Acks go on meanwhile.
//
// This is a layer above MPA (mpa/ulpdu.hh).
#pragma once

#include "ib/ack.hh"
#include "ib/acks.hh"
#include "rdmap/rdmap_receiver.hh"

namespace srnic::ib {

class Receiver : public RdmapReceiver {
public:
	void start(const core_rx_params &params);
	Rest begin(const u8 *ulpdu, u32 len, bool first, Grant grant);
	void deny(const u8 *ulpdu, u32 len, core_region_verdict verdict);
	core_rx_event end(const u8 *ulpdu, u32 len);
	core_rx_event fail(const u8 *ulpdu, u32 len, core_region_verdict verdict);
	core_rx_event fail_invalidate(const u8 *ulpdu, u32 len, core_region_verdict verdict);

	void done();
	bool between() const { return RdmapReceiver::between() && !inside_write && !more; }
	const core_acked &acked() const { return effect; }
	u8 receive_status() const;

private:
	bool dropped(const Segment &segment) const;
	bool comes_again(const Segment &segment) const;
	Verdict check_order(const Segment &segment, u8 control) const;
	Verdict check_rights(u32 needed) const;
	Verdict check_rights_of(Message message) const;
	Verdict check_response() const;
	Verdict check_request(const Segment &segment, u8 control);
	Verdict begin_message(const Segment &segment, u8 control, Grant grant, Rest &rest);
	Rest turn_down(const u8 *ulpdu, u32 len, const Segment &segment, Verdict verdict);
	core_rx_event refuse_now(core_syndrome syndrome);
	core_rx_event deliver_ack(const u8 *ulpdu, u32 len);
	core_rx_event deliver_response(const u8 *ulpdu, u32 len, core_rx_event event);
	core_rx_event deliver_send_with_immediate(const u8 *ulpdu, u32 len);
	core_rx_event outcome_of(const u8 *ulpdu, u32 len, Message message, core_rx_event good,
				 Verdict verdict);
	core_rx_event deliver_read_request(const u8 *ulpdu, u32 len);
	core_rx_event deliver_atomic_request(const u8 *ulpdu, u32 len);
	Verdict execute(const core_extended &request);
	core_rx_event deliver_extended(const u8 *ulpdu, u32 len);
	core_rx_event deliver(const u8 *ulpdu, u32 len, const Opcode &row);

	core_acks *acks;
	core_acked effect;
	bool dropping;		   // this segment belongs to what was refused
	bool too_long;		   // why the receive in progress fails
	bool more;		   // an RDMA Write is whole, and its Immediate Data are due
	bool inside_write;	   // an RDMA Write is not whole
	bool counts;		   // what was delivered is a whole request,
	bool asks;		   //	and asks for an Ack
	bool extended;		   // Flush and Atomic Write are agreed
	u32 extended_msn;	   // of the next of them
	core_syndrome turned_down; // this segment's request, if its CRC is good
};

} // namespace srnic::ib
