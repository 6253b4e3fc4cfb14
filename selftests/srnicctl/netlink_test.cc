// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Netlink: attributes are read within their bounds, answers to their end, errors reported.
#include "fake.hh"

#include <gtest/gtest.h>

#include <cerrno>

using namespace srnicctl;
using fake::Answer;

namespace {

class NetlinkTest : public ::testing::Test {
protected:
	fake::Kernel kernel;

	void answer(std::function<void(Answer &)> fill)
	{
		kernel.route[NLMSG_MIN_TYPE] = [=](const nlmsghdr *, Answer &answer) {
			fill(answer);
		};
	}
	std::vector<Message> ask(uint16_t flags = 0)
	{
		Request request(NLMSG_MIN_TYPE, flags);

		return kernel.ask(Bus::route, request);
	}
	int error_of_ask(uint16_t flags = 0)
	{
		try {
			ask(flags);
		} catch (const NetlinkError &error) {
			return error.code;
		}
		return 0;
	}
};

TEST_F(NetlinkTest, ReadsAttributesOfEachType)
{
	answer([](Answer &a) {
		a.message()
			.u8(1, 8)
			.u32(2, 32)
			.u64(3, 64)
			.text(4, "four")
			.open(5)
			.u32(2, 33)
			.close();
	});
	auto messages = ask();
	Attributes all = messages.at(0).attributes();

	EXPECT_EQ(all.u8(1), 8);
	EXPECT_EQ(all.u32(2), 32);
	EXPECT_EQ(all.u64(3), 64);
	EXPECT_EQ(all.text(4), "four");
	EXPECT_EQ(all.nest(5).u32(2), 33);
	EXPECT_FALSE(all.u32(6));
	EXPECT_FALSE(all.nest(6).u32(2));
}

TEST_F(NetlinkTest, AnAttributeThatIsTooShortIsNone)
{
	answer([](Answer &a) { a.message().u8(1, 8).octets(2, "ab", 2).octets(3, "", 0); });
	auto messages = ask();
	Attributes all = messages.at(0).attributes();

	EXPECT_FALSE(all.u32(1));
	EXPECT_FALSE(all.u64(2));
	EXPECT_FALSE(all.text(2)) << "without a NUL";
	EXPECT_FALSE(all.u8(3));
	EXPECT_FALSE(all.text(3));
}

TEST_F(NetlinkTest, NothingIsReadBeyondTheMessage)
{
	answer([](Answer &a) { a.message().u32(1, 1).lie(2, 400); });
	auto messages = ask();
	Attributes all = messages.at(0).attributes();

	EXPECT_EQ(all.u32(1), 1u);
	EXPECT_FALSE(all.text(2));
	EXPECT_FALSE(all.nest(2).u32(1));
}

TEST_F(NetlinkTest, NothingIsReadBeyondTheNest)
{
	answer([](Answer &a) { a.message().open(1).lie(2, 12).close().u32(3, 3); });
	auto messages = ask();
	Attributes all = messages.at(0).attributes();

	EXPECT_FALSE(all.nest(1).u32(2));
	EXPECT_EQ(all.u32(3), 3u);
}

TEST_F(NetlinkTest, AnAttributeShorterThanItsHeaderEndsTheList)
{
	answer([](Answer &a) { a.message().u32(1, 1).lie(2, 3).u32(3, 3); });
	auto messages = ask();
	Attributes all = messages.at(0).attributes();

	EXPECT_EQ(all.u32(1), 1u);
	EXPECT_FALSE(all.u32(3));
}

TEST_F(NetlinkTest, AMessageWithoutItsFamilysHeaderHasNothing)
{
	answer([](Answer &a) { a.message(); });
	auto messages = ask();

	EXPECT_FALSE(messages.at(0).payload<uint64_t>());
	EXPECT_FALSE(messages.at(0).attributes(16).u32(1));
}

TEST_F(NetlinkTest, ADumpHasAllMessages)
{
	answer([](Answer &a) {
		for (uint32_t i = 0; i < 1000; i++)
			a.message(0, NLM_F_MULTI).u32(1, i);
	});
	auto messages = ask(NLM_F_DUMP);

	ASSERT_EQ(messages.size(), 1000u);
	EXPECT_EQ(messages[999].attributes().u32(1), 999u);
}

TEST_F(NetlinkTest, TheKernelsErrorIsThrown)
{
	answer([](Answer &a) { a.fail(EPERM); });
	EXPECT_EQ(error_of_ask(), EPERM);
}

// af_netlink.c netlink_dump(): an error of a dump that has begun is in NLMSG_DONE.
TEST_F(NetlinkTest, ADumpThatBreaksOffIsNotComplete)
{
	answer([](Answer &a) {
		a.message(0, NLM_F_MULTI).u32(1, 5);
		a.message(0, NLM_F_MULTI).u32(1, 6);
		a.fail(EINVAL);
	});
	EXPECT_EQ(error_of_ask(NLM_F_DUMP), EINVAL);
}

TEST_F(NetlinkTest, ADumpThatCannotBeginIsNotEmpty)
{
	answer([](Answer &a) { a.fail(EINVAL); });
	EXPECT_EQ(error_of_ask(NLM_F_DUMP), EINVAL);
	answer([](Answer &a) { a.refuse(EPERM); });
	EXPECT_EQ(error_of_ask(NLM_F_DUMP), EPERM);
}

TEST_F(NetlinkTest, ADumpsEndMayTellNothing)
{
	answer([](Answer &a) {
		a.message(0, NLM_F_MULTI).u32(1, 5);
		a.message(NLMSG_DONE, NLM_F_MULTI);
	});
	EXPECT_EQ(ask(NLM_F_DUMP).size(), 1u);
}

TEST_F(NetlinkTest, AnErrorWithoutItsNumberIsOne)
{
	answer([](Answer &a) { a.message(NLMSG_ERROR); });
	EXPECT_EQ(error_of_ask(), EBADMSG);
}

TEST_F(NetlinkTest, AfterAnErrorTheRestOfTheAnswerIsForgotten)
{
	answer([](Answer &a) { a.fail(EPERM); });
	error_of_ask();
	EXPECT_EQ(kernel.forgotten, 1);
}

TEST_F(NetlinkTest, AnInterruptedDumpIsTriedAgain)
{
	answer([this](Answer &a) {
		a.message(0, NLM_F_MULTI).u32(1, 5);
		if (kernel.asked.size() < 3)
			a.interrupted();
	});
	EXPECT_EQ(ask(NLM_F_DUMP).size(), 1u);
	EXPECT_EQ(kernel.asked.size(), 3u);
}

TEST_F(NetlinkTest, ButNotForEver)
{
	answer([](Answer &a) { a.message(0, NLM_F_MULTI).interrupted(); });
	EXPECT_EQ(error_of_ask(NLM_F_DUMP), EINTR);
	EXPECT_EQ(kernel.asked.size(), 4u);
}

TEST_F(NetlinkTest, AFailureOfTheSocketIsThrown)
{
	kernel.no_socket = EPROTONOSUPPORT;
	EXPECT_EQ(error_of_ask(), EPROTONOSUPPORT);
}

TEST_F(NetlinkTest, ARequestThatDoesNotFitIsNotSent)
{
	Request request(NLMSG_MIN_TYPE, 0);

	EXPECT_THROW(request.text(1, std::string(600, 'x')), NetlinkError);
}

} // namespace
