// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A mark (marks.hh) for what other programs do in between.
//	mark begin|end
#include <cstring>

#include "marks.hh"

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "begin"))
		begin_mark();
	else
		end_mark();
	return 0;
}
