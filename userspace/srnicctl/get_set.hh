// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// `srnicctl get` and `srnicctl set`: a device's settings.
#pragma once

#include "exit.hh"
#include "options.hh"
#include "system.hh"

namespace srnicctl {

// Both throw Failure.
Exit get(System &system, const Options &options);
Exit set(System &system, const Options &options);

} // namespace srnicctl
