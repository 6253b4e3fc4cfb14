// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: the kernel fills the ring; user space, or srnic_poll_cq() for kernel
 * consumers, empties it. A word in the ring's header arms the CQ (include/uapi/rdma/srnic-abi.h).
 */
#include "queue/cq.h"
#include "queue/opcodes.h"
#include "report/trace.h"
#include "udata.h"

/* User space's index is not trusted: a false one damages only the contents of its own ring. */
static u32 consumed(const struct srnic_cq *cq)
{
	/* acquire: the user has read a slot before we write it again */
	return cq->user ? smp_load_acquire(&cq->ring.hdr->cons) : cq->cons;
}

/* Of a CQ with timestamps. */
static u32 long_slot(void)
{
	return sizeof(struct srnic_cqe) + sizeof(struct srnic_cqe_times);
}

static void stamp(struct srnic_cqe *slot)
{
	*(struct srnic_cqe_times *)(slot + 1) = (struct srnic_cqe_times) {
		.monotonic = ktime_get_ns(),
		.realtime = ktime_get_real_ns(),
	};
}

static void publish(struct srnic_cq *cq, const struct srnic_cqe *cqe)
{
	struct srnic_cqe *slot = srnic_ring_slot(&cq->ring, cq->prod);

	trace_srnic_completion(cq, cqe);
	*slot = *cqe;
	if (unlikely(cq->ring.slot_size == long_slot()))
		stamp(slot);
	/* release: the slot, and the data of the completed request, before the index */
	smp_store_release(&cq->ring.hdr->prod, ++cq->prod);
}

/* Disarms the CQ; true if it was armed for this completion, and its event need not wait. */
static bool disarm(struct srnic_cq *cq, bool solicited)
{
	u32 *state = &cq->ring.hdr->state;
	u32 armed;

	smp_mb(); /* prod before state: pairs with the user's barrier between arming and polling */
	armed = READ_ONCE(*state);
	if (armed != SRNIC_CQ_ARM_NEXT && !(armed == SRNIC_CQ_ARM_SOLICITED && solicited))
		return false;
	if (unlikely(cq->moderation) && srnic_moderation_waits(cq->moderation, cq->prod))
		return false;
	return xchg(state, SRNIC_CQ_ARM_NONE) != SRNIC_CQ_ARM_NONE;
}

static void raise_overrun(struct srnic_cq *cq)
{
	struct ib_event event = {
		.device = cq->base.device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = &cq->base,
	};

	ibdev_warn_ratelimited(cq->base.device, "CQ %d overran its %u entries\n", cq->id,
			       cq->ring.entries);
	if (cq->base.event_handler)
		cq->base.event_handler(&event, cq->base.cq_context);
}

/* There may be as many users as QPs: too many for the context of the overrun. */
static void report_overrun(struct work_struct *work)
{
	struct srnic_cq *cq = container_of(work, struct srnic_cq, overrun_work);
	struct srnic_cq_user *user;

	mutex_lock(&cq->users_lock);
	list_for_each_entry(user, &cq->users, entry) {
		user->overrun(user);
		cond_resched();
	}
	mutex_unlock(&cq->users_lock);
}

void srnic_cq_attach(struct srnic_cq *cq, struct srnic_cq_user *user)
{
	mutex_lock(&cq->users_lock);
	list_add_tail(&user->entry, &cq->users);
	mutex_unlock(&cq->users_lock);
}

static void call_handler(struct srnic_cq *cq)
{
	cq->base.comp_handler(&cq->base, cq->base.cq_context);
}

static void called_elsewhere(void *context)
{
	struct srnic_cq *cq = context;

	clear_bit(0, &cq->called);
	smp_mb__after_atomic(); /* a completion that the handler does not see calls again */
	call_handler(cq);
	/* Then the CQ may be destroyed: waking uses its address only. */
	if (atomic_dec_and_test(&cq->calls))
		wake_up_var(&cq->calls);
}

