// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Port maps. An RNIC in hardware has TCP ports of its own; ours are the host's. So a service that
 * wants the same port for TCP and for RDMA (iSER's target listens on both, SMB Direct) needs
 * another TCP port to carry the latter, which both ends agree on. rdma_cm and its consumers know
 * only the RDMA port.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "port_map.h"

static struct srnic_port_map of_new_devices = {
	.lock = __SPIN_LOCK_UNLOCKED(of_new_devices.lock),
};

void srnic_ports_init(struct srnic_port_map *map)
{
	spin_lock_init(&map->lock);
	spin_lock(&of_new_devices.lock);
	memcpy(map->pairs, of_new_devices.pairs, sizeof(map->pairs));
	map->num = of_new_devices.num;
	spin_unlock(&of_new_devices.lock);
}

/* map->lock held. */
static u16 partner(const struct srnic_port_map *map, u16 port)
{
	for (u32 i = 0; i < map->num; i++) {
		if (map->pairs[i].rdma == port)
			return map->pairs[i].tcp;
		if (map->pairs[i].tcp == port)
			return map->pairs[i].rdma;
	}
	return port;
}

void srnic_ports_exchange(struct srnic_port_map *map, struct sockaddr_storage *addr)
{
	spin_lock(&map->lock);
	srnic_set_port(addr, htons(partner(map, ntohs(srnic_port_of(addr)))));
	spin_unlock(&map->lock);
}

/* ---- as text ---- */

/* Reads a port's number. Returns the text after it, or NULL if there is no number. */
static const char *parse_port(const char *text, u16 *port)
{
	u32 number = 0;

	if (!isdigit(*text))
		return NULL;
	for (; isdigit(*text); text++) {
		number = number * 10 + *text - '0';
		if (number > U16_MAX)
			return NULL;
	}
	*port = number;
	return number ? text : NULL;
}

static const char *parse_pair(const char *text, struct srnic_port_pair *pair)
{
	text = parse_port(text, &pair->rdma);
	if (!text || *text != ':')
		return NULL;
	text = parse_port(text + 1, &pair->tcp);
	return text && (!*text || isspace(*text)) ? text : NULL;
}

static int add(struct srnic_port_map *map, struct srnic_port_pair pair)
{
	if (map->num == SRNIC_MAX_PORT_PAIRS)
		return -E2BIG;
	if (pair.rdma == pair.tcp || partner(map, pair.rdma) != pair.rdma ||
	    partner(map, pair.tcp) != pair.tcp)
		return -EEXIST;
	map->pairs[map->num++] = pair;
	return 0;
}

int srnic_ports_parse(struct srnic_port_map *map, const char *text)
{
	struct srnic_port_map parsed = { };
	struct srnic_port_pair pair;
	int ret;

	for (text = skip_spaces(text); *text; text = skip_spaces(text)) {
		text = parse_pair(text, &pair);
		if (!text)
			return -EINVAL;
		ret = add(&parsed, pair);
		if (ret)
			return ret;
	}
	spin_lock(&map->lock);
	memcpy(map->pairs, parsed.pairs, sizeof(map->pairs));
	map->num = parsed.num;
	spin_unlock(&map->lock);
	return 0;
}

int srnic_ports_print(struct srnic_port_map *map, char *page)
{
	int len = 0;

	spin_lock(&map->lock);
	for (u32 i = 0; i < map->num; i++)
		len += sysfs_emit_at(page, len, i ? " %u:%u" : "%u:%u", map->pairs[i].rdma,
				     map->pairs[i].tcp);
	spin_unlock(&map->lock);
	return len + sysfs_emit_at(page, len, "\n");
}

/* ---- the module parameter ---- */

static int parse_default(const char *value, const struct kernel_param *param)
{
	return srnic_ports_parse(&of_new_devices, value);
}

static int print_default(char *buffer, const struct kernel_param *param)
{
	return srnic_ports_print(&of_new_devices, buffer);
}

static const struct kernel_param_ops default_ops = { .set = parse_default, .get = print_default };

module_param_cb(port_map, &default_ops, NULL, 0644);
MODULE_PARM_DESC(port_map, "Port map of new devices: RDMA:TCP pairs of ports that change places");
