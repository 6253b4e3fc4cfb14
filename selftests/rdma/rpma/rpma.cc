// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection by librpma, on which the client tries one case and checks what comes of it. rpma.sh
// builds it.
//	rpma server ADDRESS PORT	accepts or refuses one connection, and serves it to its end
//	rpma client ADDRESS PORT CASE
// The client asks by messages for what only the server can see. Its exit status is 4 if the library
// or the devices do not have the case.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <string>

#include <arpa/inet.h>
#include <librpma.h>
#include <poll.h>

namespace {

constexpr std::size_t MEMORY = 1 << 20;
constexpr std::size_t MESSAGE = 8192;
constexpr char PASSWORD[] = "let me in";

void expect(bool right, const char *what)
{
	if (right)
		return;
	std::fprintf(stderr, "wrong: %s\n", what);
	std::exit(1);
}

void done(int status, const char *what)
{
	if (!status)
		return;
	std::fprintf(stderr, "%s: %s\n", what, rpma_err_2str(status));
	std::exit(1);
}

#define DO(call) done(call, #call)

[[noreturn]] void cannot(const char *why)
{
	std::printf("cannot: %s\n", why);
	std::exit(4);
}

// What the library calls a peer: this end's device.
struct Peer {
	Peer(const char *address, rpma_util_ibv_context_type type)
	{
		ibv_context *context;

		DO(rpma_utils_get_ibv_context(address, type, &context));
		DO(rpma_peer_new(context, &peer));
	}
	~Peer() { DO(rpma_peer_delete(&peer)); }
	Peer(const Peer &) = delete;

	rpma_peer *peer;
};

// ---- memory ----

std::uint8_t pattern(unsigned int seed, std::size_t i)
{
	return seed * 41 + i * 7 + (i >> 8) * 13;
}

struct Memory {
	Memory(const Peer &peer, std::size_t size, int usage)
	{
		if (posix_memalign(reinterpret_cast<void **>(&bytes), 4096, size))
			std::abort();
		std::memset(bytes, 0, size);
		status = rpma_mr_reg(peer.peer, bytes, size, usage, &region);
	}
	~Memory()
	{
		if (region)
			DO(rpma_mr_dereg(&region));
		std::free(bytes);
	}
	Memory(const Memory &) = delete;

	void fill(unsigned int seed, std::size_t at, std::size_t length)
	{
		for (std::size_t i = 0; i < length; i++)
			bytes[at + i] = pattern(seed, i);
	}
	bool has(unsigned int seed, std::size_t at, std::size_t length) const
	{
		for (std::size_t i = 0; i < length; i++)
			if (bytes[at + i] != pattern(seed, i))
				return false;
		return true;
	}

	std::uint8_t *bytes;
	rpma_mr_local *region = nullptr;
	int status;
};

// A region of the peer's, as its descriptor travels.
struct Descriptor {
	Descriptor() = default;
	explicit Descriptor(const rpma_mr_local *region)
	{
		size_t size;

		DO(rpma_mr_get_descriptor_size(region, &size));
		expect(size <= sizeof(bytes), "a descriptor is small");
		DO(rpma_mr_get_descriptor(region, bytes));
		length = size;
	}

	std::uint8_t length = 0;
	std::uint8_t bytes[31];
};

struct Offer { // the server's private data
	Descriptor open, closed;
	std::uint8_t length;
	std::uint8_t persistence[15]; // a descriptor of the peer's configuration
};

// ---- the connection ----

enum class Ask : std::uint32_t { echo, fill, compare };

struct Question {
	Ask ask;
	std::uint32_t seed, at, length;
};

constexpr std::size_t PAYLOAD = MESSAGE - sizeof(Question);

char INCOMING[] = "incoming", OUTGOING[] = "outgoing", OPERATION[] = "operation";

class Connection {
public:
	explicit Connection(const Peer &peer)
	    : in(peer, MESSAGE, RPMA_MR_USAGE_RECV), out(peer, MESSAGE, RPMA_MR_USAGE_SEND)
	{
		DO(in.status);
		DO(out.status);
	}

	rpma_conn_event event()
	{
		rpma_conn_event event = RPMA_CONN_UNDEFINED;

		DO(rpma_conn_next_event(conn, &event));
		return event;
	}

	void receive() { DO(rpma_recv(conn, in.region, 0, MESSAGE, INCOMING)); }

