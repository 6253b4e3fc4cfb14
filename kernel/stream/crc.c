// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CRC32C of the framing (RFC 5044 4.4): the kernel's implementation or the core's tables, whichever
 * is faster in a short measurement at load. Selected by a static key, not a function pointer,
 * because this runs for every FPDU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/crc32c.h>
#include <linux/jump_label.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "core/core.h"
#include "stream/crc.h"

#define SAMPLE	4096	/* bytes per call: the size of one copied page */
#define CALLS	16	/* per round */
#define ROUNDS	5	/* the fastest one counts */

static DEFINE_STATIC_KEY_FALSE(use_table);

u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	if (static_branch_unlikely(&use_table))
		return core_crc32c_table(crc, data, len);
	return crc32c(crc, data, len);
}

/* Nanoseconds of the fastest round. */
static u64 measure(const void *sample)
{
	u64 best = U64_MAX;
	int round, call;

	for (round = 0; round < ROUNDS; round++) {
		u32 crc = CORE_CRC_SEED;
		u64 start;

		preempt_disable();
		start = ktime_get_ns();
		for (call = 0; call < CALLS; call++)
			crc = core_host_crc32c(crc, sample, SAMPLE);
		best = min(best, ktime_get_ns() - start);
		preempt_enable();
		OPTIMIZER_HIDE_VAR(crc);
	}
	return best;
}

/*
 * The usual check value of CRC32C, with the polynomial and bit order of RFC 3720 B.4.
 */
static bool correct(void)
{
	return ~core_host_crc32c(CORE_CRC_SEED, "123456789", 9) == 0xe3069283;
}

int srnic_crc_init(void)
{
	u64 kernel_ns, table_ns;
	bool kernel_ok;
	void *sample;

	sample = kzalloc(SAMPLE, GFP_KERNEL);
	if (!sample)
		return -ENOMEM;
	kernel_ok = correct();
	kernel_ns = measure(sample);
	static_branch_enable(&use_table);
	table_ns = measure(sample);
	kfree(sample);
	if (!kernel_ok || !correct()) {
		pr_err("CRC32C self-test failed\n");
		return -EIO;
	}
	if (kernel_ns <= table_ns)
		static_branch_disable(&use_table);
	pr_debug("CRC32C of %u octets: kernel %llu ns, tables %llu ns\n", SAMPLE * CALLS, kernel_ns,
		 table_ns);
	return 0;
}
