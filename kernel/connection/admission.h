/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Admission of startups on a listening socket: accepted connections whose Request has not arrived
 * yet. When there are too many, some give way to the next (RFC 5044 7.1.2 rule 10).
 */
#ifndef SRNIC_ADMISSION_H
#define SRNIC_ADMISSION_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct srnic_ep;
struct srnic_listener_member;

/* Module parameters and their defaults. */
#define SRNIC_MAX_STARTUPS		128
#define SRNIC_MAX_STARTUPS_PER_SOURCE	64
extern unsigned int srnic_max_startups, srnic_max_startups_per_source;

/**
 * struct srnic_admission - the startups of one listening socket
 * @lock: protects the others. Innermost, from process context, but for trying to take an ep's lock
 * @startups: struct srnic_ep by admitted.link, oldest first
 * @sources: struct srnic_source, by address
 * @crowds: struct srnic_source, by how many startups they have
 * @num: of @startups
 * @full: another connection waits in TCP's queue
 */
struct srnic_admission {
	spinlock_t lock;
	struct list_head startups;
	struct rb_root sources;
	struct rb_root crowds;
	u32 num;
	bool full;
};

void srnic_admission_init(struct srnic_admission *admission);
/*
 * Makes room for one more, where `least` startups have room in any case. 0, or after how many
 * jiffies to ask again. Process context, without any ep's lock.
 */
unsigned long srnic_admission_make_room(struct srnic_admission *admission, u32 least);
/* Adds the ep, which has its socket and addresses. -ENOMEM. */
int srnic_admission_add(struct srnic_admission *admission, struct srnic_ep *ep);
/* Removes the ep, unless it gave way. True: another connection waits for room. */
bool srnic_admission_remove(struct srnic_admission *admission, struct srnic_ep *ep);
/* Ends the startups of this member. */
void srnic_admission_end(struct srnic_admission *admission,
			 const struct srnic_listener_member *member);

#endif
