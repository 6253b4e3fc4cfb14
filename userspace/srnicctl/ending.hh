// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a connection ended, in words (enum srnic_end of kernel/stream/state.h).
#pragma once

#include <cstdint>
#include <string>

namespace srnicctl {

struct Ending {
	std::string reason;	// the kernel's word
	uint64_t detail = 0;	// code of a Terminate, or errno
	std::string check = ""; // of RDMA/TCP
};

// Of an error that this end found it is not known here whether the peer has heard.
std::string in_words(const Ending &ending);
// The error of a Terminate (RFC 5040 4.8): layer << 12 | type << 8 | code.
std::string terminate_in_words(uint64_t code);

} // namespace srnicctl
