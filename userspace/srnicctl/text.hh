// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Text for people: names without control characters, quantities with units, tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace srnicctl {

// For a terminal: whatever is not printable ASCII becomes a question mark.
std::string clean(std::string_view name);
// Three digits and a decimal prefix: "999", "1.00k", "12.3M".
std::string quantity(double value);
std::string joined(const std::vector<std::string> &parts, std::string_view between);
// "1 QP", "2 QPs".
std::string counted(size_t n, const std::string &what);

// Rows of equally many cells, in columns as wide as their widest cell. All but the first `left`
// columns are aligned to the right.
std::string table(const std::vector<std::vector<std::string>> &rows, size_t left);

} // namespace srnicctl
