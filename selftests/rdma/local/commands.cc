// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// uverbs commands that no library sends: driver parts of any length and content, as of older and
// newer providers, response buffers that are too short or unmapped, and noise.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../shared/page.hh"
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

// A command of the core with its fixed part. Unless it is extended, the first field of that is the
// response's address.
struct Command {
	uint32_t number;
	Octets fixed;
	size_t response_len;
	size_t driver_len;	 // of the driver's response
	size_t driver_least = 0; // what of that must have room
	bool extended = false;	 // with a header of its own; driver parts in steps of 8
};

Octets head_of(const Command &command, size_t driver_in, void *response, size_t driver_room)
{
	ib_uverbs_cmd_hdr hdr{};

	hdr.command = command.number;
	if (!command.extended) {
		hdr.in_words = static_cast<uint16_t>(
			(sizeof(hdr) + command.fixed.size() + driver_in) / 4);
		hdr.out_words = static_cast<uint16_t>((command.response_len + driver_room) / 4);
		return octets_of(hdr);
	}
	struct {
		ib_uverbs_cmd_hdr hdr;
		ib_uverbs_ex_cmd_hdr more;
	} both{hdr, {}};

	both.hdr.command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
	both.hdr.in_words = static_cast<uint16_t>(command.fixed.size() / 8);
	both.hdr.out_words = static_cast<uint16_t>(command.response_len / 8);
	both.more.response = reinterpret_cast<uintptr_t>(response);
	both.more.provider_in_words = static_cast<uint16_t>(driver_in / 8);
	both.more.provider_out_words = static_cast<uint16_t>(driver_room / 8);
	return octets_of(both);
}

// Writes it; 0 or an errno.
int issue(int fd, const Command &command, const Octets &driver_in, void *response,
	  size_t driver_room)
{
	Octets call = command.fixed;
	const uint64_t where = reinterpret_cast<uintptr_t>(response);

	if (!command.extended)
		memcpy(call.data(), &where, sizeof(where));
	call.insert(call.end(), driver_in.begin(), driver_in.end());
	const Octets head = head_of(command, driver_in.size(), response, driver_room);
	call.insert(call.begin(), head.begin(), head.end());
	return write(fd, call.data(), call.size()) == static_cast<ssize_t>(call.size()) ? 0 : errno;
}

Command create_cq()
{
	ib_uverbs_create_cq cmd{};

	cmd.cqe = 16;
	cmd.comp_channel = -1;
	return {IB_USER_VERBS_CMD_CREATE_CQ, octets_of(cmd), sizeof(ib_uverbs_create_cq_resp),
		sizeof(srnic_create_cq_resp), sizeof(srnic_ring_map)};
}

Command create_srq(const Objects &of)
{
	ib_uverbs_create_srq cmd{};

	cmd.pd_handle = of.pd->handle;
	cmd.max_wr = 16;
	cmd.max_sge = 1;
	return {IB_USER_VERBS_CMD_CREATE_SRQ, octets_of(cmd), sizeof(ib_uverbs_create_srq_resp),
		sizeof(srnic_create_srq_resp), sizeof(srnic_ring_map)};
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
		sizeof(srnic_create_qp_resp), 2 * sizeof(srnic_ring_map)};
}

Command alloc_pd()
{
	return {IB_USER_VERBS_CMD_ALLOC_PD, octets_of(ib_uverbs_alloc_pd{}),
		sizeof(ib_uverbs_alloc_pd_resp), 0};
}

Command get_context()
{
	return {IB_USER_VERBS_CMD_GET_CONTEXT, octets_of(ib_uverbs_get_context{}),
		sizeof(ib_uverbs_get_context_resp), sizeof(srnic_alloc_ucontext_resp), 4};
}

int open_uverbs(const char *name)
{
	return open((std::string("/dev/infiniband/") + name).c_str(), O_RDWR | O_CLOEXEC);
}

std::vector<Command> with_rings(const Objects &of)
{
	return {create_cq(), create_srq(of), create_qp(of)};
}

