// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the examples share: an endpoint by rdma_cm, and telling the peer where memory is.
#pragma once

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <endian.h>

inline void check(bool good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

// Memory of the accepting end, in the private data of the acceptance: big-endian.
struct Location {
	uint64_t address;
	uint32_t rkey;
};

inline Location locate(const void *memory, const ibv_mr *mr)
{
	return {htobe64(reinterpret_cast<uintptr_t>(memory)), htobe32(mr->rkey)};
}

// With a QP; flags: RAI_PASSIVE to listen.
inline rdma_cm_id *create(const char *address, const char *port, int flags, uint32_t requests)
{
	rdma_addrinfo hints{}, *found;
	ibv_qp_init_attr attr{};
	rdma_cm_id *id;

	hints.ai_flags = flags;
	hints.ai_port_space = RDMA_PS_TCP;
	check(!rdma_getaddrinfo(address, port, &hints, &found), "rdma_getaddrinfo");
	attr.cap = {requests, requests, 1, 1, 0};
	attr.sq_sig_all = 1;
	check(!rdma_create_ep(&id, found, nullptr, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(found);
	return id;
}
