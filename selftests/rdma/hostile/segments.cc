// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All tables of segments, in the order of the layers.
#include "segments.hh"

namespace hostile {

std::vector<Row> segment_rows()
{
	std::vector<Row> rows;

	for (auto table : {framing_rows, first_rows, tagged_rows, untagged_rows, control_rows,
			   read_request_rows, read_response_rows, atomic_request_rows,
			   atomic_response_rows, invalidate_rows, terminate_rows, closing_rows})
		for (Row &row : table())
			rows.push_back(std::move(row));
	return rows;
}

} // namespace hostile
