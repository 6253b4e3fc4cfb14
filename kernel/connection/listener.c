// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening TCP sockets and the members that share them (RFC 5044 7.1.2, responder mode up to the
 * accepted socket; open.c continues from there).
 *
 * rdma_cm turns one wildcard listen into one listening id per device, all for the same port. These
 * ids share one socket per (net, VRF, family, port): an accepted connection belongs to the device
 * whose netdev owns its local address. The receiving netdev is no use, because packets of the same
 * host arrive on `lo`.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "compat/sock.h"
#include "connection/address.h"
#include "connection/admission.h"
#include "connection/ep.h"
#include "connection/listener.h"
#include "report/counters.h"

#define ACCEPTS_PER_PASS 16
#define REOPEN_DELAY	(5 * HZ)

/*
 * Seconds that TCP keeps a connection that says nothing. An initiator speaks first (RFC 5044 7.1),
 * but its process may be kept off the processor.
 */
#define SILENCE		3

/*
 * struct srnic_listener - one listening socket
 * @ref: held by `listeners` (while there are members), each member until freed, and queued or
 *	running work
 * @link: under srnic_listeners_lock. @net, @l3mdev, @addr, @wildcard, @v6only: never change
 * @lock: protects @members and @sock, so it is held while connections are accepted. Nests inside
 *	srnic_listeners_lock. An ep's lock nests inside (an accepted socket becomes an ep); never
 *	take it with an ep's lock held
 * @members: struct srnic_listener_member, in the order in which they joined. Changes need
 *	srnic_listeners_lock as well
 * @sock: NULL once the last member has left; or, with members, while it cannot listen again
 * @counts_net: @net is referenced
 * @backlog: the largest backlog of a member, at least 1
 * @admission: of startups: accepted, and the Request has not arrived, or was refused because the
 *	backlog is full
 */
struct srnic_listener {
	struct kref ref;
	struct list_head link;
	struct mutex lock;
	struct list_head members;
	struct srnic_watch watch;
	struct delayed_work work;
	struct net *net;
	int l3mdev;
	struct sockaddr_storage addr;
	bool wildcard;
	bool v6only;
	bool counts_net;
	struct socket *sock;
	u32 backlog;
	struct srnic_admission admission;
};

/* All listening sockets, of all namespaces. */
DEFINE_MUTEX(srnic_listeners_lock);
static LIST_HEAD(listeners);

static void free_listener(struct kref *ref)
{
	kfree(container_of(ref, struct srnic_listener, ref));
}

static void free_member(struct kref *ref)
{
	struct srnic_listener_member *member =
		container_of(ref, struct srnic_listener_member, ref);

	if (member->listener)
		kref_put(&member->listener->ref, free_listener);
	member->ops->free(member);
}

void srnic_listener_put_member(struct srnic_listener_member *member)
{
	kref_put(&member->ref, free_member);
}

/* A delay does not put off work that was queued for an earlier time. */
static void kick(struct srnic_listener *listener, unsigned long delay)
{
	bool queued;

	kref_get(&listener->ref);
	if (delay)
		queued = !queue_delayed_work(srnic_wq, &listener->work, delay);
	else
		queued = mod_delayed_work(srnic_wq, &listener->work, 0);
	if (queued)
		kref_put(&listener->ref, free_listener);	/* it has one */
}

/* ---- startups in progress ---- */

int srnic_listener_admit(struct srnic_listener_member *member, struct srnic_ep *ep)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	kref_get(&member->ref);
	ep->member = member;
	ret = srnic_admission_add(&member->listener->admission, ep);
	if (ret) {
		ep->member = NULL;
		srnic_listener_put_member(member);
	}
	return ret;
}

void srnic_listener_dismiss(struct srnic_ep *ep)
{
	struct srnic_listener_member *member = ep->member;

	lockdep_assert_held(&ep->lock);
	if (!member)
		return;
	ep->member = NULL;
	if (srnic_admission_remove(&member->listener->admission, ep))
		kick(member->listener, 0);
	srnic_listener_put_member(member);
}