	// Of the request with this context. Those of others are kept.
	ibv_wc completion(const void *of)
	{
		for (;;) {
			if (auto found = take(of))
				return *found;
			if (!more())
				DO(rpma_cq_wait(cq()));
		}
	}

	// The same, or nothing if the connection ends. Only with iWARP is the receive flushed then.
	std::optional<ibv_wc> completion_before_end(const void *of)
	{
		for (;;) {
			if (auto found = take(of))
				return found;
			if (more())
				continue;
			if (ends())
				return {};
			DO(rpma_cq_wait(cq()));
		}
	}

	void completed(const void *of, ibv_wc_opcode opcode)
	{
		ibv_wc wc = completion(of);

		expect(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
		expect(wc.opcode == opcode, "the completion's opcode");
	}

	// The payload is the pattern of the question's seed, if there is any.
	void send(const Question &question, std::size_t payload)
	{
		std::memcpy(out.bytes, &question, sizeof(question));
		out.fill(question.seed, sizeof(question), payload);
		DO(rpma_send(conn, out.region, 0, sizeof(question) + payload,
			     RPMA_F_COMPLETION_ALWAYS, OUTGOING));
		completed(OUTGOING, IBV_WC_SEND);
	}

	Question received() const
	{
		Question question;

		std::memcpy(&question, in.bytes, sizeof(question));
		return question;
	}

	// The answer's seed.
	std::uint32_t ask(const Question &question, std::size_t payload = 0)
	{
		receive();
		send(question, payload);
		completed(INCOMING, IBV_WC_RECV);
		return received().seed;
	}

	rpma_conn *conn = nullptr;
	Memory in, out;

private:
	rpma_cq *cq()
	{
		rpma_cq *cq;

		DO(rpma_conn_get_cq(conn, &cq));
		return cq;
	}

	std::optional<ibv_wc> take(const void *of)
	{
		for (auto wc = kept.begin(); wc != kept.end(); ++wc) {
			if (wc->wr_id != reinterpret_cast<std::uintptr_t>(of))
				continue;
			ibv_wc found = *wc;

			kept.erase(wc);
			return found;
		}
		return {};
	}

	bool more()
	{
		ibv_wc wc;
		int got = 0, status = rpma_cq_get_wc(cq(), 1, &wc, &got);

		if (status == RPMA_E_NO_COMPLETION)
			return false;
		DO(status);
		kept.push_back(wc);
		return true;
	}

	// Waits until the CQ or the connection has an event; false if the CQ has.
	bool ends()
	{
		pollfd fds[2] = {};

		DO(rpma_cq_get_fd(cq(), &fds[0].fd));
		DO(rpma_conn_get_event_fd(conn, &fds[1].fd));
		fds[0].events = fds[1].events = POLLIN;
		expect(poll(fds, 2, -1) > 0, "poll()");
		return !fds[0].revents;
	}

	std::deque<ibv_wc> kept;
};


// ---- the server ----

std::uint32_t answer(const Question &question, Memory &open, const ibv_wc &wc, const Memory &in)
{
	switch (question.ask) {
	case Ask::echo:
		expect(wc.byte_len == sizeof(question) + question.length, "a message's length");
		return in.has(question.seed, sizeof(question), question.length);
	case Ask::fill:
		open.fill(question.seed, question.at, question.length);
		return 1;
	case Ask::compare:
		return open.has(question.seed, question.at, question.length);
	}
	std::abort();
}

// Until the connection ends.
void serve(Connection &c, Memory &open)
{
	while (auto next = c.completion_before_end(INCOMING)) {
		const ibv_wc &wc = *next;

		if (wc.status != IBV_WC_SUCCESS)
			break;
		if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM || wc.wc_flags & IBV_WC_WITH_IMM) {
			Question heard = {Ask::echo, ntohl(wc.imm_data), wc.byte_len, 0};

			if (wc.opcode == IBV_WC_RECV)
				heard.at = c.in.has(heard.seed, 0, wc.byte_len);
			c.receive();
			c.send(heard, 0);
			continue;
		}
		Question question = c.received();
		std::uint32_t right = answer(question, open, wc, c.in);

		c.receive();
		c.send({question.ask, right, 0, question.length},
		       question.ask == Ask::echo ? question.length : 0);
	}
	expect(c.event() == RPMA_CONN_CLOSED, "the connection's end");
}

Offer offer(const Memory &open, const Memory &closed)
{
	Offer offer = {Descriptor(open.region), Descriptor(closed.region), 0, {}};
	rpma_peer_cfg *cfg;
	size_t size;

	DO(rpma_peer_cfg_new(&cfg));
	DO(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true));
	DO(rpma_peer_cfg_get_descriptor_size(cfg, &size));
	expect(size <= sizeof(offer.persistence), "a configuration's descriptor is small");
	DO(rpma_peer_cfg_get_descriptor(cfg, offer.persistence));
	offer.length = size;
	DO(rpma_peer_cfg_delete(&cfg));
	return offer;
}

