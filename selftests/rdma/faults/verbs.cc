// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The list of all calls, and those of RDMA netlink.
#include "calls.hh"
#include "objects.hh"

namespace {

Verb adding(const Place &place)
{
	return {"rdma link add", [] {}, [=] { return link_add("spare", place.spare); },
		[] {
			errno = link_delete("spare");
			need(!errno, "rdma link delete");
		},
		[] {}};
}

} // namespace

std::vector<Verb> all_verbs(const Place &place)
{
	std::vector<Verb> verbs = object_verbs();

	for (const auto &more :
	     {connection_verbs(place), transfer_verbs(place), std::vector<Verb>{adding(place)}})
		verbs.insert(verbs.end(), more.begin(), more.end());
	return verbs;
}
