/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the KUnit suites: a device on `lo`, and objects of its verbs. They are destroyed when
 * their case ends or is aborted, the last one first; if one cannot be created, the case is aborted.
 * Needs KUnit of 6.5.
 */
#ifndef SRNIC_KUNIT_FIXTURE_H
#define SRNIC_KUNIT_FIXTURE_H

#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#include "memory/fast_reg.h"
#include "memory/table.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "report/counters.h"
#include "srnic.h"
#include "stream/attach.h"
#include "stream/kick/kick.h"
#include "stream/qp.h"
#include "stream/state.h"
#include "stream/transmit/transmit.h"
#include "stream/verbs.h"

/* jiffies to wait for an event: enough for a slow machine, less than KUnit's limit for a case */
#define SRNIC_TEST_PATIENCE	(60 * HZ)

/* Does cond become true in this time? */
#define srnic_test_eventually(cond) ({				\
	unsigned long end_ = jiffies + SRNIC_TEST_PATIENCE;	\
	bool true_;						\
								\
	while (!(true_ = (cond)) && time_before(jiffies, end_))	\
		usleep_range(200, 1000);			\
	true_;							\
})

/*
 * A device as `rdma link add` creates it. No QP, region or connection may be left when it is
 * removed.
 */
struct srnic_dev *srnic_test_device(struct kunit *test);
/* One of type srnic_ib, on the same interface. */
struct srnic_dev *srnic_test_ib_device(struct kunit *test);
/* Sends a request of this netlink protocol, and returns the error in its acknowledgment. */
int srnic_test_netlink(struct sk_buff *skb, int protocol);
/* rdma link add NAME type TYPE netdev NETDEV: 0, or its error */
int srnic_test_link_add(const char *name, const char *type, const char *netdev);
/* Removes a device before the case ends. */
void srnic_test_remove_device(struct kunit *test, struct srnic_dev *dev);

/*
 * Zeros in one block of pages that one can refer to, as those of a program and of most kernel
 * consumers.
 */
u8 *srnic_test_pages(struct kunit *test, u32 len);
struct ib_pd *srnic_test_pd(struct kunit *test, struct srnic_dev *dev);

/* A CQ that counts how often its handlers are called. */
struct srnic_test_cq {
	struct ib_cq *base;
	struct srnic_cq *cq;
	atomic_t completions;
	atomic_t interrupts_off;	/* handler calls with interrupts off */
	atomic_t errors;
	int processor;			/* of the last call */
};

struct srnic_test_cq *srnic_test_cq(struct kunit *test, struct srnic_dev *dev, u32 entries);
struct srnic_test_cq *srnic_test_cq_of_vector(struct kunit *test, struct srnic_dev *dev,
					      u32 entries, u32 vector);
/* The next completion; fails the case if there is none. */
struct ib_wc srnic_test_poll(struct kunit *test, struct srnic_test_cq *cq);
bool srnic_test_empty(struct srnic_test_cq *cq);

/* An SRQ that counts its limit events. */
struct srnic_test_srq {
	struct ib_srq *base;
	struct srnic_srq *srq;
	atomic_t limits;
};

struct srnic_test_srq *srnic_test_srq(struct kunit *test, struct ib_pd *pd, u32 entries, u32 limit);

/*
 * A QP of 8 send and 8 receive requests of 2 entries each. With srq it takes receives from that.
 */
struct srnic_qp *srnic_test_qp(struct kunit *test, struct ib_pd *pd, struct srnic_test_cq *cq,
			       struct srnic_test_srq *srq, enum ib_sig_type sig);
/* Likewise, of type UD. */
struct srnic_qp *srnic_test_ud_qp(struct kunit *test, struct ib_pd *pd, struct srnic_test_cq *cq,
				  struct srnic_test_srq *srq);
void srnic_test_destroy_qp(struct kunit *test, struct srnic_qp *qp);

/* One of each, for cases about a QP. */
struct srnic_test_set {
	struct srnic_dev *dev;
	struct ib_pd *pd;
	struct srnic_test_cq *cq;
	struct srnic_qp *qp;
};

void srnic_test_set(struct kunit *test, struct srnic_test_set *set);

#define SRNIC_TEST_PAGES	20			/* more than one hold copies (64 KiB) */
#define SRNIC_TEST_OFFSET	100			/* of the first byte in the first page */

/*
 * A fast-registration region that maps its own pages from SRNIC_TEST_OFFSET to their end; not
 * registered yet.
 */
struct srnic_test_mr {
	struct ib_mr *base;
	struct srnic_mr *mr;
	u8 *page[SRNIC_TEST_PAGES];
	struct scatterlist sgl[SRNIC_TEST_PAGES];
};

struct srnic_test_mr *srnic_test_mr(struct kunit *test, struct ib_pd *pd);
void srnic_test_dereg(struct kunit *test, struct srnic_test_mr *mr);
/* Maps its pages again, `octets` bytes in all. */
void srnic_test_map(struct kunit *test, struct srnic_test_mr *mr, u32 octets);
#define SRNIC_TEST_QPN	1	/* the number of the QP that registers it */
/* Of the largest slot of a receive queue. */
#define SRNIC_TEST_RECV_MAX                                                                        \
	(sizeof(struct srnic_recv_wqe) + SRNIC_MAX_SGE * sizeof(struct srnic_sge))
int srnic_test_try_reg(struct srnic_test_mr *mr, u32 pd, u32 key, u32 access);
/* Registers it under its next key and returns the STag. */
u32 srnic_test_reg(struct kunit *test, struct srnic_test_mr *mr, u32 access);

#endif
