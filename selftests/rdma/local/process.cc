// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Forking and waiting, and opening the device.
#include "process.hh"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "case.hh"

void sleep_ms(unsigned int ms) { usleep(ms * 1000); }

pid_t start(const std::function<void()> &body)
{
	fflush(stdout);
	pid_t child = fork();

	require(child >= 0, "fork");
	if (child)
		return child;
	try {
		body();
		_exit(0);
	} catch (const Failure &failure) {
		printf("# %s\n", failure.what());
		fflush(stdout);
		_exit(1);
	}
}

int finish(pid_t child, int seconds)
{
	int status = 0;

	for (int i = 0; i < seconds * 200; i++) {
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
		sleep_ms(5);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	throw Failure("a process hung");
}

void kill_alive(pid_t child)
{
	kill(child, SIGKILL);
	int status = finish(child);
	require(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		"a process ended before it was killed, with status " + std::to_string(status));
}

void in_child(const std::function<void()> &body)
{
	int status = finish(start(body));

	require(status == 0, "the process ended with status " + std::to_string(status));
}

Context::Context() : verbs(nullptr)
{
	ibv_device **list = ibv_get_device_list(nullptr);

	for (int i = 0; list && list[i]; i++)
		if (!verbs && device == ibv_get_device_name(list[i]))
			verbs = ibv_open_device(list[i]);
	int error = errno;
	if (list)
		ibv_free_device_list(list);
	if (!verbs)
		throw Failure(std::string("the device cannot be opened: ") + strerror(error));
}

Context::~Context() { ibv_close_device(verbs); }

Objects::Objects()
	: pd(ibv_alloc_pd(context.verbs)), cq(ibv_create_cq(context.verbs, 16, nullptr, nullptr, 0))
{
	require(pd && cq, "creating a PD and a CQ");
}

Objects::~Objects()
{
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
}
