// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "program.hh"

namespace sim {

constexpr u64 guard = 64; // unused bytes between regions

// ---- a program from a seed ----

static u64 region_octets(int scale) { return scale == 0 ? 2048 : scale == 1 ? 32768 : 640 * 1024; }

Program::Program(u64 seed_, Tally &tally_, bool paranoid_)
	: random(seed_), seed(seed_), paranoid(paranoid_), wild(pick(3) != 0),
	  framing(pick_framing()), returns(acknowledges() && pick(2)),
	  by_kick(acknowledges() && pick(4) == 0), flushes{pick(4) != 0, pick(4) != 0},
	  scale(pick(100) < 80 ? Scale::small
		: pick(10)     ? Scale::medium
			       : Scale::large),
	  region_size(region_octets(static_cast<int>(scale))),
	  target(scale == Scale::large ? 30 + pick(30) : 60 + pick(wild ? 150 : 600)),
	  setups{make_setup(true), make_setup(false)},
	  oracle(setups, tally_), streams{{buffer_size(), pick_cut(), setups[0].emss, random()},
					  {buffer_size(), pick_cut(), setups[1].emss, random()}},
	  ends{{0, setups[0], streams[0], oracle}, {1, setups[1], streams[1], oracle}},
	  tally(tally_)
{
	for (unsigned i = 0; i < 2; i++) {
		oracle.attach(i, ends[i], streams[i]);
		ends[i].meanwhile = [this, i] { deliver(i); };
		for (Window &state : windows[i])
			state = Window::open;
	}
	tally[wild ? "wild programs" : "clean programs"]++;
	if (returns)
		tally["programs whose streams return"]++;
	if (by_kick)
		tally["programs with kicks"]++;
}

core_framing Program::pick_framing()
{
	static const core_framing all[] = {CORE_FRAMING_MPA, CORE_FRAMING_MPA, CORE_FRAMING_RDMATCP,
					   CORE_FRAMING_IB, CORE_FRAMING_IB};

	return all[pick(5)];
}

// Numbers of requests may begin anywhere.
static u32 first_number(u64 seed, bool initiator)
{
	return seed % 3 ? 0 : 0 - static_cast<u32>(seed % 50 + initiator);
}

u32 Program::buffer_size()
{
	return static_cast<u32>(1024u << pick(scale == Scale::small ? 6 : 9));
}

// Uses the smallest pieces only if they are not too many.
Cut Program::pick_cut()
{
	static const Cut all[] = {Cut::all, Cut::segments, Cut::mixed, Cut::crumbs, Cut::octets};

	return all[pick(scale == Scale::small ? 5 : scale == Scale::medium ? 3 : 2)];
}

std::vector<Mr> Program::make_regions()
{
	constexpr u32 rw =
		CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC;
	constexpr u32 access[places] = {CORE_ACCESS_LOCAL_WRITE,
					CORE_ACCESS_LOCAL_WRITE | rw | CORE_ACCESS_FLUSH_GLOBAL,
					CORE_ACCESS_REMOTE_READ,
					CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE,
					CORE_ACCESS_LOCAL_WRITE | rw,
					CORE_ACCESS_LOCAL_WRITE | rw,
					CORE_ACCESS_LOCAL_WRITE | rw,
					CORE_ACCESS_LOCAL_WRITE,
					CORE_ACCESS_LOCAL_WRITE | rw};
	std::vector<Mr> made(places);
	u64 key[2] = {random(), random()};

	for (u32 i = 0; i < places; i++) {
		Mr &mr = made[i];

		mr.stag = core_stag_scramble(i + 1, key) << 8 | static_cast<u32>(pick(256));
		mr.length = region_size - pick(64);
		mr.base = pick(4) ? pick(1ull << 47) : 0;
		mr.pd = i == foreign ? foreign_pd : our_pd;
		mr.access = access[i];
		mr.at = guard + i * (region_size + guard);
		mr.fast_reg = i == window || i == window_too || i == scratch;
		mr.valid = true;
	}
	made[shared].base += (made[shared].at - made[shared].base) % 8; // words in it are aligned
	made[top].base = 0 - made[top].length;
	return made;
}

Setup Program::make_setup(bool initiator)
{
	static const u32 emss[] = {0, 256, 536, 1460, 1448, 8960, 16384, 65483};
	Setup setup{};

	setup.initiator = initiator;
	setup.user = pick(2);
	setup.framing = framing;
	setup.returns = returns;
	setup.by_kick = by_kick;
	setup.flushes = flushes[!initiator] && (returns || flushes[initiator]);
	setup.long_segments = pick(2);
	setup.local.max_ird = static_cast<u16>(1 + pick(16));
	setup.local.ird = static_cast<u16>(1 + pick(16));
	setup.local.ord = static_cast<u16>(1 + pick(8));
	setup.local.crc = pick(3) != 0;
	setup.local.markers = pick(3) == 0;
	setup.local.large_fpdus = pick(2);
	setup.local.revision = pick(8) ? 2 : 1;
	setup.local.p2p = pick(2);
	setup.local.rtr = CORE_RTR_ALL;
	if (initiator && pick(2))
		setup.local.rtr = static_cast<u8>(1u << pick(3));
	setup.private_len = static_cast<u32>(pick(40));
	setup.sq_entries = 4u << pick(5);
	setup.first_index = pick(2) ? static_cast<u32>(0 - pick(200)) : 0;
	setup.rnr_retry = wild && pick(2) ? static_cast<u8>(pick(7)) : CORE_RNR_FOR_EVER;
	setup.first_number = first_number(seed, initiator);
	setup.peers_first_number = first_number(seed, !initiator);
	if (acknowledges()) {
		setup.local.markers = setup.local.p2p = 0;
		setup.local.large_fpdus = 1;
		setup.local.revision = 2;
	}
	setup.emss = emss[pick(scale == Scale::large ? 8 : 5)];
	setup.seed = random();
	setup.regions = make_regions();
	setup.memory.resize(guard + places * (region_size + guard));
	for (size_t i = 0; i + 8 <= setup.memory.size(); i += 8) {
		u64 word = random();

		memcpy(setup.memory.data() + i, &word, sizeof(word));
	}
	// Without negotiation (RFC 6581 9) depths are for the consumers to agree on.
	if (framing == CORE_FRAMING_MPA && !initiator && setups[0].local.revision == 1) {
		setup.local.ird = setup.local.max_ird = setups[0].local.ord;
		setup.local.ord =
			std::min({setup.local.ord, setups[0].local.ird, setups[0].local.max_ird});
	}
	return setup;
}

// The payload of a full segment of some message.
u64 Program::pick_segment()
{
	const Setup &setup = setups[pick(2)];

	if (framing != CORE_FRAMING_RDMATCP)
		return core_mpa_mulpdu(setup.emss, pick(4) == 0) - (pick(2) ? 14 : 18);
	return (pick(4) ? std::max(setup.emss, 256u) - 4 : 0xfffc) - (pick(2) ? 24 : 32);
}

// Favours the edges: zero, one, and multiples of a segment's payload, give or take one.
u32 Program::pick_length(u64 max)
{
	u64 length = 0, segment = pick_segment();

	switch (pick(8)) {
	case 0:
		length = pick(2);
		break;
	case 1:
	case 2:
	case 3:
		length = pick(65);
		break;
	case 4:
		length = segment * (1 + pick(3)) + pick(3) - 1;
		break;
	case 5:
		length = pick(max + 1);
		break;
	default:
		length = pick(max / 8 + 1);
		break;
	}
	return static_cast<u32>(std::min(length, max));
}

// A place for length bytes in a region. In a region at the end of the TO space, the last byte
// cannot be used: its end would wrap.
u64 Program::spot(const Mr &mr, u32 length)
{
	u64 end = mr.length - (mr.base + mr.length == 0);

	return mr.base + pick(end - std::min<u64>(length, end - 1));
}

// ---- work ----

Program::Place Program::pick_source(unsigned side)
{
	static const Place sources[] = {mine, shared, readable, writable, top, scratch};
	const Place place = sources[pick(6)];

	return place == scratch && windows[side][scratch - window] != Window::open ? mine : place;
}

std::vector<srnic_sge> Program::make_sges(unsigned side, u32 length, bool sink)
{
	static const Place sinks[] = {mine, shared, writable, top};
	std::vector<srnic_sge> sges;
	u32 num = static_cast<u32>(pick(3) ? 1 : pick(SRNIC_MAX_SGE));

	for (u32 i = 0; i < num || length; i++) {
		const Mr &mr = ends[side].regions()[sink ? sinks[pick(4)] : pick_source(side)];
		u32 most = static_cast<u32>(std::min<u64>(length, region_size / 2));
		u32 len =
			i + 1 >= num && length <= most ? length : static_cast<u32>(pick(most + 1));

		if (sges.size() + 1 == SRNIC_MAX_SGE)
			len = most;
		sges.push_back({spot(mr, len), len, mr.stag});
		length -= len;
	}
	return sges;
}

void Program::add_payload(unsigned side, SendRequest &request, u32 length, bool sink)
{
	if (!sink && length <= SRNIC_MAX_INLINE && pick(3) == 0) {
		request.wqe.flags |= SRNIC_WQE_INLINE;
		request.wqe.inline_len = length;
		for (u32 i = 0; i < length; i++)
			request.data.push_back(static_cast<u8>(random()));
		return;
	}
	request.sges = make_sges(side, length, sink);
	request.wqe.num_sge = static_cast<u8>(request.sges.size());
}

SendRequest Program::begin(unsigned side, u8 opcode)
{
	SendRequest request{};

	request.wqe.wr_id = requests[side];
	request.wqe.opcode = opcode;
	request.wqe.flags = static_cast<u8>((pick(3) ? SRNIC_WQE_SIGNALED : 0) |
					    (pick(4) ? 0 : SRNIC_WQE_SOLICITED) |
					    (pick(12) ? 0 : SRNIC_WQE_FENCE));
	return request;
}

void Program::submit(unsigned side, SendRequest request)
{
	oracle.posted(side, request);
	if (!ends[side].post_send(request))
		broken("side %u: a queue with room takes nothing", side);
	requests[side]++;
	posted++;
}

void Program::post_receive(unsigned side, u32 room)
{
	RecvRequest request{};

	request.wr_id = receives[side]++;
	request.sges = make_sges(side, room, true);
	if (wild && pick(200) == 0)
		request.malformed = true;
	if (wild && pick(200) == 0 && !request.sges.empty())
		request.sges[pick(request.sges.size())].lkey ^= 1u << pick(32);
	oracle.posted(side, request);
	ends[side].post_recv(request);
	if (owed[side].empty())
		rooms[side].push_back(room);
	else
		owed[side].pop_front();
}

// May a message be sent although the peer has posted no receive for it?
bool Program::owes()
{
	return (acknowledges() && pick(2)) || (wild && pick(20) == 0);
}

// The receive that the next message to this side consumes: its room. If there is none the peer has
// to post one later, where requests are acknowledged.
u32 Program::use_receive(unsigned side)
{
	u32 room = 0;

	if (rooms[side].empty()) {
		if (!acknowledges())
			return 0;
		room = pick_length(region_size);
		owed[side].push_back(room);
		return room;
	}
	room = rooms[side].front();
	rooms[side].pop_front();
	return room;
}

void Program::pay(unsigned side)
{
	if (!owed[side].empty())
		post_receive(side, owed[side].front());
}

void Program::aim(unsigned side, SendRequest &request, bool read, u32 length)
{
	static const Place writes[] = {shared, writable, top, window, window_too};
	static const Place reads[] = {shared, readable, top, window, window_too};
	Place place = read ? reads[pick(5)] : writes[pick(5)];

	if (place == window || place == window_too)
		if (windows[!side][place - window] != Window::open)
			place = shared;
	const Mr &mr = ends[!side].regions()[place];

	request.wqe.rkey = mr.stag;
	request.wqe.remote_addr = spot(mr, length);
}

// They consume a receive, whatever they are of. Returns its room.
u32 Program::add_immediate(unsigned side, SendRequest &request)
{
	if (rooms[!side].empty() && owed[!side].empty() && !owes())
		post_receive(!side, pick_length(region_size));
	request.wqe.arg[0] = random();
	return use_receive(!side);
}

// Operands that make fields carry, and comparisons succeed, often enough.
void Program::add_operands(srnic_send_wqe &wqe)
{
	wqe.arg[0] = pick(2) ? random() : pick(3);
	wqe.arg[1] = pick(2) ? random() & random() : 0 - pick(2);
	wqe.arg[2] = pick(2) ? random() : 0;
	wqe.arg[3] = pick(3) ? random() & random() & random() & random() : 0 - pick(2);
}

void Program::post_atomic(unsigned side)
{
	SendRequest request =
		begin(side, pick(2) ? SRNIC_OP_FETCH_ADD : SRNIC_OP_CMP_SWAP);
	const Mr &mr = ends[!side].regions()[shared];

	request.wqe.rkey = mr.stag;
	request.wqe.remote_addr = mr.base + (8 - mr.at % 8) % 8 + 8 * pick((mr.length - 16) / 8);
	add_operands(request.wqe);
	request.sges = make_sges(side, 8 + static_cast<u32>(pick(3)), true);
	request.wqe.num_sge = static_cast<u8>(request.sges.size());
	submit(side, request);
}

void Program::post_extended(unsigned side)
{
	SendRequest request = begin(side, pick(2) ? SRNIC_OP_FLUSH : SRNIC_OP_ATOMIC_WRITE);
	const Mr &mr = ends[!side].regions()[shared];
	srnic_send_wqe &wqe = request.wqe;

	wqe.rkey = mr.stag;
	if (wqe.opcode == SRNIC_OP_ATOMIC_WRITE) {
		wqe.remote_addr = mr.base + (8 - mr.at % 8) % 8 + 8 * pick((mr.length - 16) / 8);
		wqe.arg[0] = random();
	} else {
		wqe.arg[0] = pick_length(mr.length);
		wqe.remote_addr = spot(mr, static_cast<u32>(wqe.arg[0]));
		wqe.arg[1] = SRNIC_FLUSH_GLOBAL | (pick(3) ? 0 : SRNIC_FLUSH_MR);
	}
	submit(side, request);
}

void Program::post_immediate(unsigned side)
{
	SendRequest request = begin(side, SRNIC_OP_IMM);
	u32 room = add_immediate(side, request);

	if (framing != CORE_FRAMING_MPA && pick(2))
		add_payload(side, request, std::min(room, pick_length(region_size)), false);
	submit(side, request);
}

void Program::post_send_op(unsigned side, bool inv)
{
	unsigned which = static_cast<unsigned>(pick(2));

	if (rooms[!side].empty() && owed[!side].empty() && !owes())
		post_receive(!side, pick_length(region_size));
	u32 room = use_receive(!side);
	u32 length = pick(3) ? std::min(room, pick_length(region_size)) : room;

	if (wild && pick(200) == 0)
		length++;
	if (inv && windows[!side][which] != Window::open)
		inv = false;
	SendRequest request = begin(side, inv ? SRNIC_OP_SEND_INV : SRNIC_OP_SEND);

	if (inv) {
		// This side's reads through the window must be complete.
		request.wqe.flags |= SRNIC_WQE_FENCE;
		request.wqe.imm_inv = ends[!side].regions()[window + which].stag;
		windows[!side][which] = Window::closing;
	}
	add_payload(side, request, length, false);
	submit(side, request);
}

// The owner's part: opens a window that its peer has closed, or closes one for a while.
void Program::post_window_op(unsigned side)
{
	unsigned which = static_cast<unsigned>(pick(all_windows));
	const Mr &mr = ends[side].regions()[window + which];
	SendRequest request = begin(side, SRNIC_OP_LOCAL_INV);

	bool by_force = wild && pick(6) == 0; // also while the peer is using it

	by_force |= which >= shown && windows[side][which] == Window::open;
	if (setups[side].user || (windows[side][which] != Window::closed && !by_force))
		return;
	request.wqe.imm_inv = mr.stag;
	if (windows[side][which] == Window::open && which >= shown)
		windows[side][which] = Window::closing;
	if (windows[side][which] == Window::closed && pick(3)) {
		u32 key = mr.stag + 1;

		request.wqe.opcode = SRNIC_OP_REG_MR;
		request.wqe.arg[0] = window + which;
		request.wqe.arg[1] = u64{with_key(mr.stag, key)} << 32 | mr.access;
		windows[side][which] = Window::opening;
	}
	submit(side, request);
}

void Program::watch_windows()
{
	for (unsigned side = 0; side < 2; side++)
		for (unsigned which = 0; which < all_windows; which++) {
			Window &state = windows[side][which];
			bool valid = ends[side].regions()[window + which].valid;

			if (state == Window::closing && !valid)
				state = Window::closed;
			if (state == Window::opening && valid)
				state = Window::open;
		}
}

void Program::post(unsigned side)
{
	if (!ends[side].sq_room())
		return;
	if (wild && pick(20) == 0) {
		post_wild(side);
		return;
	}
	u64 kind = pick(100);

	if (kind < 32) {
		post_send_op(side, kind < 6);
	} else if (kind < 35) {
		post_immediate(side);
	} else if (kind < 65) {
		SendRequest request = begin(side, pick(4) ? SRNIC_OP_WRITE : SRNIC_OP_WRITE_IMM);
		u32 length = pick_length(region_size - 64);

		if (request.wqe.opcode == SRNIC_OP_WRITE_IMM)
			add_immediate(side, request);
		aim(side, request, false, length);
		add_payload(side, request, length, false);
		submit(side, request);
	} else if (kind < 70 && flushes[0] && flushes[1] && acknowledges()) {
		post_extended(side);
	} else if (kind < 75 && framing != CORE_FRAMING_RDMATCP) {
		post_atomic(side);
	} else if (kind < 95) {
		SendRequest request = begin(side, SRNIC_OP_READ);
		u32 length = pick_length(region_size - 64);

		aim(side, request, true, length);
		add_payload(side, request, length, true);
		submit(side, request);
	} else {
		post_window_op(side);
	}
}

// ib.rst rules 111 and 112.
bool Program::may_be_sent(const srnic_send_wqe &extended) const
{
	if (!flushes[0] || !flushes[1] || !acknowledges())
		return false;
	return extended.opcode == SRNIC_OP_ATOMIC_WRITE ||
	       (extended.arg[1] & 3 && !(extended.arg[1] & ~u64{3 | SRNIC_FLUSH_MR}));
}

// Anything: wrong STags, offsets out of bounds, undefined opcodes and flags, windows that the peer
// has in use.
void Program::post_wild(unsigned side)
{
	static const u8 opcodes[] = {SRNIC_OP_WRITE,
				     SRNIC_OP_WRITE,
				     SRNIC_OP_SEND,
				     SRNIC_OP_SEND_INV,
				     SRNIC_OP_READ,
				     SRNIC_OP_READ,
				     SRNIC_OP_READ_INV,
				     SRNIC_OP_LOCAL_INV,
				     SRNIC_OP_REG_MR,
				     SRNIC_OP_WRITE_IMM,
				     SRNIC_OP_IMM,
				     SRNIC_OP_FETCH_ADD,
				     SRNIC_OP_CMP_SWAP,
				     SRNIC_OP_SWAP,
				     SRNIC_OP_FLUSH,
				     SRNIC_OP_ATOMIC_WRITE,
				     99};
	SendRequest request = begin(side, opcodes[pick(sizeof(opcodes))]);
	srnic_send_wqe &wqe = request.wqe;
	const Mr &there = ends[!side].regions()[pick(places)],
		 &here = ends[side].regions()[pick(places)];
	u32 length = pick_length(region_size - 64);

	wqe.rkey = pick(5) ? there.stag : there.stag ^ 1u << pick(32);
	wqe.remote_addr = spot(there, length);
	switch (pick(5)) {
	case 0: // around the end
		wqe.remote_addr = there.base + there.length - pick(length + 2u);
		break;
	case 1: // around the start
		wqe.remote_addr = there.base - pick(length + 2u);
		break;
	case 2:
		wqe.remote_addr = random();
		break;
	}
	wqe.imm_inv = wqe.opcode == SRNIC_OP_LOCAL_INV ? here.stag : wqe.rkey;
	if (is_send(wqe.opcode)) {
		if (rooms[!side].empty() && owed[!side].empty())
			post_receive(!side, length);
		use_receive(!side);
	}
	if (wqe.opcode == SRNIC_OP_WRITE_IMM || wqe.opcode == SRNIC_OP_IMM)
		add_immediate(side, request);
	if (wqe.opcode >= SRNIC_OP_FETCH_ADD && wqe.opcode <= SRNIC_OP_SWAP) {
		add_operands(wqe);
		length = static_cast<u32>(pick(20) ? 8 + pick(8) : pick(8));
	}
	const bool extended = wqe.opcode == SRNIC_OP_FLUSH || wqe.opcode == SRNIC_OP_ATOMIC_WRITE;

	if (extended) {
		wqe.arg[0] = pick(2) ? length : random();
		wqe.arg[1] = pick(4) ? pick(4) | pick(2) << 8 : random();
		wqe.remote_addr &= pick(4) ? ~u64{7} : ~u64{0};
	} else if (wqe.opcode == SRNIC_OP_REG_MR) {
		wqe.arg[0] = pick(places);
		wqe.arg[1] = (random() & ~7ull) | here.access;
	} else if (!is_local(wqe.opcode)) {
		add_payload(side, request, length, is_read(wqe.opcode));
		if (pick(4) == 0 && !request.sges.empty())
			request.sges[pick(request.sges.size())].lkey = here.stag;
		if (wqe.opcode == SRNIC_OP_READ_INV) {
			request.sges.assign(1, {spot(here, length), length, here.stag});
			wqe.num_sge = 1;
		}
	}
	if (pick(20) == 0)
		wqe.flags |= 0x40;
	request.malformed =
		wqe.flags & 0x40 || wqe.opcode == 99 ||
		(wqe.opcode >= SRNIC_OP_FETCH_ADD && wqe.opcode <= SRNIC_OP_SWAP &&
		 (!wqe.num_sge || framing == CORE_FRAMING_RDMATCP)) ||
		(wqe.opcode == SRNIC_OP_IMM && framing == CORE_FRAMING_MPA &&
		 (wqe.num_sge || wqe.flags & SRNIC_WQE_INLINE)) ||
		(extended && !may_be_sent(wqe)) ||
		(setups[side].user &&
		 (wqe.opcode == SRNIC_OP_REG_MR || wqe.opcode == SRNIC_OP_READ_INV));
	submit(side, request);
}

// ---- the world ----

void Program::deliver(unsigned to)
{
	Stream &in = streams[!to];
	u64 before = in.consumed();
	Stream::Piece piece = in.peek();

	if (piece.len) {
		// Of the exact size, so that the sanitizer sees reads past its end.
		Bytes octets(piece.data, piece.data + piece.len);

		in.drop(piece.len);
		ends[!to].has_space();
		oracle.receiving(to);
		ends[to].feed(octets.data(), piece.len);
	}
	if (before == in.consumed() && in.over())
		ends[to].hang_up();
}

// The consumer writes anywhere at any time; completed requests must not be affected.
void Program::store(unsigned side)
{
	const Mr &mr = ends[side].regions()[pick(places)];
	Bytes data(1 + pick(std::min<u64>(mr.length - 1, 500)));

	for (u8 &octet : data)
		octet = static_cast<u8>(random());
	u64 at = mr.at + pick(mr.length - data.size());

	oracle.stored(side, at, data);
	ends[side].store(at, data);
}

// At most once in a wild program: the connection breaks, or a byte protected by a CRC is damaged.
void Program::spoil()
{
	unsigned side = static_cast<unsigned>(pick(2));
	bool crc = setups[0].local.crc || setups[1].local.crc;

	if (pick(2)) {
		lose_streams();
	} else if (crc && ends[!side].state() == Endpoint::State::rts &&
		   !streams[side].to_be_damaged()) {
		streams[side].damage(streams[side].accepted() + pick(4000),
				     static_cast<u8>(1u << pick(8)));
		tally["octets to damage"]++;
	}
}

void Program::look()
{
	u64 every = std::max<u64>(1, region_size / 1024);

	steps++;
	if (!paranoid && steps % every)
		return;
	oracle.compare(0);
	oracle.compare(1);
}

void Program::step()
{
	unsigned side = static_cast<unsigned>(pick(2));
	u64 kind = pick(100);

	if (kind < 30 && (!returns || settled || pick(4) == 0)) {
		for (u64 burst = 1 + pick(6); burst; burst--)
			post(side);
	} else if (kind < 60) {
		ends[side].run();
	} else if (kind < 95) {
		const u64 completed = oracle.completions();

		for (u64 burst = 1 + pick(12); burst; burst--)
			deliver(side);
		if (returns && oracle.completions() != completed && pick(60) == 0)
			reset(side); // as a program that is done
	} else if (kind < 98) {
		store(side);
	} else if (kind == 99 && returns) {
		disturb();
	} else if (kind == 98) {
		ends[side].set_emss(setups[pick(2)].emss);
	} else if (wild && pick(12) == 0) {
		spoil();
	}
	if (pick(3) == 0)
		pay(side);
	if (pick(4) == 0)
		ends[side].tick();
	if (returns && pick(3) == 0)
		recover();
	watch_windows();
	look();
}

// Lets both ends do what they can. False if nothing changed.
bool Program::pass()
{
	auto changes = [&] {
		return std::vector<u64>{oracle.completions(),
					happened,
					streams[0].accepted(),
					streams[0].consumed(),
					streams[1].accepted(),
					streams[1].consumed(),
					static_cast<u64>(ends[0].state()),
					static_cast<u64>(ends[1].state())};
	};
	const std::vector<u64> before = changes();

	for (unsigned i = 0; i < 2; i++) {
		if (returns)
			recover();
		pay(i);
		ends[i].tick();
		ends[i].run();
		for (u64 burst = 1 + pick(20); burst; burst--)
			deliver(i);
		look();
	}
	return changes() != before;
}

// Lets everything run until nothing changes any more: an engine may have paused.
void Program::drain()
{
	u64 patience = 10000000;

	for (u32 quiet = 0; quiet < 3; quiet = pass() ? 0 : quiet + 1)
		if (!--patience)
			broken("the ends never come to rest");
}

void Program::finish()
{
	finishing = true;
	drain();
	// A responder sends nothing before its peer has (RFC 5044 7.1.2 rule 4).
	if (!returns && !oracle.failed(0) && !oracle.failed(1) && ends[1].muted()) {
		submit(0, begin(0, SRNIC_OP_WRITE));
		drain();
	}
	if (!wild || returns) {
		oracle.expect_all_done();
	} else if (oracle.failed(0) || oracle.failed(1) || streams[0].damaged() ||
		   streams[1].damaged()) {
		for (unsigned i = 0; i < 2; i++)
			streams[i].do_reset();
		drain();
		for (unsigned i = 0; i < 2; i++) {
			if (ends[i].state() != Endpoint::State::error)
				broken("side %u outlives its connection", i);
			ends[i].run();
		}
		oracle.expect_all_flushed();
	} else {
		oracle.expect_all_done();
	}
	oracle.compare(0);
	oracle.compare(1);
}

u64 Program::run()
{
	u64 patience = target * 50;

	while (posted < target && patience--) {
		step();
		if (by_kick && !wild && pick(100) == 0) { // before a post repairs it
			drain();
			oracle.expect_all_done();
		}
		// Some more, to see it flushed.
		if (!returns && (oracle.failed(0) || oracle.failed(1)))
			target = std::min(target, posted + pick(20));
	}
	finish();
	return posted;
}

} // namespace sim