/* False if the vector's processor is offline. */
static bool call_handler_elsewhere(struct srnic_cq *cq)
{
	if (test_and_set_bit(0, &cq->called))
		return true;
	atomic_inc(&cq->calls);
	if (!smp_call_function_single_async(cq->vector, &cq->call))
		return true;
	clear_bit(0, &cq->called);
	atomic_dec(&cq->calls);
	return false;
}

static void notify(struct srnic_cq *cq)
{
	trace_srnic_cq_event(cq);
	if (!cq->base.comp_handler)
		return;
	if (cq->vector && cq->vector != raw_smp_processor_id() && call_handler_elsewhere(cq))
		return;
	call_handler(cq);
}

/* An event that waits is raised now. */
static void raise_due(struct srnic_cq *cq)
{
	unsigned long flags;
	bool due;

	spin_lock_irqsave(&cq->lock, flags);
	due = cq->moderation && srnic_moderation_end_wait(cq->moderation, cq->prod) &&
	      xchg(&cq->ring.hdr->state, SRNIC_CQ_ARM_NONE) != SRNIC_CQ_ARM_NONE;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (due)
		notify(cq);
}

static void moderation_expired(struct srnic_moderation *moderation)
{
	raise_due(moderation->cq);
}

/*
 * Ends what an event waits for: no user adds completions. In this order, because a program may
 * still arm its CQ: the event that waits from then on keeps its timer. @users_lock is held.
 */
static void end_moderation(struct srnic_cq *cq)
{
	lockdep_assert_held(&cq->users_lock);
	if (cq->moderation)
		hrtimer_cancel(&cq->moderation->timer);
	raise_due(cq);
}

static void wait_for_calls(struct srnic_cq *cq)
{
	wait_var_event(&cq->calls, !atomic_read_acquire(&cq->calls));
}

void srnic_cq_detach(struct srnic_cq *cq, struct srnic_cq_user *user)
{
	bool last;

	mutex_lock(&cq->users_lock);
	list_del(&user->entry);
	last = list_empty(&cq->users);
	if (last)
		end_moderation(cq);
	mutex_unlock(&cq->users_lock);
	if (last)
		wait_for_calls(cq);
}

void srnic_cq_batch_begin(struct srnic_cq_batch *batch, struct srnic_cq *cq)
{
	lockdep_assert_irqs_disabled();
	*batch = (struct srnic_cq_batch) { .cq = cq };
	spin_lock(&cq->lock);
	cq->seen = consumed(cq);
}

/* Exceeds the ring's entries if user space has moved its index beyond the kernel's. */
static u32 entries_in_use(const struct srnic_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return cq->prod - cq->seen;
}

u32 srnic_cq_consumed(struct srnic_cq *cq)
{
	unsigned long flags;
	u32 cons;

	spin_lock_irqsave(&cq->lock, flags);
	cons = cq->ring.hdr ? consumed(cq) : cq->prod;
	if (cq->prod - cons > cq->ring.entries)
		cons = cq->prod - cq->ring.entries;
	spin_unlock_irqrestore(&cq->lock, flags);
	return cons;
}

bool srnic_cq_batch_room(struct srnic_cq_batch *batch)
{
	struct srnic_cq *cq = batch->cq;

	if (likely(entries_in_use(cq) < cq->ring.entries))
		return true;
	cq->seen = consumed(cq);
	return entries_in_use(cq) < cq->ring.entries;
}

void srnic_cq_batch_add(struct srnic_cq_batch *batch, const struct srnic_cqe *cqe, bool solicited)
{
	if (unlikely(!srnic_cq_batch_room(batch))) {
		batch->lost = true;
		return;
	}
	publish(batch->cq, cqe);
	batch->added = true;
	if (solicited || cqe->status != SRNIC_WC_SUCCESS) {
		batch->solicited = true;
		batch->cq->solicited = batch->cq->prod;
	}
}

void srnic_cq_batch_overrun(struct srnic_cq_batch *batch)
{
	lockdep_assert_held(&batch->cq->lock);
	batch->lost = true;
}

