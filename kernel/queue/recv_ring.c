// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rings of receive WQEs: allocation, and posting by kernel consumers.
 */
#include "queue/recv_ring.h"

static u32 wqe_size(u32 max_sge)
{
	return sizeof(struct srnic_recv_wqe) + max_sge * sizeof(struct srnic_sge);
}

int srnic_recv_ring_alloc(struct srnic_recv_ring *recv, u32 min_entries, u32 max_sge)
{
	return srnic_ring_alloc(&recv->ring, min_entries, wqe_size(max_sge));
}

static int fill_slot(struct srnic_recv_wqe *wqe, u32 slot_size, const struct ib_recv_wr *wr)
{
	struct srnic_sge *sge = (struct srnic_sge *)(wqe + 1);

	if (wr->num_sge < 0 || wr->num_sge > SRNIC_MAX_SGE || wqe_size(wr->num_sge) > slot_size)
		return -EINVAL;
	*wqe = (struct srnic_recv_wqe){ .wr_id = wr->wr_id, .num_sge = wr->num_sge };
	srnic_ring_fill_sges(sge, wr->sg_list, wr->num_sge);
	return 0;
}

static int post_receive(struct srnic_recv_ring *recv, const struct ib_recv_wr *wr)
{
	int err;

	if (recv->posted - READ_ONCE(recv->taken) >= recv->ring.entries)
		return -ENOMEM;
	err = fill_slot(srnic_ring_slot(&recv->ring, recv->posted), recv->ring.slot_size, wr);
	if (!err) /* release: the slot before prod; pairs with srnic_recv_ring_pending() */
		smp_store_release(&recv->ring.hdr->prod, ++recv->posted);
	return err;
}

int srnic_recv_ring_post(struct srnic_recv_ring *recv, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&recv->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = post_receive(recv, wr);
	spin_unlock_irqrestore(&recv->lock, flags);
	if (err)
		*bad = wr;
	return err;
}