/* ---- accepting ---- */

static void listening_socket_event(struct srnic_watch *watch)
{
	kick(container_of(watch, struct srnic_listener, watch), 0);
}

/*
 * The member for a connection to this local address. A socket on one address has one member. Of
 * several that serve an address it must be the first, as rdma_cm takes the first of its devices,
 * and members have joined in their order.
 */
static struct srnic_listener_member *member_for(struct srnic_listener *listener,
						const struct sockaddr_storage *local)
{
	struct srnic_listener_member *member;

	list_for_each_entry(member, &listener->members, link)
		if (!listener->wildcard || srnic_serves_address(member->dev->netdev, local))
			return member;
	return NULL;
}

static struct srnic_listener_member *first_member(const struct srnic_listener *listener)
{
	return list_first_entry(&listener->members, struct srnic_listener_member, link);
}

/* For reports that concern no particular device. There is a member while sockets are accepted. */
static struct srnic_dev *first_device(const struct srnic_listener *listener)
{
	return first_member(listener)->dev;
}

/*
 * TCP takes connections to addresses that no device has, as to those of `lo`, and consumers have
 * no event for them.
 */
static int refuse_for_want_of_a_device(const struct srnic_listener *listener,
				       const struct sockaddr_storage *local,
				       const struct sockaddr_storage *remote)
{
	struct srnic_dev *dev = first_device(listener);

	srnic_count(dev, SRNIC_STARTUP_NO_DEVICE, 1);
	ibdev_warn_ratelimited(&dev->base,
			       "%pISpc refused: no device that listens has the address %pISpc\n",
			       remote, local);
	return -EADDRNOTAVAIL;
}

/* Received data would go to the map's owner, not to the QP. */
static int refuse_taken(const struct srnic_dev *dev, const struct sockaddr_storage *remote)
{
	ibdev_warn_ratelimited(&dev->base,
			       "%pISpc refused: a BPF program has put its socket into a map\n",
			       remote);
	return -EBUSY;
}

static int hand_to_member(struct srnic_listener_member *member, struct socket *sock,
			  const struct sockaddr_storage *local,
			  const struct sockaddr_storage *remote)
{
	if (srnic_sock_is_taken(sock))
		return refuse_taken(member->dev, remote);
	if (member->tos_set)
		srnic_sock_set_tos(sock, member->tos);
	return member->ops->accepted(member, sock, local, remote);
}

/*
 * Hands an accepted socket to its member, or releases and counts it: without a startup there is no
 * event. An error of srnic_sock_names(): the peer has left.
 */
static void hand_over(struct srnic_listener *listener, struct socket *sock)
{
	struct srnic_listener_member *member = NULL;
	struct sockaddr_storage local, remote;
	int ret = srnic_sock_names(sock, &local, &remote);

	if (!ret)
		member = member_for(listener, &local);
	if (member)
		ret = hand_to_member(member, sock, &local, &remote);
	else if (!ret)
		ret = refuse_for_want_of_a_device(listener, &local, &remote);
	if (!ret)
		return;
	srnic_count(member ? member->dev : first_device(listener), SRNIC_STARTUP_FAILURES, 1);
	srnic_sock_release(sock);
}

/*
 * Accepts a bounded number; true if there may be more. *delay: how long to wait before trying
 * again.
 */
static bool accept_some(struct srnic_listener *listener, unsigned long *delay)
{
	struct socket *sock;
	int i, ret;

	lockdep_assert_held(&listener->lock);
	*delay = 0;
	for (i = 0; i < ACCEPTS_PER_PASS; i++) {
		if (!srnic_sock_has_connection(listener->sock))
			return false;
		*delay = srnic_admission_make_room(&listener->admission, listener->backlog);
		if (*delay)
			return true;
		ret = srnic_sock_accept(listener->sock, &listener->watch, &sock);
		if (ret == -EAGAIN)
			return false;
		if (ret) {
			*delay = HZ / 10;	/* no memory: no callback will wake us */
			return true;
		}
		hand_over(listener, sock);
	}
	return true;
}

