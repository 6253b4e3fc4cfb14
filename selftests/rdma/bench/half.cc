// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "byhand.hh"
#include "half.hh"

namespace {

struct HalfByCm : Half {
	End end;

	// The end that connects, or that listens.
	HalfByCm(const Place &from, const Place &to, const Talk &talk)
	{
		end.connect(to, from, talk.hear<uint16_t>(), reads_at_once, cq_entries);
		end.established();
	}
	HalfByCm(const Place &at, const Talk &talk)
	{
		rdma_cm_id *listener = end.listen(at);

		talk.say(static_cast<uint16_t>(rdma_get_src_port(listener)));
		end.requested(cq_entries);
		end.accept(reads_at_once);
		end.established();
		rdma_destroy_id(listener);
	}
	Side side() override { return {end.id->qp, *end.sends, *end.receives}; }
};

struct HalfByHand : Half {
	QpByHand qp;

	HalfByHand(const std::string &on, const Talk &talk)
		: qp(device(on), std::make_shared<Queues>(device(on), cq_entries))
	{
		talk.say(qp.address());
		qp.connect(talk.hear<QpAddress>());
	}
	Side side() override { return qp.side(); }
};

} // namespace

std::unique_ptr<Half> half_here(const std::string &way, const std::string &here,
				const std::string &there, const Talk &talk)
{
	if (way == "cm")
		return std::make_unique<HalfByCm>(place_of(here), place_of(there), talk);
	return std::make_unique<HalfByHand>(here, talk);
}

std::unique_ptr<Half> half_there(const std::string &way, const std::string &there, const Talk &talk)
{
	if (way == "cm")
		return std::make_unique<HalfByCm>(place_of(there), talk);
	return std::make_unique<HalfByHand>(there, talk);
}
