// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device and the objects of the KUnit suites, created and destroyed by the same calls as a
 * consumer's.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <rdma/rdma_netlink.h>

#include "fixture.h"

#define DEVICE		"srnic_kunit"
#define IB_DEVICE	"srnic_ib_kunit"

/* ---- the device ---- */

int srnic_test_netlink(struct sk_buff *skb, int protocol)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct msghdr msg = { .msg_name = &kernel, .msg_namelen = sizeof(kernel) }, answer = { };
	struct { struct nlmsghdr head; struct nlmsgerr err; u8 rest[512]; } ack = { };
	struct kvec vec = { .iov_base = skb->data, .iov_len = skb->len };
	struct kvec into = { .iov_base = &ack, .iov_len = sizeof(ack) };
	struct socket *sock;
	int ret;

	ret = sock_create_kern(&init_net, AF_NETLINK, SOCK_RAW, protocol, &sock);
	if (ret)
		return ret;
	ret = kernel_sendmsg(sock, &msg, &vec, 1, skb->len);
	if (ret >= 0)
		ret = kernel_recvmsg(sock, &answer, &into, 1, sizeof(ack), MSG_DONTWAIT);
	sock_release(sock);
	return ret < 0 ? ret : ack.err.error;
}

int srnic_test_link_add(const char *name, const char *type, const char *netdev)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct nlmsghdr *head;
	int ret = -EMSGSIZE;

	if (!skb)
		return -ENOMEM;
	head = nlmsg_put(skb, 0, 1, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK), 0,
			 NLM_F_REQUEST | NLM_F_ACK);
	if (head && !nla_put_string(skb, RDMA_NLDEV_ATTR_DEV_NAME, name) &&
	    !nla_put_string(skb, RDMA_NLDEV_ATTR_LINK_TYPE, type) &&
	    !nla_put_string(skb, RDMA_NLDEV_ATTR_NDEV_NAME, netdev)) {
		nlmsg_end(skb, head);
		ret = srnic_test_netlink(skb, NETLINK_RDMA);
	}
	kfree_skb(skb);
	return ret;
}

static int loopback_up(void)
{
	struct net_device *lo = init_net.loopback_dev;
	int ret;

	rtnl_lock();
	ret = dev_change_flags(lo, lo->flags | IFF_UP, NULL);
	rtnl_unlock();
	return ret;
}

static unsigned int num_entries(struct xarray *xa)
{
	unsigned int n = 0;
	unsigned long i;
	void *entry;

	xa_for_each(xa, i, entry)
		n++;
	return n;
}

static void remove_device(void *arg)
{
	struct srnic_dev *dev = arg;
	struct kunit *test = kunit_get_current_test();

	/* QP 1 goes with the device. */
	KUNIT_EXPECT_EQ_MSG(test, num_entries(&dev->qps), dev->ib ? 1 : 0, "QPs are left");
	KUNIT_EXPECT_EQ_MSG(test, num_entries(&dev->mrs), 0, "regions are left");
	KUNIT_EXPECT_TRUE_MSG(test, srnic_test_eventually(!READ_ONCE(dev->connections.num)),
			      "%u connections are left", dev->connections.num);
	ib_unregister_device_and_put(&dev->base);
}

static struct srnic_dev *add_device(struct kunit *test, const char *name, const char *type,
				    enum rdma_driver_id id)
{
	struct ib_device *base;

	KUNIT_ASSERT_EQ(test, loopback_up(), 0);
	KUNIT_ASSERT_EQ(test, srnic_test_link_add(name, type, "lo"), 0);
	base = ib_device_get_by_netdev(init_net.loopback_dev, id);
	KUNIT_ASSERT_NOT_NULL(test, base);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, remove_device, to_srnic_dev(base)),
			0);
	return to_srnic_dev(base);
}

struct srnic_dev *srnic_test_device(struct kunit *test)
{
	return add_device(test, DEVICE, "srnic", SRNIC_DRIVER_ID);
}

