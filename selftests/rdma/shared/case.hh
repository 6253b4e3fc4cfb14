// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A case: one TAP line, the sentence that it proves.
#pragma once
#include <cstdio>
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

// parts: separated by '|'.
inline bool has_one_of(const std::string &parts, const std::string &name)
{
	for (size_t begin = 0, end;; begin = end + 1) {
		end = parts.find('|', begin);
		if (name.find(parts.substr(begin, end - begin)) != std::string::npos)
			return true;
		if (end == std::string::npos)
			return false;
	}
}

// Runs those that have one of these parts in their names. passes: may add to the line.
inline Tally run_cases(const Cases &all, const char *parts,
		       const std::function<bool(const Case &which, std::string &note)> &passes)
{
	Tally tally;

	for (const Case &which : all) {
		std::string note;

		if (!has_one_of(parts, which.name))
			continue;
		const bool ok = passes(which, note);

		tally.failed += !ok;
		printf("%sok %d %s%s\n", ok ? "" : "not ", ++tally.run, which.name, note.c_str());
		fflush(stdout);
	}
	return tally;
}
