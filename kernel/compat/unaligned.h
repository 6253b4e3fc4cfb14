/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Access to unaligned words: since 6.12 the header is of all architectures.
 */
#ifndef SRNIC_COMPAT_UNALIGNED_H
#define SRNIC_COMPAT_UNALIGNED_H

#include "compat/found.h"

#ifdef SRNIC_HAS_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif
