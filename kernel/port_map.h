/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Port maps: which TCP ports carry a device's RDMA ports.
 */
#ifndef SRNIC_PORT_MAP_H
#define SRNIC_PORT_MAP_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define SRNIC_MAX_PORT_PAIRS	16

/**
 * struct srnic_port_pair - two ports that change places
 * @rdma: TCP port @tcp carries this RDMA port
 * @tcp: TCP port @rdma carries this RDMA port
 */
struct srnic_port_pair {
	u16 rdma, tcp;
};

/**
 * struct srnic_port_map - all pairs; a port is in one at most
 * @lock: protects the others. Innermost, from process context
 * @pairs: the pairs, as they were written
 * @num: of them
 */
struct srnic_port_map {
	spinlock_t lock;
	struct srnic_port_pair pairs[SRNIC_MAX_PORT_PAIRS];
	u32 num;
};

/* The port of an IPv4 or IPv6 address. */
static inline __be16 srnic_port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)addr)->sin6_port;
	return ((const struct sockaddr_in *)addr)->sin_port;
}

static inline void srnic_set_port(struct sockaddr_storage *addr, __be16 port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = port;
	else
		((struct sockaddr_in *)addr)->sin_port = port;
}

/* The pairs of the module's parameter port_map; by default each port is carried by its own. */
void srnic_ports_init(struct srnic_port_map *map);
/*
 * Turns an address with an RDMA port into one with its TCP port, and back: ports change places, so
 * both directions are one operation.
 */
void srnic_ports_exchange(struct srnic_port_map *map, struct sockaddr_storage *addr);
/*
 * Takes new pairs from text, "RDMA:TCP" each, with blanks between them; there may be none. 0;
 * -EINVAL: a word is not a pair of two ports; -EEXIST: a port is there twice; -E2BIG. An error
 * leaves the map unchanged.
 */
int srnic_ports_parse(struct srnic_port_map *map, const char *text);
/* Prints the pairs in that form, with a newline, into a page. Returns the length. */
int srnic_ports_print(struct srnic_port_map *map, char *page);

#endif
