/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Places for the startups of a listening socket: accepted connections whose Request has not arrived
 * yet. When all places are taken, some give theirs up (RFC 5044 7.1.2 rule 10).
 */
#ifndef SRNIC_PLACES_H
#define SRNIC_PLACES_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct srnic_ep;
struct srnic_listen;

/* Module parameters and their defaults. */
#define SRNIC_MAX_STARTUPS		128
#define SRNIC_MAX_STARTUPS_PER_SOURCE	64
extern unsigned int srnic_max_startups, srnic_max_startups_per_source;

/**
 * struct srnic_places - those of one listening socket
 * @lock: protects the others. Innermost, from process context, but for trying to take an ep's lock
 * @startups: struct srnic_ep by @place, oldest first
 * @sources: struct srnic_source, by address
 * @crowds: the same, by how many startups they have
 * @num: of @startups
 * @full: another connection waits in TCP's queue for a place
 */
struct srnic_places {
	spinlock_t lock;
	struct list_head startups;
	struct rb_root sources;
	struct rb_root crowds;
	u32 num;
	bool full;
};

void srnic_places_init(struct srnic_places *places);
/*
 * Makes room for one more, where `least` startups have a place in any case. 0, or after how many
 * jiffies to ask again. Process context, without any ep's lock.
 */
unsigned long srnic_places_make_room(struct srnic_places *places, u32 least);
/* Gives the ep, which has its socket and addresses, a place. -ENOMEM. */
int srnic_places_take(struct srnic_places *places, struct srnic_ep *ep);
/* The ep leaves its place, unless it gave way. True: a connection waits for one. */
bool srnic_places_leave(struct srnic_places *places, struct srnic_ep *ep);
/* Ends the startups of this listening id. */
void srnic_places_end(struct srnic_places *places, const struct srnic_listen *listen);

#endif
