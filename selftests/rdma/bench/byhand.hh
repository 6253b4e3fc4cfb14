// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// QPs that are connected by hand, on devices whose ports are Ethernet's.
#pragma once
#include <memory>
#include <string>

#include "pair.hh"

// An open device, for the life of the process, and the domain of all QPs and memory on it.
struct Device {
	ibv_context *verbs = nullptr;
	ibv_pd *pd = nullptr;

	explicit Device(const std::string &name);
};

Device &device(const std::string &name);

// The CQs of an end; those of an end in many pairs are in common.
struct Queues {
	Completions sends, receives;

	Queues(const Device &on, int entries)
		: sends(on.verbs, entries), receives(on.verbs, entries)
	{
	}
};

// What the other end must know of a QP.
struct QpAddress {
	uint32_t number;
	ibv_gid gid;
};

struct QpByHand {
	std::shared_ptr<Queues> queues;
	ibv_qp *qp;

	QpByHand(const Device &on, std::shared_ptr<Queues> with);
	~QpByHand() { ibv_destroy_qp(qp); }
	QpByHand(const QpByHand &) = delete;

	QpAddress address() const;
	void connect(const QpAddress &to);
	Side side() { return {qp, queues->sends, queues->receives}; }

private:
	void modify(ibv_qp_attr attr, int mask);
	ibv_mtu mtu() const;
	// The index of the first GID that is an IPv4 address; if there is none 0, whose GID is made
	// of the MAC address.
	uint8_t gid_index() const;
};