// Verbs for which the driver has no struct, and what they work on.
struct Plain {
	Objects objects;
	Octets memory = Octets(4096);
	ibv_mr *mr = ibv_reg_mr(objects.pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
	ibv_srq *srq;
	ibv_qp *qp;

	Plain()
	{
		ibv_srq_init_attr shared{nullptr, {16, 1, 0}};
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = objects.cq;
		init.cap = {1, 1, 1, 1, 0};
		init.qp_type = IBV_QPT_RC;
		srq = ibv_create_srq(objects.pd, &shared);
		qp = ibv_create_qp(objects.pd, &init);
		require(mr && srq && qp, "creating a region, an SRQ and a QP");
	}
	~Plain()
	{
		ibv_destroy_qp(qp);
		ibv_destroy_srq(srq);
		ibv_dereg_mr(mr);
	}

	Command reg_mr() const
	{
		ib_uverbs_reg_mr cmd{};

		cmd.start = cmd.hca_va = reinterpret_cast<uintptr_t>(memory.data());
		cmd.length = memory.size();
		cmd.pd_handle = objects.pd->handle;
		return {IB_USER_VERBS_CMD_REG_MR, octets_of(cmd), sizeof(ib_uverbs_reg_mr_resp), 0};
	}
	Command alloc_mw() const
	{
		ib_uverbs_alloc_mw cmd{};

		cmd.pd_handle = objects.pd->handle;
		cmd.mw_type = IBV_MW_TYPE_1;
		return {IB_USER_VERBS_CMD_ALLOC_MW, octets_of(cmd), sizeof(ib_uverbs_alloc_mw_resp),
			0};
	}
	Command rereg_mr() const
	{
		ib_uverbs_rereg_mr cmd{};

		cmd.mr_handle = mr->handle;
		cmd.flags = IBV_REREG_MR_CHANGE_PD;
		cmd.pd_handle = objects.pd->handle;
		return {IB_USER_VERBS_CMD_REREG_MR, octets_of(cmd), sizeof(ib_uverbs_rereg_mr_resp),
			0};
	}
	Command modify_qp() const
	{
		ib_uverbs_ex_modify_qp cmd{};

		cmd.base.qp_handle = qp->handle;
		return {IB_USER_VERBS_EX_CMD_MODIFY_QP,
			octets_of(cmd),
			sizeof(ib_uverbs_ex_modify_qp_resp),
			0,
			0,
			true};
	}
	std::vector<Command> commands() const
	{
		return {alloc_pd(), reg_mr(), alloc_mw(), rereg_mr(), modify_qp(),
			{IB_USER_VERBS_EX_CMD_QUERY_DEVICE, octets_of(ib_uverbs_ex_query_device{}),
			 sizeof(ib_uverbs_ex_query_device_resp), 0, 0, true}};
	}
	// Which has no response.
	Octets modify_srq() const
	{
		ib_uverbs_modify_srq cmd{};

		cmd.srq_handle = srq->handle;
		return octets_of(cmd);
	}
};

std::string named(const Command &command) { return "command " + std::to_string(command.number); }

// Without room for the offsets of its rings, nothing is created.
void too_little_room()
{
	Objects objects;
	uint8_t response[256];

	for (const Command &command : with_rings(objects))
		for (size_t room = 0; room < command.driver_least; room += 4)
			require(issue(objects.fd(), command, {}, response, room) == EINVAL,
				named(command) + " with room for " + std::to_string(room) +
					" octets is not refused");
}

void room_that_is_not_there()
{
	Objects objects;
	auto *pages = static_cast<uint8_t *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	require(pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE), "mmap");
	for (const Command &command : with_rings(objects)) {
		for (uint8_t *where : {static_cast<uint8_t *>(nullptr), pages + page,
				       pages + page - command.response_len})
			require(issue(objects.fd(), command, {}, where, command.driver_len) ==
					EFAULT,
				named(command) + " with a response in no memory does not fail");
		require(!issue(objects.fd(), command, {}, pages, command.driver_len),
			named(command) + " fails after that");
	}
}

// In a context of its own, if it makes one.
int issue_anew(const Objects &objects, const Command &command, const Octets &driver_in,
	       void *response, size_t driver_room)
{
	if (command.number != IB_USER_VERBS_CMD_GET_CONTEXT)
		return issue(objects.fd(), command, driver_in, response, driver_room);
	int fd = open_uverbs(objects.context.verbs->device->dev_name);
	int err = issue(fd, command, driver_in, response, driver_room);

	close(fd);
	return err;
}

// Zeros are what a newer provider does not use of a newer module.
void takes_zeros_only(const Objects &objects, const Command &command, size_t len)
{
	Octets response(4096), in(len);
	auto asked = [&] {
		return issue_anew(objects, command, in, response.data(), command.driver_len);
	};
	const std::string with = " with " + std::to_string(len) + " bytes: ";
	int err = asked();

	require(!err, named(command) + with + "zeros: " + strerror(err));
	in[len - 1] = 1;
	err = asked();
	require(err == EOPNOTSUPP, named(command) + with + "more than zeros: " + strerror(err));
}

std::vector<Command> of_all_kinds(const Plain &plain)
{
	std::vector<Command> all = plain.commands(), rings = with_rings(plain.objects);

	all.insert(all.end(), rings.begin(), rings.end());
	all.push_back(get_context());
	return all;
}

void longer_requests()
{
	Plain plain;

	for (const Command &command : of_all_kinds(plain))
		for (size_t len : {32, 1024, 60000})
			takes_zeros_only(plain.objects, command, len);
}

// The command itself begins with the handle; it has no response.
void longer_request_of_modify_srq()
{
	Plain plain;
	Octets call = plain.modify_srq();
	ib_uverbs_cmd_hdr hdr{};
	auto asked = [&] {
		Octets all = octets_of(hdr);

		all.insert(all.end(), call.begin(), call.end());
		return write(plain.objects.fd(), all.data(), all.size()) > 0 ? 0 : errno;
	};

	call.resize(call.size() + 8);
	hdr.command = IB_USER_VERBS_CMD_MODIFY_SRQ;
	hdr.in_words = static_cast<uint16_t>((sizeof(hdr) + call.size()) / 4);
	require(!asked(), "zeros are refused");
	call.back() = 1;
	require(asked() == EOPNOTSUPP, "more than zeros is not refused");
}