void srnic_cq_batch_end(struct srnic_cq_batch *batch)
{
	struct srnic_cq *cq = batch->cq;

	lockdep_assert_held(&batch->cq->lock);
	if (batch->added)
		WRITE_ONCE(cq->peak, max(cq->peak, entries_in_use(cq)));
	batch->notify = batch->added && disarm(cq, batch->solicited);
	batch->first_lost = batch->lost && !cq->overrun;
	cq->overrun |= batch->lost;
	spin_unlock(&cq->lock);
}

void srnic_cq_batch_notify(const struct srnic_cq_batch *batch)
{
	struct srnic_cq *cq = batch->cq;

	/* Raise the CQ's event before those of its QPs. */
	if (unlikely(batch->first_lost))
		raise_overrun(cq);
	if (unlikely(batch->lost))
		queue_work(srnic_wq, &cq->overrun_work);
	if (batch->notify)
		notify(cq);
}

/* False if it is not added, for want of room. */
static bool add_one(struct srnic_cq *cq, const struct srnic_cqe *cqe, bool solicited,
		    enum srnic_flush how)
{
	struct srnic_cq_batch batch;
	unsigned long flags;
	bool waits;

	local_irq_save(flags);
	srnic_cq_batch_begin(&batch, cq);
	waits = how == SRNIC_FLUSH_WAIT && !srnic_cq_batch_room(&batch);
	if (!waits)
		srnic_cq_batch_add(&batch, cqe, solicited);
	srnic_cq_batch_end(&batch);
	local_irq_restore(flags);
	srnic_cq_batch_notify(&batch);
	return !waits;
}

void srnic_cq_add(struct srnic_cq *cq, const struct srnic_cqe *cqe, bool solicited)
{
	add_one(cq, cqe, solicited, SRNIC_FLUSH_LOSE);
}

void srnic_cq_add_all(struct srnic_cq *cq, const struct srnic_cqe *cqe, u32 num, u32 solicited)
{
	struct srnic_cq_batch batch;
	unsigned long flags;

	local_irq_save(flags);
	srnic_cq_batch_begin(&batch, cq);
	for (u32 i = 0; i < num; i++)
		srnic_cq_batch_add(&batch, &cqe[i], solicited & BIT(i));
	srnic_cq_batch_end(&batch);
	local_irq_restore(flags);
	srnic_cq_batch_notify(&batch);
}

bool srnic_cq_flush(struct srnic_cq *cq, const struct srnic_cqe *cqe, enum srnic_flush how)
{
	return how == SRNIC_FLUSH_DROP || add_one(cq, cqe, false, how);
}

/* A datagram was received. */
static void fill_grh(const struct srnic_cqe *cqe, struct ib_wc *wc)
{
	wc->src_qp = cqe->src_qp;
	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type =
		cqe->flags & SRNIC_CQE_IPV4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (cqe->flags & SRNIC_CQE_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = cqe->vlan;
	}
}

/*
 * Translates an entry; false if its QP is gone, so nobody waits for the completion. Uses only the
 * QP's address, so it takes no reference: a consumer must not destroy a QP while it polls.
 */
static bool fill_wc(const struct srnic_cq *cq, const struct srnic_cqe *cqe, struct ib_wc *wc)
{
	struct ib_qp *qp = xa_load(&to_srnic_dev(cq->base.device)->qps, cqe->qp_num);

	if (!qp)
		return false;
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = srnic_wc_opcode(cqe->opcode);
	wc->byte_len = cqe->byte_len;
	wc->qp = qp;
	wc->port_num = 1;
	if (cqe->flags & SRNIC_CQE_GRH)
		fill_grh(cqe, wc);
	else
		wc->vendor_err = cqe->vendor_err;
	if (cqe->flags & SRNIC_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->imm_inv;
	} else if (cqe->flags & SRNIC_CQE_WITH_IMM) {
		if (!(cqe->flags & SRNIC_CQE_OF_SEND))
			wc->opcode = IB_WC_RECV_RDMA_WITH_IMM;
		wc->wc_flags |= IB_WC_WITH_IMM;
		memcpy(&wc->ex.imm_data, &cqe->imm_inv, sizeof(wc->ex.imm_data));
	}
	return true;
}

