/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One end of a shortcut (shortcut.h), as an object.
 */
#ifndef SRNIC_SHORTCUT_END_H
#define SRNIC_SHORTCUT_END_H

#include "stream/qp.h"

struct sock;

/**
 * struct srnic_shortcut - an end of a connection whose other end may be in this namespace, too
 * @node: in the table of ends
 * @sk: this end's socket, which lives as long as this
 * @peer: the other end's socket, referenced, or NULL. Set once, under the table's lock, by the end
 *	that begins last; read by the engine. Which QP has it, if any, is known only with that
 *	socket's spinlock held
 */
struct srnic_shortcut {
	struct hlist_node node;
	struct sock *sk;
	struct sock *peer;
};

/*
 * Is the other end a QP of this namespace? tx.mutex or the socket's lock held: the receive half has
 * stopped when the shortcut ends.
 */
static inline bool srnic_shortcut_exists(const struct srnic_qp *qp)
{
	/* acquire: pairs with srnic_shortcut_begin() */
	const struct srnic_shortcut *end = smp_load_acquire(&qp->shortcut);

	return end && READ_ONCE(end->peer);
}

#endif
