// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening: iw_cm's listening ids and their TCP sockets (RFC 5044 7.1.2, responder mode up to the
 * accepted socket; startup.c continues from there).
 *
 * rdma_cm turns one wildcard listen into one listening id per device, all for the same port. These
 * ids share one socket per (net, VRF, family, port): an accepted connection belongs to the device
 * whose netdev owns its local address. The receiving netdev is no use, because packets of the same
 * host arrive on `lo`.
 */
#include <linux/inetdevice.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "compat/compat.h"
#include "compat/iwcm-net.h"
#include "compat/sock.h"
#include "connection/connect.h"
#include "connection/ep.h"
#include "connection/iwcm.h"
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
 * @ref: held by `listeners` (while there are members), each member until freed, and pending or
 *	running work
 * @link: under listeners_lock. @net, @l3mdev, @addr, @wildcard, @v6only: never change
 * @lock: protects @members and @sock, so it is held while connections are accepted. Nests inside
 *	listeners_lock. An ep's lock nests inside (an accepted socket becomes an ep); never take it
 *	with an ep's lock held
 * @sock: NULL once the last member has left; or, with members, while it cannot listen again
 * @members: struct srnic_listen. Changes need listeners_lock as well
 * @backlog: the largest backlog of a member, at least 1
 * @places: of startups: accepted, and the Request has not arrived, or was refused because the
 *	backlog is full. An ep's @listen does not change while it has a place
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
	struct socket *sock;
	u32 backlog;
	struct srnic_places places;
};

/*
 * struct srnic_listen - a listening id of iw_cm on one device
 * @ref: held by the id's provider_data until destroy_listen, by membership in @listener, by each
 *	startup (srnic_ep.listen)
 * @listener: set once, by join(); referenced
 * @addr: of TCP, where it listens; never changes
 * @l3mdev: the VRF in which it listens, 0: none; set once, by join()
 * @moved: its interface came there while an earlier one listened for this id; never changes
 * @joined: is a member, by @link; under listeners_lock and listener->lock
 * @lock: only iw_cm's locks nest inside; protects @open: events may be delivered on @cm_id, which
 *	is referenced
 */
struct srnic_listen {
	struct kref ref;
	struct srnic_listener *listener;
	struct sockaddr_storage addr;
	int l3mdev;
	bool moved;
	bool joined;
	struct list_head link;
	struct mutex lock;
	bool open;
	struct iw_cm_id *cm_id;
	struct srnic_dev *dev;
	int backlog;
	bool tos_set;
	u8 tos;
};

/*
 * All listening sockets, of all namespaces. listeners_lock is the outermost lock here; held to
 * open, find or close a socket, not while connections are accepted.
 */
static DEFINE_MUTEX(listeners_lock);
static LIST_HEAD(listeners);

static void free_listener(struct kref *ref)
{
	kfree(container_of(ref, struct srnic_listener, ref));
}

static void free_listen(struct kref *ref)
{
	struct srnic_listen *listen = container_of(ref, struct srnic_listen, ref);

	if (listen->listener)
		kref_put(&listen->listener->ref, free_listener);
	kfree(listen);
}

/* ---- addresses ---- */

static __be16 port_of(const struct sockaddr_storage *addr)
{
	return *srnic_port_of((struct sockaddr_storage *)addr);
}

static bool is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a,
				 *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a,
				  *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family || port_of(a) != port_of(b))
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

static bool serves(const struct net_device *netdev, const struct net_device *owner)
{
	return owner == netdev || (owner && srnic_compat_serves(netdev, owner));
}

