// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A kernel that answers netlink requests, and a machine's files, as a test wants them.
#include "fake.hh"

#include "commands.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fake {

using namespace srnicctl;

// ---- answers ----

void Answer::add(const void *data, size_t size)
{
	bytes.insert(bytes.end(), static_cast<const char *>(data),
		     static_cast<const char *>(data) + size);
	bytes.resize(MNL_ALIGN(bytes.size()));
	fit();
}

// Sets the lengths of the message and of the nests that are open.
void Answer::fit()
{
	auto length = static_cast<uint32_t>(bytes.size() - last);

	memcpy(bytes.data() + last, &length, sizeof(length));
	for (size_t nest : nests) {
		auto of_nest = static_cast<uint16_t>(bytes.size() - nest);

		memcpy(bytes.data() + nest, &of_nest, sizeof(of_nest));
	}
}

Answer &Answer::message(uint16_t type, uint16_t flags, size_t header_size)
{
	nlmsghdr head{};

	last = bytes.size();
	starts.push_back(last);
	head.nlmsg_len = sizeof(head);
	head.nlmsg_type = type ? type : uint16_t(NLMSG_MIN_TYPE);
	head.nlmsg_flags = flags;
	add(&head, sizeof(head));
	add(std::vector<char>(header_size).data(), header_size);
	return *this;
}

Answer &Answer::octets(uint16_t type, const void *data, size_t size)
{
	nlattr head = {static_cast<uint16_t>(sizeof(nlattr) + size), type};

	add(&head, sizeof(head));
	add(data, size);
	return *this;
}

Answer &Answer::text(uint16_t type, const std::string &value)
{
	return octets(type, value.c_str(), value.size() + 1);
}

Answer &Answer::open(uint16_t type)
{
	size_t at = bytes.size();

	octets(type, nullptr, 0);
	nests.push_back(at);
	return *this;
}

Answer &Answer::close()
{
	nests.pop_back();
	return *this;
}

Answer &Answer::lie(uint16_t type, uint16_t length)
{
	nlattr head = {length, type};

	add(&head, sizeof(head));
	return *this;
}

Answer &Answer::fail(int code)
{
	error = code;
	return *this;
}

Answer &Answer::refuse(int code)
{
	refused = true;
	return fail(code);
}

Answer &Answer::interrupted()
{
	reinterpret_cast<nlmsghdr *>(bytes.data() + last)->nlmsg_flags |= NLM_F_DUMP_INTR;
	return *this;
}

std::vector<char> Answer::finish(const nlmsghdr *request)
{
	bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP && !refused;
	nlmsgerr end{-error, *request};

	if (error && !dump) {
		bytes.clear();
		starts.clear();
	}
	message(dump ? NLMSG_DONE : NLMSG_ERROR, dump ? NLM_F_MULTI : 0);
	add(&end, dump ? sizeof(end.error) : sizeof(end));
	for (size_t start : starts)
		reinterpret_cast<nlmsghdr *>(bytes.data() + start)->nlmsg_seq = request->nlmsg_seq;
	return std::move(bytes);
}

void Kernel::send(Bus bus, const nlmsghdr *request)
{
	uint16_t key = request->nlmsg_type;
	std::map<Bus, std::map<uint16_t, Handler> *> all = {
		{Bus::rdma, &rdma},
		{Bus::route, &route},
		{Bus::generic, &generic},
		{Bus::netfilter, &netfilter},
	};
	auto *handlers = all.at(bus);
	Answer result;

	if (no_socket)
		throw NetlinkError{no_socket};
	if (bus == Bus::rdma)
		key = static_cast<uint16_t>(RDMA_NL_GET_OP(key));
	asked.emplace_back(bus, key);
	if (handlers->contains(key))
		handlers->at(key)(request, result);
	else
		result.refuse(EINVAL);
	answer = result.finish(request);
}

std::span<const char> Kernel::receive(Bus)
{
	if (answer.empty())
		throw NetlinkError{ENODATA};
	static std::vector<char> last;

	last = std::move(answer);
	answer.clear();
	return last;
}

// ---- RDMA devices ----

