// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * iw_cm's listening ids: create_listen and destroy_listen. Each is a member of a listening socket,
 * of which it gets the connections of its device, and moves to another one when its interface goes
 * to another VRF.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "compat/iwcm-net.h"
#include "connection/address.h"
#include "connection/connect.h"
#include "connection/iwcm.h"
#include "connection/open.h"

/* Those that listen, in the order in which they began; under srnic_listeners_lock. */
static LIST_HEAD(listening_ids);

/* ---- members of listening sockets ---- */

static struct srnic_listening_id *listening_id_of(struct srnic_listener_member *member)
{
	return container_of(member, struct srnic_listening_id, member);
}

static int accepted(struct srnic_listener_member *member, struct socket *sock,
		    const struct sockaddr_storage *here, const struct sockaddr_storage *there)
{
	return srnic_open_passive(member, &srnic_iwcm_ops, sock, here, there);
}

static void free_listening_id(struct srnic_listener_member *member)
{
	kfree(listening_id_of(member));
}

static const struct srnic_member_ops member_ops = {
	.accepted = accepted,
	.free = free_listening_id,
};

/* The VRF in which this id listens. */
static int l3mdev_of(const struct iw_cm_id *id)
{
	int l3mdev = srnic_iwcm_l3mdev(id, to_srnic_dev(id->device)->netdev);

	if (!srnic_is_wildcard(&id->m_local_addr))
		return l3mdev;
	return srnic_listener_wildcard_l3mdev(srnic_iwcm_net(id), l3mdev);
}

static int start_listening(struct srnic_listening_id *listening, struct net *net)
{
	struct iw_cm_id *id = listening->cm_id;
	int ret;

	lockdep_assert_held(&srnic_listeners_lock);
	if (listening->member.dev->connections.dying)
		return -ENODEV;
	listening->member.l3mdev = l3mdev_of(id);	/* under the lock, as follow() looks */
	listening->open = true;	/* without its lock: not visible to others yet */
	id->add_ref(id);
	ret = srnic_listener_join(&listening->member, net);
	if (ret) {
		listening->open = false;
		id->rem_ref(id);
		return ret;
	}
	list_add_tail(&listening->link, &listening_ids);
	listening->joined = true;
	return 0;
}

/* After this no CONNECT_REQUEST is delivered on this id. Idempotent. */
static void stop_listening(struct srnic_listening_id *listening)
{
	lockdep_assert_held(&srnic_listeners_lock);
	if (!listening->joined)
		return;
	listening->joined = false;
	list_del(&listening->link);
	srnic_listener_leave(&listening->member);
	mutex_lock(&listening->lock);
	listening->open = false;	/* waits for a delivery in progress */
	mutex_unlock(&listening->lock);
	listening->cm_id->rem_ref(listening->cm_id);
	srnic_listener_end_startups(&listening->member);
}

/* ---- verbs ---- */

static struct srnic_listening_id *alloc_listening_id(struct iw_cm_id *id, int backlog)
{
	struct srnic_listening_id *listening = kzalloc(sizeof(*listening), GFP_KERNEL);
	struct srnic_listener_member *member;

	if (!listening)
		return NULL;
	mutex_init(&listening->lock);
	listening->cm_id = id;
	member = &listening->member;
	kref_init(&member->ref);
	member->ops = &member_ops;
	member->dev = to_srnic_dev(id->device);
	member->addr = id->m_local_addr;
	member->rdma_port = srnic_port_of(&id->m_local_addr);
	srnic_ports_exchange(&member->dev->connections.ports, &member->addr);
	member->v6only = id->afonly;
	member->backlog = max(backlog, 1);
	member->tos_set = id->tos_set;
	member->tos = id->tos;
	return listening;
}

/*
 * rdma_cm opens the wildcard listeners that there are on a device that it adds, and gives the
 * device up for good if one fails; on a device that goes, a failure would fail a consumer's
 * wildcard listen on all devices. Such an id listens without a socket.
 */
static bool may_listen_without_socket(const struct iw_cm_id *id)
{
	return srnic_is_wildcard(&id->m_local_addr) &&
	       !READ_ONCE(to_srnic_dev(id->device)->connections.open);
}

