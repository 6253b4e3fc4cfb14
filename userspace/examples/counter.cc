// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A counter and a lock in one process's memory, used by processes on other hosts without its help.
//
//	counter ADDRESS PORT serve CLIENTS	owns the memory; prints it when all clients are gone
//	counter ADDRESS PORT use NUMBER ROUNDS	NUMBER: this client's own, not 0
//
// Each client adds 1 to `counter` by an atomic operation, and 1 to `guarded` by a Read and a Write
// under the lock, ROUNDS times. Nothing here is particular to srnic.
#include "endpoint.hh"

#include <unistd.h>
#include <vector>

struct Shared {
	uint64_t counter, lock, guarded;
};

static int serve(rdma_cm_id *listener, int clients)
{
	alignas(8) static Shared shared;
	std::vector<rdma_cm_id *> ids(clients);
	ibv_mr *mr = nullptr;

	check(!rdma_listen(listener, clients), "rdma_listen");
	for (rdma_cm_id *&id : ids) {
		check(!rdma_get_request(listener, &id), "rdma_get_request");
		if (!mr) // all ids have the device's one protection domain
			mr = ibv_reg_mr(id->pd, &shared, sizeof(shared),
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
						IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
		check(mr, "ibv_reg_mr");
		Location here = locate(&shared, mr);
		rdma_conn_param param{};
		param.private_data = &here;
		param.private_data_len = sizeof(here);
		param.responder_resources = 1; // Reads and atomic operations that a client may have
		check(!rdma_accept(id, &param), "rdma_accept");
	}
	for (rdma_cm_id *id : ids) {
		rdma_cm_event *event;

		check(!rdma_get_cm_event(id->channel, &event), "rdma_get_cm_event");
		rdma_ack_cm_event(event); // the disconnection
		rdma_destroy_ep(id);
	}
	ibv_dereg_mr(mr);
	printf("counter %lu guarded %lu lock %lu\n", (unsigned long)shared.counter,
	       (unsigned long)shared.guarded, (unsigned long)shared.lock);
	return 0;
}

class Client {
public:
	explicit Client(rdma_cm_id *connecting) : id(connecting)
	{
		rdma_conn_param param{};

		param.initiator_depth = 1;
		mr = ibv_reg_mr(id->pd, &value, sizeof(value), IBV_ACCESS_LOCAL_WRITE);
		check(mr, "ibv_reg_mr");
		check(!rdma_connect(id, &param), "rdma_connect");
		memcpy(&there, id->event->param.conn.private_data, sizeof(there));
	}

	// The word's value before.
	uint64_t fetch_add(size_t offset, uint64_t add)
	{
		return run(IBV_WR_ATOMIC_FETCH_AND_ADD, offset, add, 0);
	}
	uint64_t compare_swap(size_t offset, uint64_t compare, uint64_t swap)
	{
		return run(IBV_WR_ATOMIC_CMP_AND_SWP, offset, compare, swap);
	}
	uint64_t read(size_t offset) { return run(IBV_WR_RDMA_READ, offset, 0, 0); }
	void write(size_t offset, uint64_t what)
	{
		value = what;
		run(IBV_WR_RDMA_WRITE, offset, 0, 0);
	}

private:
	rdma_cm_id *id;
	ibv_mr *mr;
	Location there;
	uint64_t value;

	uint64_t run(ibv_wr_opcode opcode, size_t offset, uint64_t compare_add, uint64_t swap)
	{
		const uint64_t address = be64toh(there.address) + offset;
		ibv_sge sge = {reinterpret_cast<uintptr_t>(&value), sizeof(value), mr->lkey};
		ibv_send_wr wr{}, *bad;
		ibv_wc wc;

		wr.opcode = opcode;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		if (opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_RDMA_WRITE)
			wr.wr.rdma = {address, be32toh(there.rkey)};
		else
			wr.wr.atomic = {address, compare_add, swap, be32toh(there.rkey)};
		check(!ibv_post_send(id->qp, &wr, &bad), "ibv_post_send");
		check(rdma_get_send_comp(id, &wc) == 1 && !wc.status, "a completion");
		return value;
	}
};

static int use(rdma_cm_id *id, uint64_t number, long rounds)
{
	Client client(id);

	while (rounds--) {
		client.fetch_add(offsetof(Shared, counter), 1);
		while (client.compare_swap(offsetof(Shared, lock), 0, number))
			usleep(rand() % 1000); // somebody else has it
		client.write(offsetof(Shared, guarded), client.read(offsetof(Shared, guarded)) + 1);
		client.compare_swap(offsetof(Shared, lock), number, 0);
	}
	rdma_disconnect(id);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[3], "serve"))
		return serve(create(argv[1], argv[2], RAI_PASSIVE, 4), atoi(argv[4]));
	if (argc == 6 && !strcmp(argv[3], "use"))
		return use(create(argv[1], argv[2], 0, 4), strtoul(argv[4], nullptr, 0),
			   atol(argv[5]));
	fprintf(stderr, "counter ADDRESS PORT serve CLIENTS | use NUMBER ROUNDS\n");
	return 2;
}
