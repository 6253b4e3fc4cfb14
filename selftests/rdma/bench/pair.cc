// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connected QPs: by rdma_cm, or of two RoCE devices by hand.
#include "pair.hh"

namespace {

struct PairByCm : Pair {
	Joint joint;

	PairByCm(const Place &here, const Place &there, int entries = cq_entries,
		 const Joint *with_cqs_of = nullptr) :
		joint(there, here, reads_at_once, entries, with_cqs_of)
	{
	}
	static Side side(End &end) { return {end.id->qp, *end.sends, *end.receives}; }
	Side client() override { return side(joint.client); }
	Side server() override { return side(joint.server); }
};

// ---- RoCE, by hand ----

ibv_context *open_device(const std::string &name)
{
	ibv_device **list = ibv_get_device_list(nullptr);

	need(list, "ibv_get_device_list");
	for (ibv_device **at = list; *at; at++)
		if (name == ibv_get_device_name(*at))
			return ibv_open_device(*at);
	throw Broken("no device " + name);
}

struct QpByHand {
	Completions sends, receives;
	ibv_qp *qp;

	explicit QpByHand(ibv_context *verbs) : sends(verbs), receives(verbs)
	{
		ibv_qp_init_attr attr{};

		attr.cap = {128, 128, 6, 6, inline_len};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = sends.cq;
		attr.recv_cq = receives.cq;
		need((qp = ibv_create_qp(ibv_alloc_pd(verbs), &attr)), "ibv_create_qp");
	}
	~QpByHand() { ibv_destroy_qp(qp); }

	void modify(ibv_qp_attr attr, int mask)
	{
		need(!(errno = ibv_modify_qp(qp, &attr, mask)), "ibv_modify_qp");
	}
	ibv_mtu mtu() const
	{
		ibv_port_attr attr;

		need(!ibv_query_port(qp->context, 1, &attr), "ibv_query_port");
		return attr.active_mtu;
	}
	// The first GID is made of the interface's MAC address: IPv6's link-local address.
	ibv_gid gid() const
	{
		ibv_gid gid;

		need(!ibv_query_gid(qp->context, 1, 0, &gid), "ibv_query_gid");
		return gid;
	}
	void connect(const QpByHand &to)
	{
		ibv_qp_attr attr{};

		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		attr.qp_access_flags = rights;
		modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
		attr.qp_state = IBV_QPS_RTR;
		attr.path_mtu = mtu();
		attr.dest_qp_num = to.qp->qp_num;
		attr.max_dest_rd_atomic = reads_at_once;
		attr.min_rnr_timer = 12;
		attr.ah_attr.is_global = 1;
		attr.ah_attr.port_num = 1;
		attr.ah_attr.grh.dgid = to.gid();
		attr.ah_attr.grh.hop_limit = 64;
		modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
		attr.qp_state = IBV_QPS_RTS;
		attr.timeout = 14;
		attr.retry_cnt = attr.rnr_retry = 7;
		attr.max_rd_atomic = reads_at_once;
		modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	}
	Side side() { return {qp, sends, receives}; }
};

struct PairByHand : Pair {
	QpByHand ours, theirs;

	PairByHand(const std::string &here, const std::string &there)
		: ours(open_device(here)), theirs(open_device(there))
	{
		ours.connect(theirs);
		theirs.connect(ours);
	}
	Side client() override { return ours.side(); }
	Side server() override { return theirs.side(); }
};

} // namespace

Place place_of(const std::string &name)
{
	const size_t colon = name.find(':');

	if (colon == name.npos)
		throw Broken("not NAMESPACE:ADDRESS: " + name);
	return {name.substr(0, colon), name.substr(colon + 1)};
}

std::unique_ptr<Pair> connected(const std::string &way, const std::string &here,
				const std::string &there)
{
	if (way == "cm")
		return std::make_unique<PairByCm>(place_of(here), place_of(there));
	return std::make_unique<PairByHand>(here, there);
}

Pairs connected_together(const std::string &here, const std::string &there, unsigned pairs,
			 unsigned entries)
{
	const Place from = place_of(here), to = place_of(there);
	Pairs all;
	const Joint *first = nullptr;

	for (unsigned i = 0; i < pairs; i++) {
		auto pair = std::make_unique<PairByCm>(from, to, static_cast<int>(pairs * entries),
						       first);

		first = first ? first : &pair->joint;
		all.push_back(std::move(pair));
	}
	return all;
}
