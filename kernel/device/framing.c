// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which framings a device allows, by name, and the default of new devices.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "device/framing.h"

static const char *const names[] = {
	[BIT(CORE_FRAMING_MPA)] = "mpa",
	[BIT(CORE_FRAMING_RDMATCP)] = "rdmatcp",
	[BIT(CORE_FRAMING_MPA) | BIT(CORE_FRAMING_RDMATCP)] = "any",
};

static u32 framing = BIT(CORE_FRAMING_MPA);

const char *srnic_framings_name(u32 framings)
{
	return names[framings];
}

int srnic_framings_of(const char *name)
{
	u32 framings;

	for (framings = 1; framings < ARRAY_SIZE(names); framings++)
		if (sysfs_streq(name, names[framings]))
			return framings;
	return -EINVAL;
}

u32 srnic_default_framings(void)
{
	return READ_ONCE(framing);
}

/* The RDMA core keeps a copy of the attributes, which some calls return. */
void srnic_set_framings(struct srnic_dev *dev, u32 framings)
{
	WRITE_ONCE(dev->framings, framings);
	WRITE_ONCE(dev->base.attrs.atomic_cap, srnic_atomic_cap(dev));
	WRITE_ONCE(dev->base.attrs.masked_atomic_cap, srnic_atomic_cap(dev));
}

/* ---- the module parameter ---- */

static int set_default(const char *value, const struct kernel_param *param)
{
	int framings = srnic_framings_of(value);

	if (framings < 0)
		return framings;
	WRITE_ONCE(framing, framings);
	return 0;
}

static int get_default(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", srnic_framings_name(srnic_default_framings()));
}

static const struct kernel_param_ops default_ops = { .set = set_default, .get = get_default };

module_param_cb(framing, &default_ops, NULL, 0644);
MODULE_PARM_DESC(framing, "Framing of new devices: mpa, rdmatcp, or any (connects use mpa)");
