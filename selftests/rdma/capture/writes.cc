// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Writes of 64 KiB on one connection, as many before a command as after it. capture.sh looks
// at the size of their FPDUs.
//	writes CLIENT-NAMESPACE SERVER-NAMESPACE SERVER-ADDRESS COUNT COMMAND
#include <cstdio>
#include <cstdlib>

#include "ends.hh"

static void write_all(Ends &ends, int count)
{
	for (int i = 0; i < count; i++)
		succeeds(ends, IBV_WR_RDMA_WRITE, 1 << 16);
}

int main(int argc, char **argv)
try {
	require(argc == 6,
		"usage: writes CLIENT-NAMESPACE SERVER-NAMESPACE SERVER-ADDRESS COUNT COMMAND");
	Ends ends({argv[1], argv[2], argv[3]}, 1);
	write_all(ends, atoi(argv[4]));
	require(!system(argv[5]), argv[5]);
	write_all(ends, atoi(argv[4]));
	return 0;
} catch (const Failure &failure) {
	fprintf(stderr, "%s\n", failure.what());
	return 1;
}
