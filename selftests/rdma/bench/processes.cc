// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <sched.h>

#include "credits.hh"
#include "half.hh"
#include "player.hh"
#include "process.hh"
#include "processes.hh"

namespace {

void be_batch()
{
	const sched_param none{};

	need(!sched_setscheduler(0, SCHED_BATCH, &none), "SCHED_BATCH");
}

bool is_one_sided(const Work &work) { return work.name == "write" || work.name == "read"; }

// Of the process that responds. It has its end until the other has done with it.
void respond(const Work &work, const Side &side, const Talk &talk)
{
	if (work.batch)
		be_batch();
	if (is_one_sided(work)) {
		const Memory memory(side, work.size);

		talk.say(memory.target());
		return talk.until_over();
	}
	if (work.name == "ping-pong") {
		Player player(side, work.size);

		talk.say(Target{});
		player.play(work, false);
		return talk.until_over();
	}
	Receiver receiver(work, side);

	talk.say(receiver.target());
	receiver.run();
	talk.until_over();
}

// An Operation that has its end of the connection, and hears when the other is ready.
class Requester : public Operation {
	Process process_;
	std::unique_ptr<Half> half_;

protected:
	const Work &work_;
	const Side side_;
	const Target target_;

public:
	Requester(const Work &work, const std::string &way, const std::string &here,
		  const std::string &there)
		: process_(work.apart,
			   [&](const Talk &talk) {
				   const auto half = half_there(way, there, talk);

				   respond(work, half->side(), talk);
			   }),
		  half_(half_here(way, here, there, process_.talk())), work_(work),
		  side_(half_->side()), target_(process_.talk().hear<Target>())
	{
	}
};

class OneSided : public Requester {
	Memory memory_{side_, work_.size};

public:
	using Requester::Requester;
	void run() override
	{
		ibv_sge piece = memory_.piece();
		ibv_send_wr wr = request(opcode_of(work_.name), &piece);

		wr.wr.rdma = {target_.addr, target_.rkey};
		one_sided(work_, side_, wr);
	}
};

class Messages : public Requester {
	Sender sender_{work_, side_, target_};

public:
	using Requester::Requester;
	void run() override { sender_.run(); }
};

class PingPong : public Requester {
	Player player_{side_, work_.size};

public:
	using Requester::Requester;
	void run() override { player_.play(work_, true); }
};

} // namespace

std::unique_ptr<Operation> over_processes(const Work &work, const std::string &way,
					  const std::string &here, const std::string &there)
{
	if (is_one_sided(work))
		return std::make_unique<OneSided>(work, way, here, there);
	if (work.name == "ping-pong")
		return std::make_unique<PingPong>(work, way, here, there);
	if (work.name != "send-credits")
		opcode_of(work.name);
	if (2 * work.depth > 128)
		throw Broken("no room for so many receives");
	return std::make_unique<Messages>(work, way, here, there);
}
