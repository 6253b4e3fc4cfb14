/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The port's counters for ports/1/counters in sysfs.
 */
#ifndef SRNIC_MAD_H
#define SRNIC_MAD_H

#include <rdma/ib_verbs.h>

int srnic_process_mad(struct ib_device *base, int flags, u32 port, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

#endif
