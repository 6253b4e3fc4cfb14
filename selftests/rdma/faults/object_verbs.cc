// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Calls of libibverbs that make, change and destroy a device's objects.
#include "calls.hh"

#include <memory>

#include <infiniband/verbs.h>

namespace {

struct Objects {
	ibv_context *verbs = nullptr;
	ibv_pd *pd = nullptr;
	ibv_mr *mr = nullptr;
	ibv_comp_channel *channel = nullptr;
	ibv_cq *cq = nullptr;
	ibv_srq *srq = nullptr;
	ibv_qp *qp = nullptr;
	std::vector<uint8_t> memory = std::vector<uint8_t>(4 << 20);

	ibv_device *find(const char *name)
	{
		static ibv_device **list = ibv_get_device_list(nullptr);

		for (ibv_device **device = list; *device; device++)
			if (!strcmp(ibv_get_device_name(*device), name))
				return *device;
		return nullptr;
	}
	int open()
	{
		verbs = ibv_open_device(find("srnic0"));
		return verbs ? 0 : errno;
	}
	void close()
	{
		need(!ibv_close_device(verbs), "ibv_close_device");
		verbs = nullptr;
	}
	int make_pd() { return (pd = ibv_alloc_pd(verbs)) ? 0 : errno; }
	int make_mr(size_t len)
	{
		const int access =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

		return (mr = ibv_reg_mr(pd, memory.data(), len, access)) ? 0 : errno;
	}
	int make_channel() { return (channel = ibv_create_comp_channel(verbs)) ? 0 : errno; }
	int make_cq(int entries)
	{
		return (cq = ibv_create_cq(verbs, entries, nullptr, channel, 0)) ? 0 : errno;
	}
	int make_srq()
	{
		ibv_srq_init_attr attr{nullptr, {500, 4, 0}};

		return (srq = ibv_create_srq(pd, &attr)) ? 0 : errno;
	}
	int make_qp(unsigned entries)
	{
		ibv_qp_init_attr attr{};

		attr.send_cq = attr.recv_cq = cq;
		attr.srq = srq;
		attr.cap = {entries, entries, 4, 4, 64};
		attr.qp_type = IBV_QPT_RC;
		return (qp = ibv_create_qp(pd, &attr)) ? 0 : errno;
	}
	// All objects, in the order in which they can be destroyed.
	void destroy()
	{
		if (qp)
			need(!ibv_destroy_qp(qp), "ibv_destroy_qp");
		if (srq)
			need(!ibv_destroy_srq(srq), "ibv_destroy_srq");
		if (cq)
			need(!ibv_destroy_cq(cq), "ibv_destroy_cq");
		if (channel)
			need(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
		if (mr)
			need(!ibv_dereg_mr(mr), "ibv_dereg_mr");
		if (pd)
			need(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
		qp = nullptr, srq = nullptr, cq = nullptr, channel = nullptr, mr = nullptr,
		pd = nullptr;
		if (verbs)
			close();
	}
};

std::shared_ptr<Objects> objects;

using Step = std::function<int(Objects &)>;

// A call that creates an object on top of others, which ready creates.
Verb making(const char *name, std::vector<Step> ready, Step make, Step unmake)
{
	return {name,
		[=] {
			objects = std::make_shared<Objects>();
			for (const Step &step : ready)
				if (int error = step(*objects))
					throw std::runtime_error(std::string("preparing: ") +
								 strerror(error));
		},
		[=] { return make(*objects); }, [=] { need(!unmake(*objects), "undoing"); },
		[] { objects->destroy(); }};
}

template <class T> Step destroying(T *Objects::*member, int (*destroy)(T *))
{
	return [=](Objects &o) {
		const int ret = destroy(o.*member);

		if (!ret)
			o.*member = nullptr;
		return errno_of(ret);
	};
}

int move_to_init(Objects &o)
{
	ibv_qp_attr attr{};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	return errno_of(ibv_modify_qp(
		o.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

int move_to(Objects &o, ibv_qp_state state)
{
	ibv_qp_attr attr{};

	attr.qp_state = state;
	return errno_of(ibv_modify_qp(o.qp, &attr, IBV_QP_STATE));
}

int move_region(Objects &o)
{
	return ibv_rereg_mr(o.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, o.memory.data() + 4096,
			    1 << 20, 0)
		       ? errno
		       : 0;
}

} // namespace

std::vector<Verb> object_verbs()
{
	const Step open = [](Objects &o) { return o.open(); },
		   pd = [](Objects &o) { return o.make_pd(); };
	const Step cq = [](Objects &o) { return o.make_cq(100); },
		   srq = [](Objects &o) { return o.make_srq(); };
	const Step qp = [](Objects &o) { return o.make_qp(200); },
		   page = [](Objects &o) { return o.make_mr(100); };
	const Step large = [](Objects &o) { return o.make_mr(4 << 20); };
	const Step channel = [](Objects &o) { return o.make_channel(); };
	const Step no_open =
			   [](Objects &o) {
				   o.close();
				   return 0;
			   },
		   nothing = [](Objects &) { return 0; };
	const Step no_pd = destroying(&Objects::pd, ibv_dealloc_pd),
		   no_mr = destroying(&Objects::mr, ibv_dereg_mr);
	const Step no_cq = destroying(&Objects::cq, ibv_destroy_cq),
		   no_qp = destroying(&Objects::qp, ibv_destroy_qp);
	const Step no_srq = destroying(&Objects::srq, ibv_destroy_srq);
	const Step no_channel = destroying(&Objects::channel, ibv_destroy_comp_channel);
	const Step limit = [](Objects &o) {
		ibv_srq_attr attr{0, 0, 5};
		return errno_of(ibv_modify_srq(o.srq, &attr, IBV_SRQ_LIMIT));
	};

	const Step size = [](Objects &o) {
		ibv_srq_attr attr{5000, 0, 0};
		return errno_of(ibv_modify_srq(o.srq, &attr, IBV_SRQ_MAX_WR));
	};

	return {
		making("ibv_open_device", {}, open, no_open),
		making("ibv_alloc_pd", {open}, pd, no_pd),
		making("ibv_dealloc_pd", {open, pd}, no_pd, nothing),
		making("ibv_reg_mr of one page", {open, pd}, page, no_mr),
		making("ibv_reg_mr of 4 MiB", {open, pd}, large, no_mr),
		making("ibv_rereg_mr", {open, pd, large}, move_region, nothing),
		making("ibv_dereg_mr", {open, pd, page}, no_mr, nothing),
		making("ibv_create_comp_channel", {open}, channel, no_channel),
		making("ibv_create_cq", {open}, cq, no_cq),
		making("ibv_create_cq with a channel", {open, channel}, cq, no_cq),
		making(
			"ibv_create_cq, 60000 entries", {open},
			[](Objects &o) { return o.make_cq(60000); }, no_cq),
		making(
			"ibv_resize_cq", {open, cq},
			[](Objects &o) { return errno_of(ibv_resize_cq(o.cq, 5000)); }, nothing),
		making("ibv_destroy_cq", {open, cq}, no_cq, nothing),
		making("ibv_create_srq", {open, pd}, srq, no_srq),
		making("ibv_modify_srq", {open, pd, srq}, limit, nothing),
		making("ibv_modify_srq of its size", {open, pd, srq}, size, nothing),
		making("ibv_destroy_srq", {open, pd, srq}, no_srq, nothing),
		making("ibv_create_qp", {open, pd, cq}, qp, no_qp),
		making("ibv_create_qp with an SRQ", {open, pd, cq, srq}, qp, no_qp),
		making(
			"ibv_create_qp, 8000 entries", {open, pd, cq},
			[](Objects &o) { return o.make_qp(8000); }, no_qp),
		making("ibv_modify_qp(INIT)", {open, pd, cq, qp}, move_to_init, nothing),
		making(
			"ibv_modify_qp(ERROR)", {open, pd, cq, qp},
			[](Objects &o) { return move_to(o, IBV_QPS_ERR); }, nothing),
		making("ibv_destroy_qp", {open, pd, cq, qp}, no_qp, nothing),
	};
}
