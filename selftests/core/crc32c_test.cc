// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32C and the FPDU's CRC field (RFC 5044 4.4, which uses iSCSI's: RFC 3720 12.1 and B.4).
#include <atomic>
#include <functional>
#include <thread>

#include "../shared/wire.hh"
#include "api/core.h"

using wire::Bytes;

namespace {

using Way = u32 (*)(u32 crc, const void *data, u64 len);

std::vector<Way> ways()
{
	std::vector<Way> all = {core_crc32c_table};

#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		all.push_back(core_crc32c_sse42);
#endif
	return all;
}

class Crc32c : public testing::TestWithParam<Way> {
protected:
	static u32 crc_of(const Bytes &data)
	{
		return ~GetParam()(CORE_CRC_SEED, data.data(), data.size());
	}
};

INSTANTIATE_TEST_SUITE_P(Each, Crc32c, testing::ValuesIn(ways()));

} // namespace

static Bytes counting(int from, int step)
{
	Bytes out(32);

	for (int i = 0; i < 32; i++)
		out[i] = static_cast<u8>(from + step * i);
	return out;
}

TEST_P(Crc32c, CheckValue)
{
	EXPECT_EQ(crc_of({'1', '2', '3', '4', '5', '6', '7', '8', '9'}), 0xe3069283);
}

// RFC 3720 B.4, there shown as the octets of the digest: aa 36 91 8a for 32 zeros.
TEST_P(Crc32c, VectorsOfIscsi)
{
	EXPECT_EQ(crc_of(Bytes(32, 0)), 0x8a9136aa);
	EXPECT_EQ(crc_of(Bytes(32, 0xff)), 0x62a8ab43);
	EXPECT_EQ(crc_of(counting(0, 1)), 0x46dd794e);
	EXPECT_EQ(crc_of(counting(31, -1)), 0x113fdb5c);
	EXPECT_EQ(crc_of(wire::hex(
			  "01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018"
			  "28000000 00000000 02000000 00000000")),
		  0xd9963a56);
}

TEST_P(Crc32c, NothingChangesNothing) { EXPECT_EQ(GetParam()(0x12345678, nullptr, 0), 0x12345678); }

// Among them those at which the instruction goes from three lanes to shorter ones, or to one.
TEST_P(Crc32c, AgreesBitByBitForLongOnes)
{
	for (size_t len : {383, 384, 385, 767, 768, 1391, 1392, 1393, 1448, 2784, 4079, 4080, 4081,
			   4096, 5472, 4080 + 384, 4080 + 1393, 64768}) {
		const Bytes data = wire::payload(len);

		EXPECT_EQ(crc_of(data), wire::crc32c(data)) << len;
	}
}

TEST_P(Crc32c, AgreesBitByBitForEveryLengthAndAlignment)
{
	for (size_t offset = 0; offset < 8; offset++) {
		for (size_t len = 0; len < 70; len++) {
			Bytes data = wire::payload(offset + len),
			      part(data.begin() + offset, data.end());
			u32 crc = ~GetParam()(CORE_CRC_SEED, data.data() + offset, len);

			EXPECT_EQ(crc, wire::crc32c(part)) << offset << " " << len;
		}
	}
}

TEST_P(Crc32c, RunsOnAcrossPieces)
{
	Bytes data = wire::payload(4000);

	for (size_t split = 0; split <= data.size(); split += 7) {
		u32 crc = GetParam()(CORE_CRC_SEED, data.data(), split);

		crc = GetParam()(crc, data.data() + split, data.size() - split);
		EXPECT_EQ(~crc, wire::crc32c(data)) << split;
	}
}

