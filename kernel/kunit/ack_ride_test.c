// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acks that wait for the program's answer (stream/ack_ride.h; Documentation/ib.rst rule 14): a
 * asks, and b, which is taken for a program's, answers.
 */
#include "owned_ends.h"

#define EVER	(3600 * NSEC_PER_SEC)

/* patience: ns. a is the kernel's, and acknowledges at once. */
static struct ends *connect(struct kunit *test, u64 patience)
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

/* b has decided about the Acks of all that has come: it reports requests before. */
static void end_run(struct ends *e)
{
	struct sock *sk = e->b.owner->sock->sk;

	lock_sock(sk);
	release_sock(sk);
}

static void ask(struct kunit *test, struct ends *e)
{
	post_receive(test, e, &e->b);
	post_send(test, e, &e->a);
	expect(test, &e->b, IB_WC_SUCCESS);
	end_run(e);
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

/* No pass of b's engine is left from before, which would take an Ack along. */
static void settle(struct ends *e)
{
	struct srnic_tx *tx = &e->b.qp->tx;

	kthread_flush_work(&tx->standby.look);
	flush_delayed_work(&tx->work);
	mutex_lock(&tx->mutex);
	mutex_unlock(&tx->mutex);
	hrtimer_cancel(&e->b.qp->acks->late);
}

/* A question whose Ack is to wait, or not; until then nothing has come to a. */
static void ask_and_see(struct kunit *test, struct ends *e, bool waits)
{
	settle(e);
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

/* As if the peer had asked once more, behind a request of this end. */
static bool takes(struct srnic_qp *qp)
{
	struct srnic_ride *ride = &qp->acks->ride;

	srnic_ride_begin_run(ride);
	ride->waits = false;
	ride->begun = ride->before - 1;
	return srnic_ride_takes(ride);
}

/* 12: its response acknowledges. */
static void no_ack_waits_beside_a_read(struct kunit *test)
{
	struct ends *e = connect(test, EVER);
	struct srnic_qp *qp = e->b.qp;
	bool before, beside, after;

	talk(test, e, SRNIC_RIDE_STREAK);
	ask_and_see(test, e, true);
	mutex_lock(&qp->tx.mutex);	/* no pass of the engine meanwhile */
	before = takes(qp);
	qp->inbound.tail++;
	beside = takes(qp);
	qp->inbound.tail--;
	after = takes(qp);
	mutex_unlock(&qp->tx.mutex);
	KUNIT_EXPECT_TRUE(test, before);
	KUNIT_EXPECT_FALSE(test, beside);
	KUNIT_EXPECT_TRUE(test, after);
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

/* ---- the guess alone: the case plays the peer, the program and the clock ---- */

/* next: ns from each question to the next one. waited: the last one's Ack was to wait */
struct play {
	struct srnic_ride ride;
	struct core_acks acks;
	u64 next;
	bool waited;
};

static void end_play(void *play)
{
	srnic_ride_stop(&((struct play *)play)->ride);
}

static struct play *begin_play(struct kunit *test)
{
	struct ends *e = make_owned_ends(test);
	struct play *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	srnic_ride_init(&p->ride, e->b.qp, &p->acks);
	p->ride.allowed = true;
	p->ride.patience = EVER;
	p->next = NSEC_PER_SEC;
	srnic_ride_start(&p->ride);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, end_play, p), 0);
	return p;
}

static void begin_question(struct play *p)
{
	p->ride.asked = ktime_sub_ns(ktime_get(), p->next);
	srnic_ride_begin_run(&p->ride);
	p->acks.asked = ++p->acks.received;
}

static void say(struct play *p)
{
	p->acks.said = p->acks.received;
}

/* Returns whether the Ack waits; if not, the engine says it. */
static bool end_question(struct play *p)
{
	bool taken = srnic_ride_takes(&p->ride);

	p->waited = p->ride.waits;
	if (!taken)
		say(p);
	return p->waited;
}

static bool question(struct play *p)
{
	begin_question(p);
	return end_question(p);
}

static void play_answer(struct play *p)
{
	p->acks.begun++;
	say(p);
}

/* Returns how many Acks have waited. */
static u32 play(struct play *p, u32 times)
{
	u32 waited = 0;

	while (times--) {
		waited += question(p);
		play_answer(p);
	}
	return waited;
}

static void now_and_then_an_ack_does_not_wait(struct kunit *test)
{
	struct play *p = begin_play(test);

	KUNIT_EXPECT_EQ(test, play(p, SRNIC_RIDE_STREAK), 0);
	KUNIT_EXPECT_EQ(test, play(p, 30 * SRNIC_RIDE_CHECK), 30 * (SRNIC_RIDE_CHECK - 1));
}

/* Until its Ack does not wait; then it asks at once, before another request of this end. */
static void a_peer_that_waits_for_acks_is_found_out(struct kunit *test)
{
	struct play *p = begin_play(test);
	u32 times = 0;

	play(p, SRNIC_RIDE_STREAK);
	for (; question(p) && times < SRNIC_RIDE_CHECK; times++)
		play_answer(p);
	KUNIT_EXPECT_EQ(test, times, SRNIC_RIDE_CHECK - 1);
	KUNIT_EXPECT_FALSE(test, question(p));
	KUNIT_EXPECT_EQ(test, play(p, SRNIC_RIDE_STREAK), 0);
}

/* Its program computes between the Ack and the next question, long enough for a request to come. */
static void a_peer_that_acks_delay_is_found_out(struct kunit *test)
{
	struct play *p = begin_play(test);
	u32 asked, waited = 0;

	for (asked = 0; asked < 1000; asked++) {
		p->next = p->waited ? 10 * NSEC_PER_SEC : 7 * NSEC_PER_SEC;
		waited += question(p);
		play_answer(p);
	}
	KUNIT_EXPECT_GE(test, waited, SRNIC_RIDE_CHECK);
	KUNIT_EXPECT_LE(test, waited, SRNIC_RIDE_CHECK + SRNIC_RIDE_DOUBTS * SRNIC_RIDE_DOUBTED);
	KUNIT_EXPECT_EQ(test, p->ride.needed, SRNIC_RIDE_STREAK_MAX);
}

/* As often slower as quicker after an Ack that did not wait. */
static void a_peer_whose_pace_varies_is_not_suspected(struct kunit *test)
{
	struct play *p = begin_play(test);

	for (u32 checks = 0; checks < 100; checks++) {
		while (question(p) || p->ride.streak < p->ride.needed) {
			p->next = 10 * NSEC_PER_SEC;
			play_answer(p);
		}
		p->next = checks & 1 ? 5 * NSEC_PER_SEC : 20 * NSEC_PER_SEC;
		play_answer(p);
	}
	KUNIT_EXPECT_EQ(test, p->ride.needed, SRNIC_RIDE_STREAK);
	KUNIT_EXPECT_LE(test, p->ride.doubts, 1);
}

static void answers_in_time_halve_what_is_needed(struct kunit *test)
{
	struct play *p = begin_play(test);

	p->ride.needed = 2 * SRNIC_RIDE_STREAK;
	play(p, 2 * SRNIC_RIDE_STREAK + SRNIC_RIDE_LATE);
	KUNIT_EXPECT_EQ(test, p->ride.needed, 2 * SRNIC_RIDE_STREAK);
	play(p, 2 * SRNIC_RIDE_CHECK);
	KUNIT_EXPECT_EQ(test, p->ride.needed, SRNIC_RIDE_STREAK);
}

/* On another processor, before the run with the question ends. */
static void a_program_may_be_quicker_than_the_run(struct kunit *test)
{
	struct play *p = begin_play(test);

	for (u32 n = 0; n <= SRNIC_RIDE_STREAK; n++) {
		begin_question(p);
		play_answer(p);
		KUNIT_EXPECT_FALSE(test, end_question(p));
	}
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&p->ride.timer));
	KUNIT_EXPECT_TRUE(test, question(p));
}

