// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Text for people: what a terminal must not get, quantities, tables, addresses and port maps.
#include "address.hh"
#include "text.hh"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

using namespace srnicctl;

namespace {

TEST(Clean, ReplacesWhatIsNotPrintable)
{
	EXPECT_EQ(clean("eth0.5"), "eth0.5");
	EXPECT_EQ(clean("a\033[2Jb\n\x7f"), "a?[2Jb??");
	EXPECT_EQ(clean("\xc3\xa4"), "??");
	EXPECT_EQ(clean(std::string_view("a\0b", 3)), "a?b");
}

TEST(Quantity, HasThreeDigits)
{
	EXPECT_EQ(quantity(0), "0");
	EXPECT_EQ(quantity(999), "999");
	EXPECT_EQ(quantity(999.6), "1.00k");
	EXPECT_EQ(quantity(1000), "1.00k");
	EXPECT_EQ(quantity(9996), "10.0k");
	EXPECT_EQ(quantity(12345), "12.3k");
	EXPECT_EQ(quantity(999499), "999k");
	EXPECT_EQ(quantity(999500), "1.00M");
	EXPECT_EQ(quantity(1.5e9), "1.50G");
	EXPECT_EQ(quantity(18446744073709551615.0), "18.4E");
}

TEST(Counted, KnowsTheSingular)
{
	EXPECT_EQ(counted(0, "QP"), "0 QPs");
	EXPECT_EQ(counted(1, "QP"), "1 QP");
}

TEST(Table, AlignsColumns)
{
	EXPECT_EQ(table({{"A", "NUMBER"}, {"long", "1"}, {"x", ""}}, 1), "A     NUMBER\n"
									 "long       1\n"
									 "x\n");
}

std::span<const char> octets_of(const auto &address, size_t size)
{
	return {reinterpret_cast<const char *>(&address), size};
}

TEST(AddressOf, TakesBothFamilies)
{
	sockaddr_in four{AF_INET, htons(7174), {htonl(0x0a000001)}, {}};
	sockaddr_in6 six{AF_INET6, htons(7174), 0, in6addr_loopback, 0};

	EXPECT_EQ(address_of(octets_of(four, sizeof(four)))->text(), "10.0.0.1:7174");
	EXPECT_EQ(address_of(octets_of(six, sizeof(six)))->text(), "[::1]:7174");
}

TEST(AddressOf, TakesNothingShortOrForeign)
{
	sockaddr_in four{AF_INET, 0, {}, {}};
	sockaddr_in6 six{AF_INET6, 0, 0, {}, 0};
	sockaddr_in foreign{AF_UNIX, 0, {}, {}};

	EXPECT_FALSE(address_of({}));
	EXPECT_FALSE(address_of(octets_of(four, sizeof(four) - 1)));
	EXPECT_FALSE(address_of(octets_of(six, sizeof(four))));
	EXPECT_FALSE(address_of(octets_of(foreign, sizeof(foreign))));
}

TEST(TcpPort, ChangesPlacesByTheMap)
{
	EXPECT_EQ(tcp_port("", 7174), 7174);
	EXPECT_EQ(tcp_port("3260:13260 445:10445", 3260), 13260);
	EXPECT_EQ(tcp_port("3260:13260 445:10445", 445), 10445);
	EXPECT_EQ(tcp_port("3260:13260", 13260), 3260);
	EXPECT_EQ(tcp_port("nonsense", 3260), 3260);
}

} // namespace