#ifdef __x86_64__
namespace {

bool folds()
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

using Copy = u32 (*)(u32 crc, void *to, const void *from, u64 len);

u32 copy_into_own(u32 crc, void *to, const void *from, u64 len)
{
	return core_crc32c_copy_folded(crc, to, from, len, true);
}

u32 copy_from_own(u32 crc, void *to, const void *from, u64 len)
{
	return core_crc32c_copy_folded(crc, to, from, len, false);
}

// What is copied is what was summed, and nothing beside it is written. Among the lengths are those
// at which folding goes from a page to less, or to none.
void copies_what_it_sums(Copy copy)
{
	for (u32 offset = 0; offset < 8; offset++) {
		for (u32 len :
		     {0,    1,	  7,	8,    9,    100,  383,	384,  385,  1343, 1344, 1345,
		      1391, 1392, 1393, 4079, 4080, 4081, 4095, 4096, 4097, 6500, 65536}) {
			const Bytes from = wire::payload(offset + len);
			Bytes to(offset + len + 8, 0xee), expected = to;
			u32 crc;

			std::copy(from.begin() + offset, from.end(), expected.begin() + 3);
			crc = copy(CORE_CRC_SEED, to.data() + 3, from.data() + offset, len);
			EXPECT_EQ(crc, core_crc32c_table(CORE_CRC_SEED, from.data() + offset, len));
			EXPECT_EQ(to, expected) << offset << " " << len;
		}
	}
}

} // namespace

TEST(Crc32cCopy, CopiesWhatItSums)
{
	if (!__builtin_cpu_supports("sse4.2"))
		GTEST_SKIP() << "the processor lacks SSE 4.2";
	copies_what_it_sums(core_crc32c_copy_sse42);
}

TEST(Crc32cCopy, CopiesWhatItFolds)
{
	if (!folds())
		GTEST_SKIP() << "the processor lacks VPCLMULQDQ";
	copies_what_it_sums(copy_into_own);
	copies_what_it_sums(copy_from_own);
}

namespace {

// Runs `copies` again and again while somebody else changes these octets.
void while_they_change(Bytes &octets, const std::function<void()> &copies)
{
	std::atomic<bool> over = false;
	std::thread other([&] {
		volatile u8 *at = octets.data();

		for (size_t n = 0; !over; n = (n + 61) % octets.size())
			at[n] = static_cast<u8>(at[n] + 1);
	});

	for (int n = 0; n < 5000; n++)
		copies();
	over = true;
	other.join();
}

} // namespace

// A program may change its region while it is copied from, or to.
TEST(Crc32cCopy, SumsWhatNobodyElseChanges)
{
	if (!folds())
		GTEST_SKIP() << "the processor lacks VPCLMULQDQ";
	Bytes shared = wire::payload(4096), own = shared;
	u32 wrong = 0;

	while_they_change(shared, [&] {
		const u32 crc = copy_into_own(CORE_CRC_SEED, own.data(), shared.data(), own.size());

		wrong += crc != core_crc32c_table(CORE_CRC_SEED, own.data(), own.size());
	});
	while_they_change(shared, [&] {
		const u32 crc = copy_from_own(CORE_CRC_SEED, shared.data(), own.data(), own.size());

		wrong += crc != core_crc32c_table(CORE_CRC_SEED, own.data(), own.size());
	});
	EXPECT_EQ(wrong, 0);
}
#endif

static Bytes field_for(const Bytes &covered)
{
	Bytes out(4);

	core_crc_field(core_crc32c_table(CORE_CRC_SEED, covered.data(), covered.size()),
		       out.data());
	return out;
}

// RFC 5044 figure 5: marker, length, DDP header and 24 zeros; its CRC field is 52 23 99 83.
TEST(FpduCrc, FigureFive)
{
	EXPECT_EQ(field_for(wire::hex("00000000 002a 4143 00000000 00000000 00000001 00000000") +
			    Bytes(24)),
		  wire::hex("52239983"));
}

// RFC 5044 figure 6: the second FPDU, with a marker between header and payload; 84 92 58 98.
TEST(FpduCrc, FigureSix)
{
	EXPECT_EQ(field_for(wire::hex("002a 4143 00000000 00000000 00000002 00000000 00000014") +
			    Bytes(24)),
		  wire::hex("84925898"));
}

// The field's octet order is that of an iSCSI digest (RFC 3720 B.4).
TEST(FpduCrc, LeastSignificantOctetFirst)
{
	EXPECT_EQ(field_for(Bytes(32, 0)), wire::hex("aa36918a"));
}
