// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Writes that are in flight when trouble comes. Each step is a case, so that a script can do
 * anything between two of them. A source is overwritten as soon as its request has completed,
 * however it did: nothing that is there then may arrive (Documentation/ib.rst rule 117).
 */
#include <linux/delay.h>

#include "consumer.h"

#define WRITES 8
#define SPOILED_WORD 0xbdbdbdbdbdbdbdbdULL
#define QUIET (HZ / 2)		/* this long nothing has arrived: nothing more will */
#define LATE (3 * HZ)		/* this long something may take to arrive, if anything does */

enum { BEFORE = 1, POSTED };	/* seeds */

static struct settings settings_of_held;
static struct scene *held;
static struct buffer parts[WRITES];	/* of its source */

static struct buffer part_of(const struct buffer *whole, u32 n)
{
	size_t len = whole->len / WRITES;

	return (struct buffer) { .dev = whole->dev, .at = whole->at + n * len, .len = len,
				 .dma = whole->dma + n * len };
}

/* To the same place of the target as it has in the source. */
static const char *post_write(struct scene *s, u32 slot, struct buffer *from)
{
	const struct ib_mr *to = s->target.mr;	/* NULL: a stranger's, which has none */
	struct end *end = &s->client;
	struct ib_sge sge = piece(end, from, 0, from->len);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = begin(&end->sent[slot], from),
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = (to ? to->iova : 0) + (from->at - s->source.at),
		.rkey = to ? to->rkey : 0,
	};

	return failed("ib_post_send", ib_post_send(end->id->qp, &wr.wr, NULL));
}

static const char *write_all(struct scene *s, u64 seed)
{
	fill(s->source.at, s->source.len, seed);
	return post_write(s, 0, &s->source) ?: await(&s->client.sent[0]);
}

