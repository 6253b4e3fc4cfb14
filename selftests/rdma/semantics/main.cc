// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a program may rely on: RDMAP's operations, order and limits, seen from both ends.
//	semantics NS ADDRESS PEER-NS PEER-ADDRESS HUGE ROUNDS [PART-OF-THE-CASES'-NAMES]
// HUGE: octets of the largest messages, above 2^31, or 0. ROUNDS: how often things that race are tried.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "case.hh"

Settings settings;

namespace {

Cases all_cases()
{
	Cases all;

	for (const Cases &some : {operation_cases(), order_cases(), revoke_cases(), ending_cases(), huge_cases()})
		all.insert(all.end(), some.begin(), some.end());
	return all;
}

bool passes(const Case &which, std::string &note)
{
	note.clear();
	try {
		which.run();
		return true;
	} catch (const Skip &skip) {
		note = std::string(" # SKIP ") + skip.what();
		return true;
	} catch (const std::runtime_error &failure) {
		printf("# %s\n", failure.what());
		return false;
	}
}

int run_all(const char *part)
{
	int failed = 0, n = 0;
	std::string note;

	for (const Case &which : all_cases()) {
		if (!strstr(which.name, part))
			continue;
		const auto begin = Clock::now();
		const bool ok = passes(which, note);
		const std::chrono::duration<double> took = Clock::now() - begin;

		failed += !ok;
		printf("%sok %d %s%s\n# %.1f s\n", ok ? "" : "not ", ++n, which.name, note.c_str(), took.count());
		fflush(stdout);
	}
	printf("# all cases\n");
	return failed || !n;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 7 || argc > 8) {
		fprintf(stderr, "usage: semantics NS ADDRESS PEER-NS PEER-ADDRESS HUGE ROUNDS [PART]\n");
		return 2;
	}
	settings = {{argv[1], argv[2]}, {argv[3], argv[4]}, strtoull(argv[5], nullptr, 0),
		    static_cast<unsigned>(atoi(argv[6]))};
	return run_all(argc > 7 ? argv[7] : "");
}
