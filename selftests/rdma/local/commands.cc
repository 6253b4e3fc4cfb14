// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// uverbs commands that no library sends: driver parts of any length and content, response buffers
// that are too short or unmapped, and noise.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "case.hh"
#include "process.hh"

namespace {

using Octets = std::vector<uint8_t>;

template <class T> Octets octets_of(const T &t)
{
	auto *from = reinterpret_cast<const uint8_t *>(&t);

	return {from, from + sizeof(t)};
}

Octets noise(size_t len)
{
	Octets out(len);

	for (uint8_t &octet : out)
		octet = static_cast<uint8_t>(chance());
	return out;
}

// A command of the core with its fixed part, whose first field is the response's address.
struct Command {
	uint32_t number;
	Octets fixed;
	size_t response_len;
	size_t driver_len; // of the driver's response
};

// Writes it; 0 or an errno.
int issue(int fd, const Command &command, const Octets &driver_in, void *response,
	  size_t driver_room)
{
	ib_uverbs_cmd_hdr hdr{};
	Octets call = command.fixed;
	const uint64_t where = reinterpret_cast<uintptr_t>(response);

	memcpy(call.data(), &where, sizeof(where));
	call.insert(call.end(), driver_in.begin(), driver_in.end());
	hdr.command = command.number;
	hdr.in_words = static_cast<uint16_t>((sizeof(hdr) + call.size()) / 4);
	hdr.out_words = static_cast<uint16_t>((command.response_len + driver_room) / 4);
	const Octets head = octets_of(hdr);
	call.insert(call.begin(), head.begin(), head.end());
	return write(fd, call.data(), call.size()) == static_cast<ssize_t>(call.size()) ? 0 : errno;
}

// Handles that the commands refer to, of one context.
struct Objects {
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);
	ibv_cq *cq = ibv_create_cq(context.verbs, 16, nullptr, nullptr, 0);

	Objects() { require(pd && cq, "creating a PD and a CQ"); }
	~Objects()
	{
		ibv_destroy_cq(cq);
		ibv_dealloc_pd(pd);
	}
	int fd() const { return context.verbs->cmd_fd; }
};

Command create_cq()
{
	ib_uverbs_create_cq cmd{};

	cmd.cqe = 16;
	cmd.comp_channel = -1;
	return {IB_USER_VERBS_CMD_CREATE_CQ, octets_of(cmd), sizeof(ib_uverbs_create_cq_resp),
		sizeof(srnic_create_cq_resp)};
}

Command create_srq(const Objects &of)
{
	ib_uverbs_create_srq cmd{};

	cmd.pd_handle = of.pd->handle;
	cmd.max_wr = 16;
	cmd.max_sge = 1;
	return {IB_USER_VERBS_CMD_CREATE_SRQ, octets_of(cmd), sizeof(ib_uverbs_create_srq_resp),
		sizeof(srnic_create_srq_resp)};
}

Command create_qp(const Objects &of)
{
	ib_uverbs_create_qp cmd{};

	cmd.pd_handle = of.pd->handle;
	cmd.send_cq_handle = cmd.recv_cq_handle = of.cq->handle;
	cmd.max_send_wr = cmd.max_recv_wr = 16;
	cmd.max_send_sge = cmd.max_recv_sge = 1;
	cmd.qp_type = IBV_QPT_RC;
	return {IB_USER_VERBS_CMD_CREATE_QP, octets_of(cmd), sizeof(ib_uverbs_create_qp_resp),
		sizeof(srnic_create_qp_resp)};
}

Command alloc_pd()
{
	return {IB_USER_VERBS_CMD_ALLOC_PD, octets_of(ib_uverbs_alloc_pd{}),
		sizeof(ib_uverbs_alloc_pd_resp), 0};
}

Command get_context()
{
	return {IB_USER_VERBS_CMD_GET_CONTEXT, octets_of(ib_uverbs_get_context{}),
		sizeof(ib_uverbs_get_context_resp), sizeof(srnic_alloc_ucontext_resp)};
}

int open_uverbs(const char *name)
{
	return open((std::string("/dev/infiniband/") + name).c_str(), O_RDWR | O_CLOEXEC);
}

std::vector<Command> with_rings(const Objects &of)
{
	return {create_cq(), create_srq(of), create_qp(of)};
}

std::string named(const Command &command) { return "command " + std::to_string(command.number); }

// Without room for the offsets of its rings, nothing is created.
void too_little_room()
{
	Objects objects;
	uint8_t response[256];

	for (const Command &command : with_rings(objects))
		for (size_t room : {0, 4, 8, 12})
			require(issue(objects.fd(), command, {}, response, room) == EINVAL,
				named(command) + " with room for " + std::to_string(room) +
					" octets is not refused");
}