/* Completions are handled at once, not when the engine has gone on. */
static const char *held_up(struct scene *s, const struct settings *settings)
{
	return scene_up(s, settings, POLLED_IN_SOFTIRQ) ?:
	       region_register(&s->target, &s->server, 0,
			       IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
}

static const char *nothing_spoiled(const struct scene *s)
{
	const u64 *words = (const u64 *)s->target.at;

	for (size_t i = 0; i < s->target.len / sizeof(u64); i++)
		if (words[i] == SPOILED_WORD) {
			say("at %zu\n", i * sizeof(u64));
			return "octets have arrived that are younger than the end of their request";
		}
	return NULL;
}

/* ---- the steps ---- */

static void let_go(void)
{
	if (held)
		scene_down(held);
	kvfree(held);
	held = NULL;
}

/* The Writes before have TCP take more at once. */
static const char *warm_up(struct scene *s)
{
	const char *wrong = NULL;

	for (u32 n = 0; n < s->settings->rounds && !wrong; n++)
		wrong = write_all(s, BEFORE);
	return wrong;
}

static const char *joint_up(struct scene *s, const struct settings *settings)
{
	return held_up(s, settings) ?: warm_up(s);
}

static const char *hold(const struct settings *settings, u8 retries,
			const char *(*up)(struct scene *s, const struct settings *settings))
{
	const char *wrong;

	let_go();
	settings_of_held = *settings;
	settings_of_held.retries = retries;
	held = kvzalloc(sizeof(*held), GFP_KERNEL);
	if (!held)
		return "no memory for a scene";
	wrong = up(held, &settings_of_held);
	if (wrong)
		let_go();
	return wrong;
}

static const char *hold_patiently(const struct settings *settings)
{
	return hold(settings, 7, joint_up);
}

static const char *hold_impatiently(const struct settings *settings)
{
	return hold(settings, 0, joint_up);
}

static const char *meet_patiently(const struct settings *settings)
{
	return hold(settings, 7, stranger_up);
}

static const char *meet_impatiently(const struct settings *settings)
{
	return hold(settings, 0, stranger_up);
}

static const char *post(const struct settings *settings)
{
	const char *wrong = NULL;

	fill(held->source.at, held->source.len, POSTED);
	for (u32 n = 0; n < WRITES && !wrong; n++) {
		parts[n] = part_of(&held->source, n);
		wrong = post_write(held, n, &parts[n]);
	}
	return wrong;
}

static const char *none_is_complete(void)
{
	for (u32 n = 0; n < WRITES; n++)
		if (completion_done(&held->client.sent[n].done))
			return "a Write has completed already";
	return NULL;
}

/* All have failed, and so all sources are overwritten. */
static const char *all_fail(const struct settings *settings)
{
	for (u32 n = 0; n < WRITES; n++) {
		struct request *sent = &held->client.sent[n];

		if (!wait_for_completion_timeout(&sent->done, PATIENCE))
			return "a completion has not come";
		say("%u: %s\n", n, ib_wc_status_msg(sent->wc.status));
		if (sent->wc.status == IB_WC_SUCCESS)
			return "a request has succeeded that cannot";
	}
	return NULL;
}

static const char *drain(const struct settings *settings)
{
	const char *wrong = none_is_complete();

	ib_drain_qp(held->client.id->qp);
	return wrong ?: all_fail(settings);
}

static const char *disconnect(const struct settings *settings)
{
	return none_is_complete() ?:
	       failed("rdma_disconnect", rdma_disconnect(held->client.id)) ?:
	       drain(settings);
}

/* The peer's QP is no more, but its memory still is. */
static const char *peer_leaves(const struct settings *settings)
{
	ib_drain_qp(held->server.id->qp);
	rdma_destroy_qp(held->server.id);
	return none_is_complete();
}

/* Waits until no more of what was posted arrives, and says how much did. */
static const char *arrival(const struct settings *settings)
{
	unsigned long began = jiffies, since = began;
	size_t last = 0;

	while (time_before(jiffies, last ? since + QUIET : began + LATE)) {
		size_t now = filled(held->target.at, held->target.len, POSTED);

		if (now != last)
			since = jiffies;
		last = now;
		msleep(20);
	}
	say("%zu octets arrived\n", last);
	return nothing_spoiled(held);
}

static const char *release(const struct settings *settings)
{
	let_go();
	return NULL;
}

/* ---- Writes one after the other, in spite of trouble ---- */

/* Returns what is wrong. *broken: the connection does not work any more, which may be. */
static const char *flow_once(struct scene *s, u64 seed, bool *broken)
{
	*broken = write_all(s, seed) || announce(s, 1);
	if (!*broken)
		return verify(s->target.at, s->target.len, seed);
	ib_drain_qp(s->client.id->qp);
	if (!completion_done(&s->client.sent[0].done))
		return "a drained Write has not completed";
	ib_drain_qp(s->server.id->qp);
	return nothing_spoiled(s);
}

/* The owner must leave its device then, and so close the connection. */
static bool device_goes(struct scene *s)
{
	return (READ_ONCE(s->client.cm_events) | READ_ONCE(s->server.cm_events)) &
	       BIT(RDMA_CM_EVENT_DEVICE_REMOVAL);
}

/* For so many tenths of a second. A connection that breaks is replaced. */
static const char *flow(struct scene *s, const struct settings *settings)
{
	const unsigned long until = jiffies + settings->rounds * HZ / 10;
	u32 writes = 0, connections = 0, refused = 0;
	const char *wrong = NULL;

	while (time_before(jiffies, until) && !wrong) {
		bool broken = held_up(s, settings);

		connections += !broken;
		refused += broken;
		while (!broken && !device_goes(s) && time_before(jiffies, until) && !wrong) {
			wrong = flow_once(s, writes + 1, &broken);
			writes += !broken;
		}
		scene_down(s);
		msleep(20);
	}
	say("%u Writes, %u connections, and %u that were none\n", writes, connections, refused);
	return wrong;
}

static const char *flow_alone(const struct settings *settings)
{
	struct scene *s = kvmalloc(sizeof(*s), GFP_KERNEL);
	const char *wrong = s ? flow(s, settings) : "no memory for a scene";

	kvfree(s);
	return wrong;
}

/* ---- their names ---- */

static const struct step {
	const char *name;
	const char *(*play)(const struct settings *settings);
	bool of_held;
} steps[] = {
	{ "hold", hold_patiently },
	{ "hold-impatiently", hold_impatiently },
	{ "meet", meet_patiently },
	{ "meet-impatiently", meet_impatiently },
	{ "post", post, true },
	{ "drain", drain, true },
	{ "disconnect", disconnect, true },
	{ "peer-leaves", peer_leaves, true },
	{ "all-fail", all_fail, true },
	{ "arrival", arrival, true },
	{ "release", release },
	{ "flow", flow_alone },
};

static const struct step *find_step(const char *name)
{
	for (const struct step *step = steps; step < steps + ARRAY_SIZE(steps); step++)
		if (!strcmp(step->name, name))
			return step;
	return NULL;
}

bool held_knows(const char *name)
{
	return find_step(name);
}

const char *held_step(const struct settings *settings, const char *name)
{
	const struct step *step = find_step(name);

	return step->of_held && !held ? "nothing is held" : step->play(settings);
}

void held_free(void)
{
	let_go();
}
