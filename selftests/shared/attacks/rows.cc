// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rows.hh"

namespace attacks {

std::vector<Row> all_rows()
{
	std::vector<Row> rows;

	for (auto table :
	     {framing_rows, first_rows, tagged_rows, untagged_rows, control_rows, read_request_rows,
	      read_response_rows, atomic_request_rows, atomic_response_rows, terminate_rows})
		for (Row &row : table())
			rows.push_back(std::move(row));
	return rows;
}

} // namespace attacks
