// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a connection ended, in words.
#include "ending.hh"

#include "core/api/core_terminate_words.h"
#include "text.hh"

#include <cstdio>
#include <cstring>

namespace srnicctl {
namespace {

// RDMA/TCP counts errors of this end as a check, too.
std::string check_in_words(const std::string &check)
{
	if (check == "local")
		return "local catastrophic error";
	return "a segment of the peer failed the check " + clean(check);
}

std::string tcp_in_words(uint64_t error)
{
	return error ? std::string("TCP: ") + strerror(static_cast<int>(error)) : "TCP failed";
}

} // namespace

std::string terminate_in_words(uint64_t code)
{
	char number[16];

	snprintf(number, sizeof(number), "0x%04x", static_cast<unsigned int>(code & 0xffff));
	return std::string(core_terminate_in_words(code)) + " (" + number + ")";
}

std::string in_words(const Ending &ending)
{
	const std::string &reason = ending.reason;

	if (reason == "closed")
		return "closed at this end";
	if (reason == "peer-closed")
		return "closed by the peer";
	if (reason == "aborted")
		return "aborted at this end";
	if (reason == "tcp")
		return tcp_in_words(ending.detail);
	if (reason == "error")
		return "error found here: " + terminate_in_words(ending.detail);
	if (reason == "terminate")
		return "Terminate received: " + terminate_in_words(ending.detail);
	if (reason == "check")
		return "error found here: " + check_in_words(ending.check);
	return clean(reason);
}

} // namespace srnicctl
