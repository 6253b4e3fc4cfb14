// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How a connection begins, at either end (RFC 5044 7.1.2): the initiator opens a TCP connection and
 * has its Request ready, the responder has an accepted one and waits for the Request. From there
 * the state machine runs both.
 */
#include <net/addrconf.h>
#include <net/sock.h>

#include "connection/ep.h"
#include "connection/frame.h"
#include "connection/listener.h"
#include "connection/machine.h"
#include "connection/open.h"
#include "port_map.h"

/* ---- the initiator ---- */

/* A link-local address without a scope is on the device's link. */
static void scope(struct sockaddr_storage *addr, const struct net_device *netdev)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET6 && !in6->sin6_scope_id &&
	    ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = netdev->ifindex;
}

/* Opens the ep's socket, and starts to connect it. */
static int open_from(struct srnic_ep *ep, const struct srnic_route *route,
		     const struct sockaddr_storage *here)
{
	int ret = srnic_sock_create(ep->net, route->l3mdev, here->ss_family, &ep->sock);

	if (ret)
		return ret;
	if (route->tos_set)
		srnic_sock_set_tos(ep->sock, route->tos);
	srnic_sock_watch(ep->sock, &ep->watch);
	ret = srnic_sock_connect(ep->sock, here, &ep->startup->there);
	if (!ret)
		return 0;
	srnic_sock_unwatch(ep->sock, &ep->watch);
	srnic_sock_release(ep->sock);
	ep->sock = NULL;
	return ret;
}

/* TCP does not give the port that the consumer chose. */
static bool port_is_taken(int err)
{
	return err == -EADDRINUSE || err == -EADDRNOTAVAIL || err == -EACCES;
}

/* Comes from the consumer's port if TCP gives it, else from another. */
static int open_tcp(struct srnic_ep *ep, const struct srnic_route *route)
{
	struct sockaddr_storage *here = &ep->startup->here, *there = &ep->startup->there;
	int ret;

	*here = *route->here;
	*there = *route->there;
	srnic_ports_exchange(&ep->dev->connections.ports, here);
	srnic_ports_exchange(&ep->dev->connections.ports, there);
	scope(here, ep->dev->netdev);
	scope(there, ep->dev->netdev);
	ret = open_from(ep, route, here);
	if (port_is_taken(ret)) {
		srnic_set_port(here, 0);
		ret = open_from(ep, route, here);
	}
	return ret;
}

int srnic_open_active(struct srnic_ep *ep, const struct srnic_route *route,
		      const struct srnic_offer *offer)
{
	int ret;

	lockdep_assert_held(&ep->lock);
	ret = srnic_frame_request(ep, offer) ?: open_tcp(ep, route);
	if (!ret)
		srnic_machine_enter(ep, CORE_CONN_CONNECTING);
	return ret;
}

/* ---- the responder ---- */

int srnic_open_passive(struct srnic_listener_member *member,
		       const struct srnic_consumer_ops *consumer, struct socket *sock,
		       const struct sockaddr_storage *here, const struct sockaddr_storage *there)
{
	struct srnic_ep *ep = srnic_ep_create(member->dev, sock_net(sock->sk), srnic_machine_work,
					      consumer);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ep->startup->here = *here;
	ep->startup->there = *there;
	ep->sock = sock;
	ret = srnic_listener_admit(member, ep);
	if (ret) {
		ep->sock = NULL;	/* stays the caller's */
		srnic_ep_discard(ep);
		srnic_ep_unlock_put(ep);
		return ret;
	}
	srnic_frame_local(ep, &(struct srnic_offer) {});
	srnic_sock_watch(sock, &ep->watch);
	srnic_machine_enter(ep, CORE_CONN_AWAIT_REQUEST);
	srnic_ep_unlock_put(ep);
	return 0;
}
