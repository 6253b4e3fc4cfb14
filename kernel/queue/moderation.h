/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Moderation of a CQ's events: one that is due waits until some more completions have come, or a
 * while has passed.
 */
#ifndef SRNIC_MODERATION_H
#define SRNIC_MODERATION_H

#include <linux/hrtimer.h>
#include <linux/types.h>

struct srnic_cq;

/**
 * struct srnic_moderation - of one CQ, whose lock protects all but @timer
 * @timer: runs while an event waits; calls @expired in an interrupt, without a lock
 * @expired: given by the CQ
 * @cq: the CQ
 * @count: completions since the last event that raise one at once; 0: no event waits
 * @period: how long an event waits
 * @raised: the CQ's producer index when an event was raised last
 * @due: an event waits
 */
struct srnic_moderation {
	struct hrtimer timer;
	void (*expired)(struct srnic_moderation *moderation);
	struct srnic_cq *cq;
	u32 count;
	ktime_t period;
	u32 raised;
	bool due;
};

/* NULL: no memory. */
struct srnic_moderation *srnic_moderation_new(void (*expired)(struct srnic_moderation *moderation),
					      struct srnic_cq *cq);
/* The CQ adds no more completions. NULL will do. */
void srnic_moderation_free(struct srnic_moderation *moderation);
/*
 * An event is due for what is before index prod. True if it has to wait: then @expired will be
 * called. Else the caller raises it. The CQ's lock is held, interrupts are off.
 */
bool srnic_moderation_waits(struct srnic_moderation *moderation, u32 prod);
/* No event waits from now on. True if one did, which the caller raises. The CQ's lock is held. */
bool srnic_moderation_end_wait(struct srnic_moderation *moderation, u32 prod);

#endif
