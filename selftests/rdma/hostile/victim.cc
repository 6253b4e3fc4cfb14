// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The end that is attacked: an honest verbs program. It does what the attacker asks for on its standard input, one line
// at a time, and answers with one line each:
//
//	accept N		take the connection request that comes, with N receives posted: "ok PRIVATE-DATA"
//	request			a connection request comes, and is kept for later: "ok"
//	quiet			no connection request is there: "ok"
//	connect PORT N		begin to connect, with N receives posted: "ok"
//	connected		how that ended: "ok", or the event's name
//	accept-no-reads N	the same, allowing no RDMA Reads at all
//	crc ON			the administrator of this end wants CRCs, or (0) can do without: "ok"
//	reject HEX		refuse the connection request that comes, with this private data: "ok"
//	depths			what the last connection request, or the connection, was said to allow: "ok
//				INITIATOR-DEPTH RESPONDER-RESOURCES", decimal
//	mix			post a Write of 5 octets, a Send of 7, a Read of 64, a Send of 6, a Write of 9: "ok"
//	flood N			post N Writes of 256 KiB: "ok"
//	done			how many requests have completed by now: "ok N"
//	completed N		the next N completions of what was posted: "ok OPCODE...", in their order, and
//				"more" if there is another one
//	read LENGTH		post an RDMA Read, whose source does not matter: "ok"
//	send LENGTH		post a Send: "ok"
//	disconnect		end the connection from here: "ok"
//	verdict WAIT CHANGE...	wait for the connection's end (WAIT 1; 0: it never got far), take it down and
//				tell what became of it. CHANGE: "may ADDRESS LENGTH", memory that may have
//				changed, or "is ADDRESS HEX", memory that must have changed to this. Numbers
//				are hexadecimal.
//
// All memory that anybody could reach lies in one arena, full of canaries: it is compared octet by octet. And a good
// connection of this very process is used again after each case.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using clock_type = std::chrono::steady_clock;

constexpr int patience = 5000; // ms, for what has to come
constexpr u32 receive_size = 64, receives = 8, sink_size = 4096;
constexpr u32 queue = 64;

template <class T> T *need(T *what, const char *name)
{
	if (!what)
		throw std::runtime_error(std::string(name) + ": " + std::strerror(errno));
	return what;
}

void need(int ret, const char *name)
{
	if (ret)
		throw std::runtime_error(std::string(name) + ": " + std::strerror(ret > 0 ? ret : errno));
}

bool readable(int fd, int ms)
{
	pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0;
}

// ---- Memory ----

constexpr size_t guard = 4096, large = 256 * 1024, small = 4096, skew = 0x123;
constexpr size_t arena_size = 9 * guard + large + 6 * small;
constexpr int remote_both = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct Region {
	const char *name;
	ibv_mr *mr;
};

