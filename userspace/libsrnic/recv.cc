// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Posting to receive queues and shared receive queues.
#include "wq.hh"

#include <errno.h>

namespace srnic {
namespace {

int put(srnic_wq &rq, const ibv_recv_wr &wr)
{
	if (wr.num_sge < 0 || static_cast<u32>(wr.num_sge) > rq.max_sge ||
	    is_missing(wr.sg_list, wr.num_sge))
		return EINVAL;
	auto *wqe = next_slot<srnic_recv_wqe>(rq);
	if (!wqe)
		return rq.closed ? EINVAL : ENOMEM;

	*wqe = srnic_recv_wqe{};
	wqe->wr_id = wr.wr_id;
	wqe->num_sge = wr.num_sge;
	if (wr.num_sge)
		memcpy(payload(wqe), wr.sg_list, wr.num_sge * sizeof(*wr.sg_list));
	rq.next++;
	return 0;
}

// Posts the requests before the first bad one. *ring: the doorbell must be rung.
int post(srnic_wq &rq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr, bool *ring)
{
	locked hold(rq.lock);
	int err = 0;

	while (wr && !(err = put(rq, *wr)))
		wr = wr->next;
	*ring = wants_doorbell(publish(rq));
	if (err)
		*bad_wr = wr;
	return err;
}

} // namespace
} // namespace srnic

using namespace srnic;

int srnic_post_recv(ibv_qp *ibqp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	auto &qp = *reinterpret_cast<srnic_qp *>(ibqp);
	ibv_recv_wr *first = wr;
	bool ring;
	int err = post(qp.rq, wr, bad_wr, &ring);

	// Only a QP in error needs the doorbell, to flush the new requests.
	if (ring)
		if (int gone = srnic_doorbell(&qp); gone && !err) {
			*bad_wr = first;
			err = gone;
		}
	return err;
}

int srnic_post_srq_recv(ibv_srq *ibsrq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	bool ring; // an SRQ is never in error

	return post(reinterpret_cast<srnic_srq *>(ibsrq)->wq, wr, bad_wr, &ring);
}

bool srnic_ring_open(srnic_ring *ring, void *map, uint64_t mapped, uint32_t smallest_slot)
{
	auto *hdr = static_cast<srnic_ring_hdr *>(map);

	if (mapped < sizeof(*hdr) || !is_ring(*hdr, mapped, smallest_slot))
		return false;
	ring->hdr = ring->slots = hdr;
	ring->mapped = mapped;
	ring->entries = hdr->entries;
	ring->slot_size = hdr->slot_size;
	return true;
}

void srnic_rq_init(srnic_wq *wq, uint32_t max_wr, uint32_t max_sge)
{
	if (!wq->ring.hdr)
		return;
	const u32 room = wq->ring.slot_size - u32{sizeof(srnic_recv_wqe)};

	wq->limit = min(max_wr, wq->ring.entries);
	wq->max_sge = min(max_sge, room / u32{sizeof(srnic_sge)});
}

int srnic_srq_switch(srnic_srq *srq, srnic_ring *next, ibv_srq_attr *attr, int mask)
{
	locked hold(srq->wq.lock);
	const int err = srnic_srq_switch_in_kernel(srq, attr, mask);

	if (!err) {
		use_slots(srq->wq.ring, srq->wq.resized, *next);
		srq->wq.limit = srq->wq.ring.entries;
	}
	return err;
}
