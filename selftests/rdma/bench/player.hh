// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of half round trips: a Send goes when one has come.
#pragma once
#include "requests.hh"

class Player {
	const Side side_;
	Memory out_, in_;

public:
	Player(const Side &side, uint32_t size) : side_(side), out_(side, size), in_(side, size)
	{
		post_receive(side_, in_.piece());
	}
	// serves: it has the first Send.
	void play(const Work &work, bool serves)
	{
		ibv_sge sge = out_.piece();
		const ibv_send_wr wr = request(IBV_WR_SEND, &sge);

		for (unsigned i = 0; i < work.count / 2; i++) {
			if (serves)
				post(side_, wr, 1);
			take(side_.receives, work.poll);
			post_receive(side_, in_.piece());
			if (!serves)
				post(side_, wr, 1);
			take(side_.sends, work.poll);
		}
	}
};
