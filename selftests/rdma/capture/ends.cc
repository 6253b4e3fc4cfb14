// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connecting from namespace to namespace, and what the client posts.
#include "ends.hh"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

// Of this thread.
static void enter(const std::string &ns)
{
	const int fd = open(("/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && !setns(fd, CLONE_NEWNET), "namespace " + ns);
	close(fd);
}

Ends::Ends(const Route &route, uint32_t receive)
{
	join(
		client, server,
		[&](int flags) {
			enter(flags & RAI_PASSIVE ? route.server_ns : route.client_ns);
			return create_ep(route.address, flags);
		},
		[&] { server.post_recv(0, receive); });
}

int post(Ends &ends, ibv_wr_opcode opcode, uint32_t len, unsigned int flags, uint32_t rkey)
{
	ibv_sge list = ends.client.sge(len);
	ibv_send_wr wr{}, *bad;

	wr.sg_list = &list;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED | flags;
	wr.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(ends.server.buffer.data());
	wr.wr.rdma.rkey = rkey; // siw's library also takes the STag to invalidate from here
	wr.invalidate_rkey = rkey;
	return ibv_post_send(ends.client.id->qp, &wr, &bad);
}

void succeeds(Ends &ends, ibv_wr_opcode opcode, uint32_t len, unsigned int flags)
{
	require(!post(ends, opcode, len, flags, ends.server.mr->rkey), "posting");
	const auto done = ends.client.completion(false);
	require(done && done->status == IBV_WC_SUCCESS, "operation " + std::to_string(opcode));
}
