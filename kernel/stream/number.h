/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * QP numbers. Those of devices of type srnic_ib are random, and unique among all of these devices:
 * the startup frames name a QP by its number, and one address may belong to two devices (ib.rst,
 * "Pairing"). Those of other devices count up.
 */
#ifndef SRNIC_NUMBER_H
#define SRNIC_NUMBER_H

#include "stream/qp.h"

/* Reserves a number, at which lookups do not find the QP yet. 0, -ENOMEM or -EBUSY. May sleep. */
int srnic_number_reserve(struct srnic_qp *qp);
/* Lookups find the QP from now on. */
void srnic_number_publish(struct srnic_qp *qp);
/* After this no lookup finds the QP. Published or only reserved. */
void srnic_number_release(struct srnic_qp *qp);

/*
 * The QP of any device of type srnic_ib, but no QP 1, with a reference, or NULL. Process context.
 */
struct srnic_qp *srnic_number_find(u32 qpn);
/*
 * This QP, with a reference; NULL once it is being destroyed, when another may have its number.
 * The caller keeps its memory. Process context.
 */
struct srnic_qp *srnic_number_hold(const struct ib_qp *base);

/* The module is unloaded. */
void srnic_number_exit(void);

#endif
