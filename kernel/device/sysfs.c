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
 * both ends' devices do (stream/shortcut.c). What filters, shapes or records packets misses them.
 *
 * peer_timeout (default 60): seconds after which a peer counts as gone that does not answer, or
 * that keeps its TCP window closed; 0: TCP's own time. A consumer may ask for another time.
 *
 * port_map (default empty): pairs RDMA:TCP of ports that change places (connection/ports.c), for
 * who listens or connects from now on.
 */
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "device/framing.h"
#include "srnic.h"

static struct srnic_dev *dev_of(struct device *dev)
{
	return to_srnic_dev(rdma_device_to_ibdev(dev));
}

/* The file of a flag of struct srnic_dev. */
struct flag_attr {
	struct device_attribute attr;
	size_t offset;
};

static bool *flag_of(struct device *dev, struct device_attribute *attr)
{
	return (void *)dev_of(dev) + container_of(attr, struct flag_attr, attr)->offset;
}

static ssize_t flag_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*flag_of(dev, attr)));
}

static ssize_t flag_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t len)
{
	bool value;
	int ret = kstrtobool(buf, &value);

	if (ret)
		return ret;
	WRITE_ONCE(*flag_of(dev, attr), value);
	return len;
}

static struct flag_attr mpa_crc = {
	.attr = __ATTR(mpa_crc, 0644, flag_show, flag_store),
	.offset = offsetof(struct srnic_dev, crc),
};

static struct flag_attr mpa_markers = {
	.attr = __ATTR(mpa_markers, 0644, flag_show, flag_store),
	.offset = offsetof(struct srnic_dev, markers),
};

static struct flag_attr mpa_large_fpdus = {
	.attr = __ATTR(mpa_large_fpdus, 0644, flag_show, flag_store),
	.offset = offsetof(struct srnic_dev, large_fpdus),
};

static struct flag_attr rdmap_swap = {
	.attr = __ATTR(rdmap_swap, 0644, flag_show, flag_store),
	.offset = offsetof(struct srnic_dev, swap),
};

static struct flag_attr local_shortcut = {
	.attr = __ATTR(local_shortcut, 0644, flag_show, flag_store),
	.offset = offsetof(struct srnic_dev, shortcut),
};

static ssize_t peer_timeout_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dev_of(dev)->peer_timeout));
}

static ssize_t peer_timeout_store(struct device *dev, struct device_attribute *attr,
				  const char *buf, size_t len)
{
	u32 seconds;
	int ret = kstrtou32(buf, 0, &seconds);

	if (ret)
		return ret;
	if (seconds > SRNIC_MAX_PEER_TIMEOUT)
		return -ERANGE;
	WRITE_ONCE(dev_of(dev)->peer_timeout, seconds);
	return len;
}
static DEVICE_ATTR_RW(peer_timeout);

static ssize_t framing_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", srnic_framings_name(READ_ONCE(dev_of(dev)->framings)));
}

static ssize_t framing_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t len)
{
	int framings = srnic_framings_of(buf);

	if (framings < 0)
		return framings;
	srnic_set_framings(dev_of(dev), framings);
	return len;
}
static DEVICE_ATTR_RW(framing);

static ssize_t port_map_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return srnic_ports_print(&dev_of(dev)->connections.ports, buf);
}

static ssize_t port_map_store(struct device *dev, struct device_attribute *attr, const char *buf,
			      size_t len)
{
	return srnic_ports_parse(&dev_of(dev)->connections.ports, buf) ?: len;
}
static DEVICE_ATTR_RW(port_map);

static struct attribute *attrs[] = {
	&dev_attr_framing.attr,
	&mpa_crc.attr.attr,
	&mpa_markers.attr.attr,
	&mpa_large_fpdus.attr.attr,
	&rdmap_swap.attr.attr,
	&local_shortcut.attr.attr,
	&dev_attr_peer_timeout.attr,
	&dev_attr_port_map.attr,
	NULL,
};

const struct attribute_group srnic_attr_group = {
	.attrs = attrs,
};
