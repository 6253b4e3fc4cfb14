// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A plugin of QEMU: counts the instructions that a guest executes between two marks
// (rdma/bench/marks.hh). One thread may emulate all processors, or each has one. Only then it is
// known which executes a block: QEMU else names the one for which the block was translated first.
//	-plugin instructions.so,out=FILE
// At each end mark FILE is written anew, with a line for each block of instructions so far:
// address, how many they are, how often it was executed by the first processor, and by others.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>

#include "../rdma/bench/marks.hh"

// What QEMU's plugin interface 4 has of this.
extern "C" {
struct qemu_plugin_tb;
struct qemu_plugin_insn;
using Callback = void (*)(unsigned processor, void *context);

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *block);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *block, size_t index);
size_t qemu_plugin_insn_data(const qemu_plugin_insn *insn, void *to, size_t size);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t, qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *block, Callback call, int flags,
					  void *context);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *insn, Callback call, int flags,
					    void *context);

int qemu_plugin_version = 4;
int qemu_plugin_install(uint64_t id, const void *about, int argc, char **argv);
}

namespace {

struct Block {
	uint64_t address;
	size_t instructions;
	uint64_t times_first, times_others;
};

std::mutex translating;	  // blocks
std::deque<Block> blocks; // never moved: QEMU has their addresses
std::string out;
std::atomic<bool> counting;

void executed(unsigned processor, void *of)
{
	Block &block = *static_cast<Block *>(of);

	if (counting.load(std::memory_order_relaxed))
		++(processor ? block.times_others : block.times_first);
}

void begin(unsigned, void *) { counting = true; }

void end(unsigned, void *)
{
	counting = false;
	const std::lock_guard guard(translating);
	FILE *file = fopen(out.c_str(), "w");

	if (!file)
		return perror(out.c_str());
	for (const Block &block : blocks)
		if (block.times_first || block.times_others)
			fprintf(file, "%#lx %zu %lu %lu\n", block.address, block.instructions,
				block.times_first, block.times_others);
	fclose(file);
}

void look_for_marks(qemu_plugin_insn *insn)
{
	uint8_t octets[sizeof(mark_begin)];

	if (qemu_plugin_insn_data(insn, octets, sizeof(octets)) != sizeof(octets))
		return;
	if (!memcmp(octets, mark_begin, sizeof(octets)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, 0, nullptr);
	else if (!memcmp(octets, mark_end, sizeof(octets)))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, end, 0, nullptr);
}

void translated(uint64_t, qemu_plugin_tb *tb)
{
	const size_t instructions = qemu_plugin_tb_n_insns(tb);
	const std::lock_guard guard(translating);

	blocks.push_back({qemu_plugin_tb_vaddr(tb), instructions, 0, 0});
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, &blocks.back());
	for (size_t i = 0; i < instructions; i++)
		look_for_marks(qemu_plugin_tb_get_insn(tb, i));
}

} // namespace

int qemu_plugin_install(uint64_t id, const void *, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
	if (out.empty()) {
		fprintf(stderr, "instructions: out=FILE is missing\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