/*
 * Has the socket been closed under its members? An administrator can do that (`ss -K`), or a BPF
 * program, and consumers have no event for it.
 */
static bool lost_its_socket(const struct srnic_listener *listener)
{
	return !list_empty(&listener->members) &&
	       (!listener->sock || srnic_sock_closed(listener->sock));
}

static void listen_again(struct srnic_listener *listener);

static void listener_work(struct work_struct *work)
{
	struct srnic_listener *listener =
		container_of(to_delayed_work(work), struct srnic_listener, work);
	unsigned int noio = memalloc_noio_save(); /* storage may wait for works behind this one */
	unsigned long delay;
	bool lost;

	mutex_lock(&listener->lock);
	lost = lost_its_socket(listener);
	if (!lost && !list_empty(&listener->members) && accept_some(listener, &delay))
		kick(listener, delay);
	mutex_unlock(&listener->lock);
	if (lost)
		listen_again(listener);
	kref_put(&listener->ref, free_listener);
	memalloc_noio_restore(noio);
}

/* ---- listening sockets (srnic_listeners_lock held) ---- */

/* A plain TCP socket has it, most likely: a member at the same address would have been found. */
static void warn_port_in_use(const struct srnic_listener_member *member)
{
	if (member->dev->ib)	/* the device is not added, which says why */
		return;
	ibdev_warn_ratelimited(&member->dev->base,
			       "TCP port %u is in use; carry RDMA port %u on another: port_map\n",
			       ntohs(srnic_port_of(&member->addr)), ntohs(member->rdma_port));
}

static void close_socket(struct srnic_listener *listener)
{
	if (!listener->sock)
		return;
	srnic_sock_unwatch(listener->sock, &listener->watch);
	sock_release(listener->sock);
	listener->sock = NULL;
}

static int open_socket(struct srnic_listener *listener, const struct srnic_listener_member *member)
{
	int ret = srnic_sock_create(listener->net, listener->l3mdev, listener->addr.ss_family,
				    &listener->sock);

	lockdep_assert_held(&srnic_listeners_lock);
	if (ret)
		return ret;
	if (member->tos_set)
		srnic_sock_set_tos(listener->sock, member->tos);
	if (member->freebind)
		ip_sock_set_freebind(listener->sock->sk);
	/* Before it listens, so that each connection wakes the work. */
	srnic_sock_watch(listener->sock, &listener->watch);
	srnic_sock_defer_accept(listener->sock, SILENCE);
	ret = srnic_sock_listen(listener->sock, &listener->addr, listener->v6only,
				max3((u32)member->backlog, listener->backlog, SOMAXCONN + 0U));
	if (ret == -EADDRINUSE)
		warn_port_in_use(member);
	if (ret)
		close_socket(listener);
	return ret;
}

static void reopen_socket(struct srnic_listener *listener)
{
	const struct srnic_listener_member *first = first_member(listener);
	int ret;

	close_socket(listener);
	ret = open_socket(listener, first);
	ibdev_warn_ratelimited(&first->dev->base,
			       "TCP port %u: its socket was closed; listening again: %d\n",
			       ntohs(srnic_port_of(&listener->addr)), ret);
	if (ret)
		kick(listener, REOPEN_DELAY);
}

/* No lock held. */
static void listen_again(struct srnic_listener *listener)
{
	mutex_lock(&srnic_listeners_lock);
	mutex_lock(&listener->lock);
	if (lost_its_socket(listener))
		reopen_socket(listener);
	mutex_unlock(&listener->lock);
	mutex_unlock(&srnic_listeners_lock);
}

