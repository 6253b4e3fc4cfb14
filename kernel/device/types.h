/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The two types of devices: the verbs that both have, and the verbs, settings and files in sysfs of
 * each.
 */
#ifndef SRNIC_TYPES_H
#define SRNIC_TYPES_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "settings.h"

/* verbs.c */
extern const struct ib_device_ops srnic_common_ops;
extern const struct uapi_definition srnic_uapi[];
/* iwarp.c: type srnic */
extern const struct ib_device_ops srnic_iwarp_ops;
/* roce.c: type srnic_ib */
extern const struct ib_device_ops srnic_ib_ops;

/* sysfs.c */
extern const struct attribute_group srnic_attr_group;
extern const struct attribute_group srnic_ib_attr_group;
extern const struct srnic_settings srnic_initial_settings;
extern const struct srnic_settings srnic_ib_initial_settings;

#endif