struct srnic_dev *srnic_test_ib_device(struct kunit *test)
{
	return add_device(test, IB_DEVICE, "srnic_ib", SRNIC_IB_DRIVER_ID);
}

static void remove_device_as_it_is(void *arg)
{
	ib_unregister_device_and_put(&((struct srnic_dev *)arg)->base);
}

void srnic_test_remove_device(struct kunit *test, struct srnic_dev *dev)
{
	kunit_remove_action(test, remove_device, dev);
	remove_device_as_it_is(dev);
}

/* ---- PD, CQ, SRQ, QP ---- */

static void put_pages(void *octets)
{
	put_page(virt_to_head_page(octets));
}

u8 *srnic_test_pages(struct kunit *test, u32 len)
{
	u8 *octets = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, get_order(len));

	KUNIT_ASSERT_NOT_NULL(test, octets);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_pages, octets), 0);
	return octets;
}

static void dealloc_pd(void *pd)
{
	ib_dealloc_pd(pd);
}

struct ib_pd *srnic_test_pd(struct kunit *test, struct srnic_dev *dev)
{
	struct ib_pd *pd = ib_alloc_pd(&dev->base, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, dealloc_pd, pd), 0);
	return pd;
}

static void on_completion(struct ib_cq *cq, void *context)
{
	struct srnic_test_cq *test_cq = context;

	test_cq->processor = raw_smp_processor_id();
	if (irqs_disabled())
		atomic_inc(&test_cq->interrupts_off);
	atomic_inc(&test_cq->completions);
}

static void on_cq_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_CQ_ERR)
		atomic_inc(&((struct srnic_test_cq *)context)->errors);
}

static void destroy_cq(void *cq)
{
	ib_destroy_cq(cq);
}

struct srnic_test_cq *srnic_test_cq(struct kunit *test, struct srnic_dev *dev, u32 entries)
{
	return srnic_test_cq_of_vector(test, dev, entries, 0);
}

struct srnic_test_cq *srnic_test_cq_of_vector(struct kunit *test, struct srnic_dev *dev,
					      u32 entries, u32 vector)
{
	struct ib_cq_init_attr attr = { .cqe = entries, .comp_vector = vector };
	struct srnic_test_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->base = ib_create_cq(&dev->base, on_completion, on_cq_event, cq, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq->base);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_cq, cq->base), 0);
	cq->cq = to_srnic_cq(cq->base);
	return cq;
}

struct ib_wc srnic_test_poll(struct kunit *test, struct srnic_test_cq *cq)
{
	struct ib_wc wc = { };

	KUNIT_ASSERT_EQ(test, ib_poll_cq(cq->base, 1, &wc), 1);
	return wc;
}

bool srnic_test_empty(struct srnic_test_cq *cq)
{
	struct ib_wc wc;

	return ib_poll_cq(cq->base, 1, &wc) == 0;
}

static void on_srq_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(&((struct srnic_test_srq *)context)->limits);
}

static void destroy_srq(void *srq)
{
	ib_destroy_srq(srq);
}

struct srnic_test_srq *srnic_test_srq(struct kunit *test, struct ib_pd *pd, u32 entries, u32 limit)
{
	struct srnic_test_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_srq_init_attr attr = {
		.event_handler = on_srq_event,
		.srq_context = srq,
		.attr = { .max_wr = entries, .max_sge = 2, .srq_limit = limit },
	};

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->base = ib_create_srq(pd, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, srq->base);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_srq, srq->base), 0);
	srq->srq = to_srnic_srq(srq->base);
	return srq;
}

static void destroy_qp(void *qp)
{
	ib_destroy_qp(qp);
}

