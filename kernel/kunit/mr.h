/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For tests of regions: a device with one region, and what its own requests and a peer's do to it.
 */
#ifndef SRNIC_KUNIT_MR_H
#define SRNIC_KUNIT_MR_H

#include "fixture.h"
#include "memory/access.h"

#define LENGTH	(SRNIC_TEST_PAGES * PAGE_SIZE - SRNIC_TEST_OFFSET)
#define WRITES	(CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE)
#define ALL	(CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ)

struct context {
	struct srnic_dev *dev;
	struct ib_pd *pd;
	struct srnic_test_mr *mr;
	u32 id;		/* of the PD */
	u8 *buf;	/* LENGTH bytes */
};

static inline enum core_region_verdict invalidate_by(struct context *c, u32 stag, bool remote,
						     u32 pd, u32 qpn)
{
	const struct core_revoker revoker = {
		.stag = stag, .pd = pd, .qpn = qpn, .peer = remote,
	};

	return srnic_mr_invalidate(c->dev, &revoker);
}

static inline enum core_region_verdict invalidate(struct context *c, u32 stag, bool remote)
{
	return invalidate_by(c, stag, remote, c->id, SRNIC_TEST_QPN);
}

/* ---- what a peer, or the kernel's own request, does to a region ---- */

/* What was held is dropped. */
static inline enum core_region_verdict put_bytes(struct context *c, bool kernel, u32 stag,
						 u32 rights, u64 to, const void *src, u32 len)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester.pd = c->id, .rights = rights, .kernel = kernel,
	};
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict verdict = srnic_region_write(&held, &access, src, len);

	srnic_held_drop(&held);
	return verdict;
}

static inline enum core_region_verdict write_bytes(struct context *c, u32 stag, u64 to, u32 len)
{
	return put_bytes(c, false, stag, CORE_ACCESS_REMOTE_WRITE, to, c->buf, len);
}

static inline enum core_region_verdict read_bytes(struct context *c, u32 stag, u64 to, u32 len)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester.pd = c->id, .rights = CORE_ACCESS_REMOTE_READ,
	};
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict verdict = srnic_region_read(&held, &access, c->buf, len);

	srnic_held_drop(&held);
	return verdict;
}

static inline enum core_region_verdict verify(struct context *c, u32 stag, u64 to, u64 len)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester.pd = c->id, .rights = CORE_ACCESS_REMOTE_WRITE,
	};
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict verdict = srnic_region_verify(&held, &access, len);

	srnic_held_drop(&held);
	return verdict;
}

static inline u8 pattern(u32 i)
{
	return i * 7 + (i >> 8);
}

static inline void fill(struct context *c)
{
	u32 i;

	for (i = 0; i < LENGTH; i++)
		c->buf[i] = pattern(i);
}

static inline int init(struct kunit *test)
{
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->buf = kunit_kzalloc(test, LENGTH, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c->buf);
	c->dev = srnic_test_device(test);
	c->pd = srnic_test_pd(test, c->dev);
	c->id = to_srnic_pd(c->pd)->id;
	c->mr = srnic_test_mr(test, c->pd);
	return 0;
}

#endif
