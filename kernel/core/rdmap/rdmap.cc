// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMAP's own header on the way out: the RDMA Read Request (RFC 5040 4.4).
#include "rdmap/rdmap.hh"

void core_read_request_build(const struct core_read_request *req, u8 out[CORE_READ_REQUEST_LEN])
{
	srnic::store(out, srnic::encode(*req));
}