class Arena {
public:
	u8 *memory = static_cast<u8 *>(
		mmap(nullptr, arena_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ibv_mr *local = nullptr; // all of it, for nobody else
	u8 *sink = nullptr, *receive = nullptr;
	std::vector<Region> regions;

	Arena(ibv_pd *pd, ibv_pd *other)
	{
		if (memory == MAP_FAILED)
			throw std::runtime_error("no memory for the arena");
		shadow.resize(arena_size);
		for (size_t i = 0; i < arena_size; i++)
			shadow[i] = static_cast<u8>(i * 11 + i / 253 * 3 + 1);
		restore(0, arena_size);
		local = need(ibv_reg_mr(pd, memory, arena_size, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
		add("both", pd, large, remote_both);
		add("read-only", pd, small, IBV_ACCESS_REMOTE_READ);
		add("write-only", pd, small, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		add("private", pd, small, IBV_ACCESS_LOCAL_WRITE);
		add("foreign", other, small, remote_both);
		add("stale", pd, small, remote_both);
		sink = take(sink_size);
		receive = take(receives * 2 * receive_size);
	}

	// Says what every region is called, and lets go of the stale one.
	void introduce()
	{
		for (const Region &r : regions)
			std::printf("region %s %" PRIx32 " %" PRIxPTR " %zx\n", r.name, r.mr->rkey,
				    reinterpret_cast<std::uintptr_t>(r.mr->addr), r.mr->length);
		for (u32 i = 0; i < receives; i++)
			std::printf("region receive%" PRIu32 " 0 %" PRIxPTR " %" PRIx32 "\n", i,
				    reinterpret_cast<std::uintptr_t>(receive_at(i)), receive_size);
		std::printf("region sink 0 %" PRIxPTR " %" PRIx32 "\n", reinterpret_cast<std::uintptr_t>(sink),
			    sink_size);
		need(ibv_dereg_mr(regions.back().mr), "ibv_dereg_mr");
	}

	u8 *receive_at(u32 i) const { return receive + i * 2 * receive_size; } // canaries in between

	void may_change(u64 address, size_t len)
	{
		size_t at = offset(address);

		std::memcpy(&expected()[at], memory + at, len);
	}
	void has_changed(u64 address, const std::vector<u8> &octets)
	{
		std::memcpy(&expected()[offset(address)], octets.data(), octets.size());
	}

	// "ok" or where the first octet is that is not what it should be. Everything is as new afterwards.
	std::string compare()
	{
		std::string result = "ok";

		for (size_t i = 0; i < arena_size; i++)
			if (memory[i] != expected()[i]) {
				result = describe(i);
				break;
			}
		restore(0, arena_size);
		now.clear();
		return result;
	}

private:
	std::vector<u8> shadow, now;
	size_t used = 0;

	std::vector<u8> &expected()
	{
		if (now.empty())
			now = shadow;
		return now;
	}
	void restore(size_t at, size_t len) { std::memcpy(memory + at, &shadow[at], len); }

	size_t offset(u64 address) const
	{
		u64 at = address - reinterpret_cast<std::uintptr_t>(memory);

		if (at >= arena_size)
			throw std::runtime_error("an address outside the arena");
		return at;
	}

	u8 *take(size_t size)
	{
		u8 *at = memory + used + guard;

		used += guard + size;
		return at;
	}

	// Regions start somewhere inside a page.
	void add(const char *name, ibv_pd *pd, size_t size, int access)
	{
		u8 *at = take(size) + skew;

		regions.push_back({name, need(ibv_reg_mr(pd, at, size - 2 * skew, access), "ibv_reg_mr")});
	}

	std::string describe(size_t i)
	{
		char text[80];

		std::snprintf(text, sizeof(text), "octet-%zx-is-%02x-not-%02x", i, memory[i], expected()[i]);
		return text;
	}
};

// ---- Completions ----

class Completions {
public:
	ibv_cq *cq;

	explicit Completions(ibv_context *verbs)
	{
		channel = need(ibv_create_comp_channel(verbs), "ibv_create_comp_channel");
		cq = need(ibv_create_cq(verbs, 2 * queue, nullptr, channel, 0), "ibv_create_cq");
	}
	Completions(const Completions &) = delete;
	~Completions()
	{
		ibv_ack_cq_events(cq, events);
		ibv_destroy_cq(cq);
		ibv_destroy_comp_channel(channel);
	}

	// An event may tell of a completion that was polled already: only time or a completion ends the wait.
	bool next(ibv_wc *wc, int ms)
	{
		while (ibv_poll_cq(cq, 1, wc) != 1) {
			ibv_req_notify_cq(cq, 0);
			if (ibv_poll_cq(cq, 1, wc) == 1)
				return true;
			if (!ms || !readable(channel->fd, ms))
				return ibv_poll_cq(cq, 1, wc) == 1;
			take_event();
		}
		return true;
	}

private:
	ibv_comp_channel *channel;
	unsigned events = 0;

	void take_event()
	{
		ibv_cq *which;
		void *context;

		if (!ibv_get_cq_event(channel, &which, &context))
			events++;
	}
};

void create_qp(rdma_cm_id *id, ibv_pd *pd, ibv_cq *cq)
{
	ibv_qp_init_attr attr = {};

	attr.send_cq = attr.recv_cq = cq;
	attr.cap = {queue, queue, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	need(rdma_create_qp(id, pd, &attr), "rdma_create_qp");
}

ibv_sge sge_of(const void *at, u32 len, const ibv_mr *mr)
{
	return {reinterpret_cast<std::uintptr_t>(at), len, mr->lkey};
}

void post_receive(ibv_qp *qp, ibv_sge sge, u64 id)
{
	ibv_recv_wr wr = {}, *bad;

	wr.wr_id = id;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	need(ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

void post_send(ibv_qp *qp, ibv_wr_opcode opcode, ibv_sge sge, u64 remote = 0, u32 rkey = 0)
{
	ibv_send_wr wr = {}, *bad;

	wr.opcode = opcode;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = rkey;
	need(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

// ---- Connection management ----

struct Event {
	bool there = false;
	rdma_cm_event_type type = {};
	int status = 0;
	rdma_cm_id *id = nullptr;
	std::vector<u8> data;
	unsigned depth = 0, resources = 0;

	std::string name() const { return there ? rdma_event_str(type) : "nothing"; }
};

Event next_event(rdma_event_channel *channel, int ms)
{
	rdma_cm_event *raw;
	Event out;

	if (!readable(channel->fd, ms) || rdma_get_cm_event(channel, &raw))
		return out;
	out.there = true;
	out.type = raw->event;
	out.status = raw->status;
	out.id = raw->id;
	if (raw->event == RDMA_CM_EVENT_CONNECT_REQUEST || raw->event == RDMA_CM_EVENT_ESTABLISHED) {
		out.depth = raw->param.conn.initiator_depth;
		out.resources = raw->param.conn.responder_resources;
	}
	if (raw->event == RDMA_CM_EVENT_CONNECT_REQUEST || raw->event == RDMA_CM_EVENT_REJECTED) {
		const u8 *data = static_cast<const u8 *>(raw->param.conn.private_data);

		if (data)
			out.data.assign(data, data + raw->param.conn.private_data_len);
	}
	rdma_ack_cm_event(raw);
	return out;
}

Event want_event(rdma_event_channel *channel, rdma_cm_event_type type)
{
	Event event = next_event(channel, patience);

	if (!event.there || event.type != type)
		throw std::runtime_error("wanted " + std::string(rdma_event_str(type)) + ", got " + event.name() + " " +
					 std::to_string(event.status));
	return event;
}

sockaddr_in address(const char *host, unsigned port)
{
	sockaddr_in out = {};

	out.sin_family = AF_INET;
	out.sin_port = htons(static_cast<std::uint16_t>(port));
	if (inet_pton(AF_INET, host, &out.sin_addr) != 1)
		throw std::runtime_error("bad address");
	return out;
}

rdma_cm_id *create_id(rdma_event_channel *channel)
{
	rdma_cm_id *id;

	need(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	return id;
}

rdma_cm_id *listen_on(rdma_event_channel *channel, const char *host, unsigned port)
{
	sockaddr_in addr = address(host, port);
	rdma_cm_id *id = create_id(channel);

	need(rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&addr)), "rdma_bind_addr");
	need(rdma_listen(id, 64), "rdma_listen");
	return id;
}

rdma_cm_id *resolve(rdma_event_channel *channel, const char *host, unsigned port)
{
	sockaddr_in addr = address(host, port);
	rdma_cm_id *id = create_id(channel);

	need(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr *>(&addr), 2000), "rdma_resolve_addr");
	want_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, 2000), "rdma_resolve_route");
	want_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

rdma_conn_param depths()
{
	rdma_conn_param param = {};

	param.responder_resources = param.initiator_depth = 4;
	param.retry_count = 7;
	return param;
}

// ---- The good connection: both its ends ----

class Good {
public:
	Good(ibv_pd *protection, const char *host) : pd(protection), completions(pd->context)
	{
		rdma_conn_param param = depths();

		channel = need(rdma_create_event_channel(), "rdma_create_event_channel");
		rdma_cm_id *listener = listen_on(channel, host, 7191);

		client = resolve(channel, host, 7191);
		create_qp(client, pd, completions.cq);
		need(rdma_connect(client, &param), "rdma_connect");
		server = want_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST).id;
		create_qp(server, pd, completions.cq);
		need(rdma_accept(server, &param), "rdma_accept");
		want_event(channel, RDMA_CM_EVENT_ESTABLISHED);
		want_event(channel, RDMA_CM_EVENT_ESTABLISHED);
		rdma_destroy_id(listener);
		mr = need(ibv_reg_mr(pd, buffers, sizeof(buffers), remote_both), "ibv_reg_mr");
	}

	// A Send there, a Write into it there, a Read of it, and a Send back: "ok" or what went wrong.
	std::string ping_pong()
	{
		u8 *near = buffers[0], *far = buffers[1], *back = buffers[2];

		for (u8 &octet : buffers[0])
			octet = static_cast<u8>(&octet - near + ++round);
		std::memset(far, 0, 2 * sizeof(buffers[1]));
		try {
			post_receive(server->qp, sge(far + 64, 64), 1);
			post_receive(client->qp, sge(back + 64, 64), 1);
			post_send(client->qp, IBV_WR_RDMA_WRITE, sge(near, 64), at(far), mr->rkey);
			post_send(client->qp, IBV_WR_RDMA_READ, sge(back, 64), at(far), mr->rkey);
			post_send(client->qp, IBV_WR_SEND, sge(near + 64, 64));
			collect(4);
			post_send(server->qp, IBV_WR_SEND, sge(far + 64, 64));
			collect(2);
		} catch (const std::exception &e) {
			return e.what();
		}
		if (next_event(channel, 0).there)
			return "event";
		return std::memcmp(near, far, 128) || std::memcmp(near, back, 128) ? "damaged" : "ok";
	}

private:
	ibv_pd *pd;
	Completions completions;
	rdma_event_channel *channel;
	rdma_cm_id *client, *server;
	ibv_mr *mr;
	u8 buffers[3][128];
	u8 round = 0;

	ibv_sge sge(const u8 *at, u32 len) const { return sge_of(at, len, mr); }
	static u64 at(const u8 *where) { return reinterpret_cast<std::uintptr_t>(where); }

	void collect(int count)
	{
		ibv_wc wc;

		while (count--) {
			if (!completions.next(&wc, patience))
				throw std::runtime_error("stuck");
			if (wc.status)
				throw std::runtime_error("status-" + std::to_string(wc.status));
		}
	}
};

// ---- The connection that is attacked ----

struct Tally {
	unsigned good = 0, flushed = 0, failed = 0;

	void count(ibv_wc_status status)
	{
		(status == IBV_WC_SUCCESS ? good : status == IBV_WC_WR_FLUSH_ERR ? flushed : failed)++;
	}
	unsigned all() const { return good + flushed + failed; }
};

std::ostream &operator<<(std::ostream &out, const Tally &t)
{
	return out << t.good << '/' << t.flushed << '/' << t.failed;
}

class Victim {
public:
	Victim(const char *own, const char *peer) : own_host(own), peer_host(peer)
	{
		channel = need(rdma_create_event_channel(), "rdma_create_event_channel");
		listener = listen_on(channel, own_host, 7190);
		verbs = need(listener->verbs, "the listener's device");
		fcntl(verbs->async_fd, F_SETFL, fcntl(verbs->async_fd, F_GETFL) | O_NONBLOCK);
		pd = need(ibv_alloc_pd(verbs), "ibv_alloc_pd");
		arena = new Arena(pd, need(ibv_alloc_pd(verbs), "ibv_alloc_pd"));
		good = new Good(pd, own_host);
		arena->introduce();
	}

	std::string run(const std::string &line)
	{
		std::istringstream in(line);
		std::string verb;

		in >> std::hex >> verb;
		if (verb == "accept")
			return accept(number(in), depths());
		if (verb == "accept-no-reads")
			return accept(number(in), {});
		if (verb == "request")
			return request();
		if (verb == "quiet")
			return quiet();
		if (verb == "connect")
			return connect(in);
		if (verb == "connected")
			return connected();
		if (verb == "crc")
			return crc(number(in));
		if (verb == "reject")
			return reject(in);
		if (verb == "depths")
			return "ok " + std::to_string(told_depth) + " " + std::to_string(told_resources);
		if (verb == "mix")
			return mix();
		if (verb == "flood")
			return flood(number(in));
		if (verb == "done")
			return done();
		if (verb == "completed")
			return completed(number(in));
		if (verb == "read")
			return read(number(in));
		if (verb == "send")
			return send(number(in));
		if (verb == "disconnect")
			return rdma_disconnect(id) ? std::strerror(errno) : "ok";
		if (verb == "verdict")
			return verdict(in);
		throw std::runtime_error("no such thing: " + line);
	}

private:
	const char *own_host, *peer_host;
	rdma_event_channel *channel;
	rdma_cm_id *listener, *id = nullptr;
	ibv_context *verbs;
	ibv_pd *pd;
	Arena *arena;
	Good *good;
	Completions *completions = nullptr;
	Event pending;
	unsigned posted_receives = 0, posted_sends = 0, sunk = 0;
	unsigned told_depth = 0, told_resources = 0;
	Tally receive_tally, send_tally;
	bool over = false;

	static unsigned number(std::istream &in)
	{
		unsigned value = 0;

		in >> value;
		return value;
	}

	void furnish(unsigned count)
	{
		over = false;
		posted_receives = count;
		posted_sends = sunk = 0;
		receive_tally = send_tally = {};
		completions = new Completions(verbs);
		create_qp(id, pd, completions->cq);
		for (unsigned i = 0; i < count; i++)
			post_receive(id->qp, sge_of(arena->receive_at(i), receive_size, arena->local), 1);
	}

	std::string request()
	{
		pending = next_event(channel, patience);
		return pending.there && pending.type == RDMA_CM_EVENT_CONNECT_REQUEST ? "ok" : pending.name();
	}

	std::string quiet()
	{
		Event event = next_event(channel, 0);

		return event.there ? event.name() : "ok";
	}

	std::string accept(unsigned count, rdma_conn_param param)
	{
		std::string said = pending.there ? "ok" : request();

		if (said != "ok")
			return said;
		id = pending.id;
		said += " " + text(pending.data);
		note_depths(pending);
		pending = {};
		furnish(count);
		if (rdma_accept(id, &param))
			return std::string("rdma_accept: ") + std::strerror(errno);
		return said;
	}

	std::string crc(bool on) const
	{
		std::ofstream file(std::string("/sys/class/infiniband/") + ibv_get_device_name(verbs->device) + "/mpa_crc");

		file << on << std::endl;
		return file ? "ok" : "mpa_crc cannot be written";
	}

	void note_depths(const Event &event)
	{
		told_depth = event.depth;
		told_resources = event.resources;
	}

	std::string reject(std::istream &in)
	{
		std::string said = pending.there ? "ok" : request(), digits;

		if (said != "ok")
			return said;
		in >> digits;
		std::vector<u8> data = octets_of(digits);

		need(rdma_reject(pending.id, data.data(), static_cast<u8>(data.size())), "rdma_reject");
		rdma_destroy_id(pending.id);
		pending = {};
		return said;
	}

	static std::vector<u8> octets_of(const std::string &digits)
	{
		std::vector<u8> octets;

		for (size_t i = 0; i + 1 < digits.size(); i += 2)
			octets.push_back(static_cast<u8>(std::stoul(digits.substr(i, 2), nullptr, 16)));
		return octets;
	}

	static std::string text(const std::vector<u8> &octets)
	{
		std::string out = "=";
		char digits[3];

		for (u8 octet : octets) {
			std::snprintf(digits, sizeof(digits), "%02x", octet);
			out += digits;
		}
		return out;
	}

	std::string connect(std::istream &in)
	{
		unsigned port = number(in), count = number(in);
		rdma_conn_param param = depths();

		id = resolve(channel, peer_host, port);
		furnish(count);
		need(rdma_connect(id, &param), "rdma_connect");
		return "ok";
	}

	std::string connected()
	{
		Event event = next_event(channel, patience);

		note_depths(event);
		if (event.there && event.type == RDMA_CM_EVENT_ESTABLISHED)
			return "ok";
		return event.name() + " " + text(event.data);
	}

	std::string read(u32 len)
	{
		post_send(id->qp, IBV_WR_RDMA_READ, sge_of(arena->sink + sunk, len, arena->local), 0x1000, 0x77);
		sunk += len;
		posted_sends++;
		return "ok";
	}

	std::string mix()
	{
		auto post = [&](ibv_wr_opcode opcode, u32 len) {
			post_send(id->qp, opcode, sge_of(arena->sink, len, arena->local), 0x1000, 0x77);
			posted_sends++;
		};

		post(IBV_WR_RDMA_WRITE, 5);
		post(IBV_WR_SEND, 7);
		post(IBV_WR_RDMA_READ, 64);
		post(IBV_WR_SEND, 6);
		post(IBV_WR_RDMA_WRITE, 9);
		return "ok";
	}

	std::string flood(unsigned count)
	{
		const u8 *from = static_cast<const u8 *>(arena->regions.front().mr->addr);

		for (unsigned i = 0; i < count; i++)
			post_send(id->qp, IBV_WR_RDMA_WRITE, sge_of(from, large, arena->local), 0x1000, 0x77);
		posted_sends += count;
		return "ok";
	}

	// That is, once nothing has completed for a while.
	std::string done()
	{
		unsigned count = 0;
		ibv_wc wc;

		for (; completions->next(&wc, 200); count++)
			(wc.wr_id ? receive_tally : send_tally).count(wc.status);
		return "ok " + std::to_string(count);
	}

	std::string completed(unsigned count)
	{
		std::string said = "ok";
		ibv_wc wc;

		for (unsigned i = 0; i <= count && completions->next(&wc, i < count ? patience : 100); i++) {
			(wc.wr_id ? receive_tally : send_tally).count(wc.status);
			said += i < count ? " " + std::to_string(wc.opcode) : " more";
		}
		return said;
	}

	std::string send(u32 len)
	{
		post_send(id->qp, IBV_WR_SEND, sge_of(arena->sink, len, arena->local));
		posted_sends++;
		return "ok";
	}

	// ---- the verdict ----

	bool flushed() const { return receive_tally.all() >= posted_receives && send_tally.all() >= posted_sends; }

	void wait_over()
	{
		for (;;) {
			Event event = next_event(channel, patience);

			if (!event.there)
				return;
			if (event.type != RDMA_CM_EVENT_ESTABLISHED && event.id == id) {
				over = true;
				return;
			}
		}
	}

	// What the flush brings, and a moment longer, for what would be too much.
	void count_completions(bool wait)
	{
		ibv_wc wc;

		while (completions->next(&wc, wait && !flushed() ? patience : 0))
			(wc.wr_id ? receive_tally : send_tally).count(wc.status);
	}

	std::string async_events() const
	{
		ibv_async_event event;
		std::string out;

		while (!ibv_get_async_event(verbs, &event)) {
			bool own = event.element.qp == id->qp;

			if (event.event_type <= IBV_EVENT_PATH_MIG_ERR) // the others tell of ports and the like
				out += std::string(out.empty() ? "" : "+") + (own ? "" : "stray-") +
				       std::to_string(event.event_type);
			ibv_ack_async_event(&event);
		}
		return out.empty() ? "none" : out;
	}

	void drop()
	{
		if (pending.there)
			rdma_destroy_id(pending.id);
		pending = {};
		if (!id)
			return;
		if (id->qp)
			rdma_destroy_qp(id);
		rdma_destroy_id(id);
		id = nullptr;
		delete completions;
		completions = nullptr;
	}

	void read_changes(std::istream &in)
	{
		std::string kind, digits;
		u64 at;
		size_t len;

		while (in >> kind >> at) {
			if (kind == "may") {
				in >> len;
				arena->may_change(at, len);
				continue;
			}
			in >> digits;
			arena->has_changed(at, octets_of(digits));
		}
	}

	std::string verdict(std::istream &in)
	{
		bool wait = number(in);
		std::ostringstream out;
		std::string events = "none";

		if (wait && !id)
			throw std::runtime_error("there is no connection");
		if (id) {
			if (wait)
				wait_over();
			count_completions(wait);
			events = async_events();
			if (wait)
				rdma_disconnect(id);
		}
		out << "over=" << over << " receives=" << receive_tally << " sends=" << send_tally
		    << " event=" << events;
		drop();
		read_changes(in);
		out << " memory=" << arena->compare() << " good=" << good->ping_pong();
		while (next_event(channel, 0).there)
			;
		receive_tally = send_tally = {};
		return out.str();
	}
};

} // namespace

int main(int argc, char **argv)
{
	std::string line;

	if (argc != 3) {
		std::fprintf(stderr, "usage: victim OWN-ADDRESS ATTACKER-ADDRESS\n");
		return 2;
	}
	setvbuf(stdout, nullptr, _IOLBF, 0);
	try {
		Victim victim(argv[1], argv[2]);

		std::printf("ready\n");
		while (std::getline(std::cin, line))
			std::printf("%s\n", victim.run(line).c_str());
	} catch (const std::exception &e) {
		std::printf("dead: %s\n", e.what());
		return 1;
	}
	return 0;
}
