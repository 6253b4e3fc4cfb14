/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which framings a device allows: sets of enum core_framing, one bit each.
 */
#ifndef SRNIC_FRAMING_H
#define SRNIC_FRAMING_H

#include "srnic.h"

/* "mpa", "rdmatcp" or "any". */
const char *srnic_framings_name(u32 framings);
/* The set of this name, which a newline may follow; or -EINVAL. */
int srnic_framings_of(const char *name);
/* The set that new devices have: module parameter framing. */
u32 srnic_default_framings(void);
/* For connections made from now on. Process context. */
void srnic_set_framings(struct srnic_dev *dev, u32 framings);

#endif