void fills_room(const Objects &objects, const Command &command, size_t room)
{
	constexpr uint8_t before = 0x5a;
	Octets response(command.response_len + room + 64, before);
	const std::string what = named(command) + " with room for " + std::to_string(room) + ": ";
	int err = issue_anew(objects, command, {}, response.data(), room);
	const uint8_t *driver = response.data() + command.response_len;

	require(!err, what + strerror(err));
	for (size_t i = command.driver_len; i < room; i++)
		require(!driver[i], what + "byte " + std::to_string(i) + " is not zero");
	for (size_t i = room; i < room + 64; i++)
		require(driver[i] == before, what + "byte " + std::to_string(i) + " is written");
	require(!command.driver_least || driver[0] != before, what + "there is no response");
}

void other_responses()
{
	Plain plain;

	for (const Command &command : of_all_kinds(plain))
		for (size_t room = command.driver_least; room < command.driver_len + 48;
		     room += command.extended ? 8 : 4)
			fills_room(plain.objects, command, room);
}

// What the module answers a provider with this request; 0 in abi_version: EPROTO.
srnic_alloc_ucontext_resp context_for(const Objects &objects, const Octets &request)
{
	const Command get = get_context();
	srnic_alloc_ucontext_resp driver;
	Octets response(get.response_len + sizeof(driver));
	int err = issue_anew(objects, get, request, response.data(), sizeof(driver));

	require(!err || err == EPROTO, std::string("a context: ") + strerror(err));
	memcpy(&driver, response.data() + get.response_len, sizeof(driver));
	return driver;
}

void abi_versions()
{
	Objects objects;
	auto version_of = [&](uint32_t min, uint32_t max) {
		return context_for(objects, octets_of(srnic_alloc_ucontext_req{min, max, 0, 0}))
			.abi_version;
	};
	const srnic_alloc_ucontext_resp first = context_for(objects, {});

	require(first.abi_version == 1 && first.min_abi == 1 && first.max_abi >= 1,
		"the versions of the module");
	require(version_of(0, 0) == 1 && version_of(1, 0) == 1 && version_of(1, 1) == 1,
		"a provider of version 1");
	require(version_of(0, ~0U) == first.max_abi && version_of(1, ~0U) == first.max_abi,
		"a newer provider that speaks all versions");
	require(!version_of(first.max_abi + 1, ~0U), "a provider that is too new");
	for (uint32_t known : {4U, 8U, 12U}) {
		Octets request = octets_of(srnic_alloc_ucontext_req{1, 1, ~0U, 0});

		request.resize(known);
		const srnic_alloc_ucontext_resp got = context_for(objects, request);
		require(got.abi_version == 1 && !got.features == (known < 12),
			"a request of " + std::to_string(known) + " bytes");
	}
}

void impossible_contexts()
{
	Objects objects;
	uint8_t response[256];
	auto asked = [&](const srnic_alloc_ucontext_req &req) {
		return issue_anew(objects, get_context(), octets_of(req), response, 16);
	};

	require(asked({2, 1, 0, 0}) == EINVAL, "versions from 2 to 1");
	require(asked({1, 1, 0, 1}) == EOPNOTSUPP, "a member that has no meaning");
}

// Features are those that both sides know.
void common_features()
{
	Objects objects;
	auto features_of = [&](uint32_t known) {
		return context_for(objects, octets_of(srnic_alloc_ucontext_req{1, 1, known, 0}))
			.features;
	};
	const uint32_t all = features_of(~0U);

	require(all & SRNIC_FEATURE_IMMEDIATE, "a provider that knows all");
	require(features_of(SRNIC_FEATURE_IMMEDIATE) == SRNIC_FEATURE_IMMEDIATE,
		"a provider that knows one");
	require(!features_of(0) && !features_of(~all), "a provider that knows none");
}

void noise_beyond()
{
	Plain plain;
	Octets response(70000);

	for (const Command &command : of_all_kinds(plain))
		for (size_t len : {8, 32, 1024, 60000}) {
			int err = issue_anew(plain.objects, command, noise(len), response.data(),
					     command.driver_len + len);

			require(err == EOPNOTSUPP || err == EPROTO || err == EINVAL,
				named(command) + " with noise: " + strerror(err));
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
		{"a longer request is taken if the rest is zero, and refused otherwise",
		 longer_requests},
		{"a longer request of modify_srq is taken if its rest is zero, else refused",
		 longer_request_of_modify_srq},
		{"a shorter response is cut, the rest of a longer one is zero", other_responses},
		{"a provider gets the highest ABI version that both speak, or EPROTO",
		 abi_versions},
		{"impossible ABI versions are refused", impossible_contexts},
		{"a provider gets the features that both know", common_features},
		{"noise in what a newer driver would read", noise_beyond},
		{"commands before there is a context, and a second context", contexts_out_of_order},
		{"noise in every command", noise_as_commands},
		{"noise in ioctls", noise_as_ioctls},
	};
}
