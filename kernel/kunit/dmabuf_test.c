// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions of a dma-buf: which buffers there can be one of, what it grants, and that the exporter
 * gets back what was taken.
 */
#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/mm.h>

#include "memory/dmabuf.h"
#include "memory/registration.h"
#include "memory/user_mr.h"
#include "mr.h"

#define BYTES	(4 * PAGE_SIZE)

/* An exporter of its own memory, which counts what is asked of it. */
struct exporter {
	struct context c;
	struct dma_buf *dmabuf;
	u8 *memory;
	bool iomem;		/* says that it is a device's */
	int begin_error;
	int mapped, accessed;	/* now */
	bool released;
};

static int vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct exporter *e = dmabuf->priv;

	e->mapped++;
	if (e->iomem)
		iosys_map_set_vaddr_iomem(map, (void __iomem *)e->memory);
	else
		iosys_map_set_vaddr(map, e->memory);
	return 0;
}

static void vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct exporter *e = dmabuf->priv;

	e->mapped--;
}

static int begin(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct exporter *e = dmabuf->priv;

	e->accessed += !e->begin_error;
	return e->begin_error;
}

static int end(struct dma_buf *dmabuf, enum dma_data_direction direction)
{
	struct exporter *e = dmabuf->priv;

	e->accessed--;
	return 0;
}

static void release(struct dma_buf *dmabuf)
{
	struct exporter *e = dmabuf->priv;

	WRITE_ONCE(e->released, true);
}

static struct sg_table *map_for_device(struct dma_buf_attachment *at, enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void unmap_for_device(struct dma_buf_attachment *at, struct sg_table *table,
			     enum dma_data_direction dir)
{
}

static const struct dma_buf_ops ops = {
	.map_dma_buf = map_for_device,
	.unmap_dma_buf = unmap_for_device,
	.begin_cpu_access = begin,
	.end_cpu_access = end,
	.release = release,
	.vmap = vmap,
	.vunmap = vunmap,
};

static const struct dma_buf_ops ops_without_mapping = {
	.map_dma_buf = map_for_device,
	.unmap_dma_buf = unmap_for_device,
	.release = release,
};

/* Of two pages more than the buffer, one at each side. */
static void free_memory(void *memory)
{
	kvfree(memory);
}

static void put(void *dmabuf)
{
	dma_buf_put(dmabuf);
}

/* The last reference to a file goes a little later. */
static void await_release(void *priv)
{
	struct exporter *e = priv;

	WARN_ON(!srnic_test_eventually(READ_ONCE(e->released)));
}

static void export(struct kunit *test, const struct dma_buf_ops *how, int flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct exporter *e = test->priv;

	info.ops = how;
	info.size = BYTES;
	info.flags = flags;
	info.priv = e;
	e->dmabuf = dma_buf_export(&info);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->dmabuf);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, await_release, e), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put, e->dmabuf), 0);
}

static int init_exporter(struct kunit *test)
{
	struct exporter *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	u8 *memory = kvzalloc(BYTES + 2 * PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_memory, memory), 0);
	init(test);
	e->c = *(struct context *)test->priv;
	e->memory = memory + PAGE_SIZE;
	test->priv = e;
	return 0;
}

static struct ib_mr *region(struct exporter *e, u64 offset, u64 length, u64 iova, int access)
{
	return srnic_dmabuf_region(e->c.pd, e->dmabuf, offset, length, iova, access);
}

static void expect_nothing_taken(struct kunit *test)
{
	struct exporter *e = test->priv;

	KUNIT_EXPECT_EQ(test, e->mapped, 0);
	KUNIT_EXPECT_EQ(test, e->accessed, 0);
	KUNIT_EXPECT_EQ(test, file_count(e->dmabuf->file), 1);
}

static void a_part_of_the_buffer_is_a_region(struct kunit *test)
{
	enum { FROM = 4096 + 100, LEN = 2 * 4096 + 17 };
	const u64 iova = 0x7f0000000000ULL + offset_in_page(FROM);
	struct exporter *e = test->priv;
	struct ib_mr *mr;
	u32 i, bad = 0;

	export(test, &ops, O_RDWR);
	mr = region(e, FROM, LEN, iova, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, e->accessed, 1);
	fill(&e->c);
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, iova - 1, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, iova + LEN, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, iova, LEN), CORE_REGION_OK);
	for (i = 0; i < BYTES; i++)
		bad += e->memory[i] != (i - FROM < LEN ? pattern(i - FROM) : 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
	memset(e->c.buf, 0, LENGTH);
	KUNIT_EXPECT_EQ(test, read_bytes(&e->c, mr->rkey, iova, LEN), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, memcmp(e->c.buf, e->memory + FROM, LEN), 0);
	srnic_mr_free(to_srnic_mr(mr));
	expect_nothing_taken(test);
}

