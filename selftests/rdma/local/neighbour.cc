// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The neighbour's loop, and its progress, in a page shared by both processes.
#include "neighbour.hh"

#include <cstdio>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.hh"
#include "process.hh"

Neighbour::Neighbour()
{
	void *page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	require(page != MAP_FAILED, "mmap");
	shared = new (page) Shared{};
	pid = start([this] { live(); });
	check();
}

Neighbour::~Neighbour()
{
	kill(pid, SIGKILL);
	waitpid(pid, nullptr, 0);
}

void Neighbour::live()
{
	try {
		for (Pair pair(address);; shared->rounds++) {
			pair.exercise();
			sleep_ms(2);
		}
	} catch (const Failure &failure) {
		snprintf(shared->failure, sizeof(shared->failure), "%s", failure.what());
		throw;
	}
}

void Neighbour::check()
{
	for (int i = 0; i < 2000 && shared->rounds == seen && !*shared->failure; i++)
		sleep_ms(5);
	require(!*shared->failure, std::string("the neighbour suffered: ") + shared->failure);
	require(shared->rounds != seen, "the neighbour moves nothing any more");
	seen = shared->rounds;
}