namespace {

sockaddr_storage address(const std::string &text)
{
	size_t colon = text.rfind(':');
	auto port = htons(static_cast<uint16_t>(atoi(text.c_str() + colon + 1)));
	sockaddr_storage storage{};

	if (text[0] == '[') {
		auto *six = reinterpret_cast<sockaddr_in6 *>(&storage);

		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		inet_pton(AF_INET6, text.substr(1, colon - 2).c_str(), &six->sin6_addr);
	} else {
		auto *four = reinterpret_cast<sockaddr_in *>(&storage);

		four->sin_family = AF_INET;
		four->sin_port = port;
		inet_pton(AF_INET, text.substr(0, colon).c_str(), &four->sin_addr);
	}
	return storage;
}

void put_address(Answer &answer, uint16_t type, const std::string &text)
{
	if (text.empty())
		return;
	sockaddr_storage storage = address(text);

	answer.octets(type, &storage, sizeof(storage));
}

void put_owner(Answer &answer, uint32_t pid, const std::string &kernel)
{
	if (pid)
		answer.u32(RDMA_NLDEV_ATTR_RES_PID, pid);
	if (!kernel.empty())
		answer.text(RDMA_NLDEV_ATTR_RES_KERN_NAME, kernel);
}

void put_figure(Answer &answer, const std::string &name, const Figure &figure)
{
	answer.text(RDMA_NLDEV_ATTR_DRIVER_STRING, name);
	if (auto *word = std::get_if<std::string>(&figure))
		answer.text(RDMA_NLDEV_ATTR_DRIVER_STRING, *word);
	else if (name.ends_with("_octets"))
		answer.u64(RDMA_NLDEV_ATTR_DRIVER_U64, std::get<uint64_t>(figure));
	else
		answer.u32(RDMA_NLDEV_ATTR_DRIVER_U32, uint32_t(std::get<uint64_t>(figure)));
}

void put_figures(Answer &answer, const std::map<std::string, Figure> &figures)
{
	if (figures.empty())
		return;
	answer.open(RDMA_NLDEV_ATTR_DRIVER);
	for (const auto &[name, figure] : figures)
		put_figure(answer, name, figure);
	answer.close();
}

void put_qp(Answer &answer, const Qp &qp)
{
	answer.open(RDMA_NLDEV_ATTR_RES_QP_ENTRY).u32(RDMA_NLDEV_ATTR_RES_LQPN, qp.number);
	put_owner(answer, qp.pid, qp.kernel);
	answer.u8(RDMA_NLDEV_ATTR_RES_STATE, qp.state);
	put_figures(answer, qp.figures);
	answer.close();
}

void put_queue(Answer &answer, const Queue &queue, uint16_t entry, uint16_t number)
{
	answer.open(entry).u32(number, queue.number);
	put_owner(answer, queue.pid, queue.kernel);
	put_figures(answer, queue.figures);
	answer.close();
}

void put_cq(Answer &answer, const Queue &cq)
{
	put_queue(answer, cq, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN);
}

void put_srq(Answer &answer, const Queue &srq)
{
	put_queue(answer, srq, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, RDMA_NLDEV_ATTR_RES_SRQN);
}

void put_cm_id(Answer &answer, const CmId &cm_id)
{
	answer.open(RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY).u8(RDMA_NLDEV_ATTR_RES_STATE, cm_id.state);
	if (cm_id.qp)
		answer.u32(RDMA_NLDEV_ATTR_RES_LQPN, cm_id.qp);
	put_address(answer, RDMA_NLDEV_ATTR_RES_SRC_ADDR, cm_id.source);
	put_address(answer, RDMA_NLDEV_ATTR_RES_DST_ADDR, cm_id.destination);
	put_owner(answer, cm_id.pid, cm_id.kernel);
	answer.close();
}

void put_counters(Answer &answer, const Device &device)
{
	answer.message().open(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	for (const auto &[name, value] : device.counters)
		answer.open(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
			.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name)
			.u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value)
			.close();
	answer.close();
}

void put_port(Answer &answer, const Device &device)
{
	answer.message()
		.u8(RDMA_NLDEV_ATTR_PORT_STATE, device.port_state)
		.u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, device.physical_state);
	if (device.netdev_index)
		answer.u32(RDMA_NLDEV_ATTR_NDEV_INDEX, device.netdev_index)
			.text(RDMA_NLDEV_ATTR_NDEV_NAME, device.netdev);
}

void put_chardev(Answer &answer, const Device &device)
{
	answer.message()
		.u32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, device.driver)
		.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI, device.abi)
		.text(RDMA_NLDEV_ATTR_CHARDEV_NAME, "uverbs" + std::to_string(device.index));
}

void put_rdma_cm(Answer &answer)
{
	answer.message()
		.u64(RDMA_NLDEV_ATTR_CHARDEV_ABI, 4)
		.text(RDMA_NLDEV_ATTR_CHARDEV_NAME, "rdma_cm");
}

void list_devices(const std::vector<Device> &devices, Answer &answer)
{
	for (const Device &device : devices)
		answer.message(0, NLM_F_MULTI)
			.u32(RDMA_NLDEV_ATTR_DEV_INDEX, device.index)
			.text(RDMA_NLDEV_ATTR_DEV_NAME, device.name)
			.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, device.protocol);
}

// Two entries a message, so that tables come in several.
template <class Entry>
void put_table(Answer &answer, uint16_t table, const std::vector<Entry> &entries,
	       void (*put)(Answer &, const Entry &))
{
	for (size_t i = 0; i < entries.size(); i++) {
		if (i % 2 == 0)
			answer.message(0, NLM_F_MULTI).open(table);
		put(answer, entries[i]);
		if (i % 2 == 1 || i + 1 == entries.size())
			answer.close();
	}
}

// Answers for the device that the request names.
Handler of_device(std::vector<Device> *devices, void (*put)(Answer &, const Device &))
{
	return [=](const nlmsghdr *request, Answer &answer) {
		auto index = Attributes(request, 0).u32(RDMA_NLDEV_ATTR_DEV_INDEX);

		for (const Device &device : *devices)
			if (device.index == index)
				return put(answer, device);
		answer.fail(EINVAL);
	};
}

} // namespace

