// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests and responses of a provider that may be older or newer than this module.
 */
#include <linux/uaccess.h>

#include "udata.h"

/* Without a byte to copy there may be no user: the core's own queries are of this kind. */
int srnic_udata_request(struct ib_udata *udata, void *request, size_t size)
{
	int err;

	if (!udata->inlen) {
		memset(request, 0, size);
		return 0;
	}
	err = copy_struct_from_user(request, size, udata->inbuf, udata->inlen);
	return err == -E2BIG ? -EOPNOTSUPP : err;
}

int srnic_udata_respond(struct ib_udata *udata, const void *response, size_t size)
{
	if (!udata->outlen)
		return 0;
	size = min(size, udata->outlen);
	if (copy_to_user(udata->outbuf, response, size) ||
	    clear_user(udata->outbuf + size, udata->outlen - size))
		return -EFAULT;
	return 0;
}

int srnic_udata_no_request(struct ib_udata *udata)
{
	return udata ? srnic_udata_request(udata, NULL, 0) : 0;
}

int srnic_udata_none(struct ib_udata *udata)
{
	int err = srnic_udata_no_request(udata);

	return err || !udata ? err : srnic_udata_respond(udata, NULL, 0);
}
