// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Why a connection ended, in words.
#include "ending.hh"

#include <gtest/gtest.h>

#include <cerrno>

using namespace srnicctl;

namespace {

TEST(Ending, EachReason)
{
	EXPECT_EQ(in_words({"closed"}), "closed at this end");
	EXPECT_EQ(in_words({"peer-closed"}), "closed by the peer");
	EXPECT_EQ(in_words({"aborted"}), "aborted at this end");
	EXPECT_EQ(in_words({"tcp", ECONNRESET}), "TCP: Connection reset by peer");
	EXPECT_EQ(in_words({"tcp"}), "TCP failed");
	EXPECT_EQ(in_words({"error", 0x1202}),
		  "error found here: untagged message: no receive was posted for it (0x1202)");
	EXPECT_EQ(in_words({"error", 0x0000}),
		  "error found here: local catastrophic error (0x0000)");
	EXPECT_EQ(in_words({"terminate", 0x0102}),
		  "Terminate received: remote protection: the STag does not allow this access "
		  "(0x0102)");
	EXPECT_EQ(in_words({"check", 0, "crc"}),
		  "error found here: a segment of the peer failed the check crc");
	EXPECT_EQ(in_words({"check", 0, "local"}), "error found here: local catastrophic error");
}

TEST(Ending, OneOfANewerModule) { EXPECT_EQ(in_words({"bored\n"}), "bored?"); }

// Of local errors the RFCs give no codes.
TEST(Ending, CodesOfTerminates)
{
	EXPECT_EQ(terminate_in_words(0x2002), "an FPDU has a wrong CRC (0x2002)");
	EXPECT_EQ(terminate_in_words(0x0007), "local catastrophic error (0x0007)");
	EXPECT_EQ(terminate_in_words(0x1055), "local catastrophic error (0x1055)");
	EXPECT_EQ(terminate_in_words(0x1301), "unknown error (0x1301)");
}

} // namespace
