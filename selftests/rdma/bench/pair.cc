// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "byhand.hh"
#include "pair.hh"

namespace {

struct PairByCm : Pair {
	Joint joint;

	PairByCm(const Place &here, const Place &there, int entries = cq_entries,
		 const PairByCm *with_cqs_of = nullptr)
		: joint(there, here, reads_at_once, entries,
			with_cqs_of ? &with_cqs_of->joint : nullptr)
	{
	}
	static Side side(End &end) { return {end.id->qp, *end.sends, *end.receives}; }
	Side client() override { return side(joint.client); }
	Side server() override { return side(joint.server); }
};

struct PairByHand : Pair {
	QpByHand ours, theirs;

	PairByHand(const std::string &here, const std::string &there, int entries = cq_entries,
		   const PairByHand *with_cqs_of = nullptr)
		: ours(device(here), with_cqs_of ? with_cqs_of->ours.queues
						 : std::make_shared<Queues>(device(here), entries)),
		  theirs(device(there), with_cqs_of
						? with_cqs_of->theirs.queues
						: std::make_shared<Queues>(device(there), entries))
	{
		ours.connect(theirs.address());
		theirs.connect(ours.address());
	}
	Side client() override { return ours.side(); }
	Side server() override { return theirs.side(); }
};

// The first has CQs with so much room, which the others share.
template <class Kind, class Where>
Pairs together(const Where &here, const Where &there, unsigned pairs, int room)
{
	auto first = std::make_unique<Kind>(here, there, room);
	const Kind *with_cqs_of = first.get();
	Pairs all;

	all.push_back(std::move(first));
	while (all.size() < pairs)
		all.push_back(std::make_unique<Kind>(here, there, room, with_cqs_of));
	return all;
}

} // namespace

Place place_of(const std::string &name)
{
	const size_t colon = name.find(':');

	if (colon == name.npos)
		throw Broken("not NAMESPACE:ADDRESS: " + name);
	return {name.substr(0, colon), name.substr(colon + 1)};
}

std::unique_ptr<Pair> connected(const std::string &way, const std::string &here,
				const std::string &there)
{
	if (way == "cm")
		return std::make_unique<PairByCm>(place_of(here), place_of(there));
	return std::make_unique<PairByHand>(here, there);
}

Pairs connected_together(const std::string &way, const std::string &here, const std::string &there,
			 unsigned pairs, unsigned entries)
{
	const int room = static_cast<int>(pairs * entries);

	if (way == "cm")
		return together<PairByCm>(place_of(here), place_of(there), pairs, room);
	return together<PairByHand>(here, there, pairs, room);
}
