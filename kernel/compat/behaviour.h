/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What kernels do differently though their headers are the same: chosen by version. A
 * distribution's older kernel that has the later behaviour is treated as one without it; what that
 * costs is said with each choice, and is from reading, not from a test on such a kernel.
 */
#ifndef SRNIC_COMPAT_BEHAVIOUR_H
#define SRNIC_COMPAT_BEHAVIOUR_H

#include <linux/socket.h>
#include <linux/version.h>

/*
 * A flag of sendmsg: the iterator's pages go into the stream without another copy. TCP does that
 * since 6.5; before, it copies. (Stable kernels define MSG_SPLICE_PAGES, but TCP ignores it.)
 * Missed: speed.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define SRNIC_COMPAT_SPLICE MSG_SPLICE_PAGES
#else
#define SRNIC_COMPAT_SPLICE 0
#endif

/*
 * rdma_cm finds an iWARP device by its interface since 6.6; before, by GID 0, which has to be the
 * interface's hardware address. Missed: devices on interfaces without a hardware address, and the
 * addresses of VLANs, if their hardware address is another.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define SRNIC_COMPAT_CMA_BY_INTERFACE
#endif

#endif
