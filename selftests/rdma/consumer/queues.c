// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting in chains, gathering and scattering, and ib_drain_qp.
 */
#include "consumer.h"

/* ---- chains: ib_post_send posts what is before a bad request, and nothing after it ---- */

#define CHAIN 5
#define BAD 2

/* Sends of 1, 2, 3... bytes, unsignaled. */
static void make_chain(struct scene *s, struct ib_send_wr *wr, struct ib_sge *sge, u32 num)
{
	for (u32 i = 0; i < num; i++) {
		sge[i] = piece(&s->client, &s->note, 0, i + 1);
		wr[i] = (struct ib_send_wr) {
			.next = i + 1 < num ? &wr[i + 1] : NULL,
			.wr_cqe = begin(&s->client.sent[i], NULL),
			.opcode = IB_WR_SEND,
			.sg_list = &sge[i],
			.num_sge = 1,
		};
	}
}

static const char *arrives(struct end *end, u32 slot, u32 len)
{
	const char *wrong = await(&end->received[slot]);

	if (wrong || end->received[slot].wc.byte_len == len)
		return wrong;
	say("receive %u has %u octets, not %u\n", slot, end->received[slot].wc.byte_len, len);
	return "another message than the one that comes next";
}

static const char *bad_in_the_middle(struct scene *s)
{
	struct ib_send_wr wr[CHAIN], last = {.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED};
	struct ib_sge sge[CHAIN];
	const struct ib_send_wr *bad = NULL;
	const char *wrong = NULL;

	for (u32 i = 0; i <= CHAIN && !wrong; i++)
		wrong = receive_into(&s->server, i, &s->seen);
	make_chain(s, wr, sge, CHAIN);
	wr[BAD].num_sge = s->client.cap.max_send_sge + 1;
	if (!ib_post_send(s->client.id->qp, wr, &bad) || bad != &wr[BAD])
		return "the bad one is not named";
	wrong = wrong ?:
		arrives(&s->server, 0, 1) ?:
		arrives(&s->server, 1, 2) ?:
		post_send(&s->client, CHAIN, &last) ?:
		await(&s->client.sent[CHAIN]) ?:
		arrives(&s->server, BAD, 0);
	if (!wrong && completion_done(&s->client.sent[0].done))
		return "an unsignaled request has completed";
	return wrong;
}

/*
 * More than fits, in one call: what fits is posted, and the rest can be posted when that is
 * complete.
 */
static const char *more_than_fits(struct scene *s)
{
	u32 many = 3 * s->client.cap.max_send_wr, accepted;
	struct ib_rdma_wr *wr = kvcalloc(many, sizeof(*wr), GFP_KERNEL);
	struct ib_sge sge = piece(&s->client, &s->source, 0, s->source.len / 4);
	struct ib_cqe *cqe = begin(&s->client.sent[0], NULL);
	const struct ib_send_wr *bad = NULL;
	const char *wrong = region_register(&s->target, &s->server, 0,
					    IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	int err;

	if (!wr)
		return "no memory";
	for (u32 i = 0; i < many; i++)
		wr[i] = (struct ib_rdma_wr){
			.wr = {.next = i + 1 < many ? &wr[i + 1].wr : NULL,
			       .wr_cqe = cqe,
			       .opcode = IB_WR_RDMA_WRITE,
			       .send_flags = IB_SEND_SIGNALED,
			       .sg_list = &sge,
			       .num_sge = 1},
			.remote_addr = s->target.mr->iova,
			.rkey = s->target.mr->rkey,
		};
	err = ib_post_send(s->client.id->qp, &wr->wr, &bad);
	accepted = bad ? container_of(bad, struct ib_rdma_wr, wr) - wr : 0;
	if (err != -ENOMEM || accepted < s->client.cap.max_send_wr || accepted >= many)
		wrong = "the request that does not fit is not named";
	for (u32 i = 0; i < accepted && !wrong; i++)
		wrong = await(&s->client.sent[0]);
	kvfree(wr);
	return wrong ?: announce(s, 1);
}

/* ---- gather and scatter ---- */

/* Of odd lengths at odd places, one of them empty; returns the sum. */
static u32 gather_list(struct scene *s, struct ib_sge *sge, u32 num)
{
	u32 room = s->source.len / num, sum = 0;

	for (u32 i = 0; i < num; i++) {
		sge[i] =
			piece(&s->client, &s->source, i * room + i % 7, i == 3 ? 0 : room - 13 * i);
		sum += sge[i].length;
	}
	return sum;
}

/*
 * The list's data is in the landing buffer, in order, with a gap after the first.
 */
static const char *gathered(const struct scene *s, const struct ib_sge *sge, u32 num, u32 gap)
{
	const u8 *at = s->landing.at;
	u32 passed = 0;

	for (u32 i = 0; i < num; i++)
		for (u32 j = 0; j < sge[i].length; j++, passed++)
			if (at[passed + (passed ? gap : 0)] !=
			    s->source.at[sge[i].addr - s->source.dma + j])
				return "other octets than were posted";
	return NULL;
}

#define GAP 5
#define MANY 16

static const char *many_pieces(struct scene *s)
{
	u32 num = min(MANY, s->client.cap.max_send_sge), len;
	struct ib_sge from[MANY], to[2] = {
		piece(&s->server, &s->landing, 0, 1),
		piece(&s->server, &s->landing, 1 + GAP, s->landing.len - 1 - GAP),
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = from,
		.num_sge = num,
	};

	fill(s->source.at, s->source.len, 9);
	len = gather_list(s, from, num);
	return post_recv(&s->server, 0, to, ARRAY_SIZE(to)) ?:
	       post_send(&s->client, 0, &wr) ?:
	       await(&s->client.sent[0]) ?:
	       arrives(&s->server, 0, len) ?:
	       gathered(s, from, num, GAP) ?:
	       (memchr_inv(s->landing.at + 1, 0, GAP) ?
			"octets between the pieces have changed" : NULL);
}

/* A buffer of inline data may be reused when the call returns. */
static const char *inline_octets(struct scene *s)
{
	u64 octets[SMALL_OCTETS / sizeof(u64)];
	struct ib_sge sge = { .addr = (uintptr_t)octets, .length = sizeof(octets) };
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};
	const char *wrong;

	fill(octets, sizeof(octets), 3);
	wrong = receive_into(&s->server, 0, &s->seen) ?: post_send(&s->client, 0, &wr);
	memset(octets, 0xbd, sizeof(octets));
	OPTIMIZER_HIDE_VAR(sge.addr);
	return wrong ?:
	       arrives(&s->server, 0, sizeof(octets)) ?:
	       verify(s->seen.at, sizeof(octets), 3);
}

