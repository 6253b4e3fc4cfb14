// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two QPs that pair with each other, their programs, and a network between them that delays, loses
// and cuts connections: for tests. Each action is one step, and checks what must hold after it.
//
// An incarnation's lower half counts them, so that the world knows which of two is the newer one.
#pragma once

#include "api/core.h"

namespace pairing {

enum class What : u8 { request, reply, data, ack, confirm };

struct Message {
	What what;
	u32 number;
	core_pair_frame frame;
};

// A TCP connection. Index 0 and 1: the ends of the world.
struct Stream {
	int initiator;
	u32 attempt;
	bool connected; // the SYN has come through
	bool open[2];
	bool notice[2]; // a FIN or RST will be seen by this end
	bool cut;	// the network has lost it
	u32 head[2], tail[2];
	Message queue[2][8]; // to this end

	bool in_use() const { return open[0] || open[1]; }
	bool empty(int end) const { return head[end] == tail[end]; }
	bool full(int end) const { return tail[end] - head[end] == std::size(queue[0]); }
};

struct End {
	core_pairing pairing;
	core_pair_counts counts;
	u32 acked, of_counter;
	int attached, connecting; // a stream, or -1
	bool muted;
	bool failed;  // a request was lost: the QP is in ERR
	bool blocked; // a firewall keeps back the connections of this end
	u64 timer;    // 0: not armed
};

class World {
public:
	explicit World(u32 seed) : random(seed)
	{
		for (int e : {0, 1})
			make_end(e);
	}

	// ---- the programs ----

	void reset(int e)
	{
		core_pairing_reset(&ends[e].pairing);
		drop_own(e);
		ends[e].counts = {0, 0, true};
		ends[e].acked = 0;
		ends[e].timer = 0;
		ends[e].failed = ends[e].muted = false;
	}

	void ready(int e)
	{
		End &end = ends[e];

		end.pairing.incarnation = u64{draw() | 1} << 32 | ++end.of_counter;
		core_pairing_ready(&end.pairing);
		connect(e);
	}

	bool post(int e)
	{
		End &end = ends[e];

		if (end.attached < 0 || end.muted || end.counts.sent - end.acked > 3 ||
		    streams[end.attached].full(1 - e))
			return false;
		end.counts.sent++;
		end.counts.idle = false;
		push(end.attached, e, {What::data, end.counts.sent, {}});
		return true;
	}

	// ---- the shell ----

	void connect(int e)
	{
		End &end = ends[e];
		const u32 attempt = core_pairing_connect(&end.pairing, &end.counts);

		end.timer = 0;
		if (!attempt)
			return;
		const int s = free_stream();
		Stream &stream = streams[s];

		stream.initiator = e;
		stream.attempt = attempt;
		stream.connected = stream.cut = false;
		stream.open[e] = true;
		stream.open[1 - e] = false;
		for (int i : {0, 1}) {
			stream.notice[i] = false;
			stream.head[i] = stream.tail[i] = 0;
		}
		end.connecting = s;
	}

	// The SYN comes through, and the initiator sends its Request.
	bool establish(int s)
	{
		Stream &stream = streams[s];
		const int e = stream.initiator;
		Message message = {What::request, 0, {}};

		if (!stream.open[e] || stream.connected || ends[e].blocked)
			return false;
		stream.connected = stream.open[1 - e] = true;
		if (core_pairing_request(&ends[e].pairing, stream.attempt, &ends[e].counts,
					 &message.frame))
			push(s, e, message);
		else
			close(s, e);
		return true;
	}

	// TCP or the shell gives up an attempt.
	bool give_up(int e)
	{
		core_pair_outcome out;
		const int s = ends[e].connecting;

		if (s < 0)
			return false;
		core_pairing_failed(&ends[e].pairing, streams[s].attempt, CORE_PAIR_OK, draw(),
				    &out);
		close(s, e);
		ends[e].connecting = -1;
		EXPECT_EQ(out.conclusion, CORE_PAIR_RETRY);
		arm(e, out.wait);
		return true;
	}

