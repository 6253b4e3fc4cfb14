/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The driver's part of uverbs commands, of a provider that may be older or newer than this module.
 * The rules are in include/uapi/rdma/srnic-abi.h.
 */
#ifndef SRNIC_UDATA_H
#define SRNIC_UDATA_H

#include <rdma/ib_verbs.h>

/*
 * Copies a request to @request of @size bytes, with zeros in place of what it lacks. 0,
 * -EOPNOTSUPP if there is more than zeros beyond @size, or -EFAULT.
 */
int srnic_udata_request(struct ib_udata *udata, void *request, size_t size);
/* Fills the room for a response: at most @size bytes of @response, then zeros. 0 or -EFAULT. */
int srnic_udata_respond(struct ib_udata *udata, const void *response, size_t size);

/*
 * For verbs without a request: 0, or an error as of srnic_udata_request(). @udata: NULL for a
 * kernel consumer.
 */
int srnic_udata_no_request(struct ib_udata *udata);
/* For verbs with neither request nor response. */
int srnic_udata_none(struct ib_udata *udata);

#endif
