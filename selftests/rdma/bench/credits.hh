// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Messages to a receiver that returns credits: as many as half of its receives with one Send of its
// own. Each end sleeps, or polls, when there is nothing to do.
#pragma once
#include "requests.hh"

class Receiver {
	const Work &work_;
	const Side side_;
	Memory in_, out_;

	void give();

public:
	// Posts its receives; the sender may begin when they are there.
	Receiver(const Work &work, const Side &side);
	// Where Writes go.
	Target target() const { return in_.target(); }
	// Takes all messages one by one, and returns credits; then once more.
	void run();
};

class Sender {
	const Work &work_;
	const Side side_;
	const Target target_;
	Memory out_, in_;
	unsigned credits_, posted_ = 0, done_ = 0, given_ = 0;

	ibv_send_wr message(ibv_sge *piece) const;
	bool may_post() const;
	void take_credit(const ibv_wc &wc);
	void post_all();
	void post_and_look();

public:
	Sender(const Work &work, const Side &side, const Target &target);
	// With send-credits it posts one message, looks for credits in its empty receive CQ, and
	// takes the completion of one. Else it posts all that it may, takes all completions that
	// are there, and looks for credits when it has none.
	void run();
};