static struct srnic_qp *make_qp(struct kunit *test, struct ib_pd *pd, struct srnic_test_cq *cq,
				struct srnic_test_srq *srq, enum ib_sig_type sig,
				enum ib_qp_type type)
{
	struct ib_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = cq->base,
		.recv_cq = cq->base,
		.srq = srq ? srq->base : NULL,
		.sq_sig_type = sig,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2 },
	};
	struct ib_qp *qp = ib_create_qp(pd, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_qp, qp), 0);
	return to_srnic_qp(qp);
}

struct srnic_qp *srnic_test_qp(struct kunit *test, struct ib_pd *pd, struct srnic_test_cq *cq,
			       struct srnic_test_srq *srq, enum ib_sig_type sig)
{
	return make_qp(test, pd, cq, srq, sig, IB_QPT_RC);
}

struct srnic_qp *srnic_test_ud_qp(struct kunit *test, struct ib_pd *pd, struct srnic_test_cq *cq,
				  struct srnic_test_srq *srq)
{
	return make_qp(test, pd, cq, srq, IB_SIGNAL_REQ_WR, IB_QPT_UD);
}

void srnic_test_destroy_qp(struct kunit *test, struct srnic_qp *qp)
{
	kunit_release_action(test, destroy_qp, &qp->base);
}

void srnic_test_set(struct kunit *test, struct srnic_test_set *set)
{
	set->dev = srnic_test_device(test);
	set->pd = srnic_test_pd(test, set->dev);
	set->cq = srnic_test_cq(test, set->dev, 64);
	set->qp = srnic_test_qp(test, set->pd, set->cq, NULL, IB_SIGNAL_REQ_WR);
}

/* ---- regions ---- */

static void free_test_page(void *page)
{
	free_page((unsigned long)page);
}

static void dereg(void *mr)
{
	ib_dereg_mr(mr);
}

struct srnic_test_mr *srnic_test_mr(struct kunit *test, struct ib_pd *pd)
{
	struct srnic_test_mr *mr = kunit_kzalloc(test, sizeof(*mr), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, mr);
	for (i = 0; i < SRNIC_TEST_PAGES; i++) {
		mr->page[i] = (u8 *)get_zeroed_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, mr->page[i]);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_test_page, mr->page[i]),
				0);
	}
	mr->base = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, SRNIC_TEST_PAGES);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr->base);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, dereg, mr->base), 0);
	mr->mr = to_srnic_mr(mr->base);
	srnic_test_map(test, mr, SRNIC_TEST_PAGES * PAGE_SIZE - SRNIC_TEST_OFFSET);
	return mr;
}

void srnic_test_dereg(struct kunit *test, struct srnic_test_mr *mr)
{
	kunit_release_action(test, dereg, mr->base);
}

void srnic_test_map(struct kunit *test, struct srnic_test_mr *mr, u32 octets)
{
	u32 offset = SRNIC_TEST_OFFSET, left = octets, num = 0;

	sg_init_table(mr->sgl, SRNIC_TEST_PAGES);
	for (; left; num++, offset = 0) {
		u32 n = min_t(u32, left, PAGE_SIZE - offset);

		sg_set_page(&mr->sgl[num], virt_to_page(mr->page[num]), n, offset);
		left -= n;
	}
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(mr->base->device, mr->sgl, num, DMA_BIDIRECTIONAL),
			num);
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(mr->base, mr->sgl, num, NULL, PAGE_SIZE), num);
	KUNIT_ASSERT_EQ(test, mr->base->length, octets);
}

int srnic_test_try_reg(struct srnic_test_mr *mr, u32 pd, u32 key, u32 access)
{
	return srnic_mr_register(to_srnic_dev(mr->base->device), mr->mr, pd, SRNIC_TEST_QPN, key,
				 access);
}

u32 srnic_test_reg(struct kunit *test, struct srnic_test_mr *mr, u32 access)
{
	ib_update_fast_reg_key(mr->base, mr->base->rkey + 1);
	KUNIT_ASSERT_EQ(test, srnic_test_try_reg(mr, mr->mr->pd, mr->base->rkey, access), 0);
	return mr->base->rkey;
}
