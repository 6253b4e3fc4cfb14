// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The STag that a Send invalidates (RFC 5040 5.3, 7.2): only the module knows which it may.
#include "case.hh"

namespace hostile {
namespace {

Build invalidates(const char *name, u8 rdmap)
{
	return [=](const Scene &s) {
		Untagged segment = {.rdmap = rdmap, .inv_stag = s[name].stag, .data = payload(4)};

		return Attack{{fpdu(segment)}, the_last, {}, {{s["receive0"].to, 64}}};
	};
}

} // namespace

std::vector<Row> invalidate_rows()
{
	More refused = {.refused = 1};

	return {
		{"RFC 5040 7.2, 4: the Invalidate STag is valid: never given out", invalidation(0),
		 [](const Scene &s) {
			 Untagged segment = {
				 .rdmap = op_send_inv, .inv_stag = nobody, .data = payload(4)};

			 return Attack{{fpdu(segment)}, the_last, {}, {{s["receive0"].to, 64}}};
		 },
		 refused},
		{"RFC 5040 7.2, 4: the Invalidate STag is valid: given back", invalidation(0),
		 invalidates("stale", op_send_inv), refused},
		{"RFC 5040 5.3: the Invalidate STag is associated with the stream", invalidation(9),
		 invalidates("foreign", op_send_inv), refused},
		{"RFC 5040 figure 9: the STag can be invalidated: a program's own region",
		 invalidation(9), invalidates("both", op_send_inv), refused},
		{"RFC 5040 figure 9: the STag can be invalidated: likewise with a Solicited Event",
		 invalidation(9), invalidates("both", op_send_se_inv), refused},
		{"RFC 5040 figure 9: the STag can be invalidated: a region of nobody's remote",
		 invalidation(9), invalidates("private", op_send_inv), refused},
		{"RFC 5040 5.5: a RDMA Write behind a refused invalidation does not land",
		 invalidation(9),
		 [](const Scene &s) {
			 Untagged segment = {.rdmap = op_send_inv,
					     .inv_stag = s["both"].stag,
					     .data = payload(4)};

			 return Attack{{fpdu(segment), to_both(s, 0xc1)},
				       0,
				       {},
				       {{s["receive0"].to, 64}}};
		 },
		 refused},
	};
}

} // namespace hostile
