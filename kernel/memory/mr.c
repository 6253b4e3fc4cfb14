// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of memory regions: registration, fast registration, invalidation, and the rule that
 * after dereg, rereg or invalidation has returned no byte is placed under the old grant.
 *
 * The rule relies on a handshake. A holder increments @users, executes a full barrier, then reads
 * state and STag (srnic_mr_hold). The revoker writes state, executes a full barrier, then waits
 * until only the verbs object is counted (wait_holders). So one of the two sees the other. Holders
 * keep bottom halves off, and drop a region that is no longer VALID after one copy of at most
 * 64 KiB or the work of one FPDU, which bounds the wait. Lookups in the table use RCU, so they
 * never race with freeing a region.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "compat/compat.h"
#include "memory/place.h"
#include "udata.h"

#define MAX_INDEX	((1U << CORE_STAG_INDEX_BITS) - 1)
#define KEY_BITS	8
/* kvmalloc() allocates at most INT_MAX bytes for the array of pieces. */
#define MAX_PIECES	(INT_MAX / sizeof(void *))
/* Page sizes for fast registration. */
#define MIN_PAGE_SHIFT	12
#define MAX_PAGE_SHIFT	30

#define ACCESS_MASK                                                                                \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                  \
	 IB_ACCESS_REMOTE_ATOMIC)
/* Accepted without effect: nothing here is weakly ordered or faults. */
#define ACCESS_NEUTRAL	(IB_ZERO_BASED | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

/* ---- the table, holds, revocation ---- */

void srnic_mr_dev_init(struct srnic_dev *dev)
{
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	get_random_bytes(dev->stag_key, sizeof(dev->stag_key));
}

u32 srnic_mr_slot(const struct srnic_dev *dev, u32 stag)
{
	return core_stag_unscramble(stag >> KEY_BITS, dev->stag_key);
}

int srnic_mr_dev_reserve(struct srnic_dev *dev)
{
	return xa_reserve(&dev->mrs, srnic_mr_slot(dev, 0), GFP_KERNEL);
}

void srnic_mr_dev_exit(struct srnic_dev *dev)
{
	xa_release(&dev->mrs, srnic_mr_slot(dev, 0));
	WARN_ON(!srnic_xa_vacant(&dev->mrs));
	xa_destroy(&dev->mrs);
}

/* The region in this slot, in any state, with @users incremented; or NULL. */
static struct srnic_mr *mr_get(struct srnic_dev *dev, u32 slot)
{
	struct srnic_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, slot);
	if (mr && !refcount_inc_not_zero(&mr->users))
		mr = NULL;
	rcu_read_unlock();
	smp_mb__after_atomic(); /* users before state: pairs with wait_holders() */
	return mr;
}

static void mr_put(struct srnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->users))
		complete(&mr->freed);
}

struct srnic_mr *srnic_mr_hold(struct srnic_dev *dev, u32 slot, u32 stag)
{
	struct srnic_mr *mr;

	local_bh_disable();
	mr = mr_get(dev, slot);
	/* acquire: state before the other fields; pairs with enable() */
	if (mr && smp_load_acquire(&mr->state) == SRNIC_MR_VALID && mr->stag == stag)
		return mr;
	if (mr)
		mr_put(mr);
	local_bh_enable();
	return NULL;
}

void srnic_mr_drop(struct srnic_mr *mr)
{
	mr_put(mr);
	local_bh_enable();
}

/*
 * Waits until no holder is left, after state was set INVALID (or the STag was changed). The caller
 * keeps the region allocated, by owning the verbs object or by RCU, and is not a holder itself.
 */
static void wait_holders(struct srnic_mr *mr)
{
	smp_mb(); /* state before users: pairs with mr_get() */
	while (refcount_read(&mr->users) > 1)
		cpu_relax();
	smp_mb(); /* the holders' copies before the caller's next steps; pairs with mr_put() */
}

static void revoke(struct srnic_mr *mr)
{
	WRITE_ONCE(mr->state, SRNIC_MR_INVALID);
	wait_holders(mr);
}

static void enable(struct srnic_mr *mr)
{
	/* release: the other fields before state; pairs with srnic_mr_hold() */
	smp_store_release(&mr->state, SRNIC_MR_VALID);
}

/* ---- allocation ---- */

/* An INVALID region in the table, with its STag, or an ERR_PTR. */
static struct srnic_mr *alloc_region(struct ib_pd *pd)
{
	struct srnic_dev *dev = to_srnic_dev(pd->device);
	struct srnic_mr *mr;
	int err;

