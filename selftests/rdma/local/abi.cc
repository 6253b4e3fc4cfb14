// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The provider with an older or newer module: this program's ioctl(), which libibverbs calls,
// stands between them and changes what the module is asked for a context, and answers.
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <functional>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "case.hh"
#include "process.hh"

namespace {

// The driver's parts of the command that makes a context.
struct Parts {
	ib_uverbs_attr *request = nullptr, *response = nullptr;
};

// What becomes of the command; `pass` gives it to the module. 0, or -1 and errno. Unset: nothing.
std::function<int(const Parts &parts, const std::function<int()> &pass)> change;

Parts parts_of(ib_uverbs_ioctl_hdr *hdr)
{
	Parts parts;

	for (int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == UVERBS_ATTR_UHW_IN)
			parts.request = &hdr->attrs[i];
		else if (hdr->attrs[i].attr_id == UVERBS_ATTR_UHW_OUT)
			parts.response = &hdr->attrs[i];
	return parts;
}

bool makes_context(unsigned long request, const ib_uverbs_ioctl_hdr *hdr)
{
	return request == RDMA_VERBS_IOCTL && hdr->object_id == UVERBS_OBJECT_DEVICE &&
	       hdr->method_id == UVERBS_METHOD_GET_CONTEXT;
}

srnic_alloc_ucontext_resp &response_at(const Parts &parts)
{
	require(parts.response && parts.response->len == sizeof(srnic_alloc_ucontext_resp),
		"the provider has no room for the response");
	return *reinterpret_cast<srnic_alloc_ucontext_resp *>(parts.response->data);
}

void announces_itself()
{
	srnic_alloc_ucontext_req asked{};

	change = [&](const Parts &parts, const auto &pass) {
		require(parts.request && parts.request->len == sizeof(asked),
			"the provider has no request");
		memcpy(&asked, reinterpret_cast<void *>(parts.request->data), sizeof(asked));
		return pass();
	};
	Context context;
	require(asked.min_abi == SRNIC_ABI_MIN && asked.max_abi == SRNIC_ABI_MAX,
		"the provider's versions");
	require(asked.features ==
			(SRNIC_FEATURE_IMMEDIATE | SRNIC_FEATURE_ATOMIC | SRNIC_FEATURE_SEND_IMM |
			 SRNIC_FEATURE_DATAGRAM | SRNIC_FEATURE_WINDOW | SRNIC_FEATURE_RESIZE |
			 SRNIC_FEATURE_FLUSH | SRNIC_FEATURE_TIMESTAMP),
		"the provider's features");
}

// A module that ends the response here, and so knows no later member.
void older_module(uint16_t response_len)
{
	change = [=](const Parts &parts, const auto &pass) {
		parts.response->len = response_len;
		return pass();
	};
	Pair(address).exercise();
}

void older_modules()
{
	for (uint16_t len : {8, 12, 16})
		older_module(len);
}

void without_features()
{
	change = [](const Parts &parts, const auto &pass) {
		parts.response->len = 8;
		return pass();
	};
	Context context;
	ibv_pd *pd = ibv_alloc_pd(context.verbs);
	ibv_cq *cq = ibv_create_cq(context.verbs, 16, nullptr, nullptr, 0);
	ibv_qp_init_attr_ex init{};

	init.send_cq = init.recv_cq = cq;
	init.cap = {1, 1, 1, 1, 0};
	init.qp_type = IBV_QPT_RC;
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.pd = pd;
	init.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
	require(!ibv_create_qp_ex(context.verbs, &init) && errno == EOPNOTSUPP,
		"Immediate Data, which the module does not know");
	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	ibv_qp *qp = ibv_create_qp_ex(context.verbs, &init);
	require(qp, "a QP for Sends");
	ibv_destroy_qp(qp);
	require(ibv_resize_cq(cq, 32) == EOPNOTSUPP,
		"another size, which the module does not know");
	ibv_cq_init_attr_ex timed{};
	timed.cqe = 16;
	timed.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	require(!ibv_create_cq_ex(context.verbs, &timed) && errno == EOPNOTSUPP,
		"timestamps, which the module does not know");
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
}

void newer_module()
{
	change = [](const Parts &parts, const auto &pass) {
		int result = pass();
		srnic_alloc_ucontext_resp &response = response_at(parts);

		response.features |= 0xfffffff0;
		response.max_abi = 7;
		response.rsvd = ~0U;
		return result;
	};
	Pair(address).exercise();
}

ibv_context *open_device()
{
	int num;
	ibv_device **list = ibv_get_device_list(&num);
	ibv_context *opened = nullptr;

	require(list, "ibv_get_device_list");
	errno = 0;
	for (int i = 0; i < num; i++)
		if (ibv_get_device_name(list[i]) == device)
			opened = ibv_open_device(list[i]);
	const int err = errno;
	ibv_free_device_list(list);
	errno = err;
	return opened;
}

// What it writes to stderr while it fails to open the device, with EPROTO.
std::string refusal()
{
	FILE *said = tmpfile();
	char line[512] = "";
	const int before = dup(2);

	dup2(fileno(said), 2);
	const ibv_context *opened = open_device();
	const int err = errno;
	dup2(before, 2);
	rewind(said);
	require(!opened && err == EPROTO, std::string("opening the device: ") + strerror(err));
	return std::string(line, fread(line, 1, sizeof(line), said));
}

void no_common_version()
{
	const std::string advice =
		"srnic: " + device +
		": this provider is too old for the kernel module: upgrade the provider "
		"(libsrnic1)\n";

	change = [](const Parts &, const auto &) {
		errno = EPROTO;
		return -1;
	};
	require(refusal() == advice, "a module without a common version: " + refusal());
	change = [](const Parts &parts, const auto &pass) {
		int result = pass();

		response_at(parts).abi_version = SRNIC_ABI_MAX + 1;
		return result;
	};
	require(refusal() == advice, "a version that the provider does not speak: " + refusal());
}

} // namespace

// NOLINTNEXTLINE: the C library's
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
	va_list args;

	va_start(args, request);
	auto *hdr = va_arg(args, ib_uverbs_ioctl_hdr *);
	va_end(args);
	auto pass = [=] { return static_cast<int>(syscall(SYS_ioctl, fd, request, hdr)); };

	return change && makes_context(request, hdr) ? change(parts_of(hdr), pass) : pass();
}

Cases abi_cases()
{
	return {
		{"the provider announces its ABI versions and features", announces_itself},
		{"the provider works with an older module", older_modules},
		{"the provider refuses what an older module does not know", without_features},
		{"the provider works with a newer module", newer_module},
		{"without a common ABI version the provider says what to upgrade",
		 no_common_version},
	};
}
