// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5040 8.1.1, RFC 5042 6.2: after a program has revoked a region or destroyed a QP, no byte
// lands any more, however many are in flight. Tried with everything that places data and everything
// that revokes rights.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <unistd.h>

#include "case.hh"

namespace {

constexpr uint32_t piece = 64 << 10, pieces = 16, batch = 100;
std::minstd_rand chance(1);

// What the peer has in flight when the rights end. The target is at the server.
struct Scene {
	Joint joint{settings.there, settings.here};
	Buffer source, target;
	std::atomic<bool> over = false;
	std::thread writer;

	Scene() : source(joint.client, 2 * pieces * piece), target(joint.server, pieces * piece)
	{
		source.fill(chance());
	}
	~Scene()
	{
		over = true;
		if (writer.joinable())
			writer.join();
	}
	// Each message writes different data to the same place.
	ibv_sge from(uint32_t i) const
	{
		return source.region.piece(i * 4099 % (pieces * piece), piece);
	}
	static size_t place(uint32_t i) { return i % pieces * size_t{piece}; }
	ibv_sge to(uint32_t i) const { return target.region.piece(place(i), piece); }
};

// ---- what lands ----

// Until it is refused.
void keep_writing(Scene &scene, Target target)
{
	const uint64_t base = target.addr;

	for (uint32_t i = 0, done = 0; !scene.over; i++) {
		target.addr = base + Scene::place(i);
		scene.joint.client.post(i, IBV_WR_RDMA_WRITE, {scene.from(i)}, IBV_SEND_SIGNALED,
					target);
		for (; i - done > 50; done++)
			if (scene.joint.client.sends->next().status != IBV_WC_SUCCESS)
				return;
	}
}

void writes(Scene &scene)
{
	scene.writer = std::thread([&scene, target = scene.target.region.target()] {
		try {
			keep_writing(scene, target);
		} catch (const std::runtime_error &) { // the QP is in error
		}
	});
}

void sends(Scene &scene)
{
	for (uint32_t i = 0; i < batch; i++)
		scene.joint.server.receive(i, {scene.to(i)});
	for (uint32_t i = 0; i < batch; i++)
		scene.joint.client.post(i, IBV_WR_SEND, {scene.from(i)});
}

void reads(Scene &scene)
{
	for (uint32_t i = 0; i < batch; i++) {
		const Target from = {scene.from(i).addr, scene.source.region.mr->rkey};

		scene.joint.server.post(i, IBV_WR_RDMA_READ, {scene.to(i)}, IBV_SEND_SIGNALED,
					from);
	}
}

// ---- what ends it ----

void dereg_mr(Scene &scene) { scene.target.region.revoke(); }

void rereg_mr(Scene &scene, int flags, void *at, size_t len, int access)
{
	need(!ibv_rereg_mr(scene.target.region.mr, flags, nullptr, at, len, access),
	     "ibv_rereg_mr");
}

void rereg_rights(Scene &scene) { rereg_mr(scene, IBV_REREG_MR_CHANGE_ACCESS, nullptr, 0, 0); }

void rereg_memory(Scene &scene)
{
	static std::vector<uint8_t> elsewhere(pieces * piece);

	rereg_mr(scene, IBV_REREG_MR_CHANGE_TRANSLATION, elsewhere.data(), elsewhere.size(), 0);
}

void qp_to_error(Scene &scene) { scene.joint.server.modify(IBV_QPS_ERR); }
void destroy_qp(Scene &scene) { scene.joint.server.destroy_qp(); }

// ---- the test ----

void await_the_first_octets(const Scene &scene)
{
	const volatile uint8_t *first = scene.target.octets.data();
	const auto until = Clock::now() + std::chrono::seconds(10);

	while (std::all_of(first, first + 64, [](uint8_t octet) { return !octet; })) {
		if (Clock::now() > until)
			throw Stalled("nothing lands at all");
		usleep(50);
	}
	usleep(chance() % 2000);
}

void one_round(void (*traffic)(Scene &), void (*end)(Scene &))
{
	Scene scene;

	traffic(scene);
	await_the_first_octets(scene);
	end(scene);
	const std::vector<uint8_t> then = scene.target.octets;
	usleep(10000);
	expect(then == scene.target.octets, "octets have landed since");
}

Case made_of(const char *name, void (*traffic)(Scene &), void (*end)(Scene &))
{
	return {name, [traffic, end] {
		for (unsigned i = 0; i < settings.rounds; i++)
			one_round(traffic, end);
	}};
}

} // namespace

Cases revoke_cases()
{
	return {
		made_of("no Write lands behind dereg_mr", writes, dereg_mr),
		made_of("no Write lands behind rereg_mr that takes the rights", writes,
			rereg_rights),
		made_of("no Write lands behind rereg_mr to other memory", writes, rereg_memory),
		made_of("no Write lands once the QP is in error", writes, qp_to_error),
		made_of("no Write lands once the QP is destroyed", writes, destroy_qp),
		made_of("no Send lands behind dereg_mr", sends, dereg_mr),
		made_of("no Send lands once the QP is in error", sends, qp_to_error),
		made_of("no Send lands once the QP is destroyed", sends, destroy_qp),
		made_of("no Read Response lands behind dereg_mr", reads, dereg_mr),
		made_of("no Read Response lands behind rereg_mr that takes the rights", reads,
			rereg_rights),
		made_of("no Read Response lands once the QP is in error", reads, qp_to_error),
		made_of("no Read Response lands once the QP is destroyed", reads, destroy_qp),
	};
}