static void bytes_that_the_buffer_has_not_are_refused(struct kunit *test)
{
	static const struct {
		u64 offset, length, iova;
	} rows[] = {
		{ 0, BYTES + 1, 0 },
		{ 1, BYTES, 1 },
		{ BYTES, 1, 0 },
		{ U64_MAX, 1, 0 },
		{ U64_MAX, 2, 0 },
		{ 4096, U64_MAX - 4095, 0 },
		{ 0, U64_MAX, 0 },
		{ 0, 4096, U64_MAX - 4094 },
	};
	struct exporter *e = test->priv;
	u32 i;

	export(test, &ops, O_RDWR);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ(test,
				PTR_ERR(region(e, rows[i].offset, rows[i].length, rows[i].iova,
					       ALL)),
				-EINVAL);
	expect_nothing_taken(test);
}

static void a_region_of_no_bytes_grants_none(struct kunit *test)
{
	struct exporter *e = test->priv;
	struct ib_mr *mr;

	export(test, &ops, O_RDWR);
	mr = region(e, BYTES, 0, 0, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, 0, 1), CORE_REGION_BOUNDS);
	srnic_mr_free(to_srnic_mr(mr));
	expect_nothing_taken(test);
}

/* A process that may only read the buffer does not write to it by way of a region. */
static void a_buffer_opened_for_reading_is_not_written(struct kunit *test)
{
	struct exporter *e = test->priv;
	struct ib_mr *mr;

	export(test, &ops, O_RDONLY);
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, IB_ACCESS_LOCAL_WRITE)), -EACCES);
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, ALL)), -EACCES);
	expect_nothing_taken(test);
	mr = region(e, 0, BYTES, 0, IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, 0, 1), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, read_bytes(&e->c, mr->rkey, 0, BYTES), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test,
			srnic_dmabuf_may_rereg(to_srnic_mr(mr), IB_MR_REREG_ACCESS, ALL),
			-EACCES);
	srnic_mr_free(to_srnic_mr(mr));
	expect_nothing_taken(test);
}

static void memory_that_only_a_device_reaches_is_refused(struct kunit *test)
{
	struct exporter *e = test->priv;

	export(test, &ops, O_RDWR);
	e->iomem = true;
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, ALL)), -EOPNOTSUPP);
	expect_nothing_taken(test);
}

static void an_exporter_that_maps_nothing_is_refused(struct kunit *test)
{
	struct exporter *e = test->priv;

	export(test, &ops_without_mapping, O_RDWR);
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, ALL)), -EOPNOTSUPP);
	expect_nothing_taken(test);
}

static void an_error_of_the_exporter_is_passed_on(struct kunit *test)
{
	struct exporter *e = test->priv;

	export(test, &ops, O_RDWR);
	e->begin_error = -EINTR;
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, ALL)), -EINTR);
	expect_nothing_taken(test);
}

static void rights_that_nothing_implements_are_refused(struct kunit *test)
{
	struct exporter *e = test->priv;

	export(test, &ops, O_RDWR);
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, ALL | IB_ACCESS_ON_DEMAND)),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(region(e, 0, BYTES, 0, IB_ACCESS_REMOTE_WRITE)), -EINVAL);
	expect_nothing_taken(test);
}

/* Rights and protection domain may change; the memory may not. */
static void registering_again_keeps_the_buffer(struct kunit *test)
{
	struct exporter *e = test->priv;
	struct ib_mr *mr;

	export(test, &ops, O_RDWR);
	mr = region(e, 0, BYTES, 0, ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_EXPECT_EQ(test,
			PTR_ERR(srnic_rereg_user_mr(mr, IB_MR_REREG_TRANS, 0, BYTES, 0, ALL,
						    e->c.pd, NULL)),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, 0, 1), CORE_REGION_OK);
	KUNIT_EXPECT_NULL(test, srnic_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						    IB_ACCESS_REMOTE_READ, e->c.pd, NULL));
	KUNIT_EXPECT_EQ(test, write_bytes(&e->c, mr->rkey, 0, 1), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, read_bytes(&e->c, mr->rkey, 0, BYTES), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, e->mapped, 1);
	srnic_mr_free(to_srnic_mr(mr));
	expect_nothing_taken(test);
}

static void a_descriptor_of_nothing_is_refused(struct kunit *test)
{
	struct exporter *e = test->priv;

	KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_reg_dmabuf(e->c.pd, 0, 1, 0, -1, ALL)), -EBADF);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_part_of_the_buffer_is_a_region),
	KUNIT_CASE(bytes_that_the_buffer_has_not_are_refused),
	KUNIT_CASE(a_region_of_no_bytes_grants_none),
	KUNIT_CASE(a_buffer_opened_for_reading_is_not_written),
	KUNIT_CASE(memory_that_only_a_device_reaches_is_refused),
	KUNIT_CASE(an_exporter_that_maps_nothing_is_refused),
	KUNIT_CASE(an_error_of_the_exporter_is_passed_on),
	KUNIT_CASE(rights_that_nothing_implements_are_refused),
	KUNIT_CASE(registering_again_keeps_the_buffer),
	KUNIT_CASE(a_descriptor_of_nothing_is_refused),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_dmabuf", .init = init_exporter, .test_cases = cases,
};

kunit_test_suite(suite);
