// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The JSON writer: structure, line breaks, strings of any octets (RFC 8259).
#include "json.hh"

#include <gtest/gtest.h>

#include <sstream>

using namespace srnicctl;

namespace {

class JsonTest : public ::testing::Test {
protected:
	std::ostringstream out;
	Json json{out, false};

	std::string quoted(std::string_view text)
	{
		json.text({}, text);
		return out.str();
	}
};

TEST_F(JsonTest, EmptyOnes)
{
	json.open_array();
	json.close();
	json.open_object();
	json.close();
	EXPECT_EQ(out.str(), "[]\n{}\n");
}

TEST_F(JsonTest, MembersOfAllKinds)
{
	json.open_array();
	json.open_object();
	json.text("text", "a");
	json.number("most", UINT64_MAX);
	json.real("real", 1.0 / 3);
	json.real("none", 0.0 / 0.0);
	json.flag("yes", true);
	json.open_array("list");
	json.number({}, 1);
	json.number({}, 2);
	json.close();
	json.flag("no", false);
	json.close();
	json.open_object();
	json.close();
	json.close();
	EXPECT_EQ(out.str(), "[{\"text\":\"a\",\"most\":18446744073709551615,\"real\":0.333,"
			     "\"none\":0.000,\"yes\":true,\"list\":[1,2],\"no\":false},{}]\n");
}

TEST_F(JsonTest, LineBreaks)
{
	Json pretty(out, true);

	pretty.open_array();
	pretty.open_object();
	pretty.number("a", 1);
	pretty.open_array("b");
	pretty.close();
	pretty.close();
	pretty.close();
	EXPECT_EQ(out.str(), "[\n    {\n        \"a\": 1,\n        \"b\": []\n    }\n]\n");
}

TEST_F(JsonTest, EscapesWhatRfc8259Demands)
{
	EXPECT_EQ(quoted(std::string_view("\"\\/\n\0\x1f\x7f", 7)),
		  "\"\\\"\\\\/\\u000a\\u0000\\u001f\\u007f\"");
}

TEST_F(JsonTest, EscapesAllThatIsNotAscii)
{
	EXPECT_EQ(quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
		  "\"\\u00e4\\u20ac\\ud83d\\ude00\"");
}

TEST_F(JsonTest, ReplacesWhatIsNotUtf8)
{
	// a tail alone, one cut short, too long a form, a surrogate, beyond the last character
	EXPECT_EQ(quoted("\x80 \xc3 \xc0\xaf"), "\"\\ufffd \\ufffd \\ufffd\\ufffd\"");
	out.str("");
	EXPECT_EQ(quoted("\xed\xa0\x80"), ",\"\\ufffd\\ufffd\\ufffd\"");
	out.str("");
	EXPECT_EQ(quoted("\xf4\x90\x80\x80"), ",\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	out.str("");
	EXPECT_EQ(quoted("\xe0\x80\xaf\xe2\x82"), ",\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

} // namespace
