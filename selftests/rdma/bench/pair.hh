// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two connected QPs in one process, of any driver.
#pragma once
#include <memory>
#include <string>

#include "../semantics/ends.hh"

constexpr int rights = all_rights | IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint8_t reads_at_once = 16; // and atomic operations

// A QP in operation.
struct Side {
	ibv_qp *qp;
	Completions &sends, &receives;
};

struct Pair {
	virtual ~Pair() = default;
	virtual Side client() = 0;
	virtual Side server() = 0;
};

using Pairs = std::vector<std::unique_ptr<Pair>>;

// From NAMESPACE:ADDRESS. Throws Broken.
Place place_of(const std::string &name);

// way: "cm", from NAMESPACE:ADDRESS to NAMESPACE:ADDRESS by rdma_cm; or "hand", between the
// devices of these names, srnic_ib or RoCE, on one link.
std::unique_ptr<Pair> connected(const std::string &way, const std::string &here,
				const std::string &there);

// So many of them. Together they have four CQs, each with room for so many entries of
// each pair.
Pairs connected_together(const std::string &way, const std::string &here, const std::string &there,
			 unsigned pairs, unsigned entries);
