// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receives datagrams, in softirq and on any processor (Documentation/ib.rst rules 81 to 84, 90 to
 * 95, and 102 to 104). What a stranger sends is checked once, here; what does not pass is dropped
 * and counted. Nothing is kept, and nothing allocated, for a datagram.
 *
 * A receive holds no reference to its QP: it finds it under RCU, and has its `receiving` lock while
 * it uses it. A QP is closed under that lock, and erased from the table, before it is destroyed.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "datagram/group.h"
#include "datagram/receive.h"
#include "datagram/socket.h"
#include "report/counters.h"
#include "report/trace.h"
#include "stream/number.h"
#include "stream/receive/parts.h"
#include "stream/state.h"

/* struct srnic_datagrams of all devices' QPs of type UD, by the QP's number; readers use RCU */
static DEFINE_XARRAY(receivers);
/* Those of all QPs 1; readers use RCU */
static LIST_HEAD(qp1s);
static DEFINE_SPINLOCK(qp1s_lock);

#define UDP_HEADER	((u32)sizeof(struct udphdr))

/**
 * struct arrival - a datagram that has come
 * @skb: its octets, from the UDP header on
 * @net: where
 * @l3mdev: the VRF that it came in; 0: none
 * @came_by: the interface that it came by
 * @ifindex: the same, if its destination is an address of one link
 * @way: how it came
 * @to: the GID that its destination is
 * @header: its own header
 * @grh: what the receive gets before the payload
 */
struct arrival {
	struct sk_buff *skb;
	struct net *net;
	int l3mdev;
	int came_by;
	int ifindex;
	struct srnic_datagram_way way;
	union ib_gid to;
	struct core_datagram header;
	u8 grh[CORE_DATAGRAM_GRH];
};

/* ---- octets ---- */

/* Rules 81, 82 and 84. */
static bool parse(const struct srnic_datagram_socket *socket, struct sk_buff *skb,
		  struct core_datagram *out)
{
	u8 room[CORE_DATAGRAM_HEADER];
	const u8 *header;

	if (udp_hdr(skb)->source != socket->port || skb->len < UDP_HEADER + sizeof(room))
		return false;
	header = skb_header_pointer(skb, UDP_HEADER, sizeof(room), room);
	return header && core_datagram_parse(header, skb->len - UDP_HEADER, out);
}

static void read_v4(struct arrival *a, struct core_grh *grh)
{
	const struct iphdr *ip = ip_hdr(a->skb);

	a->came_by = IPCB(a->skb)->iif;
	grh->traffic_class = ip->tos;
	grh->hop_limit = ip->ttl;
	ipv6_addr_set_v4mapped(ip->saddr, (struct in6_addr *)grh->source);
	ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)grh->destination);
}

/*
 * A datagram of this host comes by `lo`, but IPv6 notes the interface that an address of one link
 * belongs to.
 */
static void read_v6(struct arrival *a, struct core_grh *grh)
{
	const struct ipv6hdr *ip = ipv6_hdr(a->skb);

	a->came_by = IP6CB(a->skb)->iif;
	grh->traffic_class = ipv6_get_dsfield(ip);
	grh->flow_label = ntohl(ip6_flowlabel(ip));
	grh->hop_limit = ip->hop_limit;
	memcpy(grh->source, &ip->saddr, sizeof(grh->source));
	memcpy(grh->destination, &ip->daddr, sizeof(grh->destination));
	if (ipv6_addr_type(&ip->daddr) & IPV6_ADDR_LINKLOCAL)
		a->ifindex = a->came_by;
}

static void read_ip(struct arrival *a, const struct srnic_datagram_socket *socket)
{
	struct core_grh grh = { .octets = a->skb->len, .v4 = socket->family == AF_INET };

	a->net = socket->net;
	a->l3mdev = l3mdev_master_ifindex_rcu(a->skb->dev);
	a->way.v4 = grh.v4;
	if (grh.v4)
		read_v4(a, &grh);
	else
		read_v6(a, &grh);
	memcpy(&a->to, grh.destination, sizeof(a->to));
	core_grh_build(&grh, a->grh);
}

/* ---- whose it is ---- */

/*
 * Is this address of an interface one of the device's GIDs? ndev NULL: of any interface that is in
 * the VRF.
 */
static bool has_gid(struct srnic_dev *dev, struct arrival *a, struct net_device *ndev)
{
	const struct ib_gid_attr *attr =
		rdma_find_gid_by_port(&dev->base, &a->to, IB_GID_TYPE_ROCE_UDP_ENCAP, 1, ndev);
	const struct net_device *owner;
	bool here;

	if (IS_ERR(attr))
		return false;
	owner = rcu_dereference(attr->ndev);
	here = owner && net_eq(dev_net(owner), a->net) &&
	       l3mdev_master_ifindex_rcu(owner) == a->l3mdev;
	if (here)
		a->way.vlan = rdma_vlan_dev_vlan_id(owner);
	rdma_put_gid_attr(attr);
	return here;
}

