// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A shared check that does not hold fails the test.
#include "../shared/require.hh"

void not_so(const char *file, int line, const char *condition)
{
	ADD_FAILURE_AT(file, line) << "not so: " << condition;
}
