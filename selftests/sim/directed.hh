// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tests of one endpoint against a peer whose every octet is written by hand.
#pragma once

#include <functional>

#include "model.hh"

namespace sim {

struct Directed {
	const char *name;
	std::function<void()> run;
};

const std::vector<Directed> &directed_tests();

} // namespace sim
