// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Administrator's settings in /sys/class/infiniband/NAME/, for connections made from now on.
 *
 * mpa_crc (default 1): 0 asks to go without CRCs. A connection does so only if both ends ask (RFC
 * 5044 4.4, 7.1.1).
 *
 * mpa_markers (default 0): 1 asks the peer to send markers (RFC 5044 4.3, 7.1.1), which are
 * checked. A peer that asks for markers gets them regardless of this setting.
 *
 * rdmap_swap (default 0): 1 allows peers the Swap operation of draft-ietf-storm-rdmap-ext-01 5.2.1,
 * whose code is reserved in RFC 7306 5.2.1. Otherwise it is refused like any other reserved code.
 *
 * peer_timeout (default 60): seconds after which a peer counts as gone that does not answer, or
 * that keeps its TCP window closed; 0: TCP's own time. A consumer may ask for another time.
 */
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "srnic.h"

static struct srnic_dev *dev_of(struct device *dev)
{
	return to_srnic_dev(rdma_device_to_ibdev(dev));
}

static ssize_t mpa_crc_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(dev_of(dev)->crc));
}

static ssize_t store_flag(bool *flag, const char *buf, size_t len)
{
	bool value;
	int ret = kstrtobool(buf, &value);

	if (ret)
		return ret;
	WRITE_ONCE(*flag, value);
	return len;
}

static ssize_t mpa_crc_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t len)
{
	return store_flag(&dev_of(dev)->crc, buf, len);
}
static DEVICE_ATTR_RW(mpa_crc);

static ssize_t mpa_markers_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(dev_of(dev)->markers));
}

static ssize_t mpa_markers_store(struct device *dev, struct device_attribute *attr, const char *buf,
				 size_t len)
{
	return store_flag(&dev_of(dev)->markers, buf, len);
}
static DEVICE_ATTR_RW(mpa_markers);

static ssize_t rdmap_swap_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(dev_of(dev)->swap));
}

static ssize_t rdmap_swap_store(struct device *dev, struct device_attribute *attr, const char *buf,
				size_t len)
{
	return store_flag(&dev_of(dev)->swap, buf, len);
}
static DEVICE_ATTR_RW(rdmap_swap);

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

static struct attribute *attrs[] = {
	&dev_attr_mpa_crc.attr,
	&dev_attr_mpa_markers.attr,
	&dev_attr_rdmap_swap.attr,
	&dev_attr_peer_timeout.attr,
	NULL,
};

const struct attribute_group srnic_attr_group = {
	.attrs = attrs,
};
