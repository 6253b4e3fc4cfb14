// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Administrator's settings in /sys/class/infiniband/NAME/, for connections made from now on.
 *
 * framing (default mpa): how the stream is framed (framing.c).
 *
 * mpa_crc (default 1): 0 asks to go without CRCs. A connection does so only if both ends ask (RFC
 * 5044 4.4, 7.1.1).
 *
 * mpa_markers (default 0): 1 asks the peer to send markers (RFC 5044 4.3, 7.1.1), which are
 * checked. A peer that asks for markers gets them regardless of this setting.
 *
 * mpa_large_fpdus (default 0): 1 makes FPDUs as large as MPA can where the peer shows the same bit,
 * which RFC 5044 7.1.1 reserves; siw has it as try_gso. Otherwise each fits a TCP segment (4.5).
 *
 * rdmap_swap (default 0): 1 allows peers the Swap operation of draft-ietf-storm-rdmap-ext-01 5.2.1,
 * whose code is reserved in RFC 7306 5.2.1. Otherwise it is refused like any other reserved code.
 *
 * local_shortcut (default 0): 1 lets bytes bypass TCP between two QPs of one network namespace, if
 * both ends' devices do (stream/transmit/shortcut.c). What filters, shapes or records packets
 * misses them.
 *
 * peer_timeout (default 60): seconds after which a peer counts as gone that does not answer, or
 * that keeps its TCP window closed; 0: TCP's own time. A consumer may ask for another time.
 *
 * port_map (default empty): pairs RDMA:TCP of ports that change places (port_map.c), for
 * connections and listeners from now on.
 *
 * Writing takes CAP_NET_ADMIN where the interface is, as its other settings do: the files' owner is
 * root, but a container's root may have no such rights.
 */
#include <linux/capability.h>
#include <linux/kstrtox.h>
#include <linux/netdevice.h>
#include <linux/sysfs.h>

#include "device/framing.h"
#include "srnic.h"

/* A setting's file; set() changes it, after the writer's rights were checked. */
struct setting {
	struct device_attribute attr;
	int (*set)(struct srnic_dev *dev, const struct setting *setting, const char *buf);
	size_t flag;	/* set_flag(): which bool of struct srnic_dev */
};

static struct srnic_dev *dev_of(struct device *dev)
{
	return to_srnic_dev(rdma_device_to_ibdev(dev));
}

static const struct setting *setting_of(const struct device_attribute *attr)
{
	return container_of(attr, struct setting, attr);
}

static bool may_set(const struct srnic_dev *dev)
{
	bool may;

	rcu_read_lock();	/* the interface may leave its namespace, which may go then */
	may = ns_capable(dev_net(dev->netdev)->user_ns, CAP_NET_ADMIN);
	rcu_read_unlock();
	return may;
}

static ssize_t store(struct device *device, struct device_attribute *attr, const char *buf,
		     size_t len)
{
	const struct setting *setting = setting_of(attr);
	struct srnic_dev *dev = dev_of(device);

	if (!may_set(dev))
		return -EPERM;
	return setting->set(dev, setting, buf) ?: len;
}

/* ---- flags ---- */

static bool *flag_of(struct srnic_dev *dev, const struct setting *setting)
{
	return (void *)dev + setting->flag;
}

static ssize_t show_flag(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*flag_of(dev_of(dev), setting_of(attr))));
}

static int set_flag(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	bool value;
	int ret = kstrtobool(buf, &value);

	if (!ret)
		WRITE_ONCE(*flag_of(dev, setting), value);
	return ret;
}

static struct setting mpa_crc = {
	.attr = __ATTR(mpa_crc, 0644, show_flag, store),
	.set = set_flag,
	.flag = offsetof(struct srnic_dev, crc),
};

static struct setting mpa_markers = {
	.attr = __ATTR(mpa_markers, 0644, show_flag, store),
	.set = set_flag,
	.flag = offsetof(struct srnic_dev, markers),
};

static struct setting mpa_large_fpdus = {
	.attr = __ATTR(mpa_large_fpdus, 0644, show_flag, store),
	.set = set_flag,
	.flag = offsetof(struct srnic_dev, large_fpdus),
};

static struct setting rdmap_swap = {
	.attr = __ATTR(rdmap_swap, 0644, show_flag, store),
	.set = set_flag,
	.flag = offsetof(struct srnic_dev, swap),
};

static struct setting local_shortcut = {
	.attr = __ATTR(local_shortcut, 0644, show_flag, store),
	.set = set_flag,
	.flag = offsetof(struct srnic_dev, shortcut),
};

/* ---- the others ---- */

static ssize_t show_peer_timeout(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dev_of(dev)->peer_timeout));
}

static int set_peer_timeout(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	u32 seconds;
	int ret = kstrtou32(buf, 0, &seconds);

	if (ret)
		return ret;
	if (seconds > SRNIC_MAX_PEER_TIMEOUT)
		return -ERANGE;
	WRITE_ONCE(dev->peer_timeout, seconds);
	return 0;
}

static struct setting peer_timeout = {
	.attr = __ATTR(peer_timeout, 0644, show_peer_timeout, store),
	.set = set_peer_timeout,
};

static ssize_t show_framing(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", srnic_framings_name(READ_ONCE(dev_of(dev)->framings)));
}

static int set_framing(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	int framings = srnic_framings_of(buf);

	if (framings < 0)
		return framings;
	srnic_set_framings(dev, framings);
	return 0;
}

static struct setting framing = {
	.attr = __ATTR(framing, 0644, show_framing, store),
	.set = set_framing,
};

static ssize_t show_port_map(struct device *dev, struct device_attribute *attr, char *buf)
{
	return srnic_ports_print(&dev_of(dev)->connections.ports, buf);
}

static int set_port_map(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	return srnic_ports_parse(&dev->connections.ports, buf);
}

static struct setting port_map = {
	.attr = __ATTR(port_map, 0644, show_port_map, store),
	.set = set_port_map,
};

/* ---- what tools expect of any RDMA device ---- */

static ssize_t board_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "srnic\n");
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *attrs[] = {
	&framing.attr.attr,
	&mpa_crc.attr.attr,
	&mpa_markers.attr.attr,
	&mpa_large_fpdus.attr.attr,
	&rdmap_swap.attr.attr,
	&local_shortcut.attr.attr,
	&peer_timeout.attr.attr,
	&port_map.attr.attr,
	&dev_attr_board_id.attr,
	NULL,
};

const struct attribute_group srnic_attr_group = {
	.attrs = attrs,
};
