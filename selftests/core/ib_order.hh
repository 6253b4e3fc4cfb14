// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What breaks the order or the format of requests ends a stream with acknowledgements, whatever the
// end agreed on: rows of ULPDUs, and the Terminate for the last of them.
#pragma once

#include "ib_end.hh"

struct Order {
	const char *name;
	u32 code;
	std::vector<wire::Bytes> ulpdus;
};

class IbOrders : public testing::TestWithParam<Order> {
protected:
	// Nothing of the last ULPDU is done.
	template <class End> void end_the_stream() const
	{
		End end;
		core_rx_event event = CORE_RX_MORE;

		end.receive.host.post_receive(10);
		for (const wire::Bytes &ulpdu : GetParam().ulpdus)
			event = end.comes(ulpdu);
		EXPECT_EQ(event, CORE_RX_ERROR);
		EXPECT_EQ(code(end), GetParam().code);
		EXPECT_EQ(end.receive.host.atomics_done, 0u);
	}
};