int srnic_create_listen(struct iw_cm_id *id, int backlog)
{
	const struct sockaddr_storage *addr = &id->m_local_addr;
	struct net *net = srnic_iwcm_net(id);
	struct srnic_listening_id *listening;
	int ret;

	if ((addr->ss_family != AF_INET && addr->ss_family != AF_INET6) || !srnic_port_of(addr))
		return -EINVAL;
	id->provider_data = NULL;
	/*
	 * An error here would fail a wildcard listen on all devices, so devices of other namespaces
	 * accept nothing instead.
	 */
	if (!net_eq(net, dev_net(to_srnic_dev(id->device)->netdev)))
		return srnic_is_wildcard(addr) ? 0 : -EADDRNOTAVAIL;
	listening = alloc_listening_id(id, backlog);
	if (!listening)
		return -ENOMEM;
	id->provider_data = listening;
	mutex_lock(&srnic_listeners_lock);
	ret = start_listening(listening, net);
	mutex_unlock(&srnic_listeners_lock);
	if (ret) {
		id->provider_data = NULL;
		srnic_listener_put_member(&listening->member);
	}
	return may_listen_without_socket(id) ? 0 : ret;
}

struct sock *srnic_listening_sock(const struct iw_cm_id *id)
{
	const struct srnic_listening_id *listening = id->provider_data;

	return srnic_listener_sock(&listening->member);
}

int srnic_destroy_listen(struct iw_cm_id *id)
{
	struct srnic_listening_id *listening;

	mutex_lock(&srnic_listeners_lock);
	listening = id->provider_data;	/* under the lock: move() changes it */
	id->provider_data = NULL;
	if (listening)
		stop_listening(listening);
	mutex_unlock(&srnic_listeners_lock);
	if (listening)
		srnic_listener_put_member(&listening->member);
	return 0;
}

/*
 * Stops the ids of a device, or, if that is NULL, those whose interface has changed its VRF. They
 * are in `stopped` then, each referenced by its id.
 */
static void stop_all(const struct srnic_dev *dev, struct list_head *stopped)
{
	struct srnic_listening_id *listening, *next;

	lockdep_assert_held(&srnic_listeners_lock);
	list_for_each_entry_safe(listening, next, &listening_ids, link) {
		const struct srnic_listener_member *member = &listening->member;

		if (dev ? member->dev != dev : member->l3mdev == l3mdev_of(listening->cm_id))
			continue;
		stop_listening(listening);
		list_add_tail(&listening->link, stopped);
	}
}

void srnic_listening_dev_exit(struct srnic_dev *dev)
{
	LIST_HEAD(stopped);

	mutex_lock(&srnic_listeners_lock);
	stop_all(dev, &stopped);
	mutex_unlock(&srnic_listeners_lock);
	/*
	 * Callbacks of listening sockets run under RCU, without the socket's lock: wait for those
	 * in progress.
	 */
	synchronize_rcu();
}

/* ---- interfaces that move between VRFs ---- */

/* Has its id listen again where the interface is now. srnic_listeners_lock held. */
static void move(struct srnic_listening_id *listening)
{
	struct iw_cm_id *id = listening->cm_id;
	struct srnic_listening_id *next = alloc_listening_id(id, listening->member.backlog);
	int ret = -ENOMEM;

	lockdep_assert_held(&srnic_listeners_lock);
	if (next) {
		next->member.addr = listening->member.addr; /* whatever the port map has become */
		/* IPv6 addresses go when an interface moves, and may come again. */
		next->member.freebind = true;
		ret = start_listening(next, srnic_iwcm_net(id));
	}
	if (ret)
		ibdev_warn_ratelimited(&listening->member.dev->base,
				       "RDMA port %u is not listened on in another VRF: error %d\n",
				       ntohs(listening->member.rdma_port), ret);
	if (ret && next) {
		srnic_listener_put_member(&next->member);
		next = NULL;
	}
	id->provider_data = next;
	srnic_listener_put_member(&listening->member);
}

static void follow(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save(); /* storage may wait for works behind this one */
	struct srnic_listening_id *listening, *next;
	LIST_HEAD(stopped);

	mutex_lock(&srnic_listeners_lock);
	stop_all(NULL, &stopped);
	list_for_each_entry_safe(listening, next, &stopped, link)
		move(listening);
	mutex_unlock(&srnic_listeners_lock);
	memalloc_noio_restore(noio);
}

static DECLARE_WORK(follow_work, follow);

void srnic_listen_follow(void)
{
	queue_work(srnic_wq, &follow_work);
}