/* Fills wc from entry n up to num; returns the new n. *more: call again. cq->lock held. */
static int poll_chunk(struct srnic_cq *cq, int n, int num, struct ib_wc *wc, bool *more)
{
	lockdep_assert_held(&cq->lock);
	for (int left = SRNIC_CQ_CHUNK; left && n < num && cq->cons != cq->prod; left--, cq->cons++)
		if (fill_wc(cq, srnic_ring_slot(&cq->ring, cq->cons), &wc[n]))
			n++;
	*more = n < num && cq->cons != cq->prod;
	return n;
}

int srnic_poll_cq(struct ib_cq *base, int num, struct ib_wc *wc)
{
	struct srnic_cq *cq = to_srnic_cq(base);
	unsigned long flags;
	bool more;
	int n = 0;

	if (cq->user)
		return -EINVAL;
	do {
		spin_lock_irqsave(&cq->lock, flags);
		n = poll_chunk(cq, n, num, wc, &more);
		spin_unlock_irqrestore(&cq->lock, flags);
	} while (more);
	return n;
}

static void arm(struct srnic_cq *cq, bool solicited_only)
{
	u32 *state = &cq->ring.hdr->state;

	lockdep_assert_held(&cq->lock);
	if (solicited_only)
		cmpxchg(state, SRNIC_CQ_ARM_NONE, SRNIC_CQ_ARM_SOLICITED);
	else
		WRITE_ONCE(*state, SRNIC_CQ_ARM_NEXT);
}

int srnic_req_notify_cq(struct ib_cq *base, enum ib_cq_notify_flags how)
{
	struct srnic_cq *cq = to_srnic_cq(base);
	bool waiting, due;
	unsigned long flags;
	u32 cons;

	spin_lock_irqsave(&cq->lock, flags);
	arm(cq, (how & IB_CQ_SOLICITED_MASK) != IB_CQ_NEXT_COMP);
	cons = consumed(cq);
	waiting = cons != cq->prod;
	due = waiting && cq->user && disarm(cq, (s32)(cq->solicited - cons) > 0);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (due)
		notify(cq);
	return waiting && (how & IB_CQ_REPORT_MISSED_EVENTS);
}

static int init_cq(struct srnic_cq *cq, struct srnic_dev *dev, const struct ib_cq_init_attr *attr)
{
	cq->vector = attr->comp_vector;
	INIT_CSD(&cq->call, called_elsewhere, cq);
	srnic_resize_init(&cq->resize);
	spin_lock_init(&cq->lock);
	mutex_init(&cq->users_lock);
	INIT_LIST_HEAD(&cq->users);
	INIT_WORK(&cq->overrun_work, report_overrun);
	cq->id = ida_alloc_max(&dev->cq_ids, SRNIC_MAX_CQ - 1, GFP_KERNEL);
	if (cq->id < 0)
		return cq->id;
	if (srnic_ring_alloc(&cq->ring, attr->cqe,
			     attr->flags ? long_slot() : sizeof(struct srnic_cqe))) {
		ida_free(&dev->cq_ids, cq->id);
		return -ENOMEM;
	}
	cq->base.cqe = cq->ring.entries;
	return 0;
}

static int export_cq(struct srnic_cq *cq, struct ib_udata *udata)
{
	struct srnic_ucontext *context =
		rdma_udata_to_drv_context(udata, struct srnic_ucontext, base);
	struct srnic_create_cq_resp resp = { .cq_id = cq->id };
	int err;

	err = srnic_ring_export(&cq->ring, &context->base, &resp.ring);
	if (err)
		return err;
	return srnic_udata_respond(udata, &resp, sizeof(resp));
}

/* The RDMA core may still report the CQ: it removes it from its lists only afterwards. */
static void free_rings(struct srnic_cq *cq)
{
	struct srnic_ring ring = cq->ring;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->ring.hdr = NULL;
	spin_unlock_irqrestore(&cq->lock, flags);
	srnic_resize_free(&cq->resize);
	srnic_ring_free(&ring);
}

