// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The doorbell: how a QP tells the kernel of what it has posted. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "provider.h"

/* The same as a command of libibverbs, which may be a cancellation point. */
static int ring_by_command(struct srnic_qp *qp)
{
	struct ibv_send_wr *none;
	int state, err;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	err = ibv_cmd_post_send(&qp->base, NULL, &none);
	pthread_setcancelstate(state, NULL);
	return err;
}

/*
 * A plain system call is cheapest. Not write(), a cancellation point: callers have published
 * requests, and may hold a CQ's lock. uverbs refuses it if the process's credentials have changed
 * since it opened the device; libibverbs' own command works even then.
 */
static int ring_doorbell(struct srnic_qp *qp)
{
	struct ib_uverbs_post_send_resp resp;
	struct ibv_post_send cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.core_payload = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->base.handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};

	if (syscall(SYS_write, qp->base.context->cmd_fd, &cmd, sizeof(cmd)) == sizeof(cmd))
		return 0;
	return errno == EACCES ? ring_by_command(qp) : errno;
}

/*
 * The doorbell is uverbs' POST_SEND command without work requests. Requests in the ring cannot be
 * withdrawn, so it is retried if uverbs is out of memory.
 */
int srnic_doorbell(struct srnic_qp *qp)
{
	int err;

	while ((err = ring_doorbell(qp)) == ENOMEM)
		sched_yield();
	return err;
}
