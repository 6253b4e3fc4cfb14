// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One end, whose QP is connected by hand with a QP that is none: a program speaks for it, by plain
 * TCP (Documentation/ib.rst; strangers/borrower.cc).
 */
#include <net/ipv6.h>

#include "consumer.h"

#define STRANGER_QPN 0x00abcd
#define TIMEOUT 18	/* 1 s for an Ack */

static void gid_of(union ib_gid *gid, const struct sockaddr_storage *of)
{
	struct in6_addr *at = (struct in6_addr *)gid;

	if (of->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)of)->sin_addr.s_addr, at);
	else
		*at = ((const struct sockaddr_in6 *)of)->sin6_addr;
}

static const char *ready_to_receive(struct end *end, const struct sockaddr_storage *to)
{
	const struct ib_gid_attr *own = end->id->route.addr.dev_addr.sgid_attr;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = STRANGER_QPN,
		.max_dest_rd_atomic = 1,
	};
	union ib_gid gid;

	if (!own)
		return "the address is of no device";
	gid_of(&gid, to);
	attr.ah_attr.type = rdma_ah_find_type(end->id->device, end->id->port_num);
	rdma_ah_set_port_num(&attr.ah_attr, end->id->port_num);
	rdma_ah_set_grh(&attr.ah_attr, &gid, 0, own->index, 64, 0);
	return failed("to RTR", ib_modify_qp(end->id->qp, &attr,
					     IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
						     IB_QP_DEST_QPN | IB_QP_RQ_PSN |
						     IB_QP_MAX_DEST_RD_ATOMIC |
						     IB_QP_MIN_RNR_TIMER));
}

static const char *ready_to_send(struct end *end, u8 retries)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = TIMEOUT,
		.retry_cnt = retries,
		.max_rd_atomic = 1,
	};

	return failed("to RTS", ib_modify_qp(end->id->qp, &attr,
					     IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
						     IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
						     IB_QP_MAX_QP_RD_ATOMIC));
}

const char *stranger_up(struct scene *s, const struct settings *settings)
{
	const char *wrong = lone_end(s, settings) ?:
			    ready_to_receive(&s->client, &settings->to) ?:
			    ready_to_send(&s->client, settings->retries);

	if (!wrong)
		say("QP %u\n", s->client.id->qp->qp_num);
	return wrong;
}
