/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between the kernel's C and the protocol core's C++: plain structs, fixed-width
 * types, extern "C" functions. The core decides; it takes no lock, allocates nothing and does no
 * I/O. For the rest it calls its host through the functions of core_host.h, which the module, or a
 * test's fake, implements.
 *
 * C code must define u8 to u64 before it includes this: no kernel header is included here.
 *
 * All values are in host byte order unless a name says otherwise. Section numbers are those of the
 * RFCs.
 */
#ifndef SRNIC_CORE_H
#define SRNIC_CORE_H

#ifdef __cplusplus
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
extern "C" {
#endif

#include "kernel_ops.h"

struct srnic_send_wqe;
struct srnic_recv_wqe;
struct srnic_sge;

#include "core_framing.h"
#include "core_startup.h"
#include "core_rdmatcp.h"
#include "core_connection.h"
#include "core_terminate.h"
#include "core_message.h"
#include "core_acks.h"
#include "core_pairing.h"
#include "core_datagram.h"
#include "core_fpdu.h"
#include "core_region.h"
#include "core_receiver.h"
#include "core_scheduler.h"
#include "core_host.h"
#include "core_queue.h"

#ifdef __cplusplus
}
#endif
#endif
