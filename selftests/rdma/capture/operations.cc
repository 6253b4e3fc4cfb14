// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sends known numbers of every RDMAP message (RFC 5040 4.3, figure 3; RFC 7306 figure 2) from one
// network namespace to another, and prints how many, one line for each opcode. capture.sh and
// siw.sh compare that with the wire.
//	operations CLIENT-NAMESPACE SERVER-NAMESPACE SERVER-ADDRESS COUNT [extensions] [no-rtr]
//		[invalidates]
// extensions: those of RFC 7306, too. no-rtr: the connections begin without a ready-to-receive
// message. invalidates: the server lets a program's own region be invalidated by the peer.
//
// Without invalidates, each Send with Invalidate is answered with a Terminate; with it, a Write to
// the invalidated region is. So is a Write to an unknown STag. These have connections of their own.
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "ends.hh"

namespace {

Route route;
uint32_t count;
bool extensions = false, rtr = true, invalidates = false;

// One octet, a whole FPDU's worth and less, and several FPDUs.
constexpr uint32_t lengths[] = {1, 64, 1000, 5000, 65536};
constexpr uint32_t single = 64; // of messages with a connection of their own
uint32_t length_of(uint32_t i) { return lengths[i % std::size(lengths)]; }

void received(Ends &ends, uint32_t len)
{
	const auto got = ends.server.completion(true);

	require(got && got->status == IBV_WC_SUCCESS && got->byte_len == len, "a Send is received");
}

void send(Ends &ends, uint32_t i, unsigned int flags)
{
	succeeds(ends, IBV_WR_SEND, length_of(i), flags);
	received(ends, length_of(i));
	require(!ends.server.post_recv(0, length_of(i + 1)), "ibv_post_recv");
}

void all_that_succeed()
{
	Ends ends(route, length_of(0));

	for (uint32_t i = 0; i < count; i++) {
		succeeds(ends, IBV_WR_RDMA_WRITE, length_of(i));
		succeeds(ends, IBV_WR_RDMA_READ, length_of(i));
		send(ends, 2 * i, 0);
		send(ends, 2 * i + 1, IBV_SEND_SOLICITED);
	}
}

// ---- RFC 7306 ----

ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge *list, unsigned int flags = 0)
{
	ibv_send_wr wr{};

	wr.sg_list = list;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED | flags;
	return wr;
}

void done(Ends &ends, ibv_send_wr wr)
{
	ibv_send_wr *bad;

	require(!ibv_post_send(ends.client.id->qp, &wr, &bad), "posting");
	const auto completion = ends.client.completion(false);
	require(completion && completion->status == IBV_WC_SUCCESS,
		"operation " + std::to_string(wr.opcode));
}

// Immediate Data: 0x01020304 behind Writes, 0x05060708 alone and with Solicited Event.
void immediate_data(Ends &ends, uint32_t len)
{
	ibv_sge all = ends.client.sge(len), none = ends.client.sge(0);
	ibv_send_wr write = request(IBV_WR_RDMA_WRITE_WITH_IMM, &all),
		    send = request(IBV_WR_SEND_WITH_IMM, &none, IBV_SEND_SOLICITED);

	write.wr.rdma = {reinterpret_cast<uintptr_t>(ends.server.buffer.data()),
			 ends.server.mr->rkey};
	write.imm_data = htonl(0x01020304);
	send.imm_data = htonl(0x05060708);
	done(ends, write);
	received(ends, len);
	require(!ends.server.post_recv(0, 0), "ibv_post_recv");
	done(ends, send);
	received(ends, 0);
	require(!ends.server.post_recv(0, 0), "ibv_post_recv");
}

// Each adds 5, and swaps what is there for 7.
void atomic_operations(Ends &ends, uint64_t *word, uint32_t rkey)
{
	ibv_sge sink = ends.client.sge(8);
	ibv_send_wr add = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sink),
		    swap = request(IBV_WR_ATOMIC_CMP_AND_SWP, &sink);

	*word = 7;
	add.wr.atomic = {reinterpret_cast<uintptr_t>(word), 5, 0, rkey};
	swap.wr.atomic = {reinterpret_cast<uintptr_t>(word), 12, 7, rkey};
	done(ends, add);
	require(*word == 12, "the addition");
	done(ends, swap);
	require(*word == 7, "the swap");
}