	// A message arrives. A closed end answers with a reset.
	bool deliver(int s, int e)
	{
		Stream &stream = streams[s];

		if (stream.empty(e))
			return false;
		const Message &message =
			stream.queue[e][stream.head[e]++ % std::size(stream.queue[0])];

		if (!stream.open[e]) {
			stream.notice[1 - e] = stream.open[1 - e];
			return true;
		}
		take(s, e, message);
		return true;
	}

	// An end learns that its connection is gone.
	bool notice(int s, int e)
	{
		Stream &stream = streams[s];

		if (!stream.notice[e])
			return false;
		stream.notice[e] = false;
		if (ends[e].attached == s)
			lose(e);
		else if (ends[e].connecting == s)
			give_up(e);
		close(s, e);
		return true;
	}

	// The network cuts a connection on which nothing is under way.
	bool cut(int s)
	{
		Stream &stream = streams[s];

		if (!stream.connected || !ends[0].counts.idle || !ends[1].counts.idle)
			return false;
		stream.cut = true;
		stream.head[0] = stream.tail[0];
		stream.head[1] = stream.tail[1];
		const u32 which = draw() % 3 + 1; // one end notices, or both

		for (int e : {0, 1})
			stream.notice[e] =
				stream.open[e] && (which >> e & 1 || !stream.open[1 - e]);
		return true;
	}

	bool expire(int e)
	{
		if (!ends[e].timer || ends[e].timer > now)
			return false;
		connect(e);
		return true;
	}

	// ---- what must hold ----

	bool together() const
	{
		return ends[0].attached >= 0 && ends[0].attached == ends[1].attached &&
		       streams[ends[0].attached].open[0] && streams[ends[0].attached].open[1];
	}

	bool mirrored() const
	{
		return ends[0].counts.sent == ends[1].counts.delivered &&
		       ends[1].counts.sent == ends[0].counts.delivered;
	}

	// No two live streams are attached differently at both ends. Two ends of one stream know
	// each other's incarnation.
	void check() const
	{
		const int a = ends[0].attached, b = ends[1].attached;

		for (const End &end : ends)
			ASSERT_EQ(end.attached >= 0, end.pairing.state == CORE_PAIRING_ATTACHED);
		if (a < 0 || b < 0)
			return;
		if (a != b)
			ASSERT_FALSE(is_live(a) && is_live(b));
		else
			for (int e : {0, 1})
				ASSERT_EQ(ends[e].pairing.peer_incarnation,
					  ends[1 - e].pairing.incarnation);
	}

	u32 draw()
	{
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		return static_cast<u32>(random >> 16);
	}

	End ends[2];
	Stream streams[6] = {};
	u64 now = 1;
	u64 random;
	// What has happened: Requests that replaced a stream, were stale, lost a crossing, or were
	// accepted when their initiator had closed the connection.
	u32 replaced = 0, stale = 0, crossings = 0, dead = 0;

private:
	void make_end(int e)
	{
		End &end = ends[e];

		end = {};
		end.pairing.own.qpn = 17 + e;
		end.pairing.peer.qpn = 17 + 1 - e;
		end.pairing.ird = end.pairing.ord = 4;
		end.counts.idle = true;
		end.attached = end.connecting = -1;
	}

	bool is_live(int s) const { return streams[s].open[0] && streams[s].open[1]; }

	int free_stream()
	{
		for (size_t s = 0; s < std::size(streams); s++)
			if (!streams[s].in_use())
				return s;
		for (size_t s = 0; s < std::size(streams); s++) // an unread Request is lost
			if (ends[0].attached != int(s) && ends[1].attached != int(s) &&
			    ends[0].connecting != int(s) && ends[1].connecting != int(s))
				return s;
		ADD_FAILURE() << "all streams are in use";
		return 0;
	}

	void push(int s, int from, const Message &message)
	{
		Stream &stream = streams[s];

		if (stream.cut) {
			stream.notice[from] = true; // nothing is acknowledged
			return;
		}
		stream.queue[1 - from][stream.tail[1 - from]++ % std::size(stream.queue[0])] =
			message;
	}

	void close(int s, int e)
	{
		Stream &stream = streams[s];

		if (!stream.open[e])
			return;
		stream.open[e] = stream.notice[e] = false;
		if (stream.open[1 - e])
			stream.notice[1 - e] = !stream.cut && draw() % 4; // else the RST is lost
	}

