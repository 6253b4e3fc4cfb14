/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where a device of type srnic_ib has a port of IP: in the VRF that its interface is in. It follows
 * the interface into another VRF, and ends with the network namespace, which it does not keep.
 */
#ifndef SRNIC_PLACE_H
#define SRNIC_PLACE_H

#include <linux/list.h>
#include <linux/mutex.h>

struct ib_device;
struct net;
struct net_device;
struct srnic_place;

/**
 * struct srnic_port - a port that devices share, of TCP or UDP
 * @name: for the log
 * @lock: held in all calls; protects @places and all in them
 * @places: of the devices that have the port, or would have it
 * @vrf: the VRF in which this interface has it now, by index; 0: none
 * @join: gives it to a device that does not have it, in net and VRF of the place. After an error
 *	the device may have a part of it
 * @leave: takes it, or a part of it, from a device. Idempotent
 */
struct srnic_port {
	const char *name;
	struct mutex *lock;
	struct list_head places;
	int (*vrf)(struct net_device *netdev);
	int (*join)(struct srnic_place *place);
	void (*leave)(struct srnic_place *place);
};

/**
 * struct srnic_place - where a device has a port. Under the port's lock
 * @link: in srnic_port.places
 * @base: the device, in which this is; never changes
 * @netdev: its interface; never changes
 * @net: where it has joined last, or joins now: its interface may move meanwhile. Not referenced:
 *	only srnic_port.join uses it, others compare it
 * @vrf: in that
 * @joined: without an error
 */
struct srnic_place {
	struct list_head link;
	struct ib_device *base;
	struct net_device *netdev;
	struct net *net;
	int vrf;
	bool joined;
};

void srnic_place_init(struct srnic_place *place, struct ib_device *base, struct net_device *netdev);
/* The device has the port from now on, or an error of srnic_port.join. Process context. */
int srnic_place_enter(struct srnic_port *port, struct srnic_place *place);
/* Idempotent. When it returns no RCU reader uses the device by the port. Process context. */
void srnic_place_leave(struct srnic_port *port, struct srnic_place *place);

/* An interface has changed its VRF: its device has all ports where it is now. Any context. */
void srnic_places_follow(void);

/* Of all ports, an array that ends with NULL. There is no device before and after. */
int srnic_places_init(struct srnic_port *const *ports);
void srnic_places_exit(void);

#endif