static void release_cq(struct srnic_cq *cq)
{
	cancel_work_sync(&cq->overrun_work);
	srnic_moderation_free(cq->moderation);
	wait_for_calls(cq); /* a program may have armed its CQ since the last user was detached */
	free_rings(cq);
	ida_free(&to_srnic_dev(cq->base.device)->cq_ids, cq->id);
}

int srnic_create_cq(struct ib_cq *base, const struct ib_cq_init_attr *attr,
		    struct srnic_compat_cq_attrs *attrs)
{
	struct ib_udata *udata = srnic_compat_cq_udata(attrs);
	struct srnic_cq *cq = to_srnic_cq(base);
	int err;

	if (attr->flags & ~(udata ? IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION : 0U))
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > SRNIC_MAX_CQE ||
	    attr->comp_vector >= base->device->num_comp_vectors)
		return -EINVAL;
	if (udata && udata->outlen < offsetofend(struct srnic_create_cq_resp, ring))
		return -EINVAL;
	err = srnic_udata_no_request(udata);
	if (err)
		return err;
	cq->user = udata;
	err = init_cq(cq, to_srnic_dev(base->device), attr);
	if (err)
		return err;
	if (udata)
		err = export_cq(cq, udata);
	if (err)
		release_cq(cq);
	return err;
}

/* The first call makes it; later ones change it. */
static int moderate(struct srnic_cq *cq, u16 count, u16 period)
{
	struct srnic_moderation *moderation = cq->moderation;
	unsigned long flags;

	lockdep_assert_held(&cq->users_lock);
	if (!moderation)
		moderation = srnic_moderation_new(moderation_expired, cq);
	if (!moderation)
		return -ENOMEM;
	spin_lock_irqsave(&cq->lock, flags);
	moderation->count = period ? count : 0;
	moderation->period = ns_to_ktime(period * NSEC_PER_USEC);
	cq->moderation = moderation;
	spin_unlock_irqrestore(&cq->lock, flags);
	raise_due(cq);
	return 0;
}

int srnic_modify_cq(struct ib_cq *base, u16 count, u16 period)
{
	struct srnic_cq *cq = to_srnic_cq(base);
	int err;

	mutex_lock(&cq->users_lock);
	err = moderate(cq, count, period);
	mutex_unlock(&cq->users_lock);
	return err;
}

static struct srnic_span completions_of(struct srnic_resizing *resizing)
{
	struct srnic_cq *cq = container_of(resizing->ring, struct srnic_cq, ring);

	lockdep_assert_held(&cq->lock);
	return (struct srnic_span) { .from = consumed(cq), .to = cq->prod };
}

int srnic_cq_prepare(struct srnic_cq *cq, u32 entries, struct ib_ucontext *context)
{
	int err;

	mutex_lock(&cq->resize.lock);
	err = srnic_resize_prepare(&cq->resize, &cq->ring, entries, context);
	mutex_unlock(&cq->resize.lock);
	return err;
}

int srnic_cq_switch(struct srnic_cq *cq, u32 entries)
{
	struct srnic_resizing resizing = {
		.resize = &cq->resize,
		.ring = &cq->ring,
		.lock = &cq->lock,
		.span = completions_of,
	};
	int err;

	mutex_lock(&cq->resize.lock);
	err = srnic_resize_switch(&resizing, entries);
	if (!err)
		cq->base.cqe = cq->ring.entries;
	mutex_unlock(&cq->resize.lock);
	return err;
}

int srnic_resize_cq(struct ib_cq *base, srnic_compat_cqe cqe, struct ib_udata *udata)
{
	struct srnic_cq *cq = to_srnic_cq(base);
	int step;

	if (!udata)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > SRNIC_MAX_CQE)
		return -EINVAL;
	step = srnic_resize_step(udata);
	if (step == SRNIC_RESIZE_PREPARE)
		return srnic_cq_prepare(cq, cqe, srnic_resize_context(udata));
	return step == SRNIC_RESIZE_SWITCH ? srnic_cq_switch(cq, cqe) : step;
}

int srnic_destroy_cq(struct ib_cq *base, struct ib_udata *udata)
{
	release_cq(to_srnic_cq(base));
	return 0;
}
