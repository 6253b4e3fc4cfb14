// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Moderation of a CQ's events: when one waits, and its timer.
 */
#include <linux/slab.h>

#include "compat/compat.h"
#include "queue/moderation.h"

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	struct srnic_moderation *moderation = container_of(timer, struct srnic_moderation, timer);

	moderation->expired(moderation);
	return HRTIMER_NORESTART;
}

struct srnic_moderation *srnic_moderation_new(void (*when_expired)(struct srnic_moderation *),
					      struct srnic_cq *cq)
{
	struct srnic_moderation *moderation = kzalloc(sizeof(*moderation), GFP_KERNEL_ACCOUNT);

	if (!moderation)
		return NULL;
	moderation->expired = when_expired;
	moderation->cq = cq;
	srnic_compat_hrtimer(&moderation->timer, expired);
	return moderation;
}

void srnic_moderation_free(struct srnic_moderation *moderation)
{
	if (!moderation)
		return;
	hrtimer_cancel(&moderation->timer);
	kfree(moderation);
}

bool srnic_moderation_waits(struct srnic_moderation *moderation, u32 prod)
{
	if (prod - moderation->raised >= moderation->count) {
		srnic_moderation_end_wait(moderation, prod);
		return false;
	}
	if (!moderation->due)
		hrtimer_start(&moderation->timer, moderation->period, HRTIMER_MODE_REL);
	moderation->due = true;
	return true;
}

/* A timer that is not needed any more runs, and finds nothing due. */
bool srnic_moderation_end_wait(struct srnic_moderation *moderation, u32 prod)
{
	bool was_due = moderation->due;

	moderation->due = false;
	moderation->raised = prod;
	return was_due;
}
