// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How connections end (RFC 5040 5.4, 6), and what both ends see of it: completions, asynchronous
// events, ibv_query_qp, `rdma resource show qp`, rdma_cm.
#include <cstdio>

#include "case.hh"

namespace {

Joint connected() { return Joint(settings.there, settings.here); }

// The state in `rdma resource show qp`.
std::string shown(const End &end)
{
	const std::string device = ibv_get_device_name(end.id->verbs->device);
	const std::string command = "rdma resource show qp link " + device + "/1 lqpn " +
				    std::to_string(end.id->qp->qp_num);
	FILE *tool = popen(command.c_str(), "r");
	char line[512] = "";

	need(tool, "popen");
	if (!fgets(line, sizeof(line), tool))
		line[0] = 0;
	pclose(tool);
	return line;
}

void expect_shown(const End &end, const char *state)
{
	const std::string line = shown(end);

	expect(line.find("state " + std::string(state) + " ") != line.npos,
	       "not " + std::string(state) + ": " + line);
}

void expect_flushed(Completions &completions, uint64_t wr_id)
{
	const ibv_wc wc = completions.next();

	expect(wc.wr_id == wr_id && wc.status == IBV_WC_WR_FLUSH_ERR,
	       "not flushed: " + std::to_string(wc.wr_id) + ", " + ibv_wc_status_str(wc.status));
}

// vendor_err: layer << 12 | error type << 8 | error code of the Terminate (srnic-abi.h).
void expect_error(Completions &completions, uint64_t wr_id, ibv_wc_status status,
		  uint32_t vendor_err)
{
	const ibv_wc wc = completions.next();

	expect(wc.wr_id == wr_id && wc.status == status,
	       std::to_string(wc.wr_id) + ": " + ibv_wc_status_str(wc.status));
	expect(wc.vendor_err == vendor_err, "vendor_err " + std::to_string(wc.vendor_err));
}

void expect_in_error(const End &end)
{
	expect(end.state() == IBV_QPS_ERR, "ibv_query_qp: state " + std::to_string(end.state()));
	expect_shown(end, "ERR");
}

// Both ends have posted a receive, which is flushed at the end.
void expect_over(Joint &joint)
{
	for (End *end : {&joint.client, &joint.server}) {
		end->await(RDMA_CM_EVENT_DISCONNECTED);
		expect_flushed(*end->receives, 77);
		expect_in_error(*end);
	}
}

struct Scene {
	Joint joint = connected();
	Buffer ours{joint.client, 1 << 20}, theirs{joint.server, 1 << 20};

