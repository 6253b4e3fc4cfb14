// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All that is printed is ASCII (clean()), so octets are columns.
#include "text.hh"

#include <algorithm>
#include <cstdio>

namespace srnicctl {
namespace {

bool printable(char c) { return c >= ' ' && c <= '~'; }

std::string padded(const std::string &cell, size_t width, bool to_the_left)
{
	std::string blanks(width - std::min(width, cell.size()), ' ');

	return to_the_left ? cell + blanks : blanks + cell;
}

void trim(std::string &line) { line.erase(line.find_last_not_of(' ') + 1); }

std::vector<size_t> widths_of(const std::vector<std::vector<std::string>> &rows)
{
	std::vector<size_t> widths;

	for (const auto &row : rows) {
		widths.resize(std::max(widths.size(), row.size()));
		for (size_t i = 0; i < row.size(); i++)
			widths[i] = std::max(widths[i], row[i].size());
	}
	return widths;
}

} // namespace

std::string clean(std::string_view name)
{
	std::string out(name);

	std::replace_if(
		out.begin(), out.end(), [](char c) { return !printable(c); }, '?');
	return out;
}

std::string quantity(double value)
{
	const char *prefix = "kMGTPE";
	char text[32];

	if (value < 999.5) {
		snprintf(text, sizeof(text), "%.0f", value);
		return text;
	}
	for (value /= 1000; value >= 999.5 && prefix[1]; prefix++)
		value /= 1000;
	snprintf(text, sizeof(text), "%.*f%c",
		 value < 9.995	 ? 2
		 : value < 99.95 ? 1
				 : 0,
		 value, *prefix);
	return text;
}

std::string joined(const std::vector<std::string> &parts, std::string_view between)
{
	std::string out;

	for (const std::string &part : parts) {
		if (!out.empty())
			out += between;
		out += part;
	}
	return out;
}

std::string counted(size_t n, const std::string &what)
{
	return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string table(const std::vector<std::vector<std::string>> &rows, size_t left)
{
	std::vector<size_t> widths = widths_of(rows);
	std::string out;

	for (const auto &row : rows) {
		std::string line;

		for (size_t i = 0; i < row.size(); i++)
			line += (i ? "  " : "") + padded(row[i], widths[i], i < left);
		trim(line);
		out += line + "\n";
	}
	return out;
}

} // namespace srnicctl
