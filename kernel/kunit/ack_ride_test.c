// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acks that wait for the program's answer (stream/ack_ride.h; Documentation/ib.rst rule 14): a
 * asks, and b, which is taken for a program's, answers.
 */
#include "owned_ends.h"

#define EVER	U32_MAX

/* patience: ns. a is the kernel's, and acknowledges at once. */
static struct ends *connect(struct kunit *test, u32 patience)
{
	struct ends *e = make_owned_ends(test);

	e->b.qp->acks->ride.allowed = true;
	e->b.qp->acks->ride.patience = patience;
	start(test, &e->a, true);
	start(test, &e->b, false);
	return e;
}

static struct srnic_ride *ride_of(struct ends *e)
{
	return &e->b.qp->acks->ride;
}

static void ask(struct kunit *test, struct ends *e)
{
	post_receive(test, e, &e->b);
	post_send(test, e, &e->a);
	expect(test, &e->b, IB_WC_SUCCESS);
}

/* The Ack of a question comes with the answer, or has come. */
static void answer(struct kunit *test, struct ends *e)
{
	post_receive(test, e, &e->a);
	post_send(test, e, &e->b);
	for (int n = 0; n < 2; n++)
		expect(test, &e->a, IB_WC_SUCCESS);
	expect(test, &e->b, IB_WC_SUCCESS);
}

/* Returns how many Acks have waited. */
static u32 talk(struct kunit *test, struct ends *e, u32 times)
{
	u32 waited = 0;

	for (u32 n = 0; n < times; n++) {
		ask(test, e);
		waited += READ_ONCE(ride_of(e)->waits);
		answer(test, e);
	}
	return waited;
}

/* A question whose Ack is to wait, or not; until then nothing has come to a. */
static void ask_and_see(struct kunit *test, struct ends *e, bool waits)
{
	ask(test, e);
	KUNIT_EXPECT_EQ(test, READ_ONCE(ride_of(e)->waits), waits);
	if (waits)
		fsleep(3000);
	else
		expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
}

/* ---- cases ---- */

static void an_ack_waits_for_the_answer(struct kunit *test)
{
	struct ends *e = connect(test, EVER);

	KUNIT_EXPECT_EQ(test, talk(test, e, SRNIC_RIDE_STREAK), 0);
	ask_and_see(test, e, true);
	answer(test, e);
	ask_and_see(test, e, true);
	answer(test, e);
}

static void an_ack_goes_by_itself_in_time(struct kunit *test)
{
	struct ends *e = connect(test, NSEC_PER_MSEC);

	talk(test, e, SRNIC_RIDE_STREAK);
	ask(test, e);
	expect(test, &e->a, IB_WC_SUCCESS);
	/* the peer did not have to ask again (16) */
	KUNIT_EXPECT_EQ(test, READ_ONCE(e->b.qp->acks->core.probes), 0);
}

/* A second question before the answer to the first. */
static void two_questions_have_an_ack_at_once(struct kunit *test)
{
	struct ends *e = connect(test, EVER);

	talk(test, e, SRNIC_RIDE_STREAK);
	ask_and_see(test, e, true);
	ask(test, e);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(ride_of(e)->waits));
	for (int n = 0; n < 2; n++)
		expect(test, &e->a, IB_WC_SUCCESS);
}

static void where_some_questions_have_no_answer_acks_go_at_once(struct kunit *test)
{
	struct ends *e = connect(test, EVER);

	for (u32 n = 0; n < 3; n++) {
		KUNIT_EXPECT_EQ(test, talk(test, e, SRNIC_RIDE_STREAK - 1), 0);
		ask_and_see(test, e, false);
		ask_and_see(test, e, false);
	}
}

static void now_and_then_an_ack_does_not_wait(struct kunit *test)
{
	struct ends *e = connect(test, EVER);

	talk(test, e, SRNIC_RIDE_STREAK);
	KUNIT_EXPECT_EQ(test, talk(test, e, 3 * SRNIC_RIDE_CHECK), 3 * (SRNIC_RIDE_CHECK - 1));
}