/* Rule 90: is its destination a GID of the device? Of two VRFs, the device's own has precedence. */
static bool is_for(struct srnic_dev *dev, struct arrival *a)
{
	struct net_device *ndev;

	if (!net_eq(dev_net(dev->netdev), a->net))
		return false;
	if (!a->ifindex)
		return has_gid(dev, a, NULL) || has_gid(dev, a, dev->netdev);
	ndev = dev_get_by_index_rcu(a->net, a->ifindex);
	return ndev && has_gid(dev, a, ndev);
}

/* ---- the QP's part; its `receiving` lock held ---- */

/* Its own receive was not as it must be: it takes no more. */
static void fail(struct srnic_datagrams *datagrams)
{
	lockdep_assert_held(&datagrams->receiving);
	datagrams->open = false;
	srnic_qp_fail(datagrams->qp);
}

/* The skb may be in pieces. *left: bytes that the CPU cannot read, as those of a device. */
static enum core_region_verdict place_payload(struct srnic_qp *qp, struct arrival *a, u32 *left)
{
	const u32 from = UDP_HEADER + CORE_DATAGRAM_HEADER;
	enum core_region_verdict verdict = CORE_REGION_OK;
	struct skb_seq_state state;
	const u8 *data;
	u32 n;

	skb_prepare_seq_read(a->skb, from, from + *left, &state);
	while (*left && verdict == CORE_REGION_OK) {
		n = min(skb_seq_read(a->header.payload - *left, &data, &state), *left);
		if (!n)
			break;
		verdict = srnic_place_receive(qp, data, n);
		*left -= n;
	}
	skb_abort_seq_read(&state);
	return verdict;
}

static enum core_region_verdict place(struct srnic_qp *qp, struct arrival *a, u32 *left)
{
	enum core_region_verdict verdict;

	qp->rx.cursor = (struct srnic_sge_cursor) { };
	*left = a->header.payload;
	verdict = srnic_place_receive(qp, a->grh, sizeof(a->grh));
	if (verdict == CORE_REGION_OK)
		verdict = place_payload(qp, a, left);
	srnic_held_drop(&qp->rx.held);
	return verdict;
}

/* Rules 94 and 95. A receive that does not complete serves the next datagram. */
static enum srnic_counter fill_receive(struct srnic_datagrams *datagrams, struct arrival *a)
{
	struct srnic_qp *qp = datagrams->qp;
	struct srnic_receive *receive = &qp->rx.receive;
	u32 left;

	if (place(qp, a, &left) != CORE_REGION_OK) {
		srnic_rq_fail(&qp->rq, receive, SRNIC_WC_LOC_PROT_ERR, 0);
		fail(datagrams);
		return SRNIC_RX_DATAGRAMS_NO_RECEIVE;
	}
	if (left) {
		srnic_rq_put_back(receive);
		return SRNIC_RX_DATAGRAMS_MALFORMED;
	}
	srnic_qp_count(qp, SRNIC_RX_DATAGRAM_OCTETS, a->header.payload);
	srnic_rq_complete_datagram(&qp->rq, receive, &a->header, &a->way);
	return SRNIC_RX_DATAGRAMS;
}

static enum srnic_counter take_receive(struct srnic_datagrams *datagrams, struct arrival *a)
{
	struct srnic_qp *qp = datagrams->qp;
	bool small;

	switch (srnic_rq_take_for(&qp->rq, &qp->rx.receive,
				  CORE_DATAGRAM_GRH + a->header.payload, &small)) {
	case CORE_TAKE_OK:
		return fill_receive(datagrams, a);
	case CORE_TAKE_BROKEN:
		fail(datagrams);
		return SRNIC_RX_DATAGRAMS_NO_RECEIVE;
	default:
		return small ? SRNIC_RX_DATAGRAMS_TOO_LONG : SRNIC_RX_DATAGRAMS_NO_RECEIVE;
	}
}

/* Rules 91 and 92. */
static enum srnic_counter deliver(struct srnic_datagrams *datagrams, struct arrival *a)
{
	lockdep_assert_held(&datagrams->receiving);
	if (READ_ONCE(datagrams->qp->state) != SRNIC_QP_RTS)
		return SRNIC_RX_DATAGRAMS_NO_QP;
	if (a->header.qkey != datagrams->qkey)
		return SRNIC_RX_DATAGRAMS_QKEY;
	return take_receive(datagrams, a);
}

/* ---- receiving ---- */

static void count(struct srnic_qp *qp, enum srnic_counter what)
{
	srnic_qp_count(qp, what, 1);
	if (what != SRNIC_RX_DATAGRAMS)
		trace_srnic_datagram_dropped(qp->dev, qp->base.qp_num, what);
}

/* The QP's part of the datagram, which is for it. */
static enum srnic_counter take(struct srnic_datagrams *datagrams, struct arrival *a)
{
	enum srnic_counter result = deliver(datagrams, a);

	count(datagrams->qp, result);
	return result;
}

