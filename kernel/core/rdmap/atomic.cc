// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The atomic core: the read-modify-write of RFC 7306 5.3, and the Atomic Write of ib.rst.
#include "rdmap/atomic.hh"

using namespace srnic;

// No other access to the word, by a stream, a device or a thread, comes between its read and its
// write. An exchange is tried again only because another one has succeeded meanwhile.
u64 core_atomic_execute(const struct core_atomic *op, u64 *word)
{
	u64 original;

	if (op->code == CORE_ATOMIC_FETCH_ADD && !op->mask)
		return __atomic_fetch_add(word, op->data, __ATOMIC_SEQ_CST);
	original = __atomic_load_n(word, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(word, &original, result_of(*op, original), true,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return original;
}

void core_atomic_write(const u8 data[8], u64 *word)
{
	__atomic_store_n(word, load<u64>(data), __ATOMIC_SEQ_CST);
}
