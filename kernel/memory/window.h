/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory windows: the verbs, and what the request BIND_MW does.
 */
#ifndef SRNIC_WINDOW_H
#define SRNIC_WINDOW_H

#include "memory/mr.h"

/**
 * struct srnic_mw - a window as the object of the RDMA core, which frees it at once
 * @base: the core's part
 * @entry: the window itself, in the table of regions; freed by RCU
 */
struct srnic_mw {
	struct ib_mw base;
	struct srnic_mr *entry;
};

static inline struct srnic_mw *to_srnic_mw(struct ib_mw *base)
{
	return container_of(base, struct srnic_mw, base);
}

/*
 * BIND_MW. After it has returned 0, no byte is placed under a former STag of the window. If it
 * fails nothing has changed. Not with hard interrupts disabled, nor by a holder; spins while
 * another CPU finishes its copy. 0 or -EINVAL.
 */
int srnic_window_bind(struct srnic_dev *dev, const struct core_bind *bind);

/* verbs */
int srnic_alloc_mw(struct ib_mw *mw, struct ib_udata *udata);
int srnic_dealloc_mw(struct ib_mw *mw);

#endif
