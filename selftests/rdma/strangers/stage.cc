// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stage.hh"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>

namespace strangers {
namespace {

std::string in_words(std::optional<ibv_event_type> type)
{
	return type ? ibv_event_type_str(*type) : "no event";
}

} // namespace

Elsewhere::Elsewhere(const std::string &ns) : back(open("/proc/thread-self/ns/net", O_RDONLY))
{
	const int there = open(("/run/netns/" + ns).c_str(), O_RDONLY);
	const bool moved = back >= 0 && there >= 0 && !setns(there, CLONE_NEWNET);

	close(there);
	if (!moved)
		throw std::runtime_error("namespace " + ns);
}

Elsewhere::~Elsewhere()
{
	if (setns(back, CLONE_NEWNET))
		abort();
	close(back);
}

Stage::Stage(const Settings &all)
	: settings(all), victims_port(all.device, all.address),
	  victims_port6(all.device, all.address6), other(ibv_alloc_pd(victims_port.verbs)),
	  arena(victims_port.pd, other, knows() ? 1 << 8 : 0), good(victims_port, victims_port),
	  sound(victims_port), at(all.address), from(all.own)
{
	arena.introduce([this](const std::string &name, u32 stag, const void *where, size_t len) {
		regions[name] = {stag, reinterpret_cast<uintptr_t>(where), len};
	});
	good.exercise();
}

Stage::~Stage() { qp.reset(); }

// ---- the victim ----

void Stage::meet_at(const std::string &victims, const std::string &strangers)
{
	at = victims;
	from = strangers;
}

Name Stage::stranger() const
{
	Name name{};

	std::ranges::copy(gid_of(from), name.gid.raw);
	name.qpn = stranger_qpn;
	name.addr = 0x1000;
	name.rkey = 0x77;
	return name;
}

void Stage::half_ready(const Options &options)
{
	while (event(0))
		;
	posted = taken = 0;
	qp = std::make_unique<::End>(at == settings.address6 ? victims_port6 : victims_port,
				     options);
	std::ranges::copy(payload(qp->buffer.size()), qp->buffer.begin());
	if (qp->init())
		fail("INIT");
}

void Stage::ready(Role role, const Options &options, unsigned receives)
{
	half_ready(options);
	if (role == Role::connector)
		listening = Socket::listen(from, port);
	const u64 attempts = counter("pairing_attempts");

	if (enter_rtr() || qp->rts())
		fail("RTS");
	if (role == Role::listener)
		has_tried(attempts);
	post_receives(receives);
}

// The victim has connected once, in vain: before, a Reply may have 0 as its Source attempt.
void Stage::has_tried(u64 attempts) const
{
	const auto end = Clock::now() + std::chrono::seconds(5);

	while (counter("pairing_attempts") == attempts) {
		if (Clock::now() > end)
			fail("the victim does not try to connect");
		sleep_ms(1);
	}
}

void Stage::post_receives(unsigned count)
{
	for (; count; count--, posted++)
		victim::post_receive(
			qp->qp,
			victim::sge_of(arena.receive_at(posted), victim::receive_size, arena.local),
			posted + 1);
}

ibv_sge Stage::sink(u32 offset, u32 len) const
{
	return victim::sge_of(arena.sink + offset, len, arena.local);
}

Loan Stage::lend(const std::string &region, size_t len) const
{
	constexpr int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	void *where = reinterpret_cast<void *>(regions.at(region).to);

	return {victim::need(ibv_reg_mr(arena.local->pd, where, len, access), "ibv_reg_mr"),
		ibv_dereg_mr};
}

// The kernels before 6.2 know neither Flush nor Atomic Write.
u32 Stage::knows() const
{
	constexpr u64 flush_global = 1ull << 38;
	ibv_device_attr_ex attr{};

	if (ibv_query_device_ex(victims_port.verbs, nullptr, &attr))
		fail("ibv_query_device_ex");
	return attr.device_cap_flags_ex & flush_global ? feature_extended : 0;
}

u64 Stage::counter(const std::string &name) const
{
	std::ifstream file("/sys/class/infiniband/" + settings.device + "/ports/1/hw_counters/" +
			   name);
	u64 value = 0;

	if (!(file >> value))
		fail("no counter ", name);
	return value;
}

// ---- the stranger ----

Frame Stage::right_request() const
{
	return {.features = its_features,
		.source_gid = gid_of(from),
		.destination_gid = gid_of(at),
		.source_qpn = stranger_qpn,
		.destination_qpn = qp->qp->qp_num};
}

Frame Stage::right_reply(const Frame &to) const
{
	Frame answer = reply_to(to, right_request());

	answer.features &= to.features;
	return answer;
}

Socket Stage::dial() const { return Socket::connect(at, port, window, from); }

Bytes Stage::another_gid() const { return gid_of(settings.greater); }

Socket Stage::accept() const { return listening->accept(); }

// Rules 41 to 49, 55.
void Stage::want_acceptance(const Frame &is, const Frame &asked) const
{
	Frame want = asked;

	want.key = hostile::reply_key;
	want.flags = asked.flags & flag_crc;
	want.length = 96;
	want.says = -1;
	want.zero = 0;
	want.features &= knows();
	want.needs = 0;
	std::swap(want.source_gid, want.destination_gid);
	want.source_qpn = qp->qp->qp_num;
	want.destination_qpn = asked.source_qpn & 0xffffff;
	want.sent = asked.delivered;
	want.delivered = asked.sent;
	want.ird = is.ird;
	want.ord = is.ord;
	want.source_attempt = is.source_attempt;
	want.destination_attempt = asked.source_attempt;
	want.source_incarnation = is.source_incarnation;
	want.destination_incarnation = asked.source_incarnation;
	want_octets("the Reply", is.data(), want.data());
	if (is.flags != want.flags || is.revision != 2 || !is.source_attempt ||
	    !is.source_incarnation || !is.ird)
		fail("the Reply does not introduce the victim: ", hex(is.octets()));
}

Stream Stage::dialled(Pace pace, const Frame &with)
{
	Socket socket = dial();

	request = with;
	socket.send(with.octets(), pace);
	reply = frame_of(socket.receive(frame_size));
	want_acceptance(reply, with);
	return {std::move(socket), pace};
}

Stream Stage::accepted(Pace pace)
{
	Socket socket = accept();

	request = frame_of(socket.receive(frame_size));
	reply = right_reply(request);
	socket.send(reply.octets(), pace);
	return {std::move(socket), pace};
}

Stream Stage::meet(Role role, Pace pace, bool quiet)
{
	Stream stream = role == Role::listener ? dialled(pace, right_request()) : accepted(pace);

	if (role == Role::connector)
		stream.want_ack({request.delivered});
	if (!quiet)
		stream.ack({role == Role::listener ? request.delivered : request.sent});
	return stream;
}

// ---- what became of it ----

void Stage::want_state(ibv_qp_state state)
{
	const auto end = Clock::now() + std::chrono::seconds(5);

	while (qp->state() != state) {
		if (Clock::now() > end)
			fail("the victim is in state ", std::to_string(qp->state()), ", not ",
			     std::to_string(state));
		sleep_ms(1);
	}
}

void Stage::want_event(std::optional<ibv_event_type> type) const
{
	const auto is = event(type ? 5000 : 0);

	if (is != type)
		fail(in_words(is), " came, not ", in_words(type));
}

void Stage::want_to_go_on(Stream &stream, u32 sends, u32 requests, u32 delivered)
{
	const Bytes octets(qp->buffer.begin(), qp->buffer.begin() + 64);

	qp->send(77, 64);
	stream.want({fpdu(Untagged{.rdmap = op_send | ask, .msn = sends + 1, .data = octets})},
		    delivered);
	qp->sends.none(0);
	stream.ack({requests + 1});
	qp->sends.is(77);
	want_state(IBV_QPS_RTS);
	want_event({});
}

void Stage::want_receives(unsigned count, ibv_wc_status broken)
{
	while (taken < count)
		qp->receives.is(++taken);
	if (broken != IBV_WC_WR_FLUSH_ERR)
		qp->receives.is(++taken, broken);
}

void Stage::want_delivered(unsigned count)
{
	want_receives(count, IBV_WC_WR_FLUSH_ERR);
	qp->receives.none(0);
}

void Stage::want_failed(unsigned count, std::optional<ibv_event_type> type, ibv_wc_status broken)
{
	want_event(type);
	want_state(IBV_QPS_ERR);
	want_receives(count, broken);
	while (taken < posted)
		qp->receives.is(++taken, IBV_WC_WR_FLUSH_ERR);
	qp->sends.none(0);
	want_event({});
}

void Stage::want_aftermath()
{
	const std::string memory = arena.compare();

	if (memory != "ok")
		fail("the victim's memory: ", memory);
	want_event({});
	good.exercise();
	listening.reset();
	if (at == settings.address) {
		qp->to(IBV_QPS_RESET);
		sound.to(IBV_QPS_RESET);
		join(*qp, sound);
		exercise(*qp, sound);
	}
	clear();
}

void Stage::clear() noexcept
{
	qp.reset();
	listening.reset();
	window = 0;
	its_features = 0;
	meet_at(settings.address, settings.own);
	arena.compare();
	while (event(0))
		;
}

} // namespace strangers