void all_extensions()
{
	Ends ends(route, 0);
	alignas(8) static uint64_t word;
	ibv_mr *mr = ibv_reg_mr(ends.server.id->pd, &word, sizeof(word),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

	require(mr, "ibv_reg_mr");
	for (uint32_t i = 0; i < count; i++) {
		immediate_data(ends, length_of(i));
		atomic_operations(ends, &word, mr->rkey);
	}
	ibv_dereg_mr(mr);
}

// ---- what is refused ----

// The peer terminates: the next request is flushed, or has failed before.
void want_refusal(Ends &ends, ibv_wr_opcode opcode, unsigned int flags, uint32_t rkey)
{
	require(!post(ends, opcode, single, flags, rkey), "posting");
	ends.client.completion(false);
	for (int i = 0; i < 1000; i++) {
		ibv_qp_attr attr{};
		ibv_qp_init_attr init;

		require(!ibv_query_qp(ends.client.id->qp, &attr, IBV_QP_STATE, &init),
			"ibv_query_qp");
		if (attr.qp_state == IBV_QPS_ERR)
			return;
		usleep(10000);
	}
	throw Failure("the peer has not terminated the connection");
}

void write_to_no_region()
{
	Ends ends(route, single);

	want_refusal(ends, IBV_WR_RDMA_WRITE, 0, ends.server.mr->rkey ^ 0x5a5a5a00);
}

// siw's library does not report the STag to the receiver: a Write shows that it is gone.
void send_with_invalidate(unsigned int flags)
{
	Ends ends(route, single);
	const uint32_t rkey = ends.server.mr->rkey;

	if (!invalidates)
		return want_refusal(ends, IBV_WR_SEND_WITH_INV, flags, rkey);
	succeeds(ends, IBV_WR_SEND_WITH_INV, single, flags);
	received(ends, single);
	want_refusal(ends, IBV_WR_RDMA_WRITE, 0, rkey);
}

// Opcode, messages, and bytes of payload if it is ours. Each of the four or five connections begins
// with an RTR (RFC 6581 9.2): an empty Write, which both ends prefer.
void report()
{
	const uint32_t refused_writes = invalidates ? 3 : 1;
	uint32_t data = 0, sends = 0, solicited = 0;

	for (uint32_t i = 0; i < count; i++) {
		data += length_of(i);
		sends += length_of(2 * i);
		solicited += length_of(2 * i + 1);
	}
	printf("0x00 %u %u\n", (1 + extensions) * count + refused_writes + (4 + extensions) * rtr,
	       (1 + extensions) * data + refused_writes * single);
	printf("0x01 %u\n0x02 %u %u\n", count, count, data);
	printf("0x03 %u %u\n0x04 1 %u\n0x05 %u %u\n0x06 1 %u\n", count, sends, single, count,
	       solicited, single);
	printf("0x07 3\n");
	if (extensions)
		printf("0x08 %u %u\n0x09 %u %u\n0x0a %u\n0x0b %u\n", count, 8 * count, count,
		       8 * count, 2 * count, 2 * count);
}

void parse(int argc, char **argv)
{
	require(argc >= 5, "operations CLIENT-NAMESPACE SERVER-NAMESPACE SERVER-ADDRESS COUNT "
			   "[extensions] [no-rtr] [invalidates]");
	route = {argv[1], argv[2], argv[3]};
	count = static_cast<uint32_t>(atoi(argv[4]));
	for (int i = 5; i < argc; i++) {
		const std::string word = argv[i];

		require(word == "extensions" || word == "no-rtr" || word == "invalidates",
			"what is " + word + "?");
		extensions |= word == "extensions";
		rtr &= word != "no-rtr";
		invalidates |= word == "invalidates";
	}
}

} // namespace

int main(int argc, char **argv)
try {
	parse(argc, argv);
	all_that_succeed();
	if (extensions)
		all_extensions();
	send_with_invalidate(0);
	send_with_invalidate(IBV_SEND_SOLICITED);
	write_to_no_region();
	report();
	return 0;
} catch (const Failure &failure) {
	fprintf(stderr, "%s\n", failure.what());
	return 1;
}
