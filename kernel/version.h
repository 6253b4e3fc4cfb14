/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The module's version, as modinfo and the device's "firmware version" show it.
 */
#ifndef SRNIC_VERSION_H
#define SRNIC_VERSION_H

#define SRNIC_VERSION_MAJOR	0
#define SRNIC_VERSION_MINOR	1
#define SRNIC_VERSION_PATCH	0
#define SRNIC_VERSION		"0.1.0"

#endif
