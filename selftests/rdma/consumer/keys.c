// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keys of fast registration, and the ways to invalidate them: LOCAL_INV, Send with Invalidate, Read
 * with Invalidate. Afterwards no byte lands under the old key (RFC 5040 8.1.1, RFC 5042 6.2.2), and
 * using it ends the stream (RFC 5041 7.1, RFC 5040 7.2).
 */
#include <linux/delay.h>

#include "consumer.h"

#define ALL_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

enum { FIRST, SECOND, THIRD, LAST };	/* slots */

static const char *post_rdma(struct end *end, u32 slot, enum ib_wr_opcode opcode, struct ib_sge sge,
			     u64 addr, u32 key)
{
	struct ib_rdma_wr wr = {
		.wr = {.opcode = opcode,
		       .send_flags = IB_SEND_SIGNALED,
		       .sg_list = &sge,
		       .num_sge = 1},
		.remote_addr = addr,
		.rkey = key,
	};

	if (opcode == IB_WR_RDMA_READ_WITH_INV)
		wr.wr.ex.invalidate_rkey = sge.lkey;
	return post_send(end, slot, &wr.wr);
}

/* From the beginning of the client's source to that of the server's target. */
static const char *post_write(struct scene *s, u32 slot, u32 key, u32 len)
{
	return post_rdma(&s->client, slot, IB_WR_RDMA_WRITE, piece(&s->client, &s->source, 0, len),
			 s->target.mr->iova, key);
}

static const char *write_all(struct scene *s, u64 seed)
{
	fill(s->source.at, s->source.len, seed);
	return post_write(s, FIRST, s->target.mr->rkey, s->source.len) ?:
	       await(&s->client.sent[FIRST]) ?:
	       announce(s, SECOND) ?:
	       verify(s->target.at, s->target.len, seed);
}

static const char *register_target(struct scene *s)
{
	return region_register(&s->target, &s->server, FIRST, ALL_RIGHTS);
}

static struct ib_sge all_of(const struct region *region)
{
	return (struct ib_sge){
		.addr = region->mr->iova, .length = region->len, .lkey = region->mr->lkey};
}

/* ---- what a registration grants ---- */

static const char *read_all(struct scene *s, u32 slot, enum ib_wr_opcode opcode)
{
	return post_rdma(&s->client, slot, opcode, all_of(&s->sink), s->target.mr->iova,
			 s->target.mr->rkey) ?:
	       await(&s->client.sent[slot]);
}

static const char *written_and_read(struct scene *s)
{
	return register_target(s) ?:
	       region_register(&s->sink, &s->client, FIRST, IB_ACCESS_LOCAL_WRITE) ?:
	       write_all(s, 1) ?:
	       read_all(s, THIRD, IB_WR_RDMA_READ) ?:
	       verify(s->sink.at, s->sink.len, 1);
}

static const char *no_write_to_readable(struct scene *s)
{
	fill(s->target.at, s->target.len, 1);
	return region_register(&s->target, &s->server, FIRST, IB_ACCESS_REMOTE_READ) ?:
	       post_write(s, FIRST, s->target.mr->rkey, SMALL_OCTETS) ?:
	       refuses(&s->server) ?:
	       verify(s->target.at, s->target.len, 1);
}

/* local_dma_lkey is a local key only. */
static const char *no_write_to_all_memory(struct scene *s)
{
	fill(s->landing.at, s->landing.len, 1);
	return post_rdma(&s->client, FIRST, IB_WR_RDMA_WRITE,
			 piece(&s->client, &s->source, 0, SMALL_OCTETS), s->landing.dma,
			 s->server.pd->local_dma_lkey) ?:
	       refuses(&s->server) ?:
	       verify(s->landing.at, s->landing.len, 1);
}

/* ---- LOCAL_INV ---- */

static const char *write_with_old_key(struct scene *s, u32 key, u64 seed)
{
	fill(s->source.at, s->source.len, ~seed);
	return post_write(s, THIRD, key, SMALL_OCTETS) ?:
	       refuses(&s->server) ?:
	       verify(s->target.at, s->target.len, seed);
}