	if (atomic_inc_return(&dev->num_mrs) > SRNIC_MAX_MR) {
		atomic_dec(&dev->num_mrs);
		return ERR_PTR(-ENOSPC);
	}
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		atomic_dec(&dev->num_mrs);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&mr->users, 1);
	init_completion(&mr->freed);
	mr->pd = to_srnic_pd(pd)->id;
	err = xa_alloc_cyclic(&dev->mrs, &mr->index, mr, XA_LIMIT(0, MAX_INDEX), &dev->next_mr,
			      GFP_KERNEL);
	if (err < 0) {
		atomic_dec(&dev->num_mrs);
		kfree(mr);
		return ERR_PTR(err == -EBUSY ? -ENOSPC : err);
	}
	mr->base.device = &dev->base;
	mr->base.page_size = PAGE_SIZE;
	mr->piece_shift = PAGE_SHIFT;
	WRITE_ONCE(mr->stag,
		   core_stag_scramble(mr->index, dev->stag_key) << KEY_BITS | get_random_u8());
	mr->base.lkey = mr->stag;
	mr->base.rkey = mr->stag;
	return mr;
}

/* Frees a region in any state, after its last holder has left. Sleeps. */
static void free_region(struct srnic_mr *mr)
{
	struct srnic_dev *dev = to_srnic_dev(mr->base.device);

	WRITE_ONCE(mr->state, SRNIC_MR_INVALID);
	xa_erase(&dev->mrs, mr->index);
	mr_put(mr);
	wait_for_completion(&mr->freed);
	ib_umem_release(mr->umem);
	kvfree(mr->pieces);
	kfree_rcu(mr, rcu);
	atomic_dec(&dev->num_mrs);
}

