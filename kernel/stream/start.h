/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a stream starts with.
 */
#ifndef SRNIC_START_H
#define SRNIC_START_H

#include <linux/net.h>

#include "core/api/core.h"

struct srnic_qp_owner;

/**
 * struct srnic_qp_start - parameters of srnic_qp_start()
 * @owner: has claimed the QP
 * @sock: connected; full operation begins with its next byte. The owner shuts and releases it,
 *	after srnic_qp_stop()
 * @agreed: result of the startup frames, its framing included
 * @initiator: this end sent the Request
 */
struct srnic_qp_start {
	struct srnic_qp_owner *owner;
	struct socket *sock;
	struct core_startup_agreed agreed;
	bool initiator;
};

#endif
