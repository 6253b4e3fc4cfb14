// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC32C of the framing (RFC 5044 4.4): the kernel's implementation, the processor's instruction or
 * the core's tables, whichever is fastest in a short measurement at load. No function pointer,
 * because this runs for every FPDU and its calls would be indirect.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/crc32c.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#ifdef __x86_64__
#include <asm/cpufeature.h>
#endif

#include "core/api/core.h"
#include "memory/crc.h"

#define SAMPLE	4096	/* bytes per call: the size of one copied page */
#define CALLS	16	/* per round */
#define ROUNDS	5	/* the fastest one counts */

enum method {
	METHOD_KERNEL,
	METHOD_TABLES,
	METHOD_INSTRUCTION,
	METHODS
};

static const char *const names[METHODS] = {
	[METHOD_KERNEL] = "kernel",
	[METHOD_TABLES] = "tables",
	[METHOD_INSTRUCTION] = "instruction",
};

static enum method chosen;

#ifdef __x86_64__
static bool has_instruction(void)
{
	return boot_cpu_has(X86_FEATURE_XMM4_2);
}
#else
static bool has_instruction(void)
{
	return false;
}

static u32 core_crc32c_sse42(u32 crc, const void *data, u64 len)
{
	return 0;
}

static u32 core_crc32c_copy_sse42(u32 crc, void *to, const void *from, u64 len)
{
	return 0;
}
#endif

static u32 sum(enum method method, u32 crc, const void *data, u64 len)
{
	if (method == METHOD_INSTRUCTION)
		return core_crc32c_sse42(crc, data, len);
	if (method == METHOD_KERNEL)
		return crc32c(crc, data, len);
	return core_crc32c_table(crc, data, len);
}

u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	return sum(READ_ONCE(chosen), crc, data, len);
}

bool srnic_crc32c_copy(u32 *crc, void *to, const void *from, u32 len)
{
	if (READ_ONCE(chosen) != METHOD_INSTRUCTION)
		return false;
	*crc = core_crc32c_copy_sse42(*crc, to, from, len);
	return true;
}

/* Nanoseconds of the fastest round. */
static u64 measure(enum method method, const void *sample)
{
	u64 best = U64_MAX;
	int round, call;

	for (round = 0; round < ROUNDS; round++) {
		u32 crc = CORE_CRC_SEED;
		u64 start;

		preempt_disable();
		start = ktime_get_ns();
		for (call = 0; call < CALLS; call++)
			crc = sum(method, crc, sample, SAMPLE);
		best = min(best, ktime_get_ns() - start);
		preempt_enable();
		OPTIMIZER_HIDE_VAR(crc);
	}
	return best;
}

/* The usual check value of CRC32C, with the polynomial and bit order of RFC 3720 B.4. */
static bool correct(enum method method)
{
	return ~sum(method, CORE_CRC_SEED, "123456789", 9) == 0xe3069283;
}

int srnic_crc_init(void)
{
	u64 best = U64_MAX;
	enum method method;
	void *sample;

	sample = kzalloc(SAMPLE, GFP_KERNEL);
	if (!sample)
		return -ENOMEM;
	for (method = 0; method < METHODS; method++) {
		u64 ns;

		if (method == METHOD_INSTRUCTION && !has_instruction())
			continue;
		if (!correct(method))
			break;
		ns = measure(method, sample);
		pr_debug("CRC32C of %u bytes by %s: %llu ns\n", SAMPLE * CALLS, names[method], ns);
		if (ns < best) {
			best = ns;
			WRITE_ONCE(chosen, method);
		}
	}
	kfree(sample);
	if (method == METHODS)
		return 0;
	pr_err("CRC32C by %s is wrong\n", names[method]);
	return -EIO;
}