static void each_late_answer_doubles_what_is_needed(struct kunit *test)
{
	struct ends *e = connect(test, NSEC_PER_MSEC);
	struct srnic_ride *ride = ride_of(e);

	for (u32 needed = SRNIC_RIDE_STREAK; needed <= 4 * SRNIC_RIDE_STREAK; needed *= 2) {
		ride->patience = EVER;
		KUNIT_EXPECT_EQ(test, talk(test, e, needed), 0);
		KUNIT_EXPECT_EQ(test, ride->needed, needed);
		ride->patience = NSEC_PER_MSEC;
		ask(test, e);
		expect(test, &e->a, IB_WC_SUCCESS);	/* before the answer */
		ask_and_see(test, e, false);
	}
}

static void answers_in_time_halve_what_is_needed(struct kunit *test)
{
	struct ends *e = connect(test, EVER);
	struct srnic_ride *ride = ride_of(e);

	ride->needed = 2 * SRNIC_RIDE_STREAK;
	talk(test, e, 2 * SRNIC_RIDE_STREAK + SRNIC_RIDE_LATE);
	KUNIT_EXPECT_EQ(test, ride->needed, 2 * SRNIC_RIDE_STREAK);
	talk(test, e, 2 * SRNIC_RIDE_CHECK);
	KUNIT_EXPECT_EQ(test, ride->needed, SRNIC_RIDE_STREAK);
}

/* As if the peer had asked once more, behind a request of this end. */
static bool takes(struct srnic_qp *qp)
{
	qp->acks->ride.begun = qp->acks->core.begun - 1;
	return srnic_ride_takes(&qp->acks->ride);
}

/* 12: its response acknowledges. */
static void no_ack_waits_beside_a_read(struct kunit *test)
{
	struct ends *e = connect(test, EVER);
	struct srnic_qp *qp = e->b.qp;

	talk(test, e, SRNIC_RIDE_STREAK);
	KUNIT_EXPECT_TRUE(test, takes(qp));
	qp->inbound.tail++;	/* the engine does not run meanwhile */
	KUNIT_EXPECT_FALSE(test, takes(qp));
	qp->inbound.tail--;
	KUNIT_EXPECT_TRUE(test, takes(qp));
}

/* 31 */
static void a_qp_that_fails_says_what_waits(struct kunit *test)
{
	struct ends *e = connect(test, EVER);

	talk(test, e, SRNIC_RIDE_STREAK);
	ask_and_see(test, e, true);
	srnic_qp_fail(e->b.qp);
	srnic_qp_stop(e->b.qp, &e->b.owner->base);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&ride_of(e)->timer));
	KUNIT_EXPECT_EQ(test, e->b.owner->rest.len, CORE_ACK_FPDU);
	KUNIT_EXPECT_EQ(test, READ_ONCE(e->b.qp->acks->core.ack.delivered), SRNIC_RIDE_STREAK + 1);
}

static void of_a_kernel_no_ack_waits(struct kunit *test)
{
	struct ends *e = make_owned_ends(test);

	start(test, &e->a, true);
	start(test, &e->b, false);
	KUNIT_EXPECT_EQ(test, talk(test, e, 2 * SRNIC_RIDE_STREAK), 0);
	ask_and_see(test, e, false);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(an_ack_waits_for_the_answer),
	KUNIT_CASE(an_ack_goes_by_itself_in_time),
	KUNIT_CASE(two_questions_have_an_ack_at_once),
	KUNIT_CASE(where_some_questions_have_no_answer_acks_go_at_once),
	KUNIT_CASE(now_and_then_an_ack_does_not_wait),
	KUNIT_CASE(each_late_answer_doubles_what_is_needed),
	KUNIT_CASE(answers_in_time_halve_what_is_needed),
	KUNIT_CASE(no_ack_waits_beside_a_read),
	KUNIT_CASE(a_qp_that_fails_says_what_waits),
	KUNIT_CASE(of_a_kernel_no_ack_waits),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_ack_ride", .test_cases = cases };

kunit_test_suite(suite);
