// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive: the start of a stream, and the peer's RDMA Reads (RFC 5040 5.2.1).
#include "receive.hh"

namespace srnic {

void MessageReceiver::start(const core_rx_params &params)
{
	*this = {};
	ctx = params.ctx;
	pd = params.pd;
	rtr = params.rtr;
	send_msn = read_msn = params.first_msn;
}

// RFC 5040 7.2, 4. With zero length the source must not be checked (5.2.1).
Verdict MessageReceiver::check_source(const core_read_request &wanted) const
{
	core_region region;

	if (!wanted.length)
		return Verdict::good;
	if (!core_host_region(ctx, wanted.source_stag, &region))
		return Verdict::stag_invalid;
	return verdict_of(check_region(region, pd, CORE_ACCESS_REMOTE_READ, wanted.source_to,
				       wanted.length));
}

Verdict MessageReceiver::deliver_read_request(const core_read_request &wanted)
{
	Verdict verdict = check_source(wanted);

	if (verdict != Verdict::good)
		return verdict;
	request = wanted;
	read_msn++;
	return Verdict::good;
}

} // namespace srnic
