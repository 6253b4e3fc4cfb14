// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Requests of one end, its memory and its completions. All throw Broken.
#pragma once
#include <climits>
#include <cstdint>
#include <vector>

#include "operation.hh"
#include "pair.hh"

struct Memory {
	std::vector<uint8_t> octets;
	ibv_mr *mr;

	Memory(const Side &side, uint32_t size);
	~Memory() { ibv_dereg_mr(mr); }
	Memory(const Memory &) = delete;
	ibv_sge piece() const;
	Target target() const { return {piece().addr, mr->rkey}; }
};

// Of write, read, send or write-imm.
ibv_wr_opcode opcode_of(const std::string &operation);
// Signaled, of one piece.
ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge *sge);
// Posts it so many times, with one call.
void post(const Side &side, const ibv_send_wr &wr, unsigned times);
void post_receive(const Side &side, ibv_sge sge);
void want_success(const ibv_wc &wc);
// Waits until a completion comes.
ibv_wc first(Completions &completions, bool poll);
// Waits until a completion comes; takes all that there are. Returns how many.
unsigned take(Completions &completions, bool poll);
// Posts what may be outstanding besides, at most so many. Returns how many.
unsigned fill_up(const Work &work, const Side &client, const ibv_send_wr &wr, unsigned posted,
		 unsigned done, unsigned most = UINT_MAX);
// All of the work: requests that the receiver does not hear of. RDMA Writes are over when a Read
// behind them is.
void one_sided(const Work &work, const Side &client, const ibv_send_wr &wr);
