// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Administrator's settings in /sys/class/infiniband/NAME/, for connections made from now on.
 * settings.def says what each is for.
 *
 * Writing takes CAP_NET_ADMIN where the interface is, as its other settings do: the files' owner is
 * root, but a container's root may have no such rights.
 */
#include <linux/capability.h>
#include <linux/kstrtox.h>
#include <linux/netdevice.h>
#include <linux/sysfs.h>

#include "device/framing.h"
#include "device/types.h"
#include "srnic.h"

/* A setting's file; set() changes it, after the writer's rights were checked. */
struct setting {
	struct device_attribute attr;
	int (*set)(struct srnic_dev *dev, const struct setting *setting, const char *buf);
	size_t offset;	/* set_flag(), set_number(): where the value is in struct srnic_settings */
	u32 most;	/* set_number() */
};

const struct srnic_settings srnic_initial_settings = {
#define SETTING_FLAG(name, initial, ...) .name = initial,
#define SETTING_NUMBER(name, initial, ...) .name = initial,
#include "settings.def"
};

const struct srnic_settings srnic_ib_initial_settings = {
#define IB_SETTING(name, initial) .name = initial,
#include "settings.def"
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

/* ---- flags and numbers ---- */

static void *value_of(struct srnic_dev *dev, const struct setting *setting)
{
	return (void *)&dev->settings + setting->offset;
}

static ssize_t show_flag(struct device *device, struct device_attribute *attr, char *buf)
{
	const bool *value = value_of(dev_of(device), setting_of(attr));

	return sysfs_emit(buf, "%d\n", READ_ONCE(*value));
}

static int set_flag(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	bool *flag = value_of(dev, setting);
	bool value;
	int ret = kstrtobool(buf, &value);

	if (!ret)
		WRITE_ONCE(*flag, value);
	return ret;
}

static ssize_t show_number(struct device *device, struct device_attribute *attr, char *buf)
{
	const u32 *value = value_of(dev_of(device), setting_of(attr));

	return sysfs_emit(buf, "%u\n", READ_ONCE(*value));
}

static int set_number(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	u32 *number = value_of(dev, setting);
	u32 value;
	int ret = kstrtou32(buf, 0, &value);

	if (ret)
		return ret;
	if (value > setting->most)
		return -ERANGE;
	WRITE_ONCE(*number, value);
	return 0;
}

/* ---- the others ---- */

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

static ssize_t show_port_map(struct device *dev, struct device_attribute *attr, char *buf)
{
	return srnic_ports_print(&dev_of(dev)->connections.ports, buf);
}

static int set_port_map(struct srnic_dev *dev, const struct setting *setting, const char *buf)
{
	return srnic_ports_parse(&dev->connections.ports, buf);
}

/* ---- the files ---- */

enum {
#define SETTING(name) INDEX_##name,
#include "settings.def"
	NUM_SETTINGS
};

#define FILE(_name, _show) { \
		.attr = { .name = _name, .mode = 0644 }, .show = _show, .store = store, \
	}

static struct setting settings[] = {
#define SETTING(_name) \
	[INDEX_##_name] = { .attr = FILE(#_name, show_##_name), .set = set_##_name },
#define SETTING_FLAG(_name, ...) \
	[INDEX_##_name] = { \
		.attr = FILE(#_name, show_flag), .set = set_flag, \
		.offset = offsetof(struct srnic_settings, _name), \
	},
#define SETTING_NUMBER(_name, initial, _most, ...) \
	[INDEX_##_name] = { \
		.attr = FILE(#_name, show_number), .set = set_number, \
		.offset = offsetof(struct srnic_settings, _name), \
		.most = _most, \
	},
#include "settings.def"
};

/* What tools expect of any RDMA device. */
static ssize_t board_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", srnic_type(dev_of(dev)));
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *attrs[] = {
#define SETTING(name) \
	[INDEX_##name] = &settings[INDEX_##name].attr.attr,
#include "settings.def"
	[NUM_SETTINGS] = &dev_attr_board_id.attr,
	NULL,
};

const struct attribute_group srnic_attr_group = {
	.attrs = attrs,
};

enum {
#define IB_SETTING(name, initial) IB_INDEX_##name,
#include "settings.def"
	NUM_IB_SETTINGS
};

static struct attribute *ib_attrs[] = {
#define IB_SETTING(name, initial) \
	[IB_INDEX_##name] = &settings[INDEX_##name].attr.attr,
#include "settings.def"
	[NUM_IB_SETTINGS] = &dev_attr_board_id.attr,
	NULL,
};

const struct attribute_group srnic_ib_attr_group = {
	.attrs = ib_attrs,
};
