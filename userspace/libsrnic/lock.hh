// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The lock of a queue: held for the few instructions that fill or drain slots, and for the span of
// one batch (wr_start to wr_complete) or lazy poll (start_poll to end_poll).
#pragma once

#include "queue.h"

#include <sched.h>
#include <sys/single_threaded.h>

namespace srnic {

// With a single thread there is no contention, so a plain store is enough: a thread created while
// the lock is held sees it held.
inline void lock(srnic_lock &l)
{
	if (l.unused)
		return;
	if (__libc_single_threaded) {
		__atomic_store_n(&l.held, 1, __ATOMIC_RELAXED);
		return;
	}
	while (__atomic_exchange_n(&l.held, 1, __ATOMIC_ACQUIRE)) {
		for (int i = 0; __atomic_load_n(&l.held, __ATOMIC_RELAXED); i++)
			if (i == 100) { // its holder may have lost the CPU
				sched_yield();
				i = 0;
			}
	}
}

inline void unlock(srnic_lock &l)
{
	if (!l.unused)
		__atomic_store_n(&l.held, 0, __ATOMIC_RELEASE);
}

class locked {
public:
	explicit locked(srnic_lock &l) : l_(l) { lock(l_); }
	~locked() { unlock(l_); }
	locked(const locked &) = delete;
	locked &operator=(const locked &) = delete;

private:
	srnic_lock &l_;
};

} // namespace srnic
