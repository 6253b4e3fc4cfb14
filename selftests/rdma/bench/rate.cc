// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long an operation takes, with any driver: prints nanoseconds for each. Both ends are in this
// process and sleep until completions come.
//	rate cm HERE THERE OPERATION
//	rate hand DEVICE DEVICE OPERATION
// OPERATION: fetch-add DEPTH COUNT | write-imm DEPTH COUNT SIZE
// cm: connects by rdma_cm, from IPv4 address HERE in the network namespace sr0 to THERE in sr1
// hand: moves the QPs of two RoCE devices through their states here; the devices are on one link
// DEPTH: requests outstanding; as many are posted with one call as have completed. An RDMA Write
// with Immediate Data is over when the receiver has its completion.
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../semantics/ends.hh"

namespace {

constexpr int rights = all_rights | IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint8_t atomics = 16; // outstanding

// A QP in operation.
struct Side {
	ibv_qp *qp;
	Completions &sends, &receives;
};

struct Pair {
	virtual ~Pair() = default;
	virtual Side client() = 0;
	virtual Side server() = 0;
};

struct PairByCm : Pair {
	Joint joint;

	PairByCm(const char *here, const char *there)
		: joint({"sr1", there}, {"sr0", here}, atomics)
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
		attr.max_dest_rd_atomic = atomics;
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
		attr.max_rd_atomic = atomics;
		modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	}
	Side side() { return {qp, sends, receives}; }
};

struct PairByHand : Pair {
	QpByHand ours, theirs;

	PairByHand(const char *here, const char *there)
		: ours(open_device(here)), theirs(open_device(there))
	{
		ours.connect(theirs);
		theirs.connect(ours);
	}
	Side client() override { return ours.side(); }
	Side server() override { return theirs.side(); }
};

std::unique_ptr<Pair> connected(const std::string &way, const char *here, const char *there)
{
	if (way == "cm")
		return std::make_unique<PairByCm>(here, there);
	if (way == "hand")
		return std::make_unique<PairByHand>(here, there);
	throw Broken("rate cm|hand HERE THERE fetch-add DEPTH COUNT | write-imm DEPTH COUNT SIZE");
}

// ---- operations ----

struct Memory {
	std::vector<uint8_t> octets;
	ibv_mr *mr;

	Memory(const Side &side, uint32_t size) : octets(size)
	{
		mr = ibv_reg_mr(side.qp->pd, octets.data(), size, rights);
		need(mr, "ibv_reg_mr");
	}
	~Memory() { ibv_dereg_mr(mr); }
	ibv_sge piece() const
	{
		return {reinterpret_cast<uintptr_t>(octets.data()),
			static_cast<uint32_t>(octets.size()), mr->lkey};
	}
};

ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge *sge)
{
	ibv_send_wr wr{};

	wr.opcode = opcode;
	wr.sg_list = sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

// Posts it so many times, with one call.
void post(const Side &side, const ibv_send_wr &wr, unsigned times)
{
	std::vector<ibv_send_wr> list(times, wr);
	ibv_send_wr *bad;

	if (list.empty())
		return;
	for (size_t i = 1; i < list.size(); i++)
		list[i - 1].next = &list[i];
	need(!(errno = ibv_post_send(side.qp, list.data(), &bad)), "ibv_post_send");
}

void post_receive(const Side &side, ibv_sge sge)
{
	ibv_recv_wr *bad, wr{};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	need(!(errno = ibv_post_recv(side.qp, &wr, &bad)), "ibv_post_recv");
}

void want_success(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		throw Broken(ibv_wc_status_str(wc.status));
}

// Sleeps until a completion comes; takes all that there are. Returns how many.
unsigned take(Completions &completions)
{
	unsigned n = 1;

	want_success(completions.next());
	for (; auto wc = completions.there(); n++)
		want_success(*wc);
	return n;
}

void fetch_add(Pair &pair, unsigned depth, unsigned count)
{
	const Side client = pair.client();
	Memory theirs(pair.server(), 8), ours(client, 8);
	ibv_sge sge = ours.piece();
	ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	unsigned posted = 0, done = 0, room;
	uint64_t sum;

	wr.wr.atomic = {theirs.piece().addr, 1, 0, theirs.mr->rkey};
	while (done < count) {
		room = std::min(depth - (posted - done), count - posted);
		post(client, wr, room);
		posted += room;
		done += take(client.sends);
	}
	memcpy(&sum, theirs.octets.data(), sizeof(sum));
	expect(sum == count, "additions are lost");
}

void write_imm(Pair &pair, unsigned depth, unsigned count, uint32_t size)
{
	const Side client = pair.client(), server = pair.server();
	Memory ours(client, size), theirs(server, size);
	ibv_sge sge = ours.piece();
	ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, &sge);
	unsigned posted = 0, sent = 0, done = 0, room;

	wr.wr.rdma = {theirs.piece().addr, theirs.mr->rkey};
	for (unsigned i = 0; i < depth; i++)
		post_receive(server, theirs.piece());
	while (done < count) {
		room = std::min(depth - (posted - done), count - posted);
		post(client, wr, room);
		posted += room;
		for (unsigned n = take(server.receives); n; n--, done++)
			post_receive(server, theirs.piece());
		while (sent < done)
			sent += take(client.sends);
	}
}

} // namespace

int main(int argc, char **argv)
try {
	const auto number = [&](int i) {
		return argc > i ? static_cast<unsigned>(atoi(argv[i])) : 0;
	};
	const std::unique_ptr<Pair> pair = connected(argc > 6 ? argv[1] : "", argv[2], argv[3]);
	const unsigned depth = number(5), count = number(6);

	const auto began = Clock::now();
	if (!strcmp(argv[4], "fetch-add"))
		fetch_add(*pair, depth, count);
	else
		write_imm(*pair, depth, count, number(7));
	const std::chrono::nanoseconds took = Clock::now() - began;
	printf("%ld\n", static_cast<long>(took.count() / count));
	return 0;
} catch (const std::exception &trouble) {
	fprintf(stderr, "%s\n", trouble.what());
	return 1;
}
