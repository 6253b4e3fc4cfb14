/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Values of a device's settings. The table of settings is settings.def.
 */
#ifndef SRNIC_SETTINGS_H
#define SRNIC_SETTINGS_H

#include <linux/types.h>

/*
 * Those that are flags or numbers, by name. They may change at any time. Connection setup reads
 * those of MPA; a QP that starts reads the others, and modify_qp peer_timeout when it changes a
 * QP's timeout.
 */
struct srnic_settings {
#define SETTING_FLAG(name, ...) bool name;
#define SETTING_NUMBER(name, ...) u32 name;
#include "settings.def"
};

#endif