	Scene()
	{
		joint.client.receive(77, {ours.region.piece(0, 1 << 20)});
		joint.server.receive(77, {theirs.region.piece(0, 1 << 20)});
	}
};

void what_is_shown_of_a_connected_qp()
{
	Scene scene;

	for (End *end : {&scene.joint.client, &scene.joint.server}) {
		expect(end->state() == IBV_QPS_RTS,
		       "ibv_query_qp: state " + std::to_string(end->state()));
		expect_shown(*end, "RTS");
	}
}

// An end that gets a Terminate has an event. RDMA/TCP has no such message: it resets, as rdma_cm
// says at either end.
void expect_told(End &end)
{
	expect(settings.rdmatcp || end.async_event() == IBV_EVENT_QP_FATAL,
	       "the event of the end that gets the Terminate");
}

void peers_fault(ibv_wr_opcode opcode)
{
	Scene scene;
	Target wrong = scene.theirs.region.target();

	wrong.rkey ^= 0x1000;
	scene.joint.client.post(1, opcode, {scene.ours.region.piece(0, 1000)}, IBV_SEND_SIGNALED,
				wrong);
	expect(scene.joint.server.async_event() == IBV_EVENT_QP_ACCESS_ERR,
	       "the event of the end that terminates");
	expect_told(scene.joint.client);
	expect_over(scene.joint);
}

void terminated_by_a_write() { peers_fault(IBV_WR_RDMA_WRITE); }
void terminated_by_a_read() { peers_fault(IBV_WR_RDMA_READ); }

// The second of three reads is refused: figure 9, a Remote Protection Error, access rights.
void a_refused_read_is_told()
{
	Joint joint = connected();
	Buffer ours(joint.client, 3000), theirs(joint.server, 3000);
	Region write_only(joint.server, theirs.octets.data(), theirs.octets.size(),
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	joint.client.post(1, IBV_WR_RDMA_READ, {ours.region.piece(0, 1000)}, IBV_SEND_SIGNALED,
			  theirs.region.target());
	joint.client.post(2, IBV_WR_RDMA_READ, {ours.region.piece(1000, 1000)}, 0,
			  write_only.target());
	joint.client.post(3, IBV_WR_RDMA_READ, {ours.region.piece(2000, 1000)}, IBV_SEND_SIGNALED,
			  theirs.region.target());
	const ibv_wc first = joint.client.sends->next();

	expect(first.wr_id == 1, std::to_string(first.wr_id));
	expect(first.status == IBV_WC_SUCCESS || first.status == IBV_WC_WR_FLUSH_ERR,
	       ibv_wc_status_str(first.status));
	if (settings.rdmatcp)
		expect_flushed(*joint.client.sends, 2);
	else
		expect_error(*joint.client.sends, 2, IBV_WC_REM_ACCESS_ERR, 0x0102);
	expect_flushed(*joint.client.sends, 3);
}

// RFC 5041 7.2: the buffer is too small for the message. The next receive is flushed.
void a_send_too_long_is_told()
{
	Joint joint = connected();
	Buffer ours(joint.client, 3000), theirs(joint.server, 3000);

	joint.server.receive(1, {theirs.region.piece(0, 1000)});
	joint.server.receive(2, {theirs.region.piece(0, 3000)});
	joint.client.post(3, IBV_WR_SEND, {ours.region.piece(0, 1001)});
	expect_error(*joint.server.receives, 1, IBV_WC_LOC_LEN_ERR, 0x1205);
	expect_flushed(*joint.server.receives, 2);
}

// RFC 5040 7.1, 1: only a Terminate goes out; the completion has the error. good: bytes of valid
// memory at the beginning of the list.
void local_error(ibv_wr_opcode opcode, uint32_t good)
{
	Scene scene;
	std::vector<ibv_sge> list = {scene.ours.region.piece(0, good),
				     scene.ours.region.piece(good, 1000)};

	scene.ours.fill(1);
	scene.theirs.fill(2);
	const std::vector<uint8_t> ours = scene.ours.octets, theirs = scene.theirs.octets;
	list[1].lkey ^= 0x1000;
	if (!good)
		list.erase(list.begin());
	scene.joint.client.post(1, opcode, list, IBV_SEND_SIGNALED, scene.theirs.region.target());
	scene.joint.client.post(2, IBV_WR_SEND, {});
	const ibv_wc wc = scene.joint.client.sends->next();
	expect(wc.wr_id == 1 && wc.status == IBV_WC_LOC_PROT_ERR, ibv_wc_status_str(wc.status));
	expect_flushed(*scene.joint.client.sends, 2);
	expect(scene.joint.client.async_event() == IBV_EVENT_QP_FATAL,
	       "the event of a local error");
	expect_told(scene.joint.server);
	expect_over(scene.joint);
	expect(scene.ours.octets == ours, "octets have come");
	expect(scene.theirs.octets == theirs, "octets have gone out");
}

Case of_foreign_memory(const char *name, ibv_wr_opcode opcode, uint32_t good)
{
	return {name, [opcode, good] { local_error(opcode, good); }};
}

void disconnected(bool by_client)
{
	Scene scene;
	End &first = by_client ? scene.joint.client : scene.joint.server;

	need(!rdma_disconnect(first.id), "rdma_disconnect");
	expect_over(scene.joint);
}

void aborted()
{
	Scene scene;

	scene.joint.client.modify(IBV_QPS_ERR);
	expect_over(scene.joint);
}

void destroyed()
{
	Scene scene;

	scene.joint.client.destroy_qp();
	scene.joint.server.await(RDMA_CM_EVENT_DISCONNECTED);
	expect_flushed(*scene.joint.server.receives, 77);
	expect_in_error(scene.joint.server);
}

// A disconnect does not cut off completed requests.
void completed_sends_arrive()
{
	Joint joint = connected();
	Buffer ours(joint.client, 1 << 20), theirs(joint.server, 1 << 20);

	ours.fill(5);
	for (uint32_t i = 0; i < 16; i++)
		joint.server.receive(i, {theirs.region.piece(i << 16, 1 << 16)});
	for (uint32_t i = 0; i < 16; i++)
		joint.client.post(i, IBV_WR_SEND, {ours.region.piece(i << 16, 1 << 16)});
	for (uint32_t i = 0; i < 16; i++)
		joint.client.sends->good(i);
	need(!rdma_disconnect(joint.client.id), "rdma_disconnect");
	for (uint32_t i = 0; i < 16; i++)
		joint.server.receives->good(i);
	expect(theirs.octets == ours.octets, "the octets");
}

// The drain lasts while the response comes in, which semantics.sh makes longer than a drain
// without progress.
void posted_read_completes()
{
	Joint joint = connected();
	Buffer ours(joint.client, 1 << 20), theirs(joint.server, 1 << 20);

	theirs.fill(6);
	joint.client.post(1, IBV_WR_RDMA_READ, {ours.region.piece(0, 1 << 20)}, IBV_SEND_SIGNALED,
			  theirs.region.target());
	need(!rdma_disconnect(joint.client.id), "rdma_disconnect");
	joint.client.sends->good(1);
	expect(ours.octets == theirs.octets, "the octets");
	joint.client.await(RDMA_CM_EVENT_DISCONNECTED);
	joint.server.await(RDMA_CM_EVENT_DISCONNECTED);
}

void posting_afterwards()
{
	Scene scene;

	need(!rdma_disconnect(scene.joint.server.id), "rdma_disconnect");
	expect_over(scene.joint);
	for (End *end : {&scene.joint.client, &scene.joint.server}) {
		end->receive(5, {});
		end->post(6, IBV_WR_SEND, {});
		expect_flushed(*end->receives, 5);
		expect_flushed(*end->sends, 6);
	}
}

} // namespace

Cases ending_cases()
{
	return {
		{"a connected QP is shown as such", what_is_shown_of_a_connected_qp},
		{"RFC 5040 5.4: a refused Write ends both QPs, with an event at each",
		 terminated_by_a_write},
		{"RFC 5040 5.4: a refused Read ends both QPs, with an event at each",
		 terminated_by_a_read},
		{"RFC 5040 7.1: a refused Read completes with what the Terminate says",
		 a_refused_read_is_told},
		{"RFC 5041 7.2: a Send that is too long completes its receive as such",
		 a_send_too_long_is_told},
		of_foreign_memory("RFC 5040 7.1, 1: a Send from memory that is not its program's "
				  "ends both QPs",
				  IBV_WR_SEND, 0),
		of_foreign_memory("RFC 5040 7.1, 1: a Write from memory that is not its program's "
				  "ends both QPs",
				  IBV_WR_RDMA_WRITE, 0),
		of_foreign_memory(
			"RFC 5040 7.1, 1: a Read to memory that is not its program's ends both QPs",
			IBV_WR_RDMA_READ, 0),
		of_foreign_memory("RFC 5040 7.1, 1: of a Send whose last octets are not its "
				  "program's nothing goes out",
				  IBV_WR_SEND, 100000),
		of_foreign_memory("RFC 5040 7.1, 1: of a Write whose last octets are not its "
				  "program's nothing goes out",
				  IBV_WR_RDMA_WRITE, 100000),
		of_foreign_memory("RFC 5040 7.1, 1: a Read whose last octets are not its program's "
				  "is not asked for",
				  IBV_WR_RDMA_READ, 100000),
		{"RFC 5040 6.2: the initiator disconnects", [] { disconnected(true); }},
		{"RFC 5040 6.2: the responder disconnects", [] { disconnected(false); }},
		{"RFC 5040 6.2: completed Sends arrive although their sender disconnects",
		 completed_sends_arrive},
		{"RFC 5041 6.2.1: a Read that was posted before a disconnect completes",
		 posted_read_completes},
		{"RFC 5040 6.2.2: a QP that goes to the error state ends the other one", aborted},
		{"RFC 5040 6.2.2: a QP that is destroyed ends the other one", destroyed},
		{"what is posted after the end is flushed", posting_afterwards},
	};
}
