// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sends known numbers of every RDMAP message (RFC 5040 4.3, figure 3) from one network namespace to another, and says how
// many, one line for each opcode: for capture.sh, which counts what came by on the wire.
//	operations CLIENT-NAMESPACE SERVER-NAMESPACE SERVER-ADDRESS COUNT
//
// A Send with Invalidate has to name a region that the receiver's consumer lets be invalidated, which user space has none
// of: the receiver answers it with a Terminate. So each of these two, and a Write to no region, has a connection of its own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "../local/pair.hh"

namespace {

std::string client_ns, server_ns, address;
uint32_t count;

// One octet, a whole FPDU's worth and less, and several FPDUs.
constexpr uint32_t lengths[] = {1, 64, 1000, 5000, 65536};
uint32_t length_of(uint32_t i) { return lengths[i % std::size(lengths)]; }

// Of this thread.
void enter(const std::string &ns)
{
	const int fd = open(("/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && !setns(fd, CLONE_NEWNET), "namespace " + ns);
	close(fd);
}

struct Ends {
	End client, server;

	Ends()
	{
		enter(server_ns);
		rdma_cm_id *listener = create_ep(address, RAI_PASSIVE);
		require(!rdma_listen(listener, 1), "rdma_listen");
		std::thread accepting([&] {
			rdma_cm_id *id;

			if (rdma_get_request(listener, &id))
				return;
			server.adopt(id);
			server.post_recv(0, length_of(0));
			rdma_accept(id, nullptr);
		});
		enter(client_ns);
		client.adopt(create_ep(address, 0));
		const int ret = rdma_connect(client.id, nullptr);
		accepting.join();
		rdma_destroy_ep(listener);
		require(!ret && server.id, "rdma_connect");
	}
};

int post(const End &from, const End &to, ibv_wr_opcode opcode, uint32_t len, unsigned int flags, uint32_t rkey)
{
	ibv_sge list = from.sge(len);
	ibv_send_wr wr{}, *bad;

	wr.sg_list = &list;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED | flags;
	if (opcode == IBV_WR_SEND_WITH_INV) {
		wr.invalidate_rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(to.buffer.data());
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(from.id->qp, &wr, &bad);
}

void succeeds(End &from, const End &to, ibv_wr_opcode opcode, uint32_t len, unsigned int flags = 0)
{
	require(!post(from, to, opcode, len, flags, to.mr->rkey), "posting");
	const auto done = from.completion(false);
	require(done && done->status == IBV_WC_SUCCESS, "operation " + std::to_string(opcode));
}

void send(Ends &ends, uint32_t i, unsigned int flags)
{
	succeeds(ends.client, ends.server, IBV_WR_SEND, length_of(i), flags);
	const auto got = ends.server.completion(true);
	require(got && got->status == IBV_WC_SUCCESS && got->byte_len == length_of(i), "a Send is received");
	require(!ends.server.post_recv(0, length_of(i + 1)), "ibv_post_recv");
}

void all_that_succeed()
{
	Ends ends;

	for (uint32_t i = 0; i < count; i++) {
		succeeds(ends.client, ends.server, IBV_WR_RDMA_WRITE, length_of(i));
		succeeds(ends.client, ends.server, IBV_WR_RDMA_READ, length_of(i));
		send(ends, 2 * i, 0);
		send(ends, 2 * i + 1, IBV_SEND_SOLICITED);
	}
}

// The peer has terminated: what is posted next is flushed, or has failed before.
void is_refused(ibv_wr_opcode opcode, unsigned int flags, uint32_t rkey_flip)
{
	Ends ends;

	require(!post(ends.client, ends.server, opcode, 64, flags, ends.server.mr->rkey ^ rkey_flip), "posting");
	ends.client.completion(false);
	for (int i = 0; i < 200; i++) {
		ibv_qp_attr attr{};
		ibv_qp_init_attr init;

		require(!ibv_query_qp(ends.client.id->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
		if (attr.qp_state == IBV_QPS_ERR)
			return;
		usleep(10000);
	}
	throw Failure("the peer has not terminated the connection");
}

// Opcode, messages, and octets of payload where they are of our making. Each of the four connections begins with an empty
// Write (RFC 6581 9: the ready-to-receive message that both ends prefer).
void tell()
{
	uint32_t data = 0, sends = 0, solicited = 0;

	for (uint32_t i = 0; i < count; i++) {
		data += length_of(i);
		sends += length_of(2 * i);
		solicited += length_of(2 * i + 1);
	}
	printf("0x00 %u %u\n0x01 %u\n0x02 %u %u\n", count + 1 + 4, data + 64, count, count, data);
	printf("0x03 %u %u\n0x04 1 64\n0x05 %u %u\n0x06 1 64\n0x07 3\n", count, sends, count, solicited);
}

} // namespace

int main(int argc, char **argv)
try {
	require(argc == 5, "usage: operations CLIENT-NAMESPACE SERVER-NAMESPACE SERVER-ADDRESS COUNT");
	client_ns = argv[1];
	server_ns = argv[2];
	address = argv[3];
	count = static_cast<uint32_t>(atoi(argv[4]));
	all_that_succeed();
	is_refused(IBV_WR_SEND_WITH_INV, 0, 0);
	is_refused(IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED, 0);
	is_refused(IBV_WR_RDMA_WRITE, 0, 0x5a5a5a00);
	tell();
	return 0;
} catch (const Failure &failure) {
	fprintf(stderr, "%s\n", failure.what());
	return 1;
}
