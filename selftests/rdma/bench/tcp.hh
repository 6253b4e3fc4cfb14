// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What is measured over plain TCP, for comparison. Both ends sleep in their own thread.
#pragma once
#include <string>

#include "../semantics/ends.hh"

// write(2) of so many bytes, so many times; the reader reads all of it, on the second processor if
// apart. zerocopy: by MSG_ZEROCOPY, with at most 16 buffers that TCP has not given back.
void tcp_write(const Place &from, const Place &to, unsigned count, uint32_t size, bool zerocopy,
	       bool apart);
// So many bytes go, and come back, count / 2 times; apart: from there.
void tcp_ping_pong(const Place &from, const Place &to, unsigned count, uint32_t size, bool apart);
// So many connections, one after the other.
void tcp_connect(const Place &from, const Place &to, unsigned count);