/* It was built before the question was delivered: the next one may not come for long. */
static void a_request_that_overtakes_the_ack_is_not_the_answer(struct kunit *test)
{
	struct play *p = begin_play(test);

	play(p, SRNIC_RIDE_STREAK);
	begin_question(p);
	p->acks.begun++;
	KUNIT_EXPECT_FALSE(test, end_question(p));
}

static void a_request_that_leaves_the_ack_behind_is_not_the_answer(struct kunit *test)
{
	struct play *p = begin_play(test);

	play(p, SRNIC_RIDE_STREAK);
	KUNIT_EXPECT_TRUE(test, question(p));
	p->acks.begun++;
	KUNIT_EXPECT_FALSE(test, question(p));
}

/* Of another peer nothing is known. */
static void another_stream_begins_without_a_guess(struct kunit *test)
{
	struct play *p = begin_play(test);

	p->ride.needed = SRNIC_RIDE_STREAK_MAX;
	srnic_ride_start(&p->ride);
	KUNIT_EXPECT_EQ(test, play(p, SRNIC_RIDE_STREAK), 0);
	KUNIT_EXPECT_TRUE(test, question(p));
	srnic_ride_start(&p->ride);
	KUNIT_EXPECT_FALSE(test, question(p));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(an_ack_waits_for_the_answer),
	KUNIT_CASE(an_ack_goes_by_itself_in_time),
	KUNIT_CASE(two_questions_have_an_ack_at_once),
	KUNIT_CASE(where_some_questions_have_no_answer_acks_go_at_once),
	KUNIT_CASE(each_late_answer_doubles_what_is_needed),
	KUNIT_CASE(no_ack_waits_beside_a_read),
	KUNIT_CASE(a_qp_that_fails_says_what_waits),
	KUNIT_CASE(of_a_kernel_no_ack_waits),
	KUNIT_CASE(now_and_then_an_ack_does_not_wait),
	KUNIT_CASE(a_peer_that_waits_for_acks_is_found_out),
	KUNIT_CASE(a_peer_that_acks_delay_is_found_out),
	KUNIT_CASE(a_peer_whose_pace_varies_is_not_suspected),
	KUNIT_CASE(answers_in_time_halve_what_is_needed),
	KUNIT_CASE(a_program_may_be_quicker_than_the_run),
	KUNIT_CASE(a_request_that_overtakes_the_ack_is_not_the_answer),
	KUNIT_CASE(a_request_that_leaves_the_ack_behind_is_not_the_answer),
	KUNIT_CASE(another_stream_begins_without_a_guess),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_ack_ride", .test_cases = cases };

kunit_test_suite(suite);
