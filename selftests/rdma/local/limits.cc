// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Limits that an administrator sets: locked memory, RDMA objects and memory of a control group.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <latch>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "case.hh"
#include "process.hh"

namespace {

// Drops only the right to lock memory without limit.
void drop_ipc_lock()
{
	__user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
	__user_cap_data_struct caps[2];

	require(!syscall(SYS_capget, &head, caps), "capget");
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	caps[0].permitted &= ~(1u << CAP_IPC_LOCK);
	require(!syscall(SYS_capset, &head, caps), "capset");
}

void locked_memory()
{
	const size_t k = 1024;
	const rlimit limit{1024 * k, 1024 * k};

	require(!setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	drop_ipc_lock();
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);
	auto *memory = static_cast<uint8_t *>(mmap(nullptr, 2048 * k, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	auto reg = [&](size_t len) { return ibv_reg_mr(pd, memory, len, IBV_ACCESS_LOCAL_WRITE); };

	for (int round = 0; round < 3; round++) {
		require(!reg(2048 * k) && errno == ENOMEM, "more than the limit can be registered");
		ibv_mr *most = reg(768 * k);
		require(most, "less than the limit cannot be registered");
		require(!reg(512 * k) && errno == ENOMEM, "two regions exceed the limit");
		ibv_mr *rest = reg(128 * k);
		require(rest, "two regions within the limit cannot be registered");
		require(!ibv_dereg_mr(most) && !ibv_dereg_mr(rest), "ibv_dereg_mr");
	}
	ibv_dealloc_pd(pd);
}

// ---- control groups ----

class Group {
	const std::string root = "/sys/fs/cgroup", path = root + "/srnic-test";

public:
	explicit Group(const std::string &controller)
	{
		std::ifstream list(root + "/cgroup.controllers");
		std::string name;

		while (list >> name && name != controller)
			;
		if (name != controller)
			throw Skip("this kernel has no " + controller + " controller in cgroup v2");
		put(root + "/cgroup.subtree_control", "+" + controller);
		require(!mkdir(path.c_str(), 0755) || errno == EEXIST, "mkdir of a control group");
	}
	// If a group is removed while it has limits, Linux (6.12) accesses it when the device goes,
	// with any driver.
	~Group()
	{
		std::ofstream(path + "/rdma.max")
			<< device << " hca_handle=max hca_object=max" << std::flush;
		rmdir(path.c_str());
	}

	void set(const std::string &name, const std::string &value) const
	{
		put(path + "/" + name, value);
	}
	void join() const { set("cgroup.procs", std::to_string(getpid())); }
	long number(const std::string &name, const std::string &key = "") const
	{
		std::ifstream file(path + "/" + name);
		std::string word;
		long value = -1;

		while (!key.empty() && file >> word && word != key)
			;
		file >> value;
		return value;
	}

private:
	static void put(const std::string &file, const std::string &value)
	{
		std::ofstream out(file);

		out << value << std::flush;
		require(out.good(), "writing " + value + " to " + file);
	}
};

void limit_handles(const Group &group)
{
	group.join();
	group.set("rdma.max", device + " hca_handle=2 hca_object=max");
	Context one, two;
	const char *file = one.verbs->device->dev_name;
	require(get_context_by_write(file) < 0 && errno == EAGAIN, "a context beyond hca_handle");
	group.set("rdma.max", device + " hca_handle=3 hca_object=max");
	int fd = get_context_by_write(file);
	require(fd >= 0, "a context after the limit was raised");
	close(fd);
}

void limit_objects(const Group &group)
{
	Context context;
	ibv_pd *pd[12] = {};

	group.join();
	group.set("rdma.max", device + " hca_handle=max hca_object=10");
	Context inside; // the group of the context's owner is charged
	for (int i = 0; i < 10; i++)
		require((pd[i] = ibv_alloc_pd(inside.verbs)), "a PD within hca_object");
	require(!ibv_alloc_pd(inside.verbs) && errno == EAGAIN, "a PD beyond hca_object");
	require(!ibv_create_cq(inside.verbs, 1, nullptr, nullptr, 0) && errno == EAGAIN,
		"a CQ beyond hca_object");
	ibv_qp_init_attr init{};
	require(!ibv_dealloc_pd(pd[9]) && (pd[9] = ibv_alloc_pd(inside.verbs)),
		"a PD in place of another");
	group.set("rdma.max", device + " hca_handle=max hca_object=12");
	ibv_cq *cq = ibv_create_cq(inside.verbs, 1, nullptr, nullptr, 0);
	require(cq, "a CQ after the limit was raised");
	init.send_cq = init.recv_cq = cq;
	init.cap = {1, 1, 1, 1, 0};
	init.qp_type = IBV_QPT_RC;
	ibv_qp *qp = ibv_create_qp(pd[0], &init);
	require(qp, "a QP after the limit was raised");
	require(!ibv_create_qp(pd[0], &init) && errno == EAGAIN, "a QP beyond hca_object");
	require(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq), "destroying");
	for (ibv_pd *each : pd)
		if (each)
			ibv_dealloc_pd(each);
}

void rdma_objects()
{
	Group group("rdma");

	in_child([&] { limit_handles(group); });
	in_child([&] { limit_objects(group); });
}

constexpr long mebi = 1 << 20;

// A CQ of 2^20 entries has 32 MiB.
void charge_rings(const Group &group)
{
	group.join();
	Context context;
	const long before = group.number("memory.current");
	ibv_cq *cq = ibv_create_cq(context.verbs, 1 << 20, nullptr, nullptr, 0);

	require(cq, "ibv_create_cq");
	require(group.number("memory.current") - before >= 30 * mebi,
		"the memory of rings is not charged to their creator");
	ibv_destroy_cq(cq);
	require(group.number("memory.current") - before <= 8 * mebi,
		"the memory of a destroyed ring stays charged");
}

// Connections about to be established: both ends have QPs, and the kernel's workers allocate the
// rest. Its threads stay until its end: their stacks are charged as well.
struct Crowd {
	std::vector<rdma_cm_id *> clients, servers;
	std::vector<std::thread> connecting;
	std::latch connected, over{1};
	rdma_cm_id *listener;

	explicit Crowd(size_t size) : connected(static_cast<std::ptrdiff_t>(size))
	{
		const ibv_qp_cap cap{1, 1, 16, 1, 0};
		listener = create_ep(address, RAI_PASSIVE, "7191", cap);
		require(!rdma_listen(listener, static_cast<int>(size)), "rdma_listen");
		while (clients.size() < size)
			clients.push_back(create_ep(address, 0, "7191", cap));
		for (rdma_cm_id *id : clients)
			connecting.emplace_back([this, id] {
				rdma_connect(id, nullptr);
				connected.count_down();
				over.wait();
			});
		for (rdma_cm_id *id; servers.size() < size; servers.push_back(id))
			require(!rdma_get_request(listener, &id), "rdma_get_request");
	}
	void connect()
	{
		for (rdma_cm_id *id : servers)
			require(!rdma_accept(id, nullptr), "rdma_accept");
		connected.wait();
	}
	~Crowd()
	{
		over.count_down();
		for (rdma_cm_id *id : servers)
			rdma_destroy_ep(id);
		rdma_destroy_ep(listener);
		for (std::thread &each : connecting)
			each.join();
		for (rdma_cm_id *id : clients)
			rdma_destroy_ep(id);
	}
};

// At a depth of 128 each QP has over 2 KiB for reads of either side, and 16 SGEs of 16 bytes for
// each of its own.
void charge_reads(const Group &group)
{
	constexpr long size = 32, least = 128 * 16 * 16;

	group.join();
	Crowd crowd(size);
	const long before = group.number("memory.current");
	crowd.connect();
	const long grown = group.number("memory.current") - before;
	require(grown >= 2 * size * least * 3 / 4,
		"reads of " + std::to_string(2 * size) + " QPs are charged as " +
			std::to_string(grown) + " bytes");
}

// The kernel may refuse the memory or kill the process.
void exceed_memory(const Group &group)
{
	group.join();
	Context context;
	while (ibv_create_cq(context.verbs, 1 << 20, nullptr, nullptr, 0))
		;
	require(errno == ENOMEM, std::string("beyond the limit: ") + strerror(errno));
	_exit(0);
}

void group_memory()
{
	// A group of its own for each: what one leaves behind is uncharged later.
	for (auto charge : {charge_rings, charge_reads}) {
		Group group("memory");

		in_child([&] { charge(group); });
	}
	Group group("memory");
	group.set("memory.max", "104857600");
	int status = finish(start([&] { exceed_memory(group); }));
	require(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), "memory.max");
	require(group.number("memory.peak") <= 104 * mebi, "rings beyond memory.max");
}

} // namespace

Cases limit_cases()
{
	return {
		{"RLIMIT_MEMLOCK: registering beyond it gives ENOMEM, and works again within it",
		 locked_memory},
		{"rdma.max of a control group: EAGAIN beyond it, and works again after raising it",
		 rdma_objects},
		{"memory.max of a control group: rings and reads are charged, and rings end there",
		 group_memory},
	};
}
