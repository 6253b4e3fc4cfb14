// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Both ends of one connection in one process, each in its own network namespace; registered memory;
// completions. Throws as ../faults/link.hh does: Broken, Stalled, Wrong.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../faults/link.hh"

constexpr int patience_ms = 60000;
constexpr uint32_t inline_len = 80;
constexpr int cq_entries = 512;
constexpr int all_rights =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

// A call that must succeed: Broken with its errno if not.
void need(bool worked, const char *what);
// The condition under test: Wrong if it is false.
void expect(bool condition, const std::string &what);

// Where an end lives: a name in /run/netns, and an IPv4 address there.
struct Place {
	std::string ns, address;
};

// A CQ and its channel.
class Completions {
public:
	explicit Completions(ibv_context *verbs, int entries = cq_entries);
	~Completions();
	Completions(const Completions &) = delete;

	std::optional<ibv_wc> there();		  // one, if there is one now
	ibv_wc next(int within_ms = patience_ms); // the next one; sleeps, -1: without limit
	ibv_wc good(uint64_t wr_id); // the next one, which must have this wr_id and success
	void arm(bool solicited);
	bool wakes(int within_ms); // an event comes within the time; -1: no limit

	ibv_cq *cq = nullptr;

private:
	ibv_comp_channel *channel = nullptr;
};

class End {
public:
	End() = default;
	End(const End &) = delete;
	~End();
	// Uses the CQs of another end, which has adopted its id.
	void share(const End &other);
	// Takes an id that has found its device, and makes the QP, and CQs if it shares none.
	void adopt(rdma_cm_id *found, int entries);
	// The two ends of a connection call: listen(), which returns an id that is the caller's;
	// connect(), with a port as in the network; requested(), when receives may be posted;
	// accept(); and each established().
	rdma_cm_id *listen(const Place &at);
	void connect(const Place &to, const Place &from, uint16_t port, uint8_t reads, int entries);
	void requested(int entries);
	void accept(uint8_t reads);
	void established() const;

	void post(uint64_t wr_id, ibv_wr_opcode opcode, std::vector<ibv_sge> list,
		  unsigned flags = IBV_SEND_SIGNALED, Target remote = {});
	void receive(uint64_t wr_id, std::vector<ibv_sge> list);
	void modify(ibv_qp_state to);
	ibv_qp_state state() const;
	// The next asynchronous event of the QP.
	ibv_event_type async_event() const;
	// Waits for this event of rdma_cm; skips others.
	void await(rdma_cm_event_type type) const;
	void destroy_qp();

	rdma_cm_id *id = nullptr;
	rdma_event_channel *events = nullptr;
	std::shared_ptr<Completions> sends, receives;
};

// Connected. Each end has as many reads outstanding as said (ORD and IRD), and CQs of so many
// entries, or those of another connection's ends.
struct Joint {
	End server, client;

	Joint(const Place &to, const Place &from, uint8_t reads = 8, int entries = cq_entries,
	      const Joint *with_cqs_of = nullptr);
};

// Memory that is registered; not owned.
struct Region {
	Region(const End &end, void *at, size_t len, int access = all_rights);
	~Region() { revoke(); }
	Region(const Region &) = delete;

	void revoke();
	ibv_sge piece(size_t offset, uint32_t len) const;
	Target target(size_t offset = 0) const;

	ibv_mr *mr;
	uint8_t *const at;
};

// The same with memory of its own, which begins as zeros.
struct Buffer {
	std::vector<uint8_t> octets;
	Region region;

	Buffer(const End &end, size_t len) : octets(len), region(end, octets.data(), len) {}
	void fill(uint64_t seed)
	{
		::fill(octets.data(), static_cast<uint32_t>(octets.size()), seed);
	}
};
