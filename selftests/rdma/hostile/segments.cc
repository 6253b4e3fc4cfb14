// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All tables of FPDUs: those that the unit tests of the core have too, and the hostile peer's own.
#include "case.hh"

namespace hostile {

std::vector<Row> invalidate_rows(); // invalidations.cc
std::vector<Row> closing_rows();    // closing.cc

std::vector<Row> segment_rows()
{
	std::vector<Row> rows = all_rows();

	for (auto table : {invalidate_rows, closing_rows})
		for (Row &row : table())
			rows.push_back(std::move(row));
	return rows;
}

} // namespace hostile