static const char *read_with_old_key(struct scene *s, u32 key)
{
	return region_register(&s->sink, &s->client, FIRST, IB_ACCESS_LOCAL_WRITE) ?:
	       post_rdma(&s->client, THIRD, IB_WR_RDMA_READ, all_of(&s->sink), s->target.mr->iova,
			 key) ?:
	       refuses(&s->server) ?:
	       (memchr_inv(s->sink.at, 0, s->sink.len) ?
			"a refused Read has brought octets" : NULL);
}

static const char *invalidated_for_writes(struct scene *s)
{
	u32 key = s->target.mr->rkey;

	return register_target(s) ?:
	       write_all(s, 1) ?:
	       region_invalidate(&s->server, FIRST, key) ?:
	       write_with_old_key(s, key, 1);
}

static const char *invalidated_for_reads(struct scene *s)
{
	u32 key = s->target.mr->rkey;

	return register_target(s) ?:
	       write_all(s, 1) ?:
	       region_invalidate(&s->server, FIRST, key) ?:
	       read_with_old_key(s, key);
}

/*
 * So many Writes that some are in flight for a while, each with different data to the same place.
 */
static const char *write_a_lot(struct scene *s)
{
	u32 len = s->source.len / 16, key = s->target.mr->rkey;
	const char *wrong = NULL;

	fill(s->source.at, s->source.len, 1);
	for (u32 i = 0; i < SLOTS && !wrong; i++)
		wrong = post_rdma(&s->client, i, IB_WR_RDMA_WRITE,
				  piece(&s->client, &s->source, i * 4104 % (15 * len), len),
				  s->target.mr->iova + i % 16 * len, key);
	return wrong;
}

static const char *stays(struct scene *s)
{
	memcpy(s->landing.at, s->target.at, s->target.len);
	msleep(20);
	return memcmp(s->landing.at, s->target.at, s->target.len) ? "octets have landed since"
								  : NULL;
}

static const char *nothing_lands_behind_local_inv(struct scene *s)
{
	u32 key = s->target.mr->rkey;

	return register_target(s) ?:
	       write_a_lot(s) ?:
	       region_awaits(&s->target) ?:
	       region_invalidate(&s->server, FIRST, key) ?:
	       stays(s);
}

/* ---- invalidation that comes with a message ---- */

/* A Write, a Send that invalidates its key, and another Write. */
static const char *post_write_invalidate_write(struct scene *s, u32 key)
{
	struct ib_sge all = piece(&s->client, &s->source, 0, s->source.len);
	struct ib_sge small = piece(&s->client, &s->note, 0, s->note.len);
	struct ib_rdma_wr last = {
		.wr = { .opcode = IB_WR_RDMA_WRITE, .wr_cqe = begin(&s->client.sent[LAST], NULL),
			.sg_list = &small, .num_sge = 1 },
		.remote_addr = s->target.mr->iova, .rkey = key,
	};
	struct ib_send_wr inv = {
		.next = &last.wr,
		.opcode = IB_WR_SEND_WITH_INV,
		.wr_cqe = begin(&s->client.sent[THIRD], NULL),
		.sg_list = &small,
		.num_sge = 1,
		.ex.invalidate_rkey = key,
	};
	struct ib_rdma_wr first = {
		.wr = { .next = &inv, .opcode = IB_WR_RDMA_WRITE, .sg_list = &all, .num_sge = 1 },
		.remote_addr = s->target.mr->iova, .rkey = key,
	};

	return post_send(&s->client, FIRST, &first.wr);
}

static const char *says_invalidated(const struct ib_wc *wc, u32 key)
{
	return wc->wc_flags & IB_WC_WITH_INVALIDATE && wc->ex.invalidate_rkey == key ?
	       NULL : "the completion does not show the invalidation";
}

static const char *send_with_inv(struct scene *s)
{
	u32 key = s->target.mr->rkey;

	fill(s->source.at, s->source.len, 2);
	return register_target(s) ?:
	       receive_into(&s->server, FIRST, &s->seen) ?:
	       post_write_invalidate_write(s, key) ?:
	       await(&s->server.received[FIRST]) ?:
	       says_invalidated(&s->server.received[FIRST].wc, key) ?:
	       refuses(&s->server) ?:
	       verify(s->target.at, s->target.len, 2);
}

/*
 * A zero-length solicited Send, to a receive without a buffer.
 */
