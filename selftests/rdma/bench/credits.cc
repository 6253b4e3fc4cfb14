// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "credits.hh"

namespace {

// How many messages of credits may be on their way: both halves, the last one, and one to spare.
constexpr unsigned credit_receives = 4;

// Of the receiver; half of them is what one message of credits stands for.
unsigned receives(const Work &work) { return 2 * work.depth; }

} // namespace

// ---- the receiver ----

Receiver::Receiver(const Work &work, const Side &side)
	: work_(work), side_(side), in_(side, work.size), out_(side, 1)
{
	for (unsigned i = 0; i < receives(work); i++)
		post_receive(side_, in_.piece());
}

void Receiver::give()
{
	ibv_sge piece = out_.piece();

	post(side_, request(IBV_WR_SEND, &piece), 1);
	want_success(first(side_.sends, work_.poll));
}

void Receiver::run()
{
	unsigned owed = 0;

	for (unsigned taken = 0; taken < work_.count; taken++) {
		want_success(first(side_.receives, work_.poll));
		post_receive(side_, in_.piece());
		if (++owed < receives(work_) / 2)
			continue;
		give();
		owed = 0;
	}
	give();
}

// ---- the sender ----

Sender::Sender(const Work &work, const Side &side, const Target &target)
	: work_(work), side_(side), target_(target), out_(side, work.size), in_(side, 1),
	  credits_(receives(work))
{
	for (unsigned i = 0; i < credit_receives; i++)
		post_receive(side_, in_.piece());
}

ibv_send_wr Sender::message(ibv_sge *piece) const
{
	const bool writes = work_.name == "write-imm";
	ibv_send_wr wr = request(writes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, piece);

	if (writes)
		wr.wr.rdma = {target_.addr, target_.rkey};
	return wr;
}

bool Sender::may_post() const
{
	return credits_ && posted_ < work_.count && posted_ - done_ < work_.depth;
}

void Sender::take_credit(const ibv_wc &wc)
{
	want_success(wc);
	credits_ += receives(work_) / 2;
	given_++;
	post_receive(side_, in_.piece());
}

void Sender::post_all()
{
	ibv_sge piece = out_.piece();
	const unsigned now = fill_up(work_, side_, message(&piece), posted_, done_, credits_);

	posted_ += now;
	credits_ -= now;
	if (posted_ > done_)
		done_ += take(side_.sends, work_.poll);
	else
		take_credit(first(side_.receives, work_.poll));
}

void Sender::post_and_look()
{
	ibv_sge piece = out_.piece();

	if (may_post()) {
		post(side_, message(&piece), 1);
		posted_++;
		credits_--;
	}
	if (const auto wc = side_.receives.there())
		take_credit(*wc);
	if (may_post())
		return;
	if (posted_ > done_) {
		want_success(first(side_.sends, work_.poll));
		done_++;
	} else {
		take_credit(first(side_.receives, work_.poll));
	}
}

void Sender::run()
{
	while (done_ < work_.count)
		if (work_.name == "send-credits")
			post_and_look();
		else
			post_all();
	while (given_ <= work_.count / (receives(work_) / 2))
		take_credit(first(side_.receives, work_.poll));
}
