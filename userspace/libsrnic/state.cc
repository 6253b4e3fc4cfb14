// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// States of QPs that programs connect by hand, those of type srnic_ib: which take sends, and what
// RESET leaves. A QP of type srnic takes sends in all states.
#include "doorbell.hh"

namespace srnic {
namespace {

// IBTA 10.8.3: in the others posting a send is an error. One posted in ERR is flushed.
constexpr bool takes_sends(ibv_qp_state state)
{
	return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

} // namespace
} // namespace srnic

using namespace srnic;

// A closed QP has room for no request, so that posting checks nothing more.
void srnic_qp_set_state(srnic_qp *qp, ibv_qp_state state)
{
	locked hold(qp->sq.lock);

	if (qp->closed != takes_sends(state))
		return;
	qp->closed = !qp->closed;
	if (qp->closed)
		qp->limit = qp->sq.limit;
	qp->sq.limit = qp->closed ? 0 : qp->limit;
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
