/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Copies of payload, between regions and the stream's pages.
 */
#ifndef SRNIC_COPY_H
#define SRNIC_COPY_H

#include <linux/types.h>

/* As memcpy(), but reads each byte once, and is fast on more processors. Any context. */
void srnic_copy(void *to, const void *from, u32 len);

#endif
