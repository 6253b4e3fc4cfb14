// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acks that the peer has asked for, and that wait for the program's answer (Documentation/ib.rst
 * rule 14). An Ack of its own costs both ends a packet, and the peer mostly a wake-up, for a
 * completion that its program does not wait for: it waits for the answer.
 *
 * Whether an answer will come is a guess, which is ventured after questions that were all followed
 * by a request of this end:
 *
 * - A guess that was wrong may have cost the peer 1 ms. Each doubles the questions that must have
 *   been answered first, which halve only where so many Acks were saved that it was worth it. So a
 *   program that now and then has no answer soon has no such Acks, however regular it is.
 * - A peer that waits for Acks before it asks anew would seem to be answered each time, by a
 *   request that comes for another reason. So now and then an Ack does not wait. If the next
 *   question then comes without a request of this end, no Ack waits for a while; if it comes by a
 *   quarter sooner, there is a doubt, and after enough of them hardly an Ack waits any more.
 */
#include "compat/compat.h"
#include "stream/ack_ride.h"
#include "stream/kick/kick.h"
#include "stream/qp.h"

static bool is_said(const struct srnic_ride *ride, u32 number)
{
	return (s32)(READ_ONCE(ride->acks->said) - number) >= 0;
}

/* A request takes the Ack along, and leaves the timer to find that out. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct srnic_ride *ride = container_of(timer, struct srnic_ride, timer);
	u32 number;
	ktime_t end;

	smp_mb();	/* the timer's own state before these; pairs with begin() */
	number = smp_load_acquire(&ride->number);	/* before its @end; pairs with begin() */
	if (!READ_ONCE(ride->waits) || is_said(ride, number))
		return HRTIMER_NORESTART;
	end = READ_ONCE(ride->end);
	if (ktime_before(ktime_get(), end)) {	/* it is another Ack */
		hrtimer_start(timer, end, HRTIMER_MODE_ABS);	/* begin() may have, too */
		return HRTIMER_NORESTART;
	}
	WRITE_ONCE(ride->late, true);
	srnic_tx_kick(ride->qp);
	return HRTIMER_NORESTART;
}

void srnic_ride_init(struct srnic_ride *ride, struct srnic_qp *qp, const struct core_acks *acks)
{
	ride->qp = qp;
	ride->acks = acks;
	srnic_compat_hrtimer(&ride->timer, look);
	ride->patience = NSEC_PER_MSEC;
	ride->allowed = qp->user;
}

/* Of another stream nothing is known. */
void srnic_ride_start(struct srnic_ride *ride)
{
	ride->before = ride->acks->begun;
	ride->begun = ride->before;
	ride->waits = false;
	ride->late = false;
	ride->checked = false;
	ride->streak = 0;
	ride->needed = SRNIC_RIDE_STREAK;
	ride->taken = 0;
	ride->in_time = 0;
	ride->doubts = 0;
}

void srnic_ride_stop(struct srnic_ride *ride)
{
	hrtimer_cancel(&ride->timer);
}

static void need(struct srnic_ride *ride, u32 questions)
{
	ride->needed = clamp(questions, SRNIC_RIDE_STREAK, SRNIC_RIDE_STREAK_MAX);
	ride->in_time = 0;
}

static void came_late(struct srnic_ride *ride)
{
	WRITE_ONCE(ride->late, false);
	need(ride, 2U * ride->needed);
	ride->streak = 0;
}

static void came_in_time(struct srnic_ride *ride)
{
	if (++ride->in_time >= SRNIC_RIDE_LATE)
		need(ride, ride->needed / 2U);
}

/* Does the peer ask sooner if the Ack does not wait? */
static void judge(struct srnic_ride *ride, u64 gap)
{
	ride->checked = false;
	if (gap < ride->gap / 4 * 3)
		ride->doubts++;
	else if (ride->doubts)
		ride->doubts--;
	if (ride->doubts < SRNIC_RIDE_DOUBTS)
		return;
	ride->doubts = 0;
	need(ride, SRNIC_RIDE_STREAK_MAX);
	ride->streak = 0;
}

static u64 gap_of(const struct srnic_ride *ride)
{
	return ktime_to_ns(ktime_sub(ktime_get(), ride->asked));
}

/* Has a request of this end followed the peer's last question, and said so if that was its part? */
static bool is_followed(const struct srnic_ride *ride)
{
	return ride->before != ride->begun && (!ride->waits || is_said(ride, ride->number));
}

static void learn(struct srnic_ride *ride)
{
	bool followed = is_followed(ride), waited = ride->waits;

	ride->begun = ride->before;
	WRITE_ONCE(ride->waits, false);
	ride->streak = followed ? min_t(u32, ride->streak + 1, ride->needed) : 0;
	if (waited)
		ride->gap = gap_of(ride);
	if (ride->checked)
		judge(ride, gap_of(ride));
	if (READ_ONCE(ride->late))
		came_late(ride);
	else if (followed && waited)
		came_in_time(ride);
}

static bool is_check(struct srnic_ride *ride)
{
	if (++ride->taken < (ride->doubts ? SRNIC_RIDE_DOUBTED : SRNIC_RIDE_CHECK))
		return false;
	ride->taken = 0;
	ride->checked = true;
	ride->asked = ktime_get();
	return true;
}

/* The program was quicker than this run: its request has taken the Ack along. */
static bool is_answered(const struct srnic_ride *ride)
{
	return core_acks_only_asked(ride->acks, 0);
}

/* A request that was begun during this run, and does not say it, is not the answer. */
static bool may_wait(struct srnic_ride *ride)
{
	return ride->allowed && ride->streak >= ride->needed &&
	       READ_ONCE(ride->acks->begun) == ride->before &&
	       !srnic_reads_count(&ride->qp->inbound) &&
	       core_acks_only_asked(ride->acks, SRNIC_RIDE_MOST) && !is_check(ride);
}

static void begin(struct srnic_ride *ride)
{
	ride->asked = ktime_get();
	WRITE_ONCE(ride->end, ktime_add_ns(ride->asked, ride->patience));
	smp_store_release(&ride->number, ride->acks->asked);	/* behind @end; pairs with look() */
	WRITE_ONCE(ride->waits, true);
	smp_mb();	/* question, @waits and @end before the timer's state; pairs with look() */
	if (!hrtimer_is_queued(&ride->timer))
		hrtimer_start(&ride->timer, ns_to_ktime(ride->patience), HRTIMER_MODE_REL);
}

void srnic_ride_begin_run(struct srnic_ride *ride)
{
	ride->before = READ_ONCE(ride->acks->begun);
}

bool srnic_ride_takes(struct srnic_ride *ride)
{
	learn(ride);
	if (is_answered(ride))
		return true;
	if (!may_wait(ride))
		return false;
	begin(ride);
	return true;
}
