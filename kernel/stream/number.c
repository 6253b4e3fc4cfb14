// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * QP numbers: 24 bits, without 0 and 1, which are QPs of management, and without the one that
 * stands for a multicast group (Documentation/ib.rst, "Pairing", "Groups"). Each device of type
 * srnic_ib has a QP 1.
 */
#include <linux/random.h>

#include "stream/number.h"

#define FIRST	2
#define LAST	(CORE_GROUP_QPN - 1)
#define TRIES	64	/* of 2^24 numbers not many are in use */

/* struct srnic_qp of all devices of type srnic_ib but their QPs 1, by number, like srnic_dev.qps */
static DEFINE_XARRAY(numbers);

/* An entry that lookups take for none. */
static int reserve_at(struct xarray *qps, u32 qpn)
{
	return xa_insert(qps, qpn, NULL, GFP_KERNEL);
}

static int reserve_random(struct srnic_qp *qp)
{
	u32 qpn = FIRST + get_random_u32() % (LAST - FIRST + 1);
	int ret = reserve_at(&numbers, qpn);

	if (ret)
		return ret;
	ret = reserve_at(&qp->dev->qps, qpn);
	if (ret)
		xa_release(&numbers, qpn);
	else
		qp->base.qp_num = qpn;
	return ret;
}

/* -EBUSY: the device has a QP 1. */
static int reserve_one(struct srnic_qp *qp)
{
	qp->base.qp_num = CORE_QP1;
	return reserve_at(&qp->dev->qps, CORE_QP1);
}

/* Is its number unique among all of these devices? */
static bool is_unique(const struct srnic_qp *qp)
{
	return qp->dev->ib && qp->base.qp_num != CORE_QP1;
}

int srnic_number_reserve(struct srnic_qp *qp)
{
	int ret = -EBUSY;

	if (qp->base.qp_type == IB_QPT_GSI)
		return reserve_one(qp);
	if (!qp->dev->ib)
		return xa_alloc_cyclic(&qp->dev->qps, &qp->base.qp_num, NULL,
				       XA_LIMIT(FIRST, LAST), &qp->dev->next_qpn, GFP_KERNEL);
	for (int i = 0; i < TRIES && ret == -EBUSY; i++)
		ret = reserve_random(qp);
	return ret;
}

void srnic_number_publish(struct srnic_qp *qp)
{
	xa_store(&qp->dev->qps, qp->base.qp_num, &qp->base, GFP_KERNEL);
	if (is_unique(qp))
		xa_store(&numbers, qp->base.qp_num, qp, GFP_KERNEL);
}

void srnic_number_release(struct srnic_qp *qp)
{
	if (is_unique(qp))
		xa_erase(&numbers, qp->base.qp_num);
	xa_erase(&qp->dev->qps, qp->base.qp_num);
}

struct srnic_qp *srnic_number_find(u32 qpn)
{
	struct srnic_qp *qp;

	/* srnic_number_release() erases the entry, under this lock, before the QP is freed. */
	xa_lock(&numbers);
	qp = xa_load(&numbers, qpn);
	if (qp)
		srnic_qp_hold(qp);
	xa_unlock(&numbers);
	return qp;
}

struct srnic_qp *srnic_number_hold(const struct ib_qp *base)
{
	struct srnic_qp *qp = srnic_qp_find(to_srnic_dev(base->device), base->qp_num);

	if (!qp || &qp->base == base)
		return qp;
	srnic_qp_put(qp);
	return NULL;
}

void srnic_number_exit(void)
{
	xa_destroy(&numbers);
}
