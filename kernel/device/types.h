/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tables of verbs: those of both types of devices, and what each type adds.
 */
#ifndef SRNIC_TYPES_H
#define SRNIC_TYPES_H

#include <rdma/ib_verbs.h>

/* verbs.c */
extern const struct ib_device_ops srnic_common_ops;
/* iwarp.c: type srnic */
extern const struct ib_device_ops srnic_iwarp_ops;

/* sysfs.c */
extern const struct attribute_group srnic_attr_group;

#endif
