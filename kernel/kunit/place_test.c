// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Where devices have their ports (place.h): all sockets of a port are where the device has joined
 * it, although the interface may move meanwhile.
 */
#include "connection/listener.h"
#include "datagram/port.h"
#include "fixture.h"
#include "pairing/port.h"

#define VRF	12345	/* where the interface is not */

/* As if the interface had left that VRF when the port looked for it. */
static void join_in(struct kunit *test, struct srnic_port *port, struct srnic_place *place, int vrf)
{
	mutex_lock(port->lock);
	port->leave(place);
	place->vrf = vrf;
	KUNIT_EXPECT_EQ(test, port->join(place), 0);
	mutex_unlock(port->lock);
}

static void the_udp_port_is_in_one_vrf(struct kunit *test)
{
	struct srnic_dev_datagrams *datagrams = &srnic_test_ib_device(test)->datagrams;

	join_in(test, &srnic_udp_port, &datagrams->place, VRF);
	for (int i = 0; i < 2; i++) {
		KUNIT_ASSERT_NOT_NULL(test, datagrams->sockets[i]);
		KUNIT_EXPECT_EQ(test, datagrams->sockets[i]->l3mdev, VRF);
		KUNIT_EXPECT_EQ(test, datagrams->sockets[i]->sock->sk->sk_bound_dev_if, VRF);
	}
	join_in(test, &srnic_udp_port, &datagrams->place, 0);
	for (int i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, datagrams->sockets[i]->l3mdev, 0);
}

static void the_tcp_port_is_in_one_vrf(struct kunit *test)
{
	struct srnic_dev_listening *listening = &srnic_test_ib_device(test)->listening;

	join_in(test, &srnic_tcp_port, &listening->place, VRF);
	for (int i = 0; i < 2; i++) {
		KUNIT_ASSERT_NOT_NULL(test, listening->members[i]);
		KUNIT_EXPECT_EQ(test, listening->members[i]->l3mdev, VRF);
	}
	join_in(test, &srnic_tcp_port, &listening->place, 0);
	for (int i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, listening->members[i]->l3mdev, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_udp_port_is_in_one_vrf),
	KUNIT_CASE(the_tcp_port_is_in_one_vrf),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_place", .test_cases = cases };

kunit_test_suite(suite);
