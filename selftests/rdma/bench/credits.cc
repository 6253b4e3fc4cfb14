// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A sender and a receiver in two processes, as programs with credits are: the receiver returns a
// credit for each message it has taken, many with one message of its own. Both sleep when there is
// nothing to do.
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "credits.hh"

namespace {

constexpr unsigned receives = 128; // credits at first; half of them come back with one message

void want(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		throw Broken(ibv_wc_status_str(wc.status));
}

void give(End &end, const Buffer &out)
{
	end.post(0, IBV_WR_SEND, {out.region.piece(0, 1)});
	want(end.sends->next(-1));
}

// Accepts, takes what arrives, and returns credits until all messages have come; then once more.
void serve(End &end, const Work &work)
{
	Buffer in(end, work.size), out(end, 1);
	unsigned owed = 0;

	for (unsigned i = 0; i < receives; i++)
		end.receive(0, {in.region.piece(0, work.size)});
	end.accept(reads_at_once);
	end.established();
	for (unsigned taken = 0; taken < work.count; taken++) {
		want(end.receives->next(-1));
		end.receive(0, {in.region.piece(0, work.size)});
		if (++owed < receives / 2)
			continue;
		give(end, out);
		owed = 0;
	}
	give(end, out);
}

// The receiver: a process that ends when all messages have come, or with the sender's.
class Receiver {
	pid_t pid_;
	uint16_t port_ = 0;

	[[noreturn]] static void receive(const Work &work, const Place &there, int port_to)
	try {
		End end;
		rdma_cm_id *listener = end.listen(there);
		const uint16_t port = rdma_get_src_port(listener);

		need(write(port_to, &port, sizeof(port)) == sizeof(port), "write");
		end.requested(cq_entries);
		serve(end, work);
		end.await(RDMA_CM_EVENT_DISCONNECTED);
		rdma_destroy_id(listener);
		_exit(0);
	} catch (const std::exception &trouble) {
		fprintf(stderr, "receiver: %s\n", trouble.what());
		_exit(1);
	}

public:
	Receiver(const Work &work, const Place &there)
	{
		int ends[2];

		need(!pipe(ends), "pipe");
		need((pid_ = fork()) >= 0, "fork");
		if (!pid_)
			receive(work, there, ends[1]);
		close(ends[1]);
		need(read(ends[0], &port_, sizeof(port_)) == sizeof(port_), "the receiver");
		close(ends[0]);
	}
	Receiver(const Receiver &) = delete;
	~Receiver() { waitpid(pid_, nullptr, 0); }
	uint16_t port() const { return port_; }
};

class Credits : public Operation {
	const Work &work_;
	Receiver receiver_;
	End end_;
	std::unique_ptr<Buffer> out_, in_;
	unsigned credits_ = receives, posted_ = 0, done_ = 0, given_ = 0;

	bool may_post() const
	{
		return credits_ && posted_ < work_.count && posted_ - done_ < work_.depth;
	}
	void take_credit(const ibv_wc &wc)
	{
		want(wc);
		credits_ += receives / 2;
		given_++;
		end_.receive(0, {in_->region.piece(0, 1)});
	}
	void take_sent(const ibv_wc &wc)
	{
		want(wc);
		done_++;
	}
	void post()
	{
		end_.post(0, IBV_WR_SEND, {out_->region.piece(0, work_.size)});
		posted_++;
		credits_--;
	}

public:
	Credits(const Work &work, const Place &here, const Place &there)
		: work_(work), receiver_(work, there)
	{
		end_.connect(there, here, receiver_.port(), reads_at_once, cq_entries);
		out_ = std::make_unique<Buffer>(end_, work.size);
		in_ = std::make_unique<Buffer>(end_, 1);
		for (int i = 0; i < 4; i++)
			end_.receive(0, {in_->region.piece(0, 1)});
		end_.established();
	}
	~Credits()
	{
		rdma_disconnect(end_.id);
		out_.reset();
		in_.reset();
	}
	void run() override
	{
		while (done_ < work_.count) {
			if (may_post())
				post();
			if (const auto wc = end_.receives->there())
				take_credit(*wc);
			if (may_post())
				continue;
			if (posted_ > done_)
				take_sent(end_.sends->next(-1));
			else
				take_credit(end_.receives->next(-1));
		}
		while (given_ <= work_.count / (receives / 2))
			take_credit(end_.receives->next(-1));
	}
};

} // namespace

std::unique_ptr<Operation> with_credits(const Work &work, const Place &here, const Place &there)
{
	return std::make_unique<Credits>(work, here, there);
}
