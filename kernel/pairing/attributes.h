/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Attributes of QPs that are connected by hand: what modify_qp sets, and query_qp returns.
 */
#ifndef SRNIC_PAIRING_ATTRIBUTES_H
#define SRNIC_PAIRING_ATTRIBUTES_H

#include "pairing/pairing.h"

/* All of these are called with pairing->modify held. */

/* The QP's state as the verbs know it. */
enum ib_qp_state srnic_ib_state_of(const struct srnic_qp *qp);
/* Are these values within the limits? -EINVAL, or -EOPNOTSUPP: there is no such attribute. */
int srnic_attributes_check(const struct ib_qp_attr *attr, int mask);
/*
 * Takes the attributes over. An error is that of a path, and nothing has changed. Process context.
 */
int srnic_attributes_set(struct srnic_pairing *pairing, const struct ib_qp_attr *attr, int mask);
/* RESET: those of a new QP. */
void srnic_attributes_reset(struct srnic_pairing *pairing);
void srnic_attributes_query(struct srnic_pairing *pairing, struct ib_qp_attr *attr);

#endif