/* ---- ib_drain_qp ---- */

/* All have completed, successfully or flushed, and none successfully after a flushed one. */
static const char *all_completed(struct request *requests, u32 num)
{
	bool flushed = false;

	for (u32 i = 0; i < num; i++) {
		enum ib_wc_status status = requests[i].wc.status;

		if (!completion_done(&requests[i].done))
			return "a request has no completion";
		if (status != IB_WC_WR_FLUSH_ERR && (status != IB_WC_SUCCESS || flushed))
			return ib_wc_status_msg(status);
		flushed = status == IB_WC_WR_FLUSH_ERR;
	}
	return NULL;
}

/*
 * More Writes than TCP takes, and receives for which nothing arrives: all of these are flushed. On
 * one host without TCP the Writes may be complete before the drain begins, if the test's thread was
 * away.
 */
static const char *drained(struct scene *s)
{
	struct ib_sge sge = piece(&s->client, &s->source, 0, s->source.len);
	const char *wrong = region_register(&s->target, &s->server, 0,
					    IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	struct ib_rdma_wr wr = {
		.wr = {.opcode = IB_WR_RDMA_WRITE,
		       .send_flags = IB_SEND_SIGNALED,
		       .sg_list = &sge,
		       .num_sge = 1},
		.remote_addr = s->target.mr->iova,
		.rkey = s->target.mr->rkey,
	};

	fill(s->source.at, s->source.len, 1);
	for (u32 i = 0; i < SLOTS && !wrong; i++)
		wrong = receive_into(&s->client, i, &s->note) ?: post_send(&s->client, i, &wr.wr);
	wrong = wrong ?: region_awaits(&s->target);
	if (wrong)
		return wrong;
	ib_drain_qp(s->client.id->qp);
	return all_completed(s->client.received, SLOTS) ?:
	       ends_with(&s->client.received[0], IB_WC_WR_FLUSH_ERR) ?:
	       all_completed(s->client.sent, SLOTS) ?:
	       post_send(&s->client, 0, &wr.wr) ?:
	       ends_with(&s->client.sent[0], IB_WC_WR_FLUSH_ERR) ?:
	       receive_into(&s->client, 0, &s->note) ?:
	       ends_with(&s->client.received[0], IB_WC_WR_FLUSH_ERR);
}

const struct scene_case queue_cases[] = {
	{ "bad-in-the-middle", bad_in_the_middle },
	{ "more-than-fits", more_than_fits },
	{ "many-pieces", many_pieces },
	{ "inline-octets", inline_octets },
	{ "drained", drained },
	{ }
};
