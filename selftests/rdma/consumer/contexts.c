// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The contexts in which kernel consumers poll and post: a number goes back and forth, and each
 * message is posted by the handler of the one before it.
 */
#include "consumer.h"

#define TURNS 300
#define SIGNALED_EVERY 16

struct player {
	struct ib_cqe received, sent;
	struct end *end;
	const struct buffer *buffer;	/* of its one receive */
	bool leads;			/* counts; the other one answers */
	u64 turn;			/* the next to come */
	const char *wrong;
	struct completion over;
};

/* What was posted last is flushed when the case is over. One case runs at a time. */
static struct player leader, answerer;

static void end_game(struct player *p, const char *wrong)
{
	p->wrong = p->wrong ?: wrong;
	complete(&p->over);
}

static const char *offer(struct player *p)
{
	struct ib_sge sge = piece(p->end, p->buffer, 0, p->buffer->len);
	struct ib_recv_wr wr = { .wr_cqe = &p->received, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(p->end->id->qp, &wr, NULL) ? "a receive is refused" : NULL;
}

/* Inline: no buffer must last until the Send completes. */
static const char *send_turn(struct player *p, u64 turn)
{
	struct ib_sge sge = { .addr = (uintptr_t)&turn, .length = sizeof(turn) };
	struct ib_send_wr wr = {
		.wr_cqe = &p->sent,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_INLINE | (turn % SIGNALED_EVERY ? 0 : IB_SEND_SIGNALED),
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_send(p->end->id->qp, &wr, NULL) ? "a Send is refused" : NULL;
}

static void on_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct player *p = container_of(wc->wr_cqe, struct player, sent);

	if (wc->status != IB_WC_SUCCESS)
		end_game(p, ib_wc_status_msg(wc->status));
}

static void on_received(struct ib_cq *cq, struct ib_wc *wc)
{
	struct player *p = container_of(wc->wr_cqe, struct player, received);
	const char *wrong;
	u64 turn;

	if (wc->status != IB_WC_SUCCESS)
		return end_game(p, ib_wc_status_msg(wc->status));
	turn = *(u64 *)p->buffer->at;
	if (turn != p->turn++)
		return end_game(p, "another message than the one that comes next");
	wrong = offer(p);
	if (p->leads)
		turn++;
	if (!wrong && turn != TURNS)
		wrong = send_turn(p, turn);
	if (wrong || p->turn == TURNS)
		end_game(p, wrong);
}

static void prepare(struct player *p, struct end *end, const struct buffer *buffer, bool leads)
{
	*p = (struct player) {
		.received.done = on_received,
		.sent.done = on_sent,
		.end = end,
		.buffer = buffer,
		.leads = leads,
	};
	init_completion(&p->over);
}

/* The first messages are posted with interrupts off. */
static const char *start(struct scene *s)
{
	unsigned long flags;
	const char *wrong;

	prepare(&leader, &s->client, &s->note, true);
	prepare(&answerer, &s->server, &s->seen, false);
	local_irq_save(flags);
	wrong = offer(&leader) ?: offer(&answerer) ?: send_turn(&leader, 0);
	local_irq_restore(flags);
	return wrong;
}

static const char *outcome(struct player *p)
{
	return wait_for_completion_timeout(&p->over, PATIENCE) ? p->wrong :
								 "a handler was not called";
}

static const char *handlers_post(struct scene *s)
{
	return start(s) ?: outcome(&leader) ?: outcome(&answerer);
}

static const char *polled_by_hand(struct scene *s)
{
	unsigned long until = jiffies + PATIENCE;
	const char *wrong = start(s);

	while (!wrong && time_before(jiffies, until) &&
	       !(completion_done(&leader.over) && completion_done(&answerer.over))) {
		ib_process_cq_direct(s->client.cq, -1);
		ib_process_cq_direct(s->server.cq, -1);
		cond_resched();
	}
	return wrong ?: outcome(&leader) ?: outcome(&answerer);
}

const struct scene_case context_cases[] = {
	{ "polled-directly", polled_by_hand, .polled = POLLED_DIRECTLY },
	{ "polled-in-softirq", handlers_post, .polled = POLLED_IN_SOFTIRQ },
	{ "polled-in-workqueue", handlers_post },
	{ "polled-unbound", handlers_post, .polled = POLLED_UNBOUND },
	{ "polled-elsewhere", handlers_post, .polled = POLLED_ELSEWHERE },
	{ }
};