	void drop_own(int e)
	{
		for (int *mine : {&ends[e].attached, &ends[e].connecting}) {
			if (*mine >= 0)
				close(*mine, e);
			*mine = -1;
		}
	}

	void arm(int e, u32 wait)
	{
		EXPECT_LE(wait, 30000u);
		ends[e].timer = now + wait;
	}

	// Requests may be lost with a stream only if the peer's QP was reset, or if the network cut
	// the stream before they were sent.
	void lose(int e)
	{
		End &end = ends[e];
		const End &peer = ends[1 - e];
		const bool gone = peer.pairing.state == CORE_PAIRING_NOT_READY ||
				  peer.pairing.incarnation != end.pairing.peer_incarnation;
		const Stream &stream = streams[end.attached];

		end.attached = -1;
		if (end.counts.idle) {
			arm(e, core_pairing_lost(&end.pairing, draw()));
			return;
		}
		EXPECT_TRUE(gone || stream.cut) << "a request was lost for no reason";
		core_pairing_reset(&end.pairing);
		end.failed = true;
	}

	void take(int s, int e, const Message &message)
	{
		switch (message.what) {
		case What::request:
			respond(s, e, message.frame);
			break;
		case What::reply:
			conclude(s, e, message.frame);
			break;
		default:
			if (ends[e].attached == s)
				take_fpdu(s, e, message);
			break;
		}
	}

	void take_fpdu(int s, int e, const Message &message)
	{
		End &end = ends[e];

		ASSERT_EQ(ends[1 - e].attached == s || !streams[s].open[1 - e], true);
		end.muted = false;
		if (message.what == What::data) {
			ASSERT_EQ(message.number, end.counts.delivered + 1);
			end.counts.delivered++;
			if (!streams[s].full(1 - e))
				push(s, e, {What::ack, end.counts.delivered, {}});
		} else if (message.what == What::ack) {
			end.acked = message.number;
			end.counts.idle = end.acked == end.counts.sent;
		}
	}

	void respond(int s, int e, const core_pair_frame &request)
	{
		End &end = ends[e];
		const core_pairing before = end.pairing;
		core_pair_agreed agreed;
		Message message = {What::reply, 0, {}};
		const core_pair_reason reason = core_pairing_respond(
			&end.pairing, &end.counts, &request, &message.frame, &agreed);

		crossings += reason == CORE_PAIR_CROSSING;
		stale += reason == CORE_PAIR_STALE;
		if (reason == CORE_PAIR_OK) {
			check_acceptance(before, request);
			replaced += end.attached >= 0;
			drop_own(e);
			end.attached = s;
			end.muted = agreed.muted;
			end.timer = 0;
			dead += !streams[s].open[1 - e];
		}
		push(s, e, message);
	}

	// A Request from before a RESET is never accepted once the peer's newer incarnation has had
	// a stream; nor one for this end's incarnation before.
	void check_acceptance(const core_pairing &before, const core_pair_frame &request)
	{
		const u32 has = static_cast<u32>(before.peer_incarnation);
		const u32 comes = static_cast<u32>(request.incarnation);

		ASSERT_GE(comes, has);
		ASSERT_TRUE(comes > has || request.attempt > before.peer_attempt);
		ASSERT_TRUE(!request.peer_incarnation ||
			    request.peer_incarnation == before.incarnation);
	}

	// The refused end resets the connection once it has read the answer.
	void conclude(int s, int e, const core_pair_frame &reply)
	{
		End &end = ends[e];
		core_pair_outcome out;

		core_pairing_conclude(&end.pairing, streams[s].attempt, &end.counts, &reply, draw(),
				      &out);
		ASSERT_EQ(end.connecting == s, out.conclusion != CORE_PAIR_LEAVE);
		if (out.conclusion == CORE_PAIR_ATTACH) {
			ASSERT_TRUE(mirrored());
			end.attached = s;
			end.muted = out.agreed.muted;
			push(s, e, {What::confirm, 0, {}});
		} else {
			close(s, e);
		}
		end.connecting = -1;
		if (out.conclusion == CORE_PAIR_RETRY)
			arm(e, out.wait);
	}
};

} // namespace pairing