void room_that_is_not_there()
{
	Objects objects;
	auto *pages = static_cast<uint8_t *>(
		mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	require(pages != MAP_FAILED && !mprotect(pages + 4096, 4096, PROT_NONE), "mmap");
	for (const Command &command : with_rings(objects)) {
		for (uint8_t *where : {static_cast<uint8_t *>(nullptr), pages + 4096,
				       pages + 4096 - command.response_len})
			require(issue(objects.fd(), command, {}, where, command.driver_len) ==
					EFAULT,
				named(command) + " with a response in no memory does not fail");
		require(!issue(objects.fd(), command, {}, pages, command.driver_len),
			named(command) + " fails after that");
	}
}

// Longer commands and responses than the driver knows are for a newer driver: the rest is ignored.
void other_lengths()
{
	Objects objects;
	std::vector<Command> commands = with_rings(objects);
	Octets response(70000, 0x5a);

	commands.push_back(alloc_pd());
	for (const Command &command : commands)
		for (size_t len : {4, 32, 1024, 60000})
			for (int content : {0, 1, 2}) {
				Octets in =
					content == 2 ? noise(len) : Octets(len, content ? 0xff : 0);
				int ret = issue(objects.fd(), command, in, response.data(),
						command.driver_len + len);

				require(!ret || ret == EINVAL || ret == EOPNOTSUPP,
					named(command) + " with " + std::to_string(len) +
						" octets more: " + strerror(ret));
			}
}

// A command without a context, and GET_CONTEXT with one.
void contexts_out_of_order()
{
	Objects objects;
	uint8_t response[256];
	const Command get = get_context();
	int fd = open_uverbs(objects.context.verbs->device->dev_name);

	require(fd >= 0, "open");
	for (const Command &command : with_rings(objects))
		require(issue(fd, command, {}, response, command.driver_len) == EINVAL,
			"a command without a context");
	require(issue(fd, get, {}, response, 0) == EINVAL,
		"a context without room for the ABI's version");
	require(!issue(fd, get, {}, response, get.driver_len), "a context");
	require(issue(fd, get, {}, response, get.driver_len) == EINVAL, "a second context");
	close(fd);
}

// Every command, with noise in its fields; handles are small, so that some of them are valid.
void noise_as_commands()
{
	Pair pair(address);
	const int fd = pair.client.id->verbs->cmd_fd;
	Octets response(4096);

	for (int i = 0; i < 3000; i++) {
		Octets fixed = noise(16 + (chance() % 64) * 4);

		for (size_t at = 8; at + 4 <= fixed.size(); at += 4)
			if (chance() & 1) {
				fixed[at] &= 7;
				fixed[at + 1] = fixed[at + 2] = fixed[at + 3] = 0;
			}
		issue(fd, {static_cast<uint32_t>(chance() % 64), fixed, chance() % 64 * 4, 0}, {},
		      response.data(), 64);
	}
}

// All but GET_CONTEXT: if that fails, Linux (6.12) leaks a reference on the calling task, with any
// driver.
void noise_as_ioctls()
{
	Objects objects;

	for (int i = 0; i < 3000; i++) {
		const uint16_t attrs = chance() % 8;
		Octets call = noise(sizeof(ib_uverbs_ioctl_hdr) + attrs * sizeof(ib_uverbs_attr));
		auto *hdr = reinterpret_cast<ib_uverbs_ioctl_hdr *>(call.data());

		hdr->length = static_cast<uint16_t>(call.size());
		hdr->object_id = chance() % 18;
		hdr->method_id = chance() % 12;
		hdr->num_attrs = attrs;
		hdr->reserved1 = 0;
		hdr->reserved2 = 0;
		hdr->driver_id = SRNIC_DRIVER_ID;
		for (int j = 0; j < attrs; j++) {
			hdr->attrs[j].attr_id =
				chance() & 1 ? chance() % 16 : 0x1000 + chance() % 4;
			hdr->attrs[j].len = chance() % 4 * 4;
			hdr->attrs[j].flags = chance() & 1;
			hdr->attrs[j].data = chance() % 8;
		}
		if (hdr->object_id != UVERBS_OBJECT_DEVICE ||
		    hdr->method_id != UVERBS_METHOD_GET_CONTEXT)
			ioctl(objects.fd(), RDMA_VERBS_IOCTL, hdr);
	}
}

} // namespace

int get_context_by_write(const char *uverbs_file)
{
	const Command get = get_context();
	uint8_t response[256];
	int fd = open_uverbs(uverbs_file);

	if (fd < 0)
		return -1;
	int error = issue(fd, get, {}, response, get.driver_len);
	if (!error)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

Cases command_cases()
{
	return {
		{"a response without room for the rings' places is refused", too_little_room},
		{"a response to memory that is not there fails, and leaves no object",
		 room_that_is_not_there},
		{"driver input and room of other lengths", other_lengths},
		{"commands before there is a context, and a second context", contexts_out_of_order},
		{"noise in every command", noise_as_commands},
		{"noise in ioctls", noise_as_ioctls},
	};
}
