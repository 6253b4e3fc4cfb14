// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Admission of startups on a listening socket. Which one gives way when there are too many is the
 * core's decision (core/connection.cc); here is what it has to know, found in bounded time whatever
 * the limits are: sources are sorted by how many startups each has.
 */
#include <linux/in6.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "connection/address.h"
#include "connection/admission.h"
#include "connection/ep.h"

/*
 * How long a startup may be idle before it gives way to another: enough for an honest peer that is
 * far away or loses a segment.
 */
#define IDLE_GRACE	(HZ / 2)

/*
 * How many startups to look at for an idle one. The startups before it have unread bytes: their
 * works soon make room.
 */
#define LOOKS		64

unsigned int srnic_max_startups = SRNIC_MAX_STARTUPS;
module_param_named(max_startups, srnic_max_startups, uint, 0644);
MODULE_PARM_DESC(max_startups, "Most connections of a port whose Request has not arrived yet");

unsigned int srnic_max_startups_per_source = SRNIC_MAX_STARTUPS_PER_SOURCE;
module_param_named(max_startups_per_source, srnic_max_startups_per_source, uint, 0644);
MODULE_PARM_DESC(max_startups_per_source, "Of these, most from one address when the port is full");

/*
 * struct srnic_source - an address that connections come from
 * @addr: IPv4 as a mapped address
 * @by_addr: in admission->sources
 * @by_num: in admission->crowds
 * @startups: struct srnic_ep by admitted.beside, oldest first; at least one
 * @num: of them
 */
struct srnic_source {
	struct in6_addr addr;
	struct rb_node by_addr, by_num;
	struct list_head startups;
	u32 num;
};

/* ---- sources; admission->lock held ---- */

static struct srnic_source *alloc_source(const struct sockaddr_storage *from)
{
	struct srnic_source *source = kzalloc(sizeof(*source), GFP_KERNEL);

	if (!source)
		return NULL;
	INIT_LIST_HEAD(&source->startups);
	source->addr = srnic_mapped_address(from);
	return source;
}

static int by_addr(struct rb_node *a, const struct rb_node *b)
{
	return ipv6_addr_cmp(&rb_entry(a, struct srnic_source, by_addr)->addr,
			     &rb_entry(b, struct srnic_source, by_addr)->addr);
}

static bool by_num(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct srnic_source, by_num)->num <
	       rb_entry(b, struct srnic_source, by_num)->num;
}

/* Frees a source whose last startup this was. */
static void recount(struct srnic_admission *admission, struct srnic_source *source, int change)
{
	if (source->num)
		rb_erase(&source->by_num, &admission->crowds);
	source->num += change;
	if (source->num) {
		rb_add(&source->by_num, &admission->crowds, by_num);
		return;
	}
	rb_erase(&source->by_addr, &admission->sources);
	kfree(source);
}

static struct srnic_source *busiest(const struct srnic_admission *admission)
{
	struct rb_node *last = rb_last(&admission->crowds);

	return last ? rb_entry(last, struct srnic_source, by_num) : NULL;
}

/* ---- idle startups; admission->lock held ---- */

/*
 * Does the peer owe the next byte? Not if bytes wait to be read, and not while the ep's work runs,
 * which may just have read them.
 */
static bool is_idle(struct srnic_ep *ep)
{
	bool idle;

	if (!mutex_trylock(&ep->lock))
		return false;
	idle = !srnic_sock_unread(ep->sock);
	mutex_unlock(&ep->lock);
	return idle;
}

static struct srnic_ep *oldest_idle(struct srnic_admission *admission)
{
	struct srnic_ep *ep;
	int looks = LOOKS;

	list_for_each_entry(ep, &admission->startups, admitted.link) {
		if (is_idle(ep))
			return ep;
		if (!--looks)
			break;
	}
	return NULL;
}

static struct srnic_ep *oldest_idle_of(struct srnic_source *source)
{
	struct srnic_ep *ep;
	int looks = LOOKS;

