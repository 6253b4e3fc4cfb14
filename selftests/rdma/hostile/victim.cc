// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim: an honest verbs program. It reads the attacker's commands from standard input, one on
// each line, and answers each with one line:
//
//	accept N		accept the next connection request, with N receives posted: "ok
//				PRIVATE-DATA"
//	request			wait for a connection request, and keep it for later: "ok"
//	quiet			no connection request is pending: "ok"
//	connect PORT N		begin to connect, with N receives posted: "ok"
//	connected		how that ended: "ok", or the event's name
//	accept-no-reads N	the same as accept, allowing no RDMA Reads at all
//	crc ON			set mpa_crc of this end to 1 or 0: "ok"
//	reject HEX		reject the next connection request, with this private data: "ok"
//	depths			of the last connection request, or of the connection: "ok
//				INITIATOR-DEPTH RESPONDER-RESOURCES", decimal
//	mix			post a Write of 5 bytes, a Send of 7, a Read of 64, a Send of 6
//				and a Write of 9: "ok"
//	flood N			post N Writes of 256 KiB: "ok"
//	done			how many requests have completed: "ok N"
//	completed N		the next N completions: "ok OPCODE...", in order, and "more" if
//				there is another one
//	read LENGTH		post an RDMA Read, whose source does not matter: "ok"
//	add VALUE		post a FetchAdd, whose word does not matter: "ok"
//	send LENGTH		post a Send: "ok"
//	disconnect		end the connection from here: "ok"
//	verdict WAIT CHANGE...	wait for the connection's end (WAIT 1; 0: it was never up), destroy
//				it and report its results. CHANGE: "may ADDRESS LENGTH", memory that
//				may have changed, or "is ADDRESS HEX", memory that must have changed
//				to this. Numbers are hexadecimal.
//
// All reachable memory lies in one arena, full of canaries, which is compared byte by byte. A good
// connection of the same process is used again after each case.
#include "good.hh"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

namespace victim {
namespace {

struct Tally {
	unsigned good = 0, flushed = 0, failed = 0;

	void count(ibv_wc_status status)
	{
		(status == IBV_WC_SUCCESS	 ? good
		 : status == IBV_WC_WR_FLUSH_ERR ? flushed
						 : failed)++;
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
		arena->introduce([](const std::string &name, u32 stag, const void *at, size_t len) {
			std::printf("region %s %" PRIx32 " %" PRIxPTR " %zx\n", name.c_str(), stag,
				    reinterpret_cast<std::uintptr_t>(at), len);
		});
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
			return "ok " + std::to_string(told_depth) + " " +
			       std::to_string(told_resources);
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
		if (verb == "add")
			return add(number(in));
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
			post_receive(id->qp,
				     sge_of(arena->receive_at(i), receive_size, arena->local), 1);
	}

	std::string request()
	{
		pending = next_event(channel, patience);
		return pending.there && pending.type == RDMA_CM_EVENT_CONNECT_REQUEST
			       ? "ok"
			       : pending.name();
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
		std::ofstream file(std::string("/sys/class/infiniband/") +
				   ibv_get_device_name(verbs->device) + "/mpa_crc");

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

		need(rdma_reject(pending.id, data.data(), static_cast<u8>(data.size())),
		     "rdma_reject");
		rdma_destroy_id(pending.id);
		pending = {};
		return said;
	}

	static std::vector<u8> octets_of(const std::string &digits)
	{
		std::vector<u8> octets;

		for (size_t i = 0; i + 1 < digits.size(); i += 2)
			octets.push_back(
				static_cast<u8>(std::stoul(digits.substr(i, 2), nullptr, 16)));
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
		post_send(id->qp, IBV_WR_RDMA_READ, sge_of(arena->sink + sunk, len, arena->local),
			  0x1000, 0x77);
		sunk += len;
		posted_sends++;
		return "ok";
	}

	std::string add(u64 value)
	{
		ibv_sge sge = sge_of(arena->sink + sunk, 8, arena->local);
		ibv_send_wr wr{}, *bad;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.atomic = {0x1000, value, 0, 0x77};
		if (int err = ibv_post_send(id->qp, &wr, &bad))
			return std::strerror(err);
		sunk += 8;
		posted_sends++;
		return "ok";
	}

	std::string mix()
	{
		auto post = [&](ibv_wr_opcode opcode, u32 len) {
			post_send(id->qp, opcode, sge_of(arena->sink, len, arena->local), 0x1000,
				  0x77);
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
			post_send(id->qp, IBV_WR_RDMA_WRITE, sge_of(from, large, arena->local),
				  0x1000, 0x77);
		posted_sends += count;
		return "ok";
	}

	// Once nothing has completed for a while.
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

		for (unsigned i = 0;
		     i <= count && completions->next(&wc, i < count ? patience : 100); i++) {
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

	bool flushed() const
	{
		return receive_tally.all() >= posted_receives && send_tally.all() >= posted_sends;
	}

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

	// Flushed completions, and a moment longer, in case there are too many.
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

			if (event.event_type <=
			    IBV_EVENT_PATH_MIG_ERR) // the others are about ports and the like
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
} // namespace victim

int main(int argc, char **argv)
{
	std::string line;

	if (argc != 3) {
		std::fprintf(stderr, "usage: victim OWN-ADDRESS ATTACKER-ADDRESS\n");
		return 2;
	}
	setvbuf(stdout, nullptr, _IOLBF, 0);
	try {
		victim::Victim program(argv[1], argv[2]);

		std::printf("ready\n");
		while (std::getline(std::cin, line))
			std::printf("%s\n", program.run(line).c_str());
	} catch (const std::exception &e) {
		std::printf("dead: %s\n", e.what());
		return 1;
	}
	return 0;
}
