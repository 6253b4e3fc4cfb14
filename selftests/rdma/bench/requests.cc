// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <algorithm>
#include <map>

#include "requests.hh"

Memory::Memory(const Side &side, uint32_t size)
	: octets(size), mr(ibv_reg_mr(side.qp->pd, octets.data(), size, rights))
{
	need(mr, "ibv_reg_mr");
}

ibv_sge Memory::piece() const
{
	return {reinterpret_cast<uintptr_t>(octets.data()), static_cast<uint32_t>(octets.size()),
		mr->lkey};
}

ibv_wr_opcode opcode_of(const std::string &operation)
{
	const std::map<std::string, ibv_wr_opcode> opcodes = {
		{"write", IBV_WR_RDMA_WRITE},
		{"read", IBV_WR_RDMA_READ},
		{"send", IBV_WR_SEND},
		{"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM},
	};

	if (!opcodes.count(operation))
		throw Broken("no operation " + operation);
	return opcodes.at(operation);
}

ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge *sge)
{
	ibv_send_wr wr{};

	wr.opcode = opcode;
	wr.sg_list = sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

void post(const Side &side, const ibv_send_wr &wr, unsigned times)
{
	std::vector<ibv_send_wr> list(times, wr);
	ibv_send_wr *bad;

	if (list.empty())
		return;
	for (size_t i = 1; i < list.size(); i++)
		list[i - 1].next = &list[i];
	need(!(errno = ibv_post_send(side.qp, list.data(), &bad)), "ibv_post_send");
}

void post_receive(const Side &side, ibv_sge sge)
{
	ibv_recv_wr *bad, wr{};

	wr.sg_list = &sge;
	wr.num_sge = 1;
	need(!(errno = ibv_post_recv(side.qp, &wr, &bad)), "ibv_post_recv");
}

void want_success(const ibv_wc &wc)
{
	if (wc.status != IBV_WC_SUCCESS)
		throw Broken(ibv_wc_status_str(wc.status));
}

ibv_wc first(Completions &completions, bool poll)
{
	std::optional<ibv_wc> wc = completions.there();

	while (!wc)
		wc = poll ? completions.there() : completions.next(-1);
	return *wc;
}

unsigned take(Completions &completions, bool poll)
{
	std::optional<ibv_wc> wc = first(completions, poll);
	unsigned n = 0;

	for (; wc; wc = completions.there(), n++)
		want_success(*wc);
	return n;
}

unsigned fill_up(const Work &work, const Side &client, const ibv_send_wr &wr, unsigned posted,
		 unsigned done, unsigned most)
{
	const unsigned left = work.count - posted,
		       room = std::min({work.depth - (posted - done), left, most}),
		       list = work.list ? std::min(work.list, left) : room;
	unsigned now = 0;

	for (; list && now + list <= room; now += list)
		post(client, wr, list);
	return now;
}

void one_sided(const Work &work, const Side &client, const ibv_send_wr &wr)
{
	ibv_sge last = {wr.sg_list->addr, 1, wr.sg_list->lkey};
	ibv_send_wr read = request(IBV_WR_RDMA_READ, &last);
	unsigned posted = 0, done = 0;

	while (done < work.count) {
		posted += fill_up(work, client, wr, posted, done);
		done += take(client.sends, work.poll);
	}
	if (wr.opcode != IBV_WR_RDMA_WRITE)
		return;
	read.wr.rdma = wr.wr.rdma;
	post(client, read, 1);
	take(client.sends, work.poll);
}
