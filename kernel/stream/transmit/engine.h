/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine, for its own files. tx.mutex held for all.
 *
 *	batch		bytes that are built and not yet given to TCP
 *	pass		one look at the QP's state, and the work that it asks for (engine.c)
 *	run		passes of one caller until there is nothing to do (run.c)
 *	runner		the task or worker that makes a run (enum srnic_runner)
 *	kick		has an engine look for work (kick/kick.h)
 *	stand by	between doorbells of a burst: the engine looks again by itself
 *	asker		the task whose sendmsg has brought this end a request of its peer
 *	response	a Read or Atomic Response, which the peer asked for
 *	held region	a region that a half may copy from or to without another lookup
 *	stall		a pass ends though there is more to send
 */
#ifndef SRNIC_ENGINE_H
#define SRNIC_ENGINE_H

#include "stream/qp.h"

/* Does what the QP's state asks for. */
enum engine_result srnic_engine_pass(struct srnic_qp *qp);

#endif
