/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The errors of Terminates (RFC 5040 4.8 figure 9, RFC 5041 7.2, RFC 5044 8, RFC 6581 8) in words,
 * for the kernel's log and for srnicctl. Not included by core.h: it brings its own table.
 */
#ifndef SRNIC_CORE_TERMINATE_WORDS_H
#define SRNIC_CORE_TERMINATE_WORDS_H

/* code: core_terminate_code() */
struct core_terminate_words {
	unsigned int code;
	const char *words;
};

static const struct core_terminate_words core_terminate_table[] = {
	{ 0x0100, "remote protection: there is no such STag" },
	{ 0x0101, "remote protection: outside the bounds of the STag" },
	{ 0x0102, "remote protection: the STag does not allow this access" },
	{ 0x0103, "remote protection: the STag is not for this stream" },
	{ 0x0104, "remote protection: the TO wraps" },
	{ 0x0109, "remote protection: the STag cannot be invalidated" },
	{ 0x01ff, "remote protection: unspecified" },
	{ 0x0205, "remote operation: RDMAP version" },
	{ 0x0206, "remote operation: unexpected opcode" },
	{ 0x0207, "remote operation: catastrophic error of the stream" },
	{ 0x0208, "remote operation: catastrophic error of the device" },
	{ 0x0209, "remote operation: the STag cannot be invalidated" },
	{ 0x0210, "remote operation: acknowledges what was not sent" },
	{ 0x02ff, "remote operation: unspecified" },
	{ 0x1100, "tagged message: there is no such STag" },
	{ 0x1101, "tagged message: outside the bounds of the STag" },
	{ 0x1102, "tagged message: the STag is not for this stream" },
	{ 0x1103, "tagged message: the TO wraps" },
	{ 0x1104, "tagged message: DDP version" },
	{ 0x1201, "untagged message: there is no such queue" },
	{ 0x1202, "untagged message: no receive was posted for it" },
	{ 0x1203, "untagged message: MSN out of range" },
	{ 0x1204, "untagged message: wrong MO" },
	{ 0x1205, "untagged message: too long for its receive" },
	{ 0x1206, "untagged message: DDP version" },
	{ 0x2001, "TCP was closed in the middle of something" },
	{ 0x2002, "an FPDU has a wrong CRC" },
	{ 0x2003, "an FPDU or marker is not where it should be" },
	{ 0x2004, "invalid MPA Request or Reply frame" },
	{ 0x2005, "local catastrophic error during startup" },
	{ 0x2006, "the IRD is insufficient" },
	{ 0x2007, "no RTR type in common" },
	{ }
};

/* Errors of type 0 of RDMAP and DDP are local and catastrophic, whatever their code. */
static inline const char *core_terminate_in_words(unsigned int code)
{
	const struct core_terminate_words *entry;

	for (entry = core_terminate_table; entry->words; entry++)
		if (entry->code == code)
			return entry->words;
	if (code >> 8 == 0x00 || code >> 8 == 0x10)
		return "local catastrophic error";
	return "unknown error";
}

#endif
