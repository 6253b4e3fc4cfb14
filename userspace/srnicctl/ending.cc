// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a connection ended, in words. The errors are those of RFC 5040 4.8 (figure 9), RFC 5041 7.2,
// RFC 5044 8 and RFC 6581 8.
#include "ending.hh"

#include "text.hh"

#include <cstdio>
#include <cstring>

namespace srnicctl {
namespace {

struct Error {
	uint16_t code;
	const char *words;
};

constexpr Error errors[] = {
	{0x0100, "remote protection: there is no such STag"},
	{0x0101, "remote protection: outside the bounds of the STag"},
	{0x0102, "remote protection: the STag does not allow this access"},
	{0x0103, "remote protection: the STag is not for this stream"},
	{0x0104, "remote protection: the TO wraps"},
	{0x0109, "remote protection: the STag cannot be invalidated"},
	{0x01ff, "remote protection: unspecified"},
	{0x0205, "remote operation: RDMAP version"},
	{0x0206, "remote operation: unexpected opcode"},
	{0x0207, "remote operation: catastrophic error of the stream"},
	{0x0208, "remote operation: catastrophic error of the device"},
	{0x0209, "remote operation: the STag cannot be invalidated"},
	{0x02ff, "remote operation: unspecified"},
	{0x1100, "tagged message: there is no such STag"},
	{0x1101, "tagged message: outside the bounds of the STag"},
	{0x1102, "tagged message: the STag is not for this stream"},
	{0x1103, "tagged message: the TO wraps"},
	{0x1104, "tagged message: DDP version"},
	{0x1201, "untagged message: there is no such queue"},
	{0x1202, "untagged message: no receive was posted for it"},
	{0x1203, "untagged message: MSN out of range"},
	{0x1204, "untagged message: wrong MO"},
	{0x1205, "untagged message: too long for its receive"},
	{0x1206, "untagged message: DDP version"},
	{0x2001, "TCP was closed in the middle of something"},
	{0x2002, "an FPDU has a wrong CRC"},
	{0x2003, "an FPDU or marker is not where it should be"},
	{0x2004, "invalid MPA Request or Reply frame"},
	{0x2005, "local catastrophic error during startup"},
	{0x2006, "the IRD is insufficient"},
	{0x2007, "no RTR type in common"},
};

// Errors of type 0 of these layers are local and catastrophic, whatever their code.
const char *words_for(uint64_t code)
{
	for (const Error &error : errors)
		if (error.code == code)
			return error.words;
	if (code >> 8 == 0x00 || code >> 8 == 0x10)
		return "local catastrophic error";
	return "unknown error";
}

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
	return std::string(words_for(code)) + " (" + number + ")";
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
