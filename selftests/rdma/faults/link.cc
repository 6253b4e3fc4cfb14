// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a verified connection.
#include "link.hh"

#include <cerrno>
#include <cstring>
#include <poll.h>

namespace {

uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

[[noreturn]] void broken(const char *what)
{
	throw Broken(std::string(what) + ": " + strerror(errno));
}

int left_ms(Clock::time_point until)
{
	auto left =
		std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();

	return left > 0 ? static_cast<int>(left) : 0;
}

// Waits until one of both is readable; the second may be -1.
bool readable(int fd, int other, Clock::time_point until)
{
	pollfd wanted[] = {{fd, POLLIN, 0}, {other, POLLIN, 0}};
	int ret;

	do {
		ret = poll(wanted, 2, left_ms(until));
	} while (ret < 0 && errno == EINTR);
	return ret > 0;
}

} // namespace

void fill(uint8_t *at, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i += 8) {
		const uint64_t word = mix(seed + i);

		memcpy(at + i, &word, std::min(8U, len - i));
	}
}

void verify(const uint8_t *at, uint32_t len, uint64_t seed, const char *what)
{
	for (uint32_t i = 0; i < len; i += 8) {
		const uint64_t word = mix(seed + i);

		if (memcmp(at + i, &word, std::min(8U, len - i)))
			throw Wrong(std::string(what) + ": octet " + std::to_string(i) +
				    " or one of the next 7, of " + std::to_string(len));
	}
}

Link::Link(rdma_cm_id *connected) : id(connected), out(data_size), in(data_size)
{
	ibv_qp_init_attr attr{};
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	try {
		if (!(channel = ibv_create_comp_channel(id->verbs)))
			broken("ibv_create_comp_channel");
		if (!(cq = ibv_create_cq(id->verbs, 64, nullptr, channel, 0)))
			broken("ibv_create_cq");
		attr.cap = {16, 16, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		attr.send_cq = attr.recv_cq = cq;
		if (rdma_create_qp(id, nullptr, &attr))
			broken("rdma_create_qp");
		out_mr = ibv_reg_mr(id->pd, out.data(), out.size(), access);
		in_mr = ibv_reg_mr(id->pd, in.data(), in.size(), access);
		message_mr = ibv_reg_mr(id->pd, messages, sizeof(messages), access);
		if (!out_mr || !in_mr || !message_mr)
			broken("ibv_reg_mr");
		for (int i = 0; i < slots; i++)
			post_receive(i);
	} catch (const Broken &) {
		release();
		throw;
	}
}

Link::~Link() { release(); }

void Link::release()
{
	for (ibv_mr *mr : {out_mr, in_mr, message_mr})
		if (mr)
			ibv_dereg_mr(mr);
	if (id->qp)
		rdma_destroy_qp(id);
	if (cq)
		ibv_destroy_cq(cq);
	if (channel)
		ibv_destroy_comp_channel(channel);
}

void Link::post_receive(int slot)
{
	ibv_sge list = {reinterpret_cast<uintptr_t>(&messages[slot]), sizeof(Message),
			message_mr->lkey};
	ibv_recv_wr wr{}, *bad;

	wr.wr_id = slot;
	wr.sg_list = &list;
	wr.num_sge = 1;
	if (ibv_post_recv(id->qp, &wr, &bad))
		broken("ibv_post_recv");
}

void Link::post(ibv_wr_opcode opcode, ibv_sge list, const Target &remote)
{
	ibv_send_wr wr{}, *bad;

	wr.wr_id = slots;
	wr.sg_list = &list;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma = {remote.addr, remote.rkey};
	if (ibv_post_send(id->qp, &wr, &bad))
		broken("ibv_post_send");
	unfinished++;
}

void Link::send(uint64_t round, uint32_t len)
{
	Message &message = messages[slots];

	message.round = round;
	message.len = len;
	message.fill_len = round % sizeof(message.octets);
	message.target = target();
	fill(message.octets, message.fill_len, ~round);
	post(IBV_WR_SEND, {reinterpret_cast<uintptr_t>(&message), message.size(), message_mr->lkey},
	     {});
}

void Link::write(uint32_t len, const Target &to)
{
	post(IBV_WR_RDMA_WRITE, {reinterpret_cast<uintptr_t>(out.data()), len, out_mr->lkey}, to);
}

void Link::read(uint32_t len, const Target &from)
{
	post(IBV_WR_RDMA_READ, {reinterpret_cast<uintptr_t>(in.data()), len, in_mr->lkey}, from);
}

// A completion event is there. Throws Broken if the connection is over and none is there.
bool Link::event_by(Clock::time_point until)
{
	const int other = connection_events ? connection_events->fd : -1;

	if (!readable(channel->fd, other,
		      events_may_be_lost
			      ? std::min(until, Clock::now() + std::chrono::milliseconds(200))
			      : until))
		return false;
	if (readable(channel->fd, -1, Clock::now()))
		return true;
	hear_of_the_end();
	return false;
}

void Link::hear_of_the_end()
{
	const CmEvent event = next_event(connection_events, 0);

	if (event.type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
		throw Broken(rdma_event_str(event.type));
}

// Takes one completion.
void Link::next(Clock::time_point until)
{
	void *context;
	ibv_cq *of;
	ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc))) {
		if (ibv_req_notify_cq(cq, 0))
			broken("ibv_req_notify_cq");
		if ((n = ibv_poll_cq(cq, 1, &wc)))
			break;
		if (!event_by(until)) {
			if (Clock::now() >= until)
				throw Stalled("no completion");
			continue;
		}
		if (ibv_get_cq_event(channel, &of, &context))
			broken("ibv_get_cq_event");
		ibv_ack_cq_events(of, 1);
	}
	if (n < 0)
		broken("ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS)
		throw Broken(ibv_wc_status_str(wc.status));
	if (wc.wr_id == slots)
		unfinished--;
	else
		arrived = static_cast<int>(wc.wr_id);
}

void Link::settle(int patience_ms)
{
	const auto until = Clock::now() + std::chrono::milliseconds(patience_ms);

	while (unfinished)
		next(until);
}

const Message &Link::receive(int patience_ms)
{
	const auto until = Clock::now() + std::chrono::milliseconds(patience_ms);

	if (taken >= 0)
		post_receive(taken);
	while (arrived < 0 || unfinished)
		next(until);
	taken = arrived;
	arrived = -1;

	const Message &message = messages[taken];
	if (message.fill_len != message.round % sizeof(message.octets))
		throw Wrong("a message's length");
	if (message.len > data_size)
		throw Wrong("a round's length");
	verify(message.octets, message.fill_len, ~message.round, "a message");
	return message;
}

CmEvent next_event(rdma_event_channel *channel, int patience_ms)
{
	rdma_cm_event *event;

	if (!readable(channel->fd, -1, Clock::now() + std::chrono::milliseconds(patience_ms)))
		throw Stalled("no connection event");
	if (rdma_get_cm_event(channel, &event))
		broken("rdma_get_cm_event");
	const CmEvent out = {event->event, event->status, event->id, event->listen_id};
	rdma_ack_cm_event(event);
	return out;
}