	list_for_each_entry(ep, &source->startups, admitted.beside) {
		if (is_idle(ep))
			return ep;
		if (!--looks)
			break;
	}
	return NULL;
}

/* ---- admission ---- */

static void vacate(struct srnic_admission *admission, struct srnic_ep *ep)
{
	lockdep_assert_held(&admission->lock);
	list_del(&ep->admitted.link);
	list_del(&ep->admitted.beside);
	admission->num--;
	recount(admission, ep->admitted.source, -1);
	ep->admitted.source = NULL;
}

static void give_way(struct srnic_admission *admission, struct srnic_ep *ep)
{
	vacate(admission, ep);
	WRITE_ONCE(ep->gave_way, true);
	srnic_ep_over(ep, CORE_CONN_ABORT);
}

void srnic_admission_init(struct srnic_admission *admission)
{
	spin_lock_init(&admission->lock);
	INIT_LIST_HEAD(&admission->startups);
	admission->sources = RB_ROOT;
	admission->crowds = RB_ROOT;
}

/* There are too many startups. Returns as srnic_admission_make_room(). */
static u64 make_one_give_way(struct srnic_admission *admission, u32 limit)
{
	struct srnic_source *crowd = busiest(admission);
	struct core_startups startups = {
		.num = admission->num,
		.limit = limit,
		.busiest = crowd ? crowd->num : 0,
		.each = max(READ_ONCE(srnic_max_startups_per_source), 1U),
		.grace = IDLE_GRACE,
	};
	struct srnic_ep *of_crowd = NULL, *oldest = oldest_idle(admission);
	u64 wait;

	if (startups.busiest > startups.each)
		of_crowd = oldest_idle_of(crowd);
	startups.source_idles = of_crowd;
	startups.idles = oldest;
	if (oldest)
		startups.age = get_jiffies_64() - oldest->admitted.since;
	switch (core_admit(&startups, &wait)) {
	case CORE_ADMIT_FOR_SOURCE:
		give_way(admission, of_crowd);
		break;
	case CORE_ADMIT_FOR_OLDEST:
		give_way(admission, oldest);
		break;
	case CORE_ADMIT:
	case CORE_ADMIT_LATER:
		break;
	}
	return wait;
}

unsigned long srnic_admission_make_room(struct srnic_admission *admission, u32 least)
{
	u32 limit = max(READ_ONCE(srnic_max_startups), least);
	unsigned long wait = 0;

	spin_lock(&admission->lock);
	if (admission->num >= limit)
		wait = make_one_give_way(admission, limit);
	admission->full = wait;
	spin_unlock(&admission->lock);
	return wait;
}

int srnic_admission_add(struct srnic_admission *admission, struct srnic_ep *ep)
{
	struct srnic_source *fresh = alloc_source(&ep->startup->there), *source = fresh;
	struct rb_node *known;

	if (!fresh)
		return -ENOMEM;
	ep->admitted.since = get_jiffies_64();
	spin_lock(&admission->lock);
	known = rb_find_add(&fresh->by_addr, &admission->sources, by_addr);
	if (known)
		source = rb_entry(known, struct srnic_source, by_addr);
	ep->admitted.source = source;
	list_add_tail(&ep->admitted.link, &admission->startups);
	list_add_tail(&ep->admitted.beside, &source->startups);
	admission->num++;
	recount(admission, source, 1);
	spin_unlock(&admission->lock);
	if (known)
		kfree(fresh);
	return 0;
}

bool srnic_admission_remove(struct srnic_admission *admission, struct srnic_ep *ep)
{
	bool full;

	spin_lock(&admission->lock);
	if (ep->admitted.source)
		vacate(admission, ep);
	full = admission->full;
	spin_unlock(&admission->lock);
	return full;
}

void srnic_admission_end(struct srnic_admission *admission,
			 const struct srnic_listener_member *member)
{
	struct srnic_ep *ep;

	spin_lock(&admission->lock);
	list_for_each_entry(ep, &admission->startups, admitted.link)
		if (ep->member == member)
			srnic_ep_over(ep, CORE_CONN_ABORT);
	spin_unlock(&admission->lock);
}