static bool serves_v6(struct net_device *netdev, const struct sockaddr_in6 *addr)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct net *net = dev_net(netdev);

	if (ipv6_addr_type(&addr->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return serves(netdev, dev_get_by_index_rcu(net, addr->sin6_scope_id));
	return ipv6_chk_addr(net, &addr->sin6_addr, netdev, 1) ||
	       serves(netdev, ipv6_dev_find(net, &addr->sin6_addr, NULL));
#else
	return false;
#endif
}

static bool serves_addr(struct net_device *netdev, const struct sockaddr_storage *addr)
{
	bool ret;

	rcu_read_lock();
	if (addr->ss_family == AF_INET6)
		ret = serves_v6(netdev, (const struct sockaddr_in6 *)addr);
	else
		ret = serves(netdev,
			     __ip_dev_find(dev_net(netdev),
					   ((const struct sockaddr_in *)addr)->sin_addr.s_addr,
					   false));
	rcu_read_unlock();
	return ret;
}

/* ---- startups in progress ---- */

/* A delay does not put off what was kicked meanwhile. */
static void kick(struct srnic_listener *listener, unsigned long delay)
{
	bool pending;

	kref_get(&listener->ref);
	if (delay)
		pending = !queue_delayed_work(srnic_wq, &listener->work, delay);
	else
		pending = mod_delayed_work(srnic_wq, &listener->work, 0);
	if (pending)
		kref_put(&listener->ref, free_listener);	/* it has one */
}

int srnic_listen_begun(struct srnic_listen *listen, struct srnic_ep *ep)
{
	return srnic_places_take(&listen->listener->places, ep);
}

void srnic_listen_done(struct srnic_listen *listen, struct srnic_ep *ep)
{
	if (srnic_places_leave(&listen->listener->places, ep))
		kick(listen->listener, 0);
	kref_put(&listen->ref, free_listen);
}

/* ---- accepting ---- */

static void wake(struct srnic_watch *watch)
{
	kick(container_of(watch, struct srnic_listener, watch), 0);
}

/*
 * The id for a connection to this local address. A socket on one address has one member. Of several
 * that serve an address it must be the first, as rdma_cm takes the first of its devices, and
 * members have joined in their order.
 */
static struct srnic_listen *member_for(struct srnic_listener *listener,
				       const struct sockaddr_storage *local)
{
	struct srnic_listen *listen;

	list_for_each_entry(listen, &listener->members, link)
		if (!listener->wildcard || serves_addr(listen->dev->netdev, local))
			return listen;
	return NULL;
}

/* For what concerns no other: there is a member whenever connections are accepted. */
static struct srnic_dev *first_device(const struct srnic_listener *listener)
{
	return list_first_entry(&listener->members, struct srnic_listen, link)->dev;
}

/*
 * TCP takes connections to addresses that no device has, as to those of `lo`, and iw_cm has no
 * event for them.
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

/* Its owner, and not the QP, would get what arrives. */
static int refuse_taken(const struct srnic_dev *dev, const struct sockaddr_storage *remote)
{
	ibdev_warn_ratelimited(&dev->base,
			       "%pISpc refused: a BPF program has put its socket into a map\n",
			       remote);
	return -EBUSY;
}

static int begin_at(struct srnic_listen *listen, struct socket *sock,
		    const struct sockaddr_storage *local, const struct sockaddr_storage *remote)
{
	int ret;

	if (srnic_sock_is_taken(sock))
		return refuse_taken(listen->dev, remote);
	if (listen->tos_set)
		srnic_sock_set_tos(sock, listen->tos);
	kref_get(&listen->ref);
	ret = srnic_ep_passive(listen->dev, listen, sock, local, remote);
	if (ret)
		kref_put(&listen->ref, free_listen);
	return ret;
}

/*
 * Begins the startup phase on an accepted socket, or releases and counts it: without a startup
 * there is no event. An error of srnic_sock_names(): the peer has left.
 */
static void begin(struct srnic_listener *listener, struct socket *sock)
{
	struct sockaddr_storage local, remote;
	struct srnic_listen *listen = NULL;
	int ret = srnic_sock_names(sock, &local, &remote);

	if (!ret)
		listen = member_for(listener, &local);
	if (listen)
		ret = begin_at(listen, sock, &local, &remote);
	else if (!ret)
		ret = refuse_for_want_of_a_device(listener, &local, &remote);
	if (!ret)
		return;
	srnic_count(listen ? listen->dev : first_device(listener), SRNIC_STARTUP_FAILURES, 1);
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
		*delay = srnic_places_make_room(&listener->places, listener->backlog);
		if (*delay)
			return true;
		ret = srnic_sock_accept(listener->sock, &listener->watch, &sock);
		if (ret == -EAGAIN)
			return false;
		if (ret) {
			*delay = HZ / 10;	/* no memory: no callback will wake us */
			return true;
		}
		begin(listener, sock);
	}
	return true;
}

/*
 * Has the socket been closed under its members? An administrator can do that (`ss -K`), or a BPF
 * program, and iw_cm has no event for it.
 */
static bool is_deaf(const struct srnic_listener *listener)
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
	bool deaf;

	mutex_lock(&listener->lock);
	deaf = is_deaf(listener);
	if (!deaf && !list_empty(&listener->members) && accept_some(listener, &delay))
		kick(listener, delay);
	mutex_unlock(&listener->lock);
	if (deaf)
		listen_again(listener);
	kref_put(&listener->ref, free_listener);
	memalloc_noio_restore(noio);
}

