// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A ring buffer in the receiver's memory, filled by RDMA Writes with Immediate Data.
//
//	ring ADDRESS PORT receive >FILE
//	ring ADDRESS PORT send <FILE
//
// Each Write fills one slot. Its Immediate Data, the number of the record, completes a receive: the
// record is there then, and the completion says how long it is. An empty record is the end. The
// receiver returns slots by Immediate Data of its own. Nothing here is particular to srnic.
#include "endpoint.hh"

#include <arpa/inet.h>
#include <vector>

constexpr uint32_t slots = 16, slot_size = 65536;

// One end, with memory of `slots` slots.
class End {
public:
	std::vector<char> memory = std::vector<char>(slots * slot_size);
	rdma_cm_id *id;
	ibv_mr *mr;

	explicit End(rdma_cm_id *with) : id(with)
	{
		mr = ibv_reg_mr(id->pd, memory.data(), memory.size(),
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		check(mr, "ibv_reg_mr");
		for (uint32_t i = 0; i < slots; i++)
			expect();
	}

	char *slot(uint32_t number) { return &memory[number % slots * slot_size]; }

	// A receive for Immediate Data: without memory.
	void expect()
	{
		ibv_recv_wr wr{}, *bad;

		check(!ibv_post_recv(id->qp, &wr, &bad), "ibv_post_recv");
	}
	// The next Immediate Data; *written: bytes of the Write in front of it.
	uint32_t next(uint32_t *written = nullptr)
	{
		ibv_wc wc;

		check(rdma_get_recv_comp(id, &wc) == 1 && !wc.status, "a receive");
		check(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "no Immediate Data");
		expect();
		if (written)
			*written = wc.byte_len;
		return ntohl(wc.imm_data);
	}
	// Writes the slot's first bytes to `to`, and `number` behind them.
	void write(uint32_t number, uint32_t bytes, const Location &to)
	{
		ibv_sge sge = {reinterpret_cast<uintptr_t>(slot(number)), bytes, mr->lkey};
		ibv_send_wr wr{}, *bad;

		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl(number);
		wr.sg_list = &sge;
		wr.num_sge = bytes != 0;
		wr.wr.rdma = {be64toh(to.address) + number % slots * slot_size, be32toh(to.rkey)};
		if (outstanding == slots)
			complete();
		check(!ibv_post_send(id->qp, &wr, &bad), "ibv_post_send");
		outstanding++;
	}
	void complete_all()
	{
		while (outstanding)
			complete();
	}

private:
	uint32_t outstanding = 0;

	void complete()
	{
		ibv_wc wc;

		check(rdma_get_send_comp(id, &wc) == 1 && !wc.status, "a completion");
		outstanding--;
	}
};

static int receive(rdma_cm_id *listener)
{
	rdma_conn_param param{};
	rdma_cm_event *event;
	rdma_cm_id *id;
	uint32_t bytes;

	check(!rdma_listen(listener, 1), "rdma_listen");
	check(!rdma_get_request(listener, &id), "rdma_get_request");
	End end(id);
	Location ring = locate(end.memory.data(), end.mr);
	param.private_data = &ring;
	param.private_data_len = sizeof(ring);
	check(!rdma_accept(id, &param), "rdma_accept");
	for (uint32_t number = 0;; number++) {
		check(end.next(&bytes) == number, "a record is missing");
		if (!bytes)
			break;
		check(fwrite(end.slot(number), 1, bytes, stdout) == bytes, "writing");
		end.write(number, 0, ring); // an empty Write goes nowhere
	}
	check(!rdma_get_cm_event(id->channel, &event), "rdma_get_cm_event");
	return fflush(stdout);
}

static int send(rdma_cm_id *id)
{
	End end(id);
	rdma_conn_param param{};
	Location ring;
	size_t bytes = 1;

	check(!rdma_connect(id, &param), "rdma_connect");
	memcpy(&ring, id->event->param.conn.private_data, sizeof(ring));
	for (uint32_t number = 0; bytes; number++) {
		if (number >= slots)
			check(end.next() == number - slots, "a slot was not returned");
		bytes = fread(end.slot(number), 1, slot_size, stdin);
		end.write(number, static_cast<uint32_t>(bytes), ring);
	}
	end.complete_all();
	return rdma_disconnect(id);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[3], "receive"))
		return receive(create(argv[1], argv[2], RAI_PASSIVE, slots));
	if (argc == 4 && !strcmp(argv[3], "send"))
		return send(create(argv[1], argv[2], 0, slots));
	fprintf(stderr, "ring ADDRESS PORT receive >FILE | send <FILE\n");
	return 2;
}
