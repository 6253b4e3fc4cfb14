// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles. A request names one by its number, which is of its device: so a user's request
 * is checked when it is sent, and takes addresses from nowhere else.
 *
 * A device has no more of them than their numbers. Users and the kernel have numbers of their own:
 * whatever users create, communication managers can answer. These create and destroy them with
 * spinlocks held.
 */
#include <rdma/srnic-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "datagram/ah.h"
#include "udata.h"

static struct srnic_dev *dev_of(const struct srnic_ah *ah)
{
	return to_srnic_dev(ah->base.device);
}

void srnic_ah_dev_init(struct srnic_dev *dev)
{
	xa_init_flags(&dev->datagrams.ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
}

void srnic_ah_dev_exit(struct srnic_dev *dev)
{
	WARN_ON(!srnic_xa_vacant(&dev->datagrams.ahs));
	xa_destroy(&dev->datagrams.ahs);
}

/* ---- use ---- */

static const struct srnic_ah *find(struct srnic_dev *dev, u32 number, u32 pd)
{
	const struct srnic_ah *ah = xa_load(&dev->datagrams.ahs, number);

	return ah && to_srnic_pd(ah->base.pd)->id == pd ? ah : NULL;
}

static int path_of(const struct srnic_ah *ah, struct srnic_path *path)
{
	union ib_gid here;

	return srnic_path_of(&ah->attr, dev_of(ah)->netdev, path, &here);
}

int srnic_ah_path(struct srnic_dev *dev, u32 number, u32 pd, struct srnic_path *path, u8 *hops)
{
	const struct srnic_ah *ah;
	unsigned long flags;
	int ret = -ENOENT;

	xa_lock_irqsave(&dev->datagrams.ahs, flags);
	ah = find(dev, number, pd);
	if (ah) {
		*hops = rdma_ah_read_grh(&ah->attr)->hop_limit;
		ret = path_of(ah, path);
	}
	xa_unlock_irqrestore(&dev->datagrams.ahs, flags);
	return ret;
}

/* ---- verbs ---- */

static int number(struct srnic_ah *ah, struct xa_limit limit, u32 *next, bool may_sleep)
{
	struct xarray *ahs = &dev_of(ah)->datagrams.ahs;
	unsigned long flags;
	int ret;

	if (may_sleep)
		return xa_alloc_cyclic_irq(ahs, &ah->number, ah, limit, next, GFP_KERNEL);
	xa_lock_irqsave(ahs, flags);
	ret = __xa_alloc_cyclic(ahs, &ah->number, ah, limit, next, GFP_ATOMIC);
	xa_unlock_irqrestore(ahs, flags);
	return ret;
}

static int number_of_user(struct srnic_ah *ah)
{
	return number(ah, XA_LIMIT(1, SRNIC_MAX_AH), &dev_of(ah)->datagrams.next_ah, true);
}

static int number_of_kernel(struct srnic_ah *ah, bool may_sleep)
{
	return number(ah, XA_LIMIT(SRNIC_MAX_AH + 1, 2 * SRNIC_MAX_AH),
		      &dev_of(ah)->datagrams.next_kernel_ah, may_sleep);
}

static int respond(const struct srnic_ah *ah, struct ib_udata *udata)
{
	const struct srnic_create_ah_resp resp = { .number = ah->number };

	return udata ? srnic_udata_respond(udata, &resp, sizeof(resp)) : 0;
}

static int check(const struct rdma_ah_attr *attr, struct ib_udata *udata)
{
	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	if (udata && udata->outlen < offsetofend(struct srnic_create_ah_resp, number))
		return -EINVAL;
	return srnic_udata_no_request(udata);
}

int srnic_create_ah(struct ib_ah *base, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct srnic_ah *ah = to_srnic_ah(base);
	struct srnic_path path;
	int ret = check(init->ah_attr, udata);

	if (ret)
		return ret;
	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = base->sgid_attr;
	ret = path_of(ah, &path);
	if (ret)
		return ret;
	ret = udata ? number_of_user(ah) :
		      number_of_kernel(ah, init->flags & RDMA_CREATE_AH_SLEEPABLE);
	if (ret < 0)
		return ret == -EBUSY ? -ENOMEM : ret;
	ret = respond(ah, udata);
	if (ret)
		srnic_destroy_ah(base, RDMA_DESTROY_AH_SLEEPABLE);
	return ret;
}

int srnic_query_ah(struct ib_ah *base, struct rdma_ah_attr *attr)
{
	*attr = to_srnic_ah(base)->attr;
	attr->grh.sgid_attr = NULL;	/* the RDMA core's to keep */
	return 0;
}

/* After this no request uses it. */
int srnic_destroy_ah(struct ib_ah *base, u32 flags)
{
	struct srnic_ah *ah = to_srnic_ah(base);
	struct xarray *ahs = &dev_of(ah)->datagrams.ahs;
	unsigned long irq_flags;

	xa_lock_irqsave(ahs, irq_flags);
	__xa_erase(ahs, ah->number);
	xa_unlock_irqrestore(ahs, irq_flags);
	return 0;
}
