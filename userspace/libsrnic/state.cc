// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// States of QPs that programs connect by hand, those of type srnic_ib: which take sends and
// receives, and what RESET leaves. A QP of type srnic takes both in all states.
#include "doorbell.hh"

namespace srnic {
namespace {

// IBTA 10.8.3: in the others posting a send is an error. One posted in ERR is flushed.
constexpr bool takes_sends(ibv_qp_state state)
{
	return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

// IBTA 10.8.3: posting a receive is an error in RESET.
constexpr bool takes_receives(ibv_qp_state state) { return state != IBV_QPS_RESET; }

// A closed queue has room for no request, so that posting checks nothing more.
void set_closed(srnic_wq &wq, bool closed)
{
	locked hold(wq.lock);

	if (wq.closed == closed)
		return;
	wq.closed = closed;
	if (closed)
		wq.granted = wq.limit;
	wq.limit = closed ? 0 : wq.granted;
}

} // namespace
} // namespace srnic

using namespace srnic;

void srnic_qp_set_state(srnic_qp *qp, ibv_qp_state state)
{
	set_closed(qp->sq, !takes_sends(state));
	set_closed(qp->rq, !takes_receives(state));
}

// The rings need nothing: the kernel has consumed all requests, which posting finds out as always.
// A doorbell that was put off has lost its requests.
void srnic_qp_was_reset(srnic_qp *qp)
{
	{
		locked hold(qp->sq.lock);

		qp->streak = 0;
	}
	store_relaxed(qp->deferred, 0);
	srnic_cq_forget(&send_cq(*qp), qp->base.qp_num);
	if (&recv_cq(*qp) != &send_cq(*qp))
		srnic_cq_forget(&recv_cq(*qp), qp->base.qp_num);
}