static const char *empty_send_with_inv(struct scene *s)
{
	u32 key = s->target.mr->rkey;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_INV, .send_flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED,
		.ex.invalidate_rkey = key,
	};

	return register_target(s) ?:
	       write_all(s, 1) ?:
	       post_recv(&s->server, THIRD, NULL, 0) ?:
	       post_send(&s->client, THIRD, &wr) ?:
	       await(&s->server.received[THIRD]) ?:
	       says_invalidated(&s->server.received[THIRD].wc, key) ?:
	       write_with_old_key(s, key, 1);
}

/*
 * The server writes into the client's sink while it may, and once more after a Read has invalidated
 * the key.
 */
static const char *server_writes(struct scene *s, u32 slot, u64 seed)
{
	fill(s->landing.at, s->landing.len, seed);
	return post_rdma(&s->server, slot, IB_WR_RDMA_WRITE,
			 piece(&s->server, &s->landing, 0, s->landing.len), s->sink.mr->iova,
			 s->sink.mr->rkey);
}

static const char *sink_is_written(struct scene *s)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };

	return server_writes(s, SECOND, 5) ?:
	       post_recv(&s->client, FIRST, NULL, 0) ?:
	       post_send(&s->server, THIRD, &wr) ?:
	       await(&s->client.received[FIRST]) ?:
	       verify(s->sink.at, s->sink.len, 5);
}

static const char *read_with_inv(struct scene *s)
{
	fill(s->target.at, s->target.len, 6);
	return register_target(s) ?:
	       region_register(&s->sink, &s->client, FIRST, ALL_RIGHTS) ?:
	       announce(s, SECOND) ?:
	       sink_is_written(s) ?:
	       read_all(s, THIRD, IB_WR_RDMA_READ_WITH_INV) ?:
	       verify(s->sink.at, s->sink.len, 6) ?:
	       server_writes(s, LAST, 7) ?:
	       refuses(&s->client) ?:
	       verify(s->sink.at, s->sink.len, 6);
}

/*
 * A zero-length Read, which touches no memory, and a key that its region does not have (any more):
 * there is nothing to invalidate.
 */
static const char *read_with_false_inv(struct scene *s)
{
	struct ib_sge nothing = { .addr = s->sink.mr->iova, .lkey = s->sink.mr->lkey + 1 };
	u32 key = s->target.mr->rkey;

	return register_target(s) ?:
	       region_register(&s->sink, &s->client, FIRST, ALL_RIGHTS) ?:
	       post_rdma(&s->client, THIRD, IB_WR_RDMA_READ_WITH_INV, nothing, s->target.mr->iova,
			 key) ?:
	       ends_with(&s->client.sent[THIRD], IB_WC_LOC_PROT_ERR) ?:
	       is_ended(&s->server) ?:
	       post_write(s, LAST, key, SMALL_OCTETS) ?:
	       ends_with(&s->client.sent[LAST], IB_WC_WR_FLUSH_ERR);
}

/* ---- the same region again ---- */

static const char *renewed(struct scene *s, u64 seed)
{
	u32 key = s->target.mr->rkey;

	ib_update_fast_reg_key(s->target.mr, key + 1);
	return register_target(s) ?: write_all(s, seed);
}

static const char *renewed_key(struct scene *s)
{
	const char *wrong = register_target(s) ?: write_all(s, 1);
	u32 old = s->target.mr->rkey;

	for (u64 seed = 2; seed < 300 && !wrong; seed++) {
		old = s->target.mr->rkey;
		wrong = region_invalidate(&s->server, FIRST, old) ?: renewed(s, seed);
	}
	return wrong ?: write_with_old_key(s, old, 299);
}

const struct scene_case key_cases[] = {
	{ "written-and-read", written_and_read },
	{ "no-write-to-readable", no_write_to_readable },
	{ "no-write-to-all-memory", no_write_to_all_memory },
	{ "invalidated-for-writes", invalidated_for_writes },
	{ "invalidated-for-reads", invalidated_for_reads },
	{ "nothing-lands-behind-local-inv", nothing_lands_behind_local_inv },
	{ "send-with-inv", send_with_inv },
	{ "empty-send-with-inv", empty_send_with_inv },
	{ "read-with-inv", read_with_inv },
	{ "read-with-false-inv", read_with_false_inv },
	{ "renewed-key", renewed_key },
	{ }
};