/* Converts IB_ACCESS_* flags; -EINVAL, -EOPNOTSUPP. */
static int access_from_ib(int ib, u32 *access)
{
	BUILD_BUG_ON(IB_ACCESS_LOCAL_WRITE != CORE_ACCESS_LOCAL_WRITE);
	BUILD_BUG_ON(IB_ACCESS_REMOTE_WRITE != CORE_ACCESS_REMOTE_WRITE);
	BUILD_BUG_ON(IB_ACCESS_REMOTE_READ != CORE_ACCESS_REMOTE_READ);
	BUILD_BUG_ON(IB_ACCESS_REMOTE_ATOMIC != CORE_ACCESS_REMOTE_ATOMIC);
	if (ib & ~(ACCESS_MASK | ACCESS_NEUTRAL))
		return -EOPNOTSUPP;
	if ((ib & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(ib & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	*access = ib & ACCESS_MASK;
	return 0;
}

/*
 * A kernel consumer's region over all memory, by kernel virtual address. Never for a peer, whose
 * TOs could be any kernel address, mapped or not.
 */
struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int ib_access)
{
	struct srnic_mr *mr;
	u32 access;
	int err;

	if (ib_access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			 IB_ACCESS_REMOTE_ATOMIC)) {
		ibdev_err_ratelimited(pd->device,
				      "no remote key to all memory (IB_PD_UNSAFE_GLOBAL_RKEY)\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	err = access_from_ib(ib_access, &access);
	if (err)
		return ERR_PTR(err);
	mr = alloc_region(pd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->dma = true;
	mr->length = U64_MAX;
	mr->access = access;
	enable(mr);
	return &mr->base;
}

int srnic_dereg_mr(struct ib_mr *base, struct ib_udata *udata)
{
	free_region(to_srnic_mr(base));
	return 0;
}

/* ---- user regions ---- */

/* The pages of a range of user memory. An empty range has none. */
struct backing {
	struct ib_umem *umem;
	void **pieces;
	u32 num_pieces;
	u32 offset;
};

static void put_backing(struct backing *backing)
{
	ib_umem_release(backing->umem);
	kvfree(backing->pieces);
}

static int list_pages(struct backing *backing)
{
	struct sg_table *table = &backing->umem->sgt_append.sgt;
	struct sg_page_iter iter;
	size_t n = 0;

	backing->num_pieces = ib_umem_num_pages(backing->umem);
	backing->pieces = kvmalloc_array(backing->num_pieces, sizeof(*backing->pieces),
					 GFP_KERNEL_ACCOUNT);
	if (!backing->pieces)
		return -ENOMEM;
	for_each_sgtable_page(table, &iter, 0)
		if (n < backing->num_pieces)
			backing->pieces[n++] = page_address(sg_page_iter_page(&iter));
	return n == backing->num_pieces ? 0 : -EFAULT;
}

static int get_backing(struct ib_device *dev, u64 start, u64 length, int ib_access,
		       struct backing *out)
{
	int err;

	*out = (struct backing){ .offset = offset_in_page(start) };
	if (!length)
		return 0;
	if (length > SRNIC_MAX_MR_SIZE || length > (u64)(MAX_PIECES - 1) << PAGE_SHIFT)
		return -EINVAL;
	out->umem = srnic_compat_umem(dev, start, length, ib_access);
	if (IS_ERR(out->umem))
		return PTR_ERR(out->umem);
	err = list_pages(out);
	if (err)
		put_backing(out);
	return err;
}

/* Only while INVALID with no holder. Returns the old backing in *backing. */
static void swap_backing(struct srnic_mr *mr, struct backing *backing)
{
	swap(mr->umem, backing->umem);
	swap(mr->pieces, backing->pieces);
	swap(mr->num_pieces, backing->num_pieces);
	swap(mr->offset, backing->offset);
}

static bool range_wraps(u64 base, u64 length)
{
	u64 end;

	return check_add_overflow(base, length, &end);
}

struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int ib_access,
				struct ib_udata *udata)
{
	struct backing backing;
	struct srnic_mr *mr;
	u32 access;
	int err;

	err = srnic_udata_none(udata) ?: access_from_ib(ib_access, &access);
	if (err)
		return ERR_PTR(err);
	if (ib_access & IB_ZERO_BASED)
		iova = 0;
	if (range_wraps(iova, length))
		return ERR_PTR(-EINVAL);
	err = get_backing(pd->device, start, length, ib_access, &backing);
	if (err)
		return ERR_PTR(err);
	mr = alloc_region(pd);
	if (IS_ERR(mr)) {
		put_backing(&backing);
		return ERR_CAST(mr);
	}
	swap_backing(mr, &backing);
	mr->zero_based = ib_access & IB_ZERO_BASED;
	mr->iova = iova;
	mr->length = length;
	mr->access = access;
	enable(mr);
	return &mr->base;
}

/* The new form of a region. */
struct rereg {
	struct backing backing;
	bool translate;
	u64 iova, length;
	u32 access, pd;
	bool zero_based;
};

/*
 * Pins memory for the new form if needed: other memory, or the same memory for writing, which only
 * the process that registered it may do.
 */
static int rereg_backing(const struct srnic_mr *mr, int flags, u64 start, u64 length, int ib_access,
			 struct rereg *new)
{
	struct ib_device *dev = mr->base.device;
	int old_access = mr->access & IB_ACCESS_LOCAL_WRITE;

	if (flags & IB_MR_REREG_TRANS) {
		new->translate = true;
		return get_backing(dev, start, length,
				   flags & IB_MR_REREG_ACCESS ? ib_access : old_access,
				   &new->backing);
	}
	if (!(flags & IB_MR_REREG_ACCESS) || !mr->umem || mr->umem->writable ||
	    !ib_access_writable(ib_access))
		return 0;
	if (mr->umem->owning_mm != current->mm)
		return -EPERM;
	new->translate = true;
	return get_backing(dev, mr->umem->address, mr->length, ib_access, &new->backing);
}

static void rereg_apply(struct srnic_mr *mr, struct rereg *new)
{
	revoke(mr);
	if (new->translate)
		swap_backing(mr, &new->backing);
	mr->iova = new->iova;
	mr->length = new->length;
	mr->access = new->access;
	mr->pd = new->pd;
	mr->zero_based = new->zero_based;
	enable(mr);
	put_backing(&new->backing);
}

/*
 * In place: the STag stays, and a failure leaves the region unchanged. During the change it is
 * INVALID for peers.
 */
struct ib_mr *srnic_rereg_user_mr(struct ib_mr *base, int flags, u64 start, u64 length, u64 iova,
				  int ib_access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct srnic_mr *mr = to_srnic_mr(base);
	struct rereg new = {
		.iova = mr->iova,
		.length = mr->length,
		.access = mr->access,
		.pd = mr->pd,
		.zero_based = flags & IB_MR_REREG_ACCESS ? ib_access & IB_ZERO_BASED
							 : mr->zero_based,
	};
	int err = srnic_udata_none(udata);

	if (!err && flags & IB_MR_REREG_ACCESS)
		err = access_from_ib(ib_access, &new.access);
	if (err)
		return ERR_PTR(err);
	if (flags & IB_MR_REREG_PD)
		new.pd = to_srnic_pd(pd)->id;
	if (flags & IB_MR_REREG_TRANS) {
		new.iova = new.zero_based ? 0 : iova;
		new.length = length;
		if (range_wraps(new.iova, length))
			return ERR_PTR(-EINVAL);
	}
	err = rereg_backing(mr, flags, start, length, ib_access, &new);
	if (err)
		return ERR_PTR(err);
	rereg_apply(mr, &new);
	return NULL;
}

/* ---- fast registration ---- */

struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct srnic_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > SRNIC_MAX_FAST_REG)
		return ERR_PTR(-EINVAL);
	mr = alloc_region(pd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->pieces = kvcalloc(max_num_sg, sizeof(*mr->pieces), GFP_KERNEL);
	if (!mr->pieces) {
		free_region(mr);
		return ERR_PTR(-ENOMEM);
	}
	mr->fast_reg = true;
	mr->max_pieces = max_num_sg;
	return &mr->base;
}

static int add_page(struct ib_mr *base, u64 addr)
{
	struct srnic_mr *mr = to_srnic_mr(base);

	if (mr->num_pieces == mr->max_pieces)
		return -ENOMEM;
	mr->pieces[mr->num_pieces++] = srnic_compat_virt_dma(addr);
	return 0;
}

/*
 * The consumer chooses the page size (ib_map_mr_sg): smaller or larger than the kernel's. Each page
 * is one piece: "DMA" addresses are kernel virtual addresses, so an sg entry is contiguous.
 *
 * Consumers map again while the LOCAL_INV of the old mapping is still queued before the REG_MR
 * (iSER), or was flushed. Either way the old grant is over, so it is revoked here.
 */
int srnic_map_mr_sg(struct ib_mr *base, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct srnic_mr *mr = to_srnic_mr(base);
	u32 size = base->page_size;
	int mapped;

	if (!mr->fast_reg || !is_power_of_2(size) || size < BIT(MIN_PAGE_SHIFT) ||
	    size > BIT(MAX_PAGE_SHIFT))
		return -EINVAL;
	revoke(mr);
	mr->piece_shift = ilog2(size);
	mr->num_pieces = 0;
	base->length = 0;
	mapped = ib_sg_to_pages(base, sg, nents, offset, add_page);
	mr->offset = base->iova & (size - 1);
	return mapped;
}

/*
 * Reads base.iova here, because the consumer may have changed its upper part after mapping (NFS).
 */
static int register_region(struct srnic_mr *mr, u32 pd, u32 qpn, u32 key, u32 ib_access)
{
	u32 access;

	if (!mr->fast_reg || mr->pd != pd || key >> KEY_BITS != mr->stag >> KEY_BITS)
		return -EINVAL;
	if (access_from_ib(ib_access, &access) || READ_ONCE(mr->state) == SRNIC_MR_VALID)
		return -EINVAL;
	if (mr->offset + mr->base.length > (u64)mr->num_pieces << mr->piece_shift ||
	    (mr->base.iova & (BIT(mr->piece_shift) - 1)) != mr->offset ||
	    range_wraps(mr->base.iova, mr->base.length))
		return -EINVAL;
	WRITE_ONCE(mr->stag, key);
	wait_holders(mr);
	mr->iova = mr->base.iova;
	mr->length = mr->base.length;
	mr->access = access;
	mr->qpn = qpn;
	enable(mr);
	return 0;
}

/* Until it is found in its slot, the pointer is only a number. */
int srnic_mr_register(struct srnic_dev *dev, struct srnic_mr *mr, u32 pd, u32 qpn, u32 key,
		      u32 access)
{
	int err = -EINVAL;

	rcu_read_lock();	/* keeps its memory, even if it is deregistered meanwhile */
	if (mr && xa_load(&dev->mrs, srnic_mr_slot(dev, key)) == mr)
		err = register_region(mr, pd, qpn, key, access);
	rcu_read_unlock();
	return err;
}

/*
 * The caller has incremented @users. register_region() writes the new STag before it waits for
 * holders: if we see the old STag, it waits for us, and we see the state from before.
 */
static enum core_region_verdict invalidate(struct srnic_mr *mr, u32 pd, u32 stag, u32 peer_qpn)
{
	const struct core_grant grant = {
		.stag = READ_ONCE(mr->stag),
		.pd = mr->pd,
		.qpn = READ_ONCE(mr->qpn),
		.revocable = mr->fast_reg,
	};
	const struct core_revoker who = {
		.stag = stag,
		.pd = pd,
		.qpn = peer_qpn,
		.peer = peer_qpn != 0,
	};
	enum core_region_verdict verdict = core_may_invalidate(&grant, &who);

	if (verdict == CORE_REGION_OK)
		cmpxchg(&mr->state, SRNIC_MR_VALID, SRNIC_MR_INVALID);
	return verdict;
}

enum core_region_verdict srnic_mr_invalidate(struct srnic_dev *dev, u32 pd, u32 stag, u32 peer_qpn)
{
	enum core_region_verdict verdict = CORE_REGION_INVALID;
	struct srnic_mr *mr;

	local_bh_disable();
	rcu_read_lock(); /* keeps mr allocated beyond mr_put() */
	mr = mr_get(dev, srnic_mr_slot(dev, stag));
	if (mr) {
		verdict = invalidate(mr, pd, stag, peer_qpn);
		mr_put(mr);
		if (verdict == CORE_REGION_OK)
			wait_holders(mr);
	}
	rcu_read_unlock();
	local_bh_enable();
	return verdict;
}
