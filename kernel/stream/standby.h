/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Engines that stand by.
 */
#ifndef SRNIC_STANDBY_H
#define SRNIC_STANDBY_H

#include <linux/hrtimer.h>
#include <linux/kthread.h>

#include "srnic.h"

struct srnic_qp;

/* The most doorbells in a row after which an engine does not stand by though it is asked to. */
#define SRNIC_DISTRUST_MAX	1023U

/**
 * struct srnic_standby - of a transmit engine; protected by tx.mutex but for @late
 * @look: has the device's thread run the engine, before long
 * @timer: the same if that takes too long
 * @since: when it began to stand by last; @timer reads it without the mutex
 * @stood: it stands by since the last run, which was of a doorbell
 * @late: requests have waited for @timer, which sets it
 * @distrust: doorbells without standing by after the last time that happened
 * @distrusted: those that are left
 */
struct srnic_standby {
	struct kthread_work look;
	struct hrtimer timer;
	ktime_t since;
	bool stood;
	bool late;
	u32 distrust, distrusted;
};

/* The device's thread. 0 or -errno; may sleep. */
int srnic_standby_dev_init(struct srnic_dev *dev);
/* No QP is left. May sleep. */
void srnic_standby_dev_exit(struct srnic_dev *dev);

void srnic_standby_init(struct srnic_qp *qp);
/*
 * Is the engine to stand by now? Only after a doorbell, so that a user who lies makes it look just
 * once more. tx.mutex held.
 */
bool srnic_standby_wanted(struct srnic_qp *qp);
/*
 * Has the engine run before long if the queue's state is SRNIC_SQ_STANDBY then. tx.mutex held.
 */
void srnic_standby_begin(struct srnic_qp *qp);
/* Nobody rings any more. May sleep. */
void srnic_standby_exit(struct srnic_qp *qp);

#endif
