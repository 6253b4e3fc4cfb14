// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Versions of the ABI: what the provider speaks, and which side it says to upgrade.
#include "queue.h"

#include <string>

#include <gtest/gtest.h>

namespace {

TEST(Abi, TheProviderSpeaksTheVersionsOfTheHeader)
{
	for (uint32_t version = SRNIC_ABI_MIN; version <= SRNIC_ABI_MAX; version++)
		EXPECT_TRUE(srnic_speaks(version));
	EXPECT_FALSE(srnic_speaks(0));
	EXPECT_FALSE(srnic_speaks(SRNIC_ABI_MIN - 1));
	EXPECT_FALSE(srnic_speaks(SRNIC_ABI_MAX + 1));
}

TEST(Abi, TheOlderSideIsToBeUpgraded)
{
	EXPECT_NE(std::string(srnic_abi_advice(SRNIC_ABI_MIN - 1)).find("upgrade the module"),
		  std::string::npos);
	EXPECT_NE(std::string(srnic_abi_advice(SRNIC_ABI_MAX + 1)).find("upgrade the provider"),
		  std::string::npos);
}

} // namespace
