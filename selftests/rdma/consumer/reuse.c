// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The buffer of a completed request may be reused (RFC 5040 5.5: a Send or Write completes when it
 * does not need its source any more): the completion handler overwrites the source, and the posted
 * data must still arrive.
 */
#include "consumer.h"

enum { LARGE, SMALL };

/* Unsignaled: the source may be reused when a small Send after it completes. */
static const struct way {
	const char *name;
	enum ib_wr_opcode opcode;
	bool signaled;
} ways[] = {
	{ "write", IB_WR_RDMA_WRITE, true },
	{ "send", IB_WR_SEND, true },
	{ "write-then-send", IB_WR_RDMA_WRITE, false },
	{ "send-then-send", IB_WR_SEND, false },
};

static const struct way *find_way(const char *name)
{
	for (const struct way *way = ways; way < ways + ARRAY_SIZE(ways); way++)
		if (!strcmp(way->name, name))
			return way;
	return NULL;
}

bool reuse_knows(const char *way)
{
	return find_way(way);
}

static const char *give(struct scene *s, const struct way *way)
{
	struct end *end = &s->client;
	struct ib_sge sge = piece(end, &s->source, 0, s->source.len);
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = begin(&end->sent[LARGE], way->signaled ? &s->source : NULL),
			.opcode = way->opcode,
			.send_flags = way->signaled ? IB_SEND_SIGNALED : 0,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = s->target.mr->iova,
		.rkey = s->target.mr->rkey,
	};

	return failed("ib_post_send", ib_post_send(end->id->qp, &wr.wr, NULL)) ?:
	       (way->signaled ? await(&end->sent[LARGE]) : NULL);
}

static const char *give_note(struct scene *s, const struct way *way)
{
	struct end *end = &s->client;
	struct ib_sge sge = piece(end, &s->note, 0, s->note.len);
	struct ib_send_wr wr = {
		.wr_cqe = begin(&end->sent[SMALL], way->signaled ? NULL : &s->source),
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return failed("ib_post_send", ib_post_send(end->id->qp, &wr, NULL)) ?:
	       await(&end->sent[SMALL]);
}

static const char *play(struct scene *s, const struct way *way, u64 seed)
{
	bool is_send = way->opcode == IB_WR_SEND;
	struct end *end = &s->server;

	fill(s->source.at, s->source.len, seed);
	return (is_send ? receive_into(end, LARGE, &s->landing) : NULL) ?:
	       receive_into(end, SMALL, &s->seen) ?:
	       give(s, way) ?:
	       give_note(s, way) ?:
	       (is_send ? await(&end->received[LARGE]) : NULL) ?:
	       await(&end->received[SMALL]) ?:
	       verify(is_send ? s->landing.at : s->target.at, s->settings->octets, seed);
}

static const char *reuse_up(struct scene *s, const struct settings *settings)
{
	return scene_up(s, settings, POLLED_IN_WORKQUEUE) ?:
	       region_register(&s->target, &s->server, LARGE,
			       IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
}

/*
 * A round that breaks the connection (its CRC) counts as damaged, and the next gets a new
 * connection.
 */
const char *reuse(struct scene *s, const struct settings *settings, const char *name)
{
	const struct way *way = find_way(name);
	const char *wrong = reuse_up(s, settings), *broken = wrong;
	unsigned int damaged = 0, round;

	for (round = 1; round <= settings->rounds && !broken; round++) {
		wrong = play(s, way, round);
		if (!wrong)
			continue;
		say("round %u: %s\n", round, wrong);
		damaged++;
		scene_down(s);
		broken = reuse_up(s, settings);
	}
	scene_down(s);
	say("%u rounds, %u damaged\n", round - 1, damaged);
	return broken ?: damaged ? "damage" : NULL;
}
