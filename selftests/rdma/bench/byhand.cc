// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <cstring>
#include <map>

#include "byhand.hh"

Device::Device(const std::string &name)
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

Device &device(const std::string &name)
{
	static std::map<std::string, Device> opened;

	return opened.try_emplace(name, name).first->second;
}

QpByHand::QpByHand(const Device &on, std::shared_ptr<Queues> with) : queues(std::move(with))
{
	ibv_qp_init_attr attr{};

	attr.cap = {128, 128, 6, 6, inline_len};
	attr.qp_type = IBV_QPT_RC;
	attr.send_cq = queues->sends.cq;
	attr.recv_cq = queues->receives.cq;
	need((qp = ibv_create_qp(on.pd, &attr)), "ibv_create_qp");
}

void QpByHand::modify(ibv_qp_attr attr, int mask)
{
	need(!(errno = ibv_modify_qp(qp, &attr, mask)), "ibv_modify_qp");
}

ibv_mtu QpByHand::mtu() const
{
	ibv_port_attr attr;

	need(!ibv_query_port(qp->context, 1, &attr), "ibv_query_port");
	return attr.active_mtu;
}

uint8_t QpByHand::gid_index() const
{
	const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	ibv_gid at;

	for (uint8_t i = 0; i < 16 && !ibv_query_gid(qp->context, 1, i, &at); i++)
		if (!memcmp(at.raw, mapped, sizeof(mapped)))
			return i;
	return 0;
}

QpAddress QpByHand::address() const
{
	QpAddress address = {qp->qp_num, {}};

	need(!ibv_query_gid(qp->context, 1, gid_index(), &address.gid), "ibv_query_gid");
	return address;
}

void QpByHand::connect(const QpAddress &to)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = rights;
	modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = mtu();
	attr.dest_qp_num = to.number;
	attr.max_dest_rd_atomic = reads_at_once;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = to.gid;
	attr.ah_attr.grh.sgid_index = gid_index();
	attr.ah_attr.grh.hop_limit = 64;
	modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = reads_at_once;
	modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}
