// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "receiver.hh"

namespace strays {
namespace {

ibv_qp *create_qp(const Port &port, ibv_cq *sends, ibv_cq *receives)
{
	ibv_qp_init_attr attr{};

	attr.send_cq = sends;
	attr.recv_cq = receives;
	attr.qp_type = IBV_QPT_UD;
	attr.cap = {16, 16, 2, 2, 64};
	attr.sq_sig_all = 1;
	return ibv_create_qp(port.pd, &attr);
}

void is(const char *field, u64 value, u64 want)
{
	expect(value == want, std::string(field) + " is " + std::to_string(value) + ", want " +
				      std::to_string(want));
}

void want_completion(const ibv_wc &wc, u32 qpn, const Datagram &datagram, bool v6)
{
	const bool imm = datagram.flags & with_imm;

	is("opcode", wc.opcode, IBV_WC_RECV);
	is("byte_len", wc.byte_len, grh_octets + datagram.payload.size());
	is("src_qp", wc.src_qp, datagram.from & 0xffffff);
	is("qp_num", wc.qp_num, qpn);
	is("wc_flags", wc.wc_flags, IBV_WC_GRH | (imm ? IBV_WC_WITH_IMM : 0));
	is("imm_data", imm ? be32toh(wc.imm_data) : 0, imm ? datagram.imm : 0);
	is("vendor_err", wc.vendor_err, 0);
	is("slid and dlid_path_bits", wc.slid | wc.dlid_path_bits, 0);
	is("sl", wc.sl, v6 ? 9 : 10);
}

} // namespace

Receiver::Receiver(const Port &at, unsigned count, u32 len)
	: port(at), mr(ibv_reg_mr(at.pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE)),
	  sends(at.verbs, 32), receives(at.verbs, 32), qp(create_qp(at, sends.cq, receives.cq))
{
	expect(mr && qp, "a QP of type UD");
	to_rts();
	while (count--)
		post(len);
}

Receiver::~Receiver()
{
	if (qp)
		ibv_destroy_qp(qp);
	if (mr)
		ibv_dereg_mr(mr);
}

void Receiver::to(ibv_qp_state state)
{
	ibv_qp_attr attr{};
	int mask = IBV_QP_STATE;

	attr.qp_state = state;
	attr.port_num = 1;
	attr.qkey = victims_qkey;
	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	else if (state == IBV_QPS_RTS && this->state() == IBV_QPS_RTR)
		mask |= IBV_QP_SQ_PSN;
	expect(!ibv_modify_qp(qp, &attr, mask), "ibv_modify_qp to " + std::to_string(state));
}

void Receiver::to_rts()
{
	for (auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
		to(state);
}

ibv_qp_state Receiver::state() const
{
	ibv_qp_init_attr init;
	ibv_qp_attr attr;

	expect(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

void Receiver::to_sqe()
{
	// The provider knows of an address handle no more than its number, behind struct ibv_ah.
	struct {
		ibv_ah base{};
		u32 number = 0xffffff;
	} nobody;
	ibv_send_wr wr{}, *bad;

	wr.opcode = IBV_WR_SEND;
	wr.wr.ud = {&nobody.base, 1, 1};
	expect(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	sends.is(0, IBV_WC_LOC_QP_OP_ERR);
	expect(state() == IBV_QPS_SQE, "the QP is in SQE");
}

void Receiver::post_bad() { post_with(all, 0x7fffff00); }

void Receiver::post(u32 len) { post_with(len, mr->lkey); }

void Receiver::post_with(u32 len, u32 lkey)
{
	u8 *where = memory.data() + posted % slots * room;
	ibv_sge sge = {reinterpret_cast<uintptr_t>(where), len, lkey};
	ibv_recv_wr wr{}, *bad;

	std::fill_n(where, room, canary);
	wr.wr_id = posted++;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	expect(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

void Receiver::want_canaries(u64 number, size_t from) const
{
	const Bytes is = slot(number);

	expect(std::all_of(is.begin() + static_cast<long>(from), is.end(),
			   [](u8 octet) { return octet == canary; }),
	       "memory has changed in receive " + std::to_string(number) + ", beyond octet " +
		       std::to_string(from));
}

ibv_wc Receiver::want(const Datagram &datagram, const Way &way, u64 behind)
{
	const size_t octets = grh_octets + datagram.payload.size();
	const u64 number = taken++;
	const ibv_wc wc = receives.is(number);

	want_completion(wc, qp->qp_num, datagram, way.is_v6());
	last_grh = slot(number).slice(0, grh_octets);
	want_grh(last_grh, way, datagram.payload.size());
	expect(slot(number).slice(grh_octets, octets - grh_octets) == datagram.payload,
	       "the payload is that of the datagram");
	want_canaries(number, octets);
	for (u64 later = taken + behind; later < posted; later++)
		want_canaries(later, 0);
	post();
	return wc;
}

void Receiver::want_nothing()
{
	receives.none(0);
	for (u64 later = taken; later < posted; later++)
		want_canaries(later, 0);
}

} // namespace strays
