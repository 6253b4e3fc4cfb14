// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The table of framings, for the shell.
#include "framings.hh"

using namespace srnic;

const struct core_framing_traits *core_framing_traits_of(enum core_framing framing)
{
	return &traits_of(framing);
}

// The first of the set.
enum core_framing core_framing_to_connect(u32 framings)
{
	return static_cast<core_framing>(__builtin_ctz(framings));
}

bool core_framings_have_atomics(u32 framings)
{
	for (; framings; framings &= framings - 1)
		if (traits_of(core_framing_to_connect(framings)).atomics)
			return true;
	return false;
}

bool core_framings_have_immediate_payload(u32 framings)
{
	for (; framings; framings &= framings - 1)
		if (!traits_of(core_framing_to_connect(framings)).immediate_payload)
			return false;
	return true;
}
