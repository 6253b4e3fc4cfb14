// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC32C of the framing (RFC 5044 4.4): the kernel's implementation, the processor's instruction,
 * that beside folding, or the core's tables, whichever is fastest in a short measurement at load.
 * No function pointer, because this runs for every FPDU and its calls would be indirect.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/crc32c.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/slab.h>
#ifdef __x86_64__
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#endif

#include "core/api/core.h"
#include "memory/copy.h"
#include "memory/crc.h"

#define SAMPLE	4096	/* bytes per call: the size of one copied page */
#define ODD	(SAMPLE + CORE_CRC_FOLDED + 9)	/* bytes for each way to sum long and short ones */
#define CALLS	16	/* per round */
#define ROUNDS	5	/* the fastest one counts */

enum method {
	METHOD_KERNEL,
	METHOD_TABLES,
	METHOD_INSTRUCTION,
	METHOD_FOLDING,
	METHODS
};

static const char *const names[METHODS] = {
	[METHOD_KERNEL] = "kernel",
	[METHOD_TABLES] = "tables",
	[METHOD_INSTRUCTION] = "instruction",
	[METHOD_FOLDING] = "folding",
};

static enum method chosen;

#ifdef __x86_64__
static bool has_instruction(void)
{
	return boot_cpu_has(X86_FEATURE_XMM4_2);
}

#ifdef CONFIG_UML
static bool has_registers(void)
{
	return true;
}
#else
static bool has_registers(void)
{
	return cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}
#endif

static bool has_folding(void)
{
	return has_instruction() && boot_cpu_has(X86_FEATURE_AVX2) &&
	       boot_cpu_has(X86_FEATURE_VPCLMULQDQ) && has_registers();
}

/* Nobody else uses the registers until end_folding(); false if somebody does already. */
static bool begin_folding(enum method method, u64 len, bool many)
{
	if (method != METHOD_FOLDING || !many || len < CORE_CRC_FOLDED || !irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

static void end_folding(void)
{
	kernel_fpu_end();
}
#else
static bool has_instruction(void)
{
	return false;
}

static bool has_folding(void)
{
	return false;
}

static bool begin_folding(enum method method, u64 len, bool many)
{
	return false;
}

static void end_folding(void)
{
}

static u32 core_crc32c_sse42(u32 crc, const void *data, u64 len)
{
	return 0;
}

static u32 core_crc32c_copy_sse42(u32 crc, void *to, const void *from, u64 len)
{
	return 0;
}

static u32 core_crc32c_copy_folded(u32 crc, void *to, const void *from, u64 len, bool into_own)
{
	return 0;
}
#endif

static u32 sum(enum method method, u32 crc, const void *data, u64 len)
{
	if (method == METHOD_KERNEL)
		return crc32c(crc, data, len);
	if (method == METHOD_TABLES)
		return core_crc32c_table(crc, data, len);
	return core_crc32c_sse42(crc, data, len);
}

u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	return sum(READ_ONCE(chosen), crc, data, len);
}

static u32 sum_after_copy(enum method method, u32 crc, void *to, const void *from, u32 len,
			  bool into_own)
{
	srnic_copy(to, from, len);
	return sum(method, crc, into_own ? to : from, len);
}

static __always_inline u32 copy_and_sum(enum method method, u32 crc, void *to, const void *from,
					u32 len, bool into_own, bool many)
{
	if (method != METHOD_INSTRUCTION && method != METHOD_FOLDING)
		return sum_after_copy(method, crc, to, from, len, into_own);
	if (!begin_folding(method, len, many))
		return core_crc32c_copy_sse42(crc, to, from, len);
	crc = core_crc32c_copy_folded(crc, to, from, len, into_own);
	end_folding();
	return crc;
}

void srnic_crc32c_copy(u32 *crc, void *to, const void *from, u32 len, bool into_own, bool many)
{
	*crc = copy_and_sum(READ_ONCE(chosen), *crc, to, from, len, into_own, many);
}

/* ---- the choice ---- */

struct sample {
	u8 from[ODD], to[ODD];
};

/* Nanoseconds of the fastest round: most sums are of copies. */
static u64 measure(enum method method, struct sample *sample)
{
	u64 best = U64_MAX;
	int round, call;

	for (round = 0; round < ROUNDS; round++) {
		u32 crc = CORE_CRC_SEED;
		u64 start;

		preempt_disable();
		start = ktime_get_ns();
		for (call = 0; call < CALLS; call++)
			crc = copy_and_sum(method, crc, sample->to, sample->from, SAMPLE, true,
					   true);
		best = min(best, ktime_get_ns() - start);
		preempt_enable();
		OPTIMIZER_HIDE_VAR(crc);
	}
	return best;
}

static bool copies(enum method method, struct sample *sample, bool into_own)
{
	u32 crc;

	memset(sample->to, 0, sizeof(sample->to));
	crc = copy_and_sum(method, CORE_CRC_SEED, sample->to, sample->from, ODD, into_own, true);
	return crc == core_crc32c_table(CORE_CRC_SEED, sample->from, ODD) &&
	       !memcmp(sample->to, sample->from, ODD);
}

/* The check value of CRC32C, with the polynomial and bit order of RFC 3720 B.4; and copies. */
static bool correct(enum method method, struct sample *sample)
{
	return ~sum(method, CORE_CRC_SEED, "123456789", 9) == 0xe3069283 &&
	       copies(method, sample, true) && copies(method, sample, false);
}

static bool there_is(enum method method)
{
	return (method != METHOD_INSTRUCTION || has_instruction()) &&
	       (method != METHOD_FOLDING || has_folding());
}

int srnic_crc_init(void)
{
	u64 best = U64_MAX;
	enum method method;
	struct sample *sample;

	sample = kmalloc(sizeof(*sample), GFP_KERNEL);
	if (!sample)
		return -ENOMEM;
	get_random_bytes(sample->from, sizeof(sample->from));
	for (method = 0; method < METHODS; method++) {
		u64 ns;

		if (!there_is(method))
			continue;
		if (!correct(method, sample))
			break;
		ns = measure(method, sample);
		pr_debug("%u bytes copied, CRC32C by %s: %llu ns\n", SAMPLE * CALLS,
			 names[method], ns);
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
