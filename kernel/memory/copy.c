// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copies of payload. x86 processors with ERMS copy more than some hundred bytes fastest by one
 * instruction, rep movsb. memcpy() uses it only on later processors, those with FSRM; on the others
 * its loop takes twice as long. On AMD's Zen 3 that instruction takes twenty times as long where
 * the destination begins 1 to 31 bytes after the source, modulo 4096. That is the case for payload
 * behind an FPDU's header at the start of a page.
 */
#include <linux/kasan-checks.h>
#include <linux/string.h>
#ifdef __x86_64__
#include <asm/cpufeature.h>
#endif

#include "memory/copy.h"

#ifdef __x86_64__
#define LONG	768	/* bytes from which on rep movsb pays */

static bool just_after(const void *to, const void *from)
{
	u32 ahead = ((uintptr_t)to - (uintptr_t)from) & 4095;

	return ahead && ahead < 32;
}

struct words {
	u64 word[4];
} __packed;

static void copy_by_loop(void *to, const void *from, u32 len)
{
	for (; len >= sizeof(struct words); len -= sizeof(struct words)) {
		*(struct words *)to = *(const struct words *)from;
		to += sizeof(struct words);
		from += sizeof(struct words);
	}
	memcpy(to, from, len);
}

static void copy_by_instruction(void *to, const void *from, unsigned long len)
{
	kasan_check_read(from, len);
	kasan_check_write(to, len);
	asm volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (len) : : "memory");
}

void srnic_copy(void *to, const void *from, u32 len)
{
	if (just_after(to, from))
		copy_by_loop(to, from, len);
	else if (len >= LONG && boot_cpu_has(X86_FEATURE_ERMS))
		copy_by_instruction(to, from, len);
	else
		memcpy(to, from, len);
}
#else
void srnic_copy(void *to, const void *from, u32 len)
{
	memcpy(to, from, len);
}
#endif