bool welcome(rpma_conn_req *request)
{
	rpma_conn_private_data said;

	DO(rpma_conn_req_get_private_data(request, &said));
	return said.len >= sizeof(PASSWORD) && !std::memcmp(said.ptr, PASSWORD, sizeof(PASSWORD));
}

void accept(const Peer &peer, rpma_conn_req *request, Memory &open, const Memory &closed)
{
	Connection c(peer);
	Offer mine = offer(open, closed);
	rpma_conn_private_data data = {&mine, sizeof(mine)};

	DO(rpma_conn_req_recv(request, c.in.region, 0, MESSAGE, INCOMING));
	DO(rpma_conn_req_connect(&request, &data, &c.conn));
	expect(c.event() == RPMA_CONN_ESTABLISHED, "the server is connected");
	serve(c, open);
	DO(rpma_conn_disconnect(c.conn));
	DO(rpma_conn_delete(&c.conn));
}

void server(const char *address, const char *port)
{
	constexpr int USAGE = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
			      RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
	Peer peer(address, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	Memory persistent(peer, MEMORY, USAGE | RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT);
	Memory visible(peer, MEMORY, USAGE);
	Memory closed(peer, MEMORY, RPMA_MR_USAGE_WRITE_DST);
	Memory &open = persistent.region ? persistent : visible;
	rpma_conn_req *request;
	rpma_ep *ep;

	DO(open.status);
	DO(closed.status);
	DO(rpma_ep_listen(peer.peer, address, port, &ep));
	DO(rpma_ep_next_conn_req(ep, nullptr, &request));
	if (welcome(request))
		accept(peer, request, open, closed);
	else
		DO(rpma_conn_req_delete(&request));
	DO(rpma_ep_shutdown(&ep));
}

// ---- the client ----

class Client {
public:
	Client(const char *address, const char *port)
	    : peer(address, RPMA_UTIL_IBV_CONTEXT_REMOTE), c(peer),
	      memory(peer, MEMORY, RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC),
	      address(address), port(port)
	{
		DO(memory.status);
	}

	rpma_conn_event connect(const char *password)
	{
		char said[32] = {};
		rpma_conn_private_data data = {said, sizeof(said)};
		rpma_conn_req *request;

		std::strcpy(said, password);
		DO(rpma_conn_req_new(peer.peer, address, port, nullptr, &request));
		DO(rpma_conn_req_connect(&request, &data, &c.conn));
		return c.event();
	}

	void meet()
	{
		rpma_conn_private_data data;
		Offer offer;

		expect(connect(PASSWORD) == RPMA_CONN_ESTABLISHED, "the client is connected");
		DO(rpma_conn_get_private_data(c.conn, &data));
		expect(data.len >= sizeof(offer), "the server's private data");
		std::memcpy(&offer, data.ptr, sizeof(offer));
		DO(rpma_mr_remote_from_descriptor(offer.open.bytes, offer.open.length, &open));
		DO(rpma_mr_remote_from_descriptor(offer.closed.bytes, offer.closed.length,
						  &closed));
		DO(rpma_peer_cfg_from_descriptor(offer.persistence, offer.length, &persistence));
	}

	void part()
	{
		DO(rpma_mr_remote_delete(&open));
		DO(rpma_mr_remote_delete(&closed));
		DO(rpma_peer_cfg_delete(&persistence));
		DO(rpma_conn_disconnect(c.conn));
		expect(c.event() == RPMA_CONN_CLOSED, "the connection's end");
	}

	bool peer_has(unsigned int seed, std::size_t at, std::size_t length)
	{
		return c.ask({Ask::compare, seed, std::uint32_t(at), std::uint32_t(length)});
	}

	void done_by(ibv_wc_opcode opcode) { c.completed(OPERATION, opcode); }

	Peer peer;
	Connection c;
	Memory memory;
	rpma_mr_remote *open = nullptr, *closed = nullptr;
	rpma_peer_cfg *persistence = nullptr;

private:
	const char *address, *port;
};

struct Piece {
	std::size_t from, to, length;
};

constexpr Piece PIECES[] = {{0, 0, 1},	     {1, 3, 4095},	    {4095, 4097, 4098},
			    {0, 0, 65536},   {17, 65521, 100003},   {0, 0, MEMORY},
			    {MEMORY - 1, 0, 1}, {0, MEMORY - 1, 1}};

void connects(Client &)
{
}

void is_refused(Client &client)
{
	expect(client.connect("stranger") == RPMA_CONN_REJECTED, "the server refuses");
}

void messages(Client &client)
{
	for (std::uint32_t length : {0UL, 1UL, 100UL, 4096UL, PAYLOAD}) {
		expect(client.c.ask({Ask::echo, length + 3, 0, length}, length) == 1,
		       "the message's bytes");
		expect(client.c.received().length == length, "the answer's length");
		expect(client.c.in.has(1, sizeof(Question), length), "the answer's bytes");
	}
}

void messages_with_immediate(Client &client)
{
	for (std::uint32_t length : {0UL, 1UL, 4096UL, MESSAGE}) {
		std::uint32_t seed = 0x81000000 + length;

		client.c.receive();
		client.c.out.fill(seed, 0, length);
		DO(rpma_send_with_imm(client.c.conn, length ? client.c.out.region : nullptr, 0,
				      length, RPMA_F_COMPLETION_ALWAYS, seed, OPERATION));
		client.done_by(IBV_WC_SEND);
		client.c.completed(INCOMING, IBV_WC_RECV);
		expect(client.c.received().seed == seed, "the Immediate Data");
		expect(client.c.received().at == 1, "the message's bytes");
	}
}

void writes(Client &client)
{
	unsigned int seed = 0;

	for (const Piece &piece : PIECES) {
		client.memory.fill(++seed, piece.from, piece.length);
		DO(rpma_write(client.c.conn, client.open, piece.to, client.memory.region,
			      piece.from, piece.length, RPMA_F_COMPLETION_ALWAYS, OPERATION));
		client.done_by(IBV_WC_RDMA_WRITE);
		expect(client.peer_has(seed, piece.to, piece.length), "the bytes written");
	}
	DO(rpma_write(client.c.conn, nullptr, 0, nullptr, 0, 0, RPMA_F_COMPLETION_ALWAYS,
		      OPERATION));
	client.done_by(IBV_WC_RDMA_WRITE);
}

void writes_with_immediate(Client &client)
{
	std::uint32_t seed = 0x82000000;

	for (const Piece &piece : PIECES) {
		client.c.receive();
		client.memory.fill(++seed, piece.from, piece.length);
		DO(rpma_write_with_imm(client.c.conn, client.open, piece.to, client.memory.region,
				       piece.from, piece.length, RPMA_F_COMPLETION_ALWAYS, seed,
				       OPERATION));
		client.done_by(IBV_WC_RDMA_WRITE);
		client.c.completed(INCOMING, IBV_WC_RECV);
		expect(client.c.received().seed == seed, "the Immediate Data");
		expect(client.c.received().at == piece.length, "their completion's length");
		expect(client.peer_has(seed, piece.to, piece.length), "the bytes written");
	}
}

void reads(Client &client)
{
	std::uint32_t seed = 100;

	for (const Piece &piece : PIECES) {
		client.c.ask({Ask::fill, ++seed, std::uint32_t(piece.from),
			      std::uint32_t(piece.length)});
		DO(rpma_read(client.c.conn, client.memory.region, piece.to, client.open, piece.from,
			     piece.length, RPMA_F_COMPLETION_ALWAYS, OPERATION));
		client.done_by(IBV_WC_RDMA_READ);
		expect(client.memory.has(seed, piece.to, piece.length), "the bytes read");
	}
	DO(rpma_read(client.c.conn, nullptr, 0, nullptr, 0, 0, RPMA_F_COMPLETION_ALWAYS,
		     OPERATION));
	client.done_by(IBV_WC_RDMA_READ);
}

// The library makes them of a Write, or of what the device has for it.
void atomic_writes(Client &client)
{
	Memory word(client.peer, 8, RPMA_MR_USAGE_WRITE_SRC);

	DO(word.status);
	for (std::uint32_t seed = 1; seed < 50; seed++) {
		std::size_t at = seed * 8;

		word.fill(seed, 0, 8);
		DO(rpma_atomic_write(client.c.conn, client.open, at,
				     reinterpret_cast<char *>(word.bytes), RPMA_F_COMPLETION_ALWAYS,
				     OPERATION));
		expect(client.c.completion(OPERATION).status == IBV_WC_SUCCESS, "it completes");
		expect(client.peer_has(seed, at, 8), "the word");
	}
	expect(rpma_atomic_write(client.c.conn, client.open, 4,
				 reinterpret_cast<char *>(word.bytes), RPMA_F_COMPLETION_ALWAYS,
				 OPERATION) == RPMA_E_INVAL,
	       "a word that is not aligned");
}

// Many Writes, of which only the flush completes: then all are there.
void flush_after_writes(Client &client, rpma_flush_type type)
{
	constexpr std::size_t PART = 4096;

	for (std::uint32_t round = 1; round < 10; round++) {
		client.memory.fill(round, 0, 4 * PART);
		for (std::size_t i = 0; i < 4; i++)
			DO(rpma_write(client.c.conn, client.open, i * PART, client.memory.region,
				      i * PART, PART, RPMA_F_COMPLETION_ON_ERROR, nullptr));
		DO(rpma_flush(client.c.conn, client.open, 0, 4 * PART, type,
			      RPMA_F_COMPLETION_ALWAYS, OPERATION));
		expect(client.c.completion(OPERATION).status == IBV_WC_SUCCESS, "it completes");
		expect(client.peer_has(round, 0, 4 * PART), "the bytes written before");
	}
}

void flushes_to_visibility(Client &client)
{
	flush_after_writes(client, RPMA_FLUSH_TYPE_VISIBILITY);
}

void flushes_to_persistence(Client &client)
{
	int types;

	DO(rpma_mr_remote_get_flush_type(client.open, &types));
	if (!(types & RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT))
		cannot("the server's device registers no memory for flushes to persistence");
	expect(rpma_flush(client.c.conn, client.open, 0, 8, RPMA_FLUSH_TYPE_PERSISTENT,
			  RPMA_F_COMPLETION_ALWAYS, OPERATION) == RPMA_E_NOSUPP,
	       "no flush before the peer's configuration is known");
	DO(rpma_conn_apply_remote_peer_cfg(client.c.conn, client.persistence));
	flush_after_writes(client, RPMA_FLUSH_TYPE_PERSISTENT);
}

void needs_rights(Client &client)
{
	ibv_wc wc;

	expect(rpma_flush(client.c.conn, client.closed, 0, 8, RPMA_FLUSH_TYPE_VISIBILITY,
			  RPMA_F_COMPLETION_ALWAYS, OPERATION) == RPMA_E_NOSUPP,
	       "no flush of memory without that right");
	DO(rpma_read(client.c.conn, client.memory.region, 0, client.closed, 0, 8,
		     RPMA_F_COMPLETION_ALWAYS, OPERATION));
	wc = client.c.completion(OPERATION);
	expect(wc.status == IBV_WC_REM_ACCESS_ERR, ibv_wc_status_str(wc.status));
}

struct Case {
	const char *name;
	void (*run)(Client &);
	bool meets = true;
};

constexpr Case CASES[] = {{"connect", connects},
			  {"refused", is_refused, false},
			  {"messages", messages},
			  {"messages-with-immediate", messages_with_immediate},
			  {"writes", writes},
			  {"writes-with-immediate", writes_with_immediate},
			  {"reads", reads},
			  {"atomic-writes", atomic_writes},
			  {"flushes-to-visibility", flushes_to_visibility},
			  {"flushes-to-persistence", flushes_to_persistence},
			  {"rights", needs_rights}};

void client(const char *address, const char *port, const std::string &name)
{
	for (const Case &c : CASES) {
		if (name != c.name)
			continue;
		Client client(address, port);
		if (c.meets)
			client.meet();
		c.run(client);
		if (c.meets)
			client.part();
		DO(rpma_conn_delete(&client.c.conn));
		return;
	}
	expect(false, "there is no such case");
}

} // namespace

int main(int argc, char **argv)
{
	std::string role = argc > 3 ? argv[1] : "";

	if (role == "server")
		server(argv[2], argv[3]);
	else if (role == "client" && argc > 4)
		client(argv[2], argv[3], argv[4]);
	else
		expect(false, "usage: rpma server|client ADDRESS PORT [CASE]");
	return 0;
}