Qp connected_qp(uint32_t number, uint32_t pid)
{
	return {number, 3, pid, "", {{"state", 1ul},	   {"framing", 0ul},
				     {"initiator", 1ul},   {"crc", 1ul},
				     {"tx_markers", 0ul},  {"rx_markers", 0ul},
				     {"large_fpdus", 0ul}, {"shortcut", 0ul},
				     {"mulpdu", 1454ul},   {"ird", 2ul},
				     {"ord", 1ul},	   {"sq_entries", 64ul},
				     {"sq_posted", 7ul},   {"sq_taken", 7ul},
				     {"sq_done", 4ul},	   {"srq", 0ul},
				     {"rq_entries", 8ul},  {"rq_posted", 9ul},
				     {"rq_taken", 4ul},	   {"tx_octets", 1234567ul},
				     {"rx_octets", 89ul},  {"end", "none"},
				     {"end_detail", 0ul}}};
}

void serve(Kernel &kernel, std::vector<Device> *devices, Modules modules)
{
	auto uverbs = of_device(devices, put_chardev);

	kernel.rdma[RDMA_NLDEV_CMD_GET] = [=](const nlmsghdr *, Answer &answer) {
		list_devices(*devices, answer);
	};
	kernel.rdma[RDMA_NLDEV_CMD_SYS_GET] = [=](const nlmsghdr *, Answer &answer) {
		answer.message().u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
	};
	kernel.rdma[RDMA_NLDEV_CMD_PORT_GET] = of_device(devices, put_port);
	kernel.rdma[RDMA_NLDEV_CMD_STAT_GET] = of_device(devices, put_counters);
	kernel.rdma[RDMA_NLDEV_CMD_GET_CHARDEV] = [=](const nlmsghdr *request, Answer &answer) {
		bool cm = Attributes(request, 0).text(RDMA_NLDEV_ATTR_CHARDEV_TYPE) == "rdma_cm";

		if (!(cm ? modules.ucm : modules.uverbs))
			answer.fail(EOPNOTSUPP);
		else if (cm)
			put_rdma_cm(answer);
		else
			uverbs(request, answer);
	};
	kernel.rdma[RDMA_NLDEV_CMD_RES_QP_GET] =
		of_device(devices, [](Answer &answer, const Device &device) {
			put_table(answer, RDMA_NLDEV_ATTR_RES_QP, device.qps, put_qp);
		});
	kernel.rdma[RDMA_NLDEV_CMD_RES_CQ_GET] =
		of_device(devices, [](Answer &answer, const Device &device) {
			put_table(answer, RDMA_NLDEV_ATTR_RES_CQ, device.cqs, put_cq);
		});
	kernel.rdma[RDMA_NLDEV_CMD_RES_SRQ_GET] =
		of_device(devices, [](Answer &answer, const Device &device) {
			put_table(answer, RDMA_NLDEV_ATTR_RES_SRQ, device.srqs, put_srq);
		});
	kernel.rdma[RDMA_NLDEV_CMD_RES_CM_ID_GET] =
		of_device(devices, [](Answer &answer, const Device &device) {
			put_table(answer, RDMA_NLDEV_ATTR_RES_CM_ID, device.cm_ids, put_cm_id);
		});
}

// ---- the machine ----

Machine::Machine() : system{.netlink = kernel, .out = out, .err = err, .release = "6.12.1-test"}
{
	char name[] = "/tmp/srnicctl-test-XXXXXX";

	if (!mkdtemp(name))
		abort();
	root = name;
	system.root = root;
	system.now = [this] { return clock; };
	system.sleep = [this](double seconds) { clock += seconds; };
	system.output = [this](const char *command) -> std::string {
		for (const auto &[text, output] : outputs)
			if (std::string(command).find(text) != std::string::npos)
				return output;
		return "";
	};
	serve(kernel, &devices);
}

Machine::~Machine() { std::filesystem::remove_all(root); }

void Machine::write(const std::string &path, const std::string &text)
{
	std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
	std::ofstream(root + path) << text;
}

void Machine::allow_all(const std::string &path)
{
	using std::filesystem::perms;

	std::filesystem::permissions(root + path, perms::others_read | perms::others_write,
				     std::filesystem::perm_options::add);
}

void Machine::remove(const std::string &path) { std::filesystem::remove_all(root + path); }

std::string Machine::read(const std::string &path)
{
	std::ifstream file(root + path);
	std::ostringstream text;

	text << file.rdbuf();
	return text.str();
}

void Machine::write_settings(const std::string &device)
{
	std::string dir = "/sys/class/infiniband/" + device + "/";

#define SETTING_WORD(name, initial, ...) write(dir + #name, initial "\n");
#define SETTING_FLAG(name, initial, ...) write(dir + #name, #initial "\n");
#define SETTING_NUMBER(name, initial, ...) write(dir + #name, #initial "\n");
#define SETTING_PORTS(name, ...) write(dir + #name, "\n");
#include "settings.def"
}

int Machine::run(const std::vector<std::string> &words) { return srnicctl::run(system, words); }

} // namespace fake