int srnic_listen_announce(struct srnic_listen *listen, struct iw_cm_event *event)
{
	int ret = -ECONNABORTED;

	mutex_lock(&listen->lock);
	if (listen->open) {
		*srnic_port_of(&event->local_addr) = port_of(&listen->cm_id->m_local_addr);
		ret = listen->cm_id->event_handler(listen->cm_id, event);
	}
	mutex_unlock(&listen->lock);
	return ret;
}

/* ---- listening sockets (listeners_lock held) ---- */

/* Most likely TCP's own: ids that listen at the same address have been found before. */
static void warn_taken(const struct srnic_listen *listen)
{
	u16 rdma = ntohs(port_of(&listen->cm_id->m_local_addr));
	u16 tcp = ntohs(port_of(&listen->addr));

	ibdev_warn_ratelimited(&listen->dev->base,
			       "TCP port %u is in use; carry RDMA port %u on another: port_map\n",
			       tcp, rdma);
}

static void close_socket(struct srnic_listener *listener)
{
	if (!listener->sock)
		return;
	srnic_sock_unwatch(listener->sock, &listener->watch);
	sock_release(listener->sock);
	listener->sock = NULL;
}

static int open_socket(struct srnic_listener *listener, const struct srnic_listen *listen)
{
	int ret = srnic_sock_create(listener->net, listener->l3mdev, listener->addr.ss_family,
				    &listener->sock);

	lockdep_assert_held(&listeners_lock);
	if (ret)
		return ret;
	if (listen->tos_set)
		srnic_sock_set_tos(listener->sock, listen->tos);
	if (listen->moved)	/* IPv6 addresses go when an interface moves, and may come again */
		ip_sock_set_freebind(listener->sock->sk);
	/* Before it listens, so that each connection wakes the work. */
	srnic_sock_watch(listener->sock, &listener->watch);
	srnic_sock_defer_accept(listener->sock, SILENCE);
	ret = srnic_sock_listen(listener->sock, &listener->addr, listener->v6only,
				max3((u32)listen->backlog, listener->backlog, SOMAXCONN + 0U));
	if (ret == -EADDRINUSE)
		warn_taken(listen);
	if (ret)
		close_socket(listener);
	return ret;
}

static void reopen_socket(struct srnic_listener *listener)
{
	const struct srnic_listen *first =
		list_first_entry(&listener->members, struct srnic_listen, link);
	int ret;

	close_socket(listener);
	ret = open_socket(listener, first);
	ibdev_warn_ratelimited(&first->dev->base,
			       "TCP port %u: its socket was closed; listening again: %d\n",
			       ntohs(port_of(&listener->addr)), ret);
	if (ret)
		kick(listener, REOPEN_DELAY);
}

/* No lock held. */
static void listen_again(struct srnic_listener *listener)
{
	mutex_lock(&listeners_lock);
	mutex_lock(&listener->lock);
	if (is_deaf(listener))
		reopen_socket(listener);
	mutex_unlock(&listener->lock);
	mutex_unlock(&listeners_lock);
}

static struct srnic_listener *open_listener(struct net *net, const struct srnic_listen *listen)
{
	struct srnic_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	int ret = -ENETDOWN;

	lockdep_assert_held(&listeners_lock);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	kref_init(&listener->ref);
	mutex_init(&listener->lock);
	srnic_places_init(&listener->places);
	INIT_LIST_HEAD(&listener->members);
	INIT_DELAYED_WORK(&listener->work, listener_work);
	listener->watch.wake = wake;
	listener->addr = listen->addr;
	listener->l3mdev = listen->l3mdev;
	listener->wildcard = is_wildcard(&listener->addr);
	listener->v6only = listen->cm_id->afonly;
	listener->net = maybe_get_net(net);
	if (listener->net)
		ret = open_socket(listener, listen);
	if (!ret) {
		list_add(&listener->link, &listeners);
		return listener;
	}
	if (listener->net)
		put_net(listener->net);
	kref_put(&listener->ref, free_listener);
	return ERR_PTR(ret);
}

/* The last member has left. listener->lock held, too. */
static void close_listener(struct srnic_listener *listener)
{
	lockdep_assert_held(&listeners_lock);
	list_del(&listener->link);
	close_socket(listener);
	put_net(listener->net);
	if (cancel_delayed_work(&listener->work))	/* the timer must not outlive the module */
		kref_put(&listener->ref, free_listener);
	kref_put(&listener->ref, free_listener);
}

