// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A case: one TAP line, the sentence that it proves.
#pragma once
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

struct Case {
	const char *name;
	std::function<void()> run;
};
using Cases = std::vector<Case>;

// Thrown by a case that cannot run here, or was not selected.
struct Skip : std::runtime_error {
	using runtime_error::runtime_error;
};

inline Cases all_of(std::initializer_list<Cases> lists)
{
	Cases all;

	for (const Cases &some : lists)
		all.insert(all.end(), some.begin(), some.end());
	return all;
}

struct Tally {
	int run = 0, failed = 0;
};

// Runs those that have this part in their names. passes: may add to the line.
inline Tally run_cases(const Cases &all, const char *part,
		       const std::function<bool(const Case &which, std::string &note)> &passes)
{
	Tally tally;

	for (const Case &which : all) {
		std::string note;

		if (!strstr(which.name, part))
			continue;
		const bool ok = passes(which, note);

		tally.failed += !ok;
		printf("%sok %d %s%s\n", ok ? "" : "not ", ++tally.run, which.name, note.c_str());
		fflush(stdout);
	}
	return tally;
}
