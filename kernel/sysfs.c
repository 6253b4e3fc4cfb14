// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an administrator may set, under /sys/class/infiniband/NAME/.
 *
 * mpa_crc (default 1): 0 asks that connections made from now on do without CRCs. They do only if both ends ask
 * (RFC 5044 4.4, 7.1.1).
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

static ssize_t mpa_crc_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t len)
{
	bool crc;
	int ret = kstrtobool(buf, &crc);

	if (ret)
		return ret;
	WRITE_ONCE(dev_of(dev)->crc, crc);
	return len;
}
static DEVICE_ATTR_RW(mpa_crc);

static struct attribute *attrs[] = {
	&dev_attr_mpa_crc.attr,
	NULL,
};

const struct attribute_group srnic_attr_group = {
	.attrs = attrs,
};
