// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How a stream ends: by FIN between messages, while the other half goes on (RFC 5041 6.2.1, RFC
// 5044 7.2), or by FIN or RST within a message (RFC 5044 8, 1).
#include "case.hh"

namespace hostile {
namespace {

// ---- Inside an FPDU, or a message of several ----

std::vector<Row> cut_rows()
{
	std::vector<Row> rows;
	struct Place {
		const char *name;
		size_t octets;
	};

	for (bool reset : {false, true})
		for (Place place :
		     {Place{"before the first octet", 0}, Place{"inside the length", 1},
		      Place{"inside the header", 9}, Place{"in front of the payload", 20},
		      Place{"inside the payload", 24}, Place{"in front of the CRC", 28},
		      Place{"inside the CRC", 30}})
			rows.push_back({std::string("RFC 5044 8, 1: the connection is lost by ") +
						(reset ? "RST " : "FIN ") + place.name,
					reset || !place.octets ? accepted : lost,
					[place](const Scene &s) {
						return Attack{{send(8).slice(0, place.octets)},
							      the_last,
							      {},
							      {{s["receive0"].to, 64}}};
					},
					{.by_reset = reset, .by_fin = !reset}});
	rows.push_back({"RFC 5041 5.3: a message without end is not delivered",
			lost,
			[](const Scene &s) {
				return Attack{
					{fpdu(Untagged{.ddp = more_untagged, .data = payload(8)})},
					the_last,
					{},
					{{s["receive0"].to, 64}}};
			},
			{.by_fin = true}});
	return rows;
}

// ---- Between messages ----

Row answered(const char *name, u32 reads, u32 length)
{
	return {name, accepted,
		[=](const Scene &s) {
			const Region &both = s["both"];
			Attack attack = {};

			for (u32 i = 0; i < reads; i++) {
				ReadRequest read = {.sink_to = 0x1000 * u64{i},
						    .length = length,
						    .source_stag = both.stag,
						    .source_to = both.end() - length};

				attack.fpdus.push_back(fpdu(Tagged{.stag = both.stag,
								   .to = both.end() - length,
								   .data = payload(length, 7)}));
				attack.fpdus.push_back(fpdu(read_request(read, i + 1)));
				attack.answer =
					attack.answer + fpdu(Tagged{.rdmap = op_read_response,
								    .stag = read.sink_stag,
								    .to = read.sink_to,
								    .data = payload(length, 7)});
			}
			attack.lands = {{both.end() - length, payload(length, 7)}};
			return attack;
		},
		{.by_fin = true}};
}

std::vector<Row> half_closed_rows()
{
	return {
		answered("RFC 5041 6.2.1: what a peer asked before its FIN is answered after it", 1,
			 8),
		answered("RFC 5041 6.2.1: as many reads as the IRD are answered after the peer's "
			 "FIN",
			 4, 32),
		{"RFC 5044 8, 1: after the peer's FIN a read has no response",
		 lost,
		 [](const Scene &s) {
			 return Attack{{send(8)}, the_last, {{s["receive0"].to, payload(8)}}};
		 },
		 {.reads = {64}, .delivered = 1, .by_fin = true}},
	};
}

} // namespace

std::vector<Row> closing_rows()
{
	std::vector<Row> rows = cut_rows();

	for (Row &row : half_closed_rows())
		rows.push_back(std::move(row));
	return rows;
}

} // namespace hostile
