/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Building blocks of the cases: two connected ends, both kinds of memory, requests and their
 * completions. Functions return NULL or an error message, so steps are chained with ?: and end at
 * the first failure. Whatever was not set up is zero, and can be freed.
 */
#ifndef SRNIC_CONSUMER_H
#define SRNIC_CONSUMER_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define PATIENCE (30 * HZ)
#define SLOTS 100		/* requests that an end can have in flight, in either direction */
#define SMALL_OCTETS 64

/* Memory in one piece, used with local_dma_lkey. */
struct buffer {
	struct ib_device *dev;
	u8 *at;
	size_t len;
	u64 dma;
};

/* Memory made of single pages, which begins somewhere in the first, for fast registration. */
struct region {
	u8 *pages;
	u8 *at;
	size_t len;
	struct ib_mr *mr;
	struct sg_table sgt;
	bool mapped;
};

struct request {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
	struct buffer *spoils;	/* overwritten by the handler of the completion, or NULL */
};

struct end {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp_cap cap;
	wait_queue_head_t changed;
	unsigned long cm_events;	/* bits: enum rdma_cm_event_type */
	unsigned long qp_events;	/* bits: enum ib_event_type */
	struct request sent[SLOTS], received[SLOTS];
};

/* Where the ends are, and how many rounds and bytes. */
struct settings {
	struct net *net, *peer_net;
	struct sockaddr_storage from, to;
	unsigned int rounds;
	u32 octets;
	u8 retries;	/* of a request that is not acknowledged; of type srnic_ib */
};

/* Where completions are handled. */
enum polled {
	POLLED_IN_WORKQUEUE,
	POLLED_DIRECTLY,	/* the case calls ib_process_cq_direct() */
	POLLED_IN_SOFTIRQ,
	POLLED_UNBOUND,		/* by workers that move */
	POLLED_ELSEWHERE,	/* in softirq, on the processor of the last completion vector */
};

struct scene {
	const struct settings *settings;
	struct rdma_cm_id *listening;
	struct end client, server;
	struct buffer source, note;	/* the client's; note and seen are small */
	struct buffer landing, seen;	/* the server's */
	struct region sink;		/* the client's */
	struct region target;		/* the server's */
};

struct scene_case {
	const char *name;
	const char *(*play)(struct scene *s);
	enum polled polled;
};

/* main.c: the report that is read from the device, and errors in it. */
__printf(1, 2) void say(const char *format, ...);
const char *failed(const char *what, int err);

/* memory.c */
const char *buffer_make(struct buffer *buffer, struct ib_device *dev, size_t len);
void buffer_free(struct buffer *buffer);
struct ib_sge piece(const struct end *end, const struct buffer *buffer, u32 offset, u32 len);
const char *region_make(struct region *region, struct ib_pd *pd, size_t len);
void region_free(struct region *region);
/* Maps the region and registers it under mr->rkey with these rights. */
const char *region_register(struct region *region, struct end *end, u32 slot, int access);
const char *region_invalidate(struct end *end, u32 slot, u32 key);
/* Returns some time after data has begun to land in it. */
const char *region_awaits(const struct region *region);
/* Fills whole words with distinct values that depend on the seed. */
void fill(void *at, size_t len, u64 seed);
const char *verify(const void *at, size_t len, u64 seed);
/* How many octets are in words that fill() has left there. */
size_t filled(const void *at, size_t len, u64 seed);

/* ends.c */
const char *scene_up(struct scene *s, const struct settings *settings, enum polled polled);
/* Only a client, whose QP is in INIT, with a source. */
const char *lone_end(struct scene *s, const struct settings *settings);
void scene_down(struct scene *s);
/* A request is posted with the cqe that this returns; its completion is then awaited by slot. */
struct ib_cqe *begin(struct request *request, struct buffer *spoils);
const char *await(struct request *request);
const char *ends_with(struct request *request, enum ib_wc_status status);
const char *post_recv(struct end *end, u32 slot, struct ib_sge *list, int num);
const char *post_send(struct end *end, u32 slot, struct ib_send_wr *wr);
const char *receive_into(struct end *end, u32 slot, const struct buffer *buffer);
/*
 * A small Send, complete at both ends: what was sent before it has been delivered (RFC 5040 5.5).
 */
const char *announce(struct scene *s, u32 slot);
/* The end's QP gets the event for an access violation by its peer. */
const char *refuses(struct end *end);
/* The end's QP gets the event for a Terminate from its peer; or the peer has reset. */
const char *is_ended(struct end *end);

/* stranger.c: a client whose peer is a program that speaks TCP; says the number of its QP. */
const char *stranger_up(struct scene *s, const struct settings *settings);

/* The cases. */
const char *reuse(struct scene *s, const struct settings *settings, const char *way);
bool reuse_knows(const char *way);
/* held.c: steps of a scene that lives on between them */
bool held_knows(const char *name);
const char *held_step(const struct settings *settings, const char *name);
void held_free(void);
extern const struct scene_case key_cases[], queue_cases[], context_cases[];

#endif
