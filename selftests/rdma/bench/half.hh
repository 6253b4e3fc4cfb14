// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a connection whose other end is in another process.
#pragma once
#include <memory>
#include <string>

#include "pair.hh"
#include "process.hh"

struct Half {
	virtual ~Half() = default;
	virtual Side side() = 0;
};

// way, here and there: as of connected(). Each process calls one of them; the one that responds is
// there. This end may post then, the other perhaps not yet. Throws Broken.
std::unique_ptr<Half> half_here(const std::string &way, const std::string &here,
				const std::string &there, const Talk &talk);
std::unique_ptr<Half> half_there(const std::string &way, const std::string &there,
				 const Talk &talk);
