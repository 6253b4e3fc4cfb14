// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connected QPs: by rdma_cm, or by hand of two devices whose ports are Ethernet's.
#include <cstring>
#include <map>

#include "pair.hh"

namespace {

struct PairByCm : Pair {
	Joint joint;

	PairByCm(const Place &here, const Place &there, int entries = cq_entries,
		 const PairByCm *with_cqs_of = nullptr)
		: joint(there, here, reads_at_once, entries,
			with_cqs_of ? &with_cqs_of->joint : nullptr)
	{
	}
	static Side side(End &end) { return {end.id->qp, *end.sends, *end.receives}; }
	Side client() override { return side(joint.client); }
	Side server() override { return side(joint.server); }
};

// ---- by hand ----

// An open device, for the life of the process, and the domain of all QPs and memory on it.
struct Device {
	ibv_context *verbs = nullptr;
	ibv_pd *pd = nullptr;

	explicit Device(const std::string &name)
	{
		ibv_device **list = ibv_get_device_list(nullptr);

		need(list, "ibv_get_device_list");
		for (ibv_device **at = list; *at && !verbs; at++)
			if (name == ibv_get_device_name(*at))
				need((verbs = ibv_open_device(*at)), "ibv_open_device");
		if (!verbs)
			throw Broken("no device " + name);
		need((pd = ibv_alloc_pd(verbs)), "ibv_alloc_pd");
	}
};

Device &device(const std::string &name)
{
	static std::map<std::string, Device> opened;

	return opened.try_emplace(name, name).first->second;
}

// The CQs of an end; those of an end in many pairs are in common.
struct Queues {
	Completions sends, receives;

	Queues(const Device &on, int entries)
		: sends(on.verbs, entries), receives(on.verbs, entries)
	{
	}
};

struct QpByHand {
	std::shared_ptr<Queues> queues;
	ibv_qp *qp;

	QpByHand(const Device &on, std::shared_ptr<Queues> with) : queues(std::move(with))
	{
		ibv_qp_init_attr attr{};

		attr.cap = {128, 128, 6, 6, inline_len};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = queues->sends.cq;
		attr.recv_cq = queues->receives.cq;
		need((qp = ibv_create_qp(on.pd, &attr)), "ibv_create_qp");
	}
	~QpByHand() { ibv_destroy_qp(qp); }
	QpByHand(const QpByHand &) = delete;

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
	// The index of the first GID that is an IPv4 address; if there is none 0, whose GID is made
	// of the MAC address.
	uint8_t gid_index() const
	{
		const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
		ibv_gid at;

		for (uint8_t i = 0; i < 16 && !ibv_query_gid(qp->context, 1, i, &at); i++)
			if (!memcmp(at.raw, mapped, sizeof(mapped)))
				return i;
		return 0;
	}
	ibv_gid gid() const
	{
		ibv_gid gid;

		need(!ibv_query_gid(qp->context, 1, gid_index(), &gid), "ibv_query_gid");
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
		attr.ah_attr.grh.sgid_index = gid_index();
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
	Side side() { return {qp, queues->sends, queues->receives}; }
};

struct PairByHand : Pair {
	QpByHand ours, theirs;

	PairByHand(const std::string &here, const std::string &there, int entries = cq_entries,
		   const PairByHand *with_cqs_of = nullptr)
		: ours(device(here), with_cqs_of ? with_cqs_of->ours.queues
						 : std::make_shared<Queues>(device(here), entries)),
		  theirs(device(there), with_cqs_of
						? with_cqs_of->theirs.queues
						: std::make_shared<Queues>(device(there), entries))
	{
		ours.connect(theirs);
		theirs.connect(ours);
	}
	Side client() override { return ours.side(); }
	Side server() override { return theirs.side(); }
};

// The first has CQs with so much room, which the others share.
template <class Kind, class Where>
Pairs together(const Where &here, const Where &there, unsigned pairs, int room)
{
	auto first = std::make_unique<Kind>(here, there, room);
	const Kind *with_cqs_of = first.get();
	Pairs all;

	all.push_back(std::move(first));
	while (all.size() < pairs)
		all.push_back(std::make_unique<Kind>(here, there, room, with_cqs_of));
	return all;
}

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

Pairs connected_together(const std::string &way, const std::string &here, const std::string &there,
			 unsigned pairs, unsigned entries)
{
	const int room = static_cast<int>(pairs * entries);

	if (way == "cm")
		return together<PairByCm>(place_of(here), place_of(there), pairs, room);
	return together<PairByHand>(here, there, pairs, room);
}
