/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * FPDUs in the batch. tx.mutex held.
 */
#ifndef SRNIC_BUILD_H
#define SRNIC_BUILD_H

#include "stream/qp.h"

/*
 * Adds the FPDU that the core has chosen, or nothing if its payload cannot be read: the core then
 * terminates the stream. The caller has reserved room for it.
 */
void srnic_build_fpdu(struct srnic_qp *qp);

#endif