/* May this id share the socket? Only wildcards of different devices do. */
static bool can_join(const struct srnic_listener *listener, const struct srnic_listen *listen)
{
	const struct srnic_listen *other;

	lockdep_assert_held(&listeners_lock);
	if (!listener->wildcard || listener->v6only != listen->cm_id->afonly)
		return false;
	list_for_each_entry(other, &listener->members, link)
		if (other->dev == listen->dev)
			return false;
	return true;
}

static struct srnic_listener *listener_for(struct net *net, const struct srnic_listen *listen)
{
	struct srnic_listener *listener;

	lockdep_assert_held(&listeners_lock);
	list_for_each_entry(listener, &listeners, link)
		if (net_eq(listener->net, net) && listener->l3mdev == listen->l3mdev &&
		    same_addr(&listener->addr, &listen->addr))
			return can_join(listener, listen) ? listener : ERR_PTR(-EADDRINUSE);
	return open_listener(net, listen);
}

/*
 * Where this id listens: a wildcard outside of all VRFs if the administrator has its sockets accept
 * from each (tcp_l3mdev_accept), as TCP then refuses others of that port.
 */
static int l3mdev_of(const struct iw_cm_id *id)
{
	if (is_wildcard(&id->m_local_addr) && srnic_compat_accepts_all(srnic_iwcm_net(id)))
		return 0;
	return srnic_iwcm_l3mdev(id, to_srnic_dev(id->device)->netdev);
}

static int join(struct srnic_listen *listen, struct net *net)
{
	struct srnic_listener *listener;

	lockdep_assert_held(&listeners_lock);
	if (listen->dev->connections.dying)
		return -ENODEV;
	listen->l3mdev = l3mdev_of(listen->cm_id);	/* under the lock, as follow() looks */
	listener = listener_for(net, listen);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	kref_get(&listener->ref);
	listen->listener = listener;
	listen->open = true;	/* without its lock: not visible to others yet */
	listen->cm_id->add_ref(listen->cm_id);
	kref_get(&listen->ref);
	mutex_lock(&listener->lock);
	list_add_tail(&listen->link, &listener->members);
	listener->backlog = max_t(u32, listener->backlog, listen->backlog);
	listen->joined = true;
	mutex_unlock(&listener->lock);
	kick(listener, 0);	/* for what came before there was a member */
	return 0;
}

/* After this no CONNECT_REQUEST is delivered on this id. Idempotent. */
static void leave(struct srnic_listen *listen)
{
	struct srnic_listener *listener = listen->listener;

	lockdep_assert_held(&listeners_lock);
	if (!listen->joined)
		return;
	mutex_lock(&listener->lock);
	listen->joined = false;
	list_del(&listen->link);
	if (list_empty(&listener->members))
		close_listener(listener);
	mutex_unlock(&listener->lock);
	mutex_lock(&listen->lock);
	listen->open = false;
	mutex_unlock(&listen->lock);
	listen->cm_id->rem_ref(listen->cm_id);
	srnic_places_end(&listener->places, listen);
	kref_put(&listen->ref, free_listen);
}

/* ---- verbs ---- */

static struct srnic_listen *alloc_listen(struct iw_cm_id *id, int backlog)
{
	struct srnic_listen *listen = kzalloc(sizeof(*listen), GFP_KERNEL);

	if (!listen)
		return NULL;
	kref_init(&listen->ref);
	mutex_init(&listen->lock);
	listen->cm_id = id;
	listen->dev = to_srnic_dev(id->device);
	listen->addr = id->m_local_addr;
	srnic_ports_exchange(&listen->dev->connections.ports, &listen->addr);
	listen->backlog = max(backlog, 1);
	listen->tos_set = id->tos_set;
	listen->tos = id->tos;
	return listen;
}

/*
 * May this id listen in vain? rdma_cm opens the wildcard listeners that there are on a device that
 * it adds, and gives the device up for good if one fails; on one that goes, a failure would fail a
 * consumer's wildcard listen on all devices.
 */
static bool may_be_deaf(const struct iw_cm_id *id)
{
	return is_wildcard(&id->m_local_addr) &&
	       !READ_ONCE(to_srnic_dev(id->device)->connections.open);
}