/* False: it is not for this QP. Rule 90. */
static bool offer(struct srnic_datagrams *datagrams, struct arrival *a, enum srnic_counter *out)
{
	bool taken;

	spin_lock(&datagrams->receiving);
	taken = datagrams->open && is_for(datagrams->qp->dev, a);
	if (taken)
		*out = take(datagrams, a);
	spin_unlock(&datagrams->receiving);
	return taken;
}

/* The device is the one that has the destination. */
static bool give_to_qp1(struct arrival *a, enum srnic_counter *out)
{
	struct srnic_datagrams *datagrams;

	list_for_each_entry_rcu(datagrams, &qp1s, link)
		if (offer(datagrams, a, out))
			return true;
	return false;
}

/* False: the QP, which has joined the group, does not receive. */
static bool offer_to_member(struct srnic_datagrams *datagrams, struct arrival *a,
			    enum srnic_counter *out)
{
	bool open;

	spin_lock(&datagrams->receiving);
	open = datagrams->open;
	if (open)
		*out = take(datagrams, a);
	spin_unlock(&datagrams->receiving);
	return open;
}

/* Rules 102 and 103. *out: SRNIC_RX_DATAGRAMS if any QP has received it. */
static bool give_to_group(struct arrival *a, enum srnic_counter *out)
{
	const struct srnic_group *group = srnic_group_find(&a->to, a->net, a->came_by);
	const struct srnic_group_member *member;
	enum srnic_counter result;
	bool taken = false;

	if (!group || a->header.to != CORE_GROUP_QPN)
		return false;
	a->way.vlan = rdma_vlan_dev_vlan_id(group->dev->netdev);
	list_for_each_entry_rcu(member, &group->members, link) {
		if (!offer_to_member(member->datagrams, a, &result))
			continue;
		if (!taken || result == SRNIC_RX_DATAGRAMS)
			*out = result;
		taken = true;
	}
	return taken;
}

/* False: the datagram names no QP that receives. */
static bool give_to_qp(struct arrival *a, enum srnic_counter *out)
{
	struct srnic_datagrams *datagrams;

	if (a->header.to == CORE_QP1)
		return give_to_qp1(a, out);
	datagrams = xa_load(&receivers, a->header.to);
	return datagrams && offer(datagrams, a, out);
}

/*
 * UDP gives a datagram to a group to each socket that may have it, and one outside of all VRFs may
 * have what comes in one (udp_l3mdev_accept).
 */
static bool give(const struct srnic_datagram_socket *socket, struct arrival *a,
		 enum srnic_counter *out)
{
	if (!rdma_is_multicast_addr((struct in6_addr *)a->to.raw))
		return give_to_qp(a, out);
	return a->l3mdev == socket->l3mdev && give_to_group(a, out);
}

/* No device knows it. */
static enum srnic_counter count_at_witness(const struct srnic_datagram_socket *socket, u32 qpn,
					   enum srnic_counter why)
{
	struct srnic_dev *dev = rcu_dereference(socket->witness);

	if (!dev)
		return why;
	srnic_count(dev, why, 1);
	trace_srnic_datagram_dropped(dev, qpn, why);
	return why;
}

static enum srnic_counter receive(const struct srnic_datagram_socket *socket, struct sk_buff *skb)
{
	struct arrival a = { .skb = skb };
	enum srnic_counter result;

	if (!parse(socket, skb, &a.header))
		return count_at_witness(socket, 0, SRNIC_RX_DATAGRAMS_MALFORMED);
	read_ip(&a, socket);
	if (!give(socket, &a, &result))
		return count_at_witness(socket, a.header.to, SRNIC_RX_DATAGRAMS_NO_QP);
	return result;
}

int srnic_datagram_receive(struct sock *sk, struct sk_buff *skb)
{
	if (receive(srnic_datagram_socket_of(sk), skb) == SRNIC_RX_DATAGRAMS)
		consume_skb(skb);
	else
		kfree_skb(skb);
	return 0;
}

/* ---- the table ---- */

int srnic_datagram_add_receiver(struct srnic_datagrams *datagrams)
{
	const struct ib_qp *base = &datagrams->qp->base;

	if (base->qp_num != CORE_QP1)
		return xa_err(xa_store(&receivers, base->qp_num, datagrams, GFP_KERNEL));
	spin_lock(&qp1s_lock);
	list_add_tail_rcu(&datagrams->link, &qp1s);
	spin_unlock(&qp1s_lock);
	return 0;
}

static void forget(struct srnic_datagrams *datagrams)
{
	const struct ib_qp *base = &datagrams->qp->base;

	if (base->qp_num != CORE_QP1) {
		xa_erase(&receivers, base->qp_num);
		return;
	}
	spin_lock(&qp1s_lock);
	list_del_rcu(&datagrams->link);
	spin_unlock(&qp1s_lock);
}

void srnic_datagram_remove_receiver(struct srnic_datagrams *datagrams)
{
	forget(datagrams);
	srnic_datagrams_close(datagrams);
}

void srnic_datagram_receive_exit(void)
{
	WARN_ON(!srnic_xa_vacant(&receivers) || !list_empty(&qp1s));
	xa_destroy(&receivers);
}
