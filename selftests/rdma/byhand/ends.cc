// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <arpa/inet.h>
#include <sys/mount.h>

#include "ends.hh"

void expect(bool condition, const std::string &what)
{
	if (!condition)
		throw Failure(what);
}

double seconds_since(Clock::time_point begin)
{
	return std::chrono::duration<double>(Clock::now() - begin).count();
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void inside(const std::string &ns, const std::function<void()> &what)
{
	std::string trouble;
	std::thread there([&] {
		const int fd = open(("/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC);

		try {
			expect(fd >= 0 && !setns(fd, CLONE_NEWNET), "setns " + ns);
			what();
		} catch (const std::runtime_error &failure) {
			trouble = failure.what();
		}
		close(fd);
	});

	there.join();
	expect(trouble.empty(), trouble);
}

namespace {

int ms_until(Clock::time_point end)
{
	const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();

	return left > 0 ? static_cast<int>(left) : 0;
}

bool readable(int fd, int timeout_ms)
{
	pollfd wanted{fd, POLLIN, 0};

	return poll(&wanted, 1, timeout_ms) == 1;
}

// The thread sees the devices of its namespace only.
void own_sys()
{
	expect(!unshare(CLONE_NEWNS) && !mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) &&
		       !umount2("/sys", MNT_DETACH) && !mount("sysfs", "/sys", "sysfs", 0, nullptr),
	       "a /sys of its own");
}

std::string container_of(const std::string &device)
{
	std::istringstream containers(getenv("CONTAINERS") ?: "");
	std::string one;

	while (containers >> one)
		if (!one.compare(0, device.size() + 1, device + "="))
			return one.substr(device.size() + 1);
	return "";
}

ibv_context *open_here(const std::string &name)
{
	int count;
	ibv_device **list = ibv_get_device_list(&count);
	ibv_context *verbs = nullptr;

	for (int i = 0; list && i < count; i++)
		if (name == ibv_get_device_name(list[i]))
			verbs = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	expect(verbs, name + " cannot be opened");
	return verbs;
}

ibv_context *open_device(const std::string &name)
{
	const std::string ns = container_of(name);
	ibv_context *verbs = nullptr;

	if (ns.empty())
		return open_here(name);
	inside(ns, [&] {
		own_sys();
		verbs = open_here(name);
	});
	return verbs;
}

// "first": GID 0, the link-local address by EUI-64.
ibv_gid gid_of(ibv_context *verbs, const std::string &address)
{
	ibv_gid gid{};

	if (address == "first") {
		expect(!ibv_query_gid(verbs, 1, 0, &gid), "GID 0");
		return gid;
	}
	if (inet_pton(AF_INET6, address.c_str(), gid.raw) == 1)
		return gid;
	gid.raw[10] = gid.raw[11] = 0xff;
	expect(inet_pton(AF_INET, address.c_str(), gid.raw + 12) == 1, "an address");
	return gid;
}

int index_of(ibv_context *verbs, const ibv_gid &gid)
{
	ibv_gid at;

	for (int i = 0; i < 128; i++)
		if (!ibv_query_gid(verbs, 1, i, &at) && !memcmp(&at, &gid, sizeof(gid)))
			return i;
	return -1;
}

} // namespace

Port::Port(const std::string &device, const std::string &address) : verbs(open_device(device))
{
	const auto end = Clock::now() + std::chrono::milliseconds(patience_ms);

	gid = gid_of(verbs, address);
	while ((gid_index = index_of(verbs, gid)) < 0 && Clock::now() < end)
		sleep_ms(20);
	expect(gid_index >= 0, address + " is no GID of " + device);
	pd = ibv_alloc_pd(verbs);
	expect(pd, "ibv_alloc_pd");
	fcntl(verbs->async_fd, F_SETFL, fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK);
}

Port::~Port()
{
	ibv_dealloc_pd(pd);
	ibv_close_device(verbs);
}

std::optional<ibv_event_type> Port::event(int timeout_ms) const
{
	ibv_async_event event;

	if (!readable(verbs->async_fd, timeout_ms) || ibv_get_async_event(verbs, &event))
		return {};
	ibv_ack_async_event(&event);
	return event.event_type;
}

Queue::Queue(ibv_context *verbs, int entries) : channel(ibv_create_comp_channel(verbs))
{
	expect(channel, "ibv_create_comp_channel");
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	cq = ibv_create_cq(verbs, entries, nullptr, channel, 0);
	expect(cq, "ibv_create_cq");
}

Queue::~Queue()
{
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
}

bool Queue::wait_event(Clock::time_point end)
{
	ibv_cq *which;
	void *context;

	if (!armed) {
		const int error = ibv_req_notify_cq(cq, 0);

		expect(!error, std::string("ibv_req_notify_cq: ") + strerror(error));
		armed = true;
		return true;
	}
	if (!readable(channel->fd, ms_until(end)))
		return false;
	if (!ibv_get_cq_event(channel, &which, &context)) {
		ibv_ack_cq_events(cq, 1);
		armed = false;
	}
	return true;
}

std::optional<ibv_wc> Queue::next(int timeout_ms)
{
	const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
	ibv_wc wc;

	for (;;) {
		const int got = ibv_poll_cq(cq, 1, &wc);

		expect(got >= 0, "ibv_poll_cq");
		if (got)
			return wc;
		if (!wait_event(end))
			return {};
	}
}

ibv_wc Queue::is(uint64_t wr_id, ibv_wc_status status, int timeout_ms)
{
	const auto wc = next(timeout_ms);
	const std::string wanted = "request " + std::to_string(wr_id) + ": want " +
				   ibv_wc_status_str(status) + ", got ";

	expect(wc.has_value(), wanted + "nothing");
	expect(wc->wr_id == wr_id && wc->status == status,
	       wanted + std::to_string(wc->wr_id) + ": " + ibv_wc_status_str(wc->status));
	return *wc;
}

void Queue::none(int timeout_ms)
{
	const auto wc = next(timeout_ms);

	expect(!wc, "a completion came: " +
			    (wc ? std::to_string(wc->wr_id) + ": " + ibv_wc_status_str(wc->status)
				: ""));
}

End::End(const Port &at, const Options &how)
	: options(how), port(at), buffer(how.bytes), sends(at.verbs, static_cast<int>(how.depth)),
	  receives(at.verbs, static_cast<int>(how.depth))
{
	ibv_qp_init_attr attr{};

	mr = ibv_reg_mr(port.pd, buffer.data(), buffer.size(), options.region);
	expect(mr, "ibv_reg_mr");
	attr.send_cq = sends.cq;
	attr.recv_cq = receives.cq;
	attr.cap = {options.depth, options.depth, 2, 2, 0};
	attr.qp_type = IBV_QPT_RC;
	qp = ibv_create_qp(port.pd, &attr);
	expect(qp, "ibv_create_qp");
}

End::~End()
{
	destroy_qp();
	ibv_dereg_mr(mr);
}

void End::destroy_qp()
{
	if (qp)
		ibv_destroy_qp(qp);
	qp = nullptr;
}

Name End::name() const
{
	return {port.gid, qp->qp_num, reinterpret_cast<uintptr_t>(buffer.data()), mr->rkey};
}

int End::modify(ibv_qp_attr &attr, int mask)
{
	return ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE);
}

int End::init()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = static_cast<unsigned>(options.access);
	return modify(attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int End::rtr(const Name &peer)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = peer.qpn;
	attr.max_dest_rd_atomic = options.rd_atomic;
	attr.min_rnr_timer = options.min_rnr_timer;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid = peer.gid;
	attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(port.gid_index);
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.port_num = 1;
	return modify(attr, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int End::rts()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = options.timeout;
	attr.retry_cnt = options.retry;
	attr.rnr_retry = options.rnr_retry;
	attr.max_rd_atomic = options.rd_atomic;
	return modify(attr, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC);
}

void End::to(ibv_qp_state state)
{
	ibv_qp_attr attr{};

	attr.qp_state = state;
	expect(!modify(attr, 0), "ibv_modify_qp");
}

void End::drain()
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	expect(!modify(attr, IBV_QP_EN_SQD_ASYNC_NOTIFY), "ibv_modify_qp");
}

ibv_qp_state End::state() const
{
	ibv_qp_init_attr init;
	ibv_qp_attr attr;

	expect(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

ibv_sge End::piece(uint32_t offset, uint32_t len) const
{
	return {reinterpret_cast<uintptr_t>(buffer.data()) + offset, len, mr->lkey};
}

void End::receive(uint64_t wr_id, uint32_t len, uint32_t offset)
{
	ibv_sge sge = piece(offset, len);
	ibv_recv_wr wr{}, *bad;

	wr.wr_id = wr_id;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	expect(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

ibv_send_wr End::request(ibv_wr_opcode opcode, uint64_t wr_id, const Name *remote) const
{
	ibv_send_wr wr{};

	wr.wr_id = wr_id;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (!remote)
		return wr;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		wr.wr.atomic = {remote->addr, 1, 0, remote->rkey};
	else
		wr.wr.rdma = {remote->addr, remote->rkey};
	return wr;
}

void End::post(ibv_send_wr wr, ibv_sge sge)
{
	ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	expect(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

void End::post(ibv_wr_opcode opcode, uint64_t wr_id, const Name &peer, uint32_t len, unsigned flags)
{
	ibv_send_wr wr = request(opcode, wr_id, &peer);

	wr.send_flags = flags;
	post(wr, piece(0, len));
}

void End::send(uint64_t wr_id, uint32_t len, unsigned flags)
{
	ibv_send_wr wr = request(IBV_WR_SEND, wr_id);

	wr.send_flags = flags;
	post(wr, piece(0, len));
}

void join(End &a, End &b)
{
	expect(!a.init() && !b.init(), "INIT");
	expect(!a.rtr(b.name()) && !b.rtr(a.name()), "RTR");
	expect(!a.rts() && !b.rts(), "RTS");
}

void join_again(End &a, End &b)
{
	a.to(IBV_QPS_RESET);
	b.to(IBV_QPS_RESET);
	join(a, b);
}

Pair::Pair(const Port &here, const Port &there, const Options &of_a, const Options &of_b)
	: a(here, of_a), b(there, of_b)
{
	join(a, b);
}

void exercise(End &a, End &b)
{
	a.receive(1);
	b.receive(2);
	a.send(3);
	b.send(4);
	a.receives.is(1);
	b.receives.is(2);
	a.sends.is(3);
	b.sends.is(4);
}

void Pair::exercise() { ::exercise(a, b); }