int srnic_create_listen(struct iw_cm_id *id, int backlog)
{
	const struct sockaddr_storage *addr = &id->m_local_addr;
	struct net *net = srnic_iwcm_net(id);
	struct srnic_listen *listen;
	int ret;

	if ((addr->ss_family != AF_INET && addr->ss_family != AF_INET6) || !port_of(addr))
		return -EINVAL;
	id->provider_data = NULL;
	/*
	 * An error here would fail a wildcard listen on all devices, so devices of other namespaces
	 * accept nothing instead.
	 */
	if (!net_eq(net, dev_net(to_srnic_dev(id->device)->netdev)))
		return is_wildcard(addr) ? 0 : -EADDRNOTAVAIL;
	listen = alloc_listen(id, backlog);
	if (!listen)
		return -ENOMEM;
	id->provider_data = listen;
	mutex_lock(&listeners_lock);
	ret = join(listen, net);
	mutex_unlock(&listeners_lock);
	if (ret) {
		id->provider_data = NULL;
		kref_put(&listen->ref, free_listen);
	}
	return may_be_deaf(id) ? 0 : ret;
}

struct sock *srnic_listen_sock(const struct iw_cm_id *id)
{
	const struct srnic_listen *listen = id->provider_data;
	struct srnic_listener *listener = listen->listener;
	struct sock *sk = NULL;

	mutex_lock(&listener->lock);
	if (listener->sock) {
		sk = listener->sock->sk;
		sock_hold(sk);
	}
	mutex_unlock(&listener->lock);
	return sk;
}

int srnic_destroy_listen(struct iw_cm_id *id)
{
	struct srnic_listen *listen;

	mutex_lock(&listeners_lock);
	listen = id->provider_data;	/* under the lock: move() changes it */
	id->provider_data = NULL;
	if (listen)
		leave(listen);
	mutex_unlock(&listeners_lock);
	if (listen)
		kref_put(&listen->ref, free_listen);
	return 0;
}

/* Those of a device, or, if that is NULL, those whose interface has changed its VRF, leave. */
static void leave_all(const struct srnic_dev *dev, struct list_head *left)
{
	struct srnic_listener *listener, *next_listener;
	struct srnic_listen *listen, *next;

	lockdep_assert_held(&listeners_lock);
	list_for_each_entry_safe(listener, next_listener, &listeners, link)
		list_for_each_entry_safe(listen, next, &listener->members, link) {
			bool last = list_is_singular(&listener->members);

			if (dev ? listen->dev != dev : listen->l3mdev == l3mdev_of(listen->cm_id))
				continue;
			leave(listen);
			list_add_tail(&listen->link, left);	/* the id has a reference */
			if (last)
				break;	/* the listener is closed as well */
		}
}

void srnic_listen_dev_exit(struct srnic_dev *dev)
{
	LIST_HEAD(left);

	mutex_lock(&listeners_lock);
	leave_all(dev, &left);
	mutex_unlock(&listeners_lock);
	/*
	 * Callbacks of listening sockets run under RCU, without the socket's lock: wait for those
	 * in progress.
	 */
	synchronize_rcu();
}

/* ---- interfaces that move between VRFs ---- */

/* Has its id listen again where the interface is now. listeners_lock held. */
static void move(struct srnic_listen *listen)
{
	struct iw_cm_id *id = listen->cm_id;
	struct srnic_listen *next = alloc_listen(id, listen->backlog);
	int ret = -ENOMEM;

	lockdep_assert_held(&listeners_lock);
	if (next) {
		next->addr = listen->addr;	/* whatever the port map has become */
		next->moved = true;
		ret = join(next, srnic_iwcm_net(id));
	}
	if (ret)
		ibdev_warn_ratelimited(&listen->dev->base,
				       "RDMA port %u is not listened on in another VRF: error %d\n",
				       ntohs(port_of(&id->m_local_addr)), ret);
	if (ret && next) {
		kref_put(&next->ref, free_listen);
		next = NULL;
	}
	id->provider_data = next;
	kref_put(&listen->ref, free_listen);
}

static void follow(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save(); /* storage may wait for works behind this one */
	struct srnic_listen *listen, *next;
	LIST_HEAD(left);

	mutex_lock(&listeners_lock);
	leave_all(NULL, &left);
	list_for_each_entry_safe(listen, next, &left, link)
		move(listen);
	mutex_unlock(&listeners_lock);
	memalloc_noio_restore(noio);
}

static DECLARE_WORK(follow_work, follow);

void srnic_listen_follow(void)
{
	queue_work(srnic_wq, &follow_work);
}