static struct srnic_listener *open_listener(struct net *net,
					    const struct srnic_listener_member *member)
{
	struct srnic_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	int ret = -ENETDOWN;

	lockdep_assert_held(&srnic_listeners_lock);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	kref_init(&listener->ref);
	mutex_init(&listener->lock);
	srnic_admission_init(&listener->admission);
	INIT_LIST_HEAD(&listener->members);
	INIT_DELAYED_WORK(&listener->work, listener_work);
	listener->watch.event = listening_socket_event;
	listener->addr = member->addr;
	listener->l3mdev = member->l3mdev;
	listener->wildcard = srnic_is_wildcard(&listener->addr);
	listener->v6only = member->v6only;
	listener->counts_net = !member->leaves_net;
	listener->net = listener->counts_net ? maybe_get_net(net) : net;
	if (listener->net)
		ret = open_socket(listener, member);
	if (!ret) {
		list_add(&listener->link, &listeners);
		return listener;
	}
	if (listener->net && listener->counts_net)
		put_net(listener->net);
	kref_put(&listener->ref, free_listener);
	return ERR_PTR(ret);
}

/* The last member has left. listener->lock held, too. */
static void close_listener(struct srnic_listener *listener)
{
	lockdep_assert_held(&srnic_listeners_lock);
	list_del(&listener->link);
	close_socket(listener);
	if (listener->counts_net)
		put_net(listener->net);
	if (cancel_delayed_work(&listener->work))	/* the timer must not outlive the module */
		kref_put(&listener->ref, free_listener);
	kref_put(&listener->ref, free_listener);
}

/* ---- members ---- */

/* May this member share the socket? Only wildcards of different devices of one type do. */
static bool may_share(const struct srnic_listener *listener,
		      const struct srnic_listener_member *member)
{
	const struct srnic_listener_member *other;

	lockdep_assert_held(&srnic_listeners_lock);
	if (!listener->wildcard || listener->v6only != member->v6only ||
	    first_member(listener)->ops != member->ops)
		return false;
	list_for_each_entry(other, &listener->members, link)
		if (other->dev == member->dev)
			return false;
	return true;
}

static struct srnic_listener *listener_for(struct net *net,
					   const struct srnic_listener_member *member)
{
	struct srnic_listener *listener;

	lockdep_assert_held(&srnic_listeners_lock);
	list_for_each_entry(listener, &listeners, link)
		if (net_eq(listener->net, net) && listener->l3mdev == member->l3mdev &&
		    srnic_same_address(&listener->addr, &member->addr))
			return may_share(listener, member) ? listener : ERR_PTR(-EADDRINUSE);
	return open_listener(net, member);
}

int srnic_listener_wildcard_l3mdev(const struct net *net, int l3mdev)
{
	return srnic_compat_accepts_all(net) ? 0 : l3mdev;
}

int srnic_listener_join(struct srnic_listener_member *member, struct net *net)
{
	struct srnic_listener *listener = listener_for(net, member);

	if (IS_ERR(listener))
		return PTR_ERR(listener);
	kref_get(&listener->ref);
	member->listener = listener;
	kref_get(&member->ref);
	mutex_lock(&listener->lock);
	list_add_tail(&member->link, &listener->members);
	listener->backlog = max_t(u32, listener->backlog, member->backlog);
	mutex_unlock(&listener->lock);
	kick(listener, 0);	/* connections may have come before there was a member */
	return 0;
}

void srnic_listener_leave(struct srnic_listener_member *member)
{
	struct srnic_listener *listener = member->listener;

	lockdep_assert_held(&srnic_listeners_lock);
	mutex_lock(&listener->lock);
	list_del(&member->link);
	if (list_empty(&listener->members))
		close_listener(listener);
	mutex_unlock(&listener->lock);
}

void srnic_listener_end_startups(struct srnic_listener_member *member)
{
	srnic_admission_end(&member->listener->admission, member);
	srnic_listener_put_member(member);
}

struct sock *srnic_listener_sock(const struct srnic_listener_member *member)
{
	struct srnic_listener *listener = member->listener;
	struct sock *sk = NULL;

	mutex_lock(&listener->lock);
	if (listener->sock) {
		sk = listener->sock->sk;
		sock_hold(sk);
	}
	mutex_unlock(&listener->lock);
	return sk;
}
