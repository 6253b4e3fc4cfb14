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
 * - A peer that waits for the Ack asks no more until some request has brought it, so each question
 *   would seem to be answered. Now and then an Ack does not wait, which tells.
 */
#include "compat/compat.h"
#include "stream/ack_ride.h"
#include "stream/kick/kick.h"
#include "stream/qp.h"

/* A request takes the Ack along, and leaves the timer to find that out. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct srnic_ride *ride = container_of(timer, struct srnic_ride, timer);
	ktime_t end;

	smp_mb();	/* the timer's own state before these; pairs with begin() */
	if (!READ_ONCE(ride->waits) || !core_acks_asked(ride->acks))
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
	ride->needed = SRNIC_RIDE_STREAK;
}

void srnic_ride_start(struct srnic_ride *ride)
{
	ride->begun = ride->acks->begun;
	ride->waits = false;
	ride->streak = 0;
}

void srnic_ride_stop(struct srnic_ride *ride)
{
	hrtimer_cancel(&ride->timer);
}

static void came_late(struct srnic_ride *ride)
{
	WRITE_ONCE(ride->late, false);
	ride->needed = min(2U * ride->needed, SRNIC_RIDE_STREAK_MAX);
	ride->streak = 0;
	ride->in_time = 0;
}

static void came_in_time(struct srnic_ride *ride)
{
	if (++ride->in_time < SRNIC_RIDE_LATE)
		return;
	ride->in_time = 0;
	ride->needed = max(ride->needed / 2U, SRNIC_RIDE_STREAK);
}

/* Did a request of this end follow the peer's last question? */
static void learn(struct srnic_ride *ride, u32 begun)
{
	bool followed = begun != ride->begun, waited = ride->waits;

	ride->begun = begun;
	WRITE_ONCE(ride->waits, false);
	ride->streak = followed ? min_t(u32, ride->streak + 1, ride->needed) : 0;
	if (READ_ONCE(ride->late))
		came_late(ride);
	else if (followed && waited)
		came_in_time(ride);
}

static bool is_check(struct srnic_ride *ride)
{
	if (++ride->taken < SRNIC_RIDE_CHECK)
		return false;
	ride->taken = 0;
	return true;
}

static bool may_wait(struct srnic_ride *ride)
{
	return ride->allowed && ride->streak >= ride->needed &&
	       !srnic_reads_count(&ride->qp->inbound) &&
	       core_acks_only_asked(ride->acks, SRNIC_RIDE_MOST) && !is_check(ride);
}

static void begin(struct srnic_ride *ride)
{
	WRITE_ONCE(ride->waits, true);
	WRITE_ONCE(ride->end, ktime_add_ns(ktime_get(), ride->patience));
	smp_mb();	/* question, @waits and @end before the timer's state; pairs with look() */
	if (!hrtimer_is_queued(&ride->timer))
		hrtimer_start(&ride->timer, ns_to_ktime(ride->patience), HRTIMER_MODE_REL);
}

bool srnic_ride_takes(struct srnic_ride *ride)
{
	learn(ride, READ_ONCE(ride->acks->begun));
	if (!may_wait(ride))
		return false;
	begin(ride);
	return true;
}
