/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Why two QPs have no stream (ib.rst, "Reasons"), in words, for the kernel's log and for srnicctl.
 * Not included by core.h: it brings its own table.
 */
#ifndef SRNIC_CORE_PAIRING_WORDS_H
#define SRNIC_CORE_PAIRING_WORDS_H

/* reason: enum core_pair_reason */
struct core_pair_words {
	unsigned int reason;
	const char *words;
};

static const struct core_pair_words core_pair_table[] = {
	{ 0, "there was no answer" },
	{ 1, "the QP is not in RTR or RTS" },
	{ 2, "the QP is connected with another one" },
	{ 3, "the QP has requests that are not acknowledged" },
	{ 4, "the QPs disagree on what was sent: one of them was reset" },
	{ 5, "the request to connect came too late" },
	{ 6, "both ends connect, and the other end goes on" },
	{ 7, "the other end has another version" },
	{ 8, "an end needs a feature that the other does not know" },
	{ 9, "the device goes away" },
	{ 10, "the startup frame is not of this kind of device" },
	{ }
};

/* reason: also a number that only a newer release knows */
static inline const char *core_pair_in_words(unsigned int reason)
{
	const struct core_pair_words *entry;

	for (entry = core_pair_table; entry->words; entry++)
		if (entry->reason == reason)
			return entry->words;
	return "unknown reason";
}

#endif
