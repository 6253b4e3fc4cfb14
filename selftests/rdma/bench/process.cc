// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <csignal>
#include <cstdio>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../semantics/ends.hh"
#include "../shared/processor.hh"
#include "process.hh"

namespace {

[[noreturn]] void be_child(bool apart, int fd, const std::function<void(const Talk &)> &part)
try {
	const Talk talk(fd);

	need(!prctl(PR_SET_PDEATHSIG, SIGKILL), "PR_SET_PDEATHSIG");
	if (apart)
		need(stay_on(1), "sched_setaffinity");
	part(talk);
	_exit(0);
} catch (const std::exception &trouble) {
	fprintf(stderr, "the process that responds: %s\n", trouble.what());
	_exit(1);
}

} // namespace

Talk::~Talk() { close(fd_); }

void Talk::send(const void *what, size_t len) const
{
	if (::send(fd_, what, len, MSG_NOSIGNAL) != static_cast<ssize_t>(len))
		throw Broken("the other process has ended");
}

void Talk::receive(void *what, size_t len) const
{
	if (recv(fd_, what, len, MSG_WAITALL) != static_cast<ssize_t>(len))
		throw Broken("the other process has ended");
}

void Talk::until_over() const
{
	char none;

	need(!recv(fd_, &none, 1, 0), "the other process");
}

Process::Process(bool apart, const std::function<void(const Talk &)> &part)
{
	int fds[2];

	need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "socketpair");
	need((pid_ = fork()) >= 0, "fork");
	if (!pid_) {
		close(fds[0]);
		be_child(apart, fds[1], part);
	}
	close(fds[1]);
	talk_ = std::make_unique<Talk>(fds[0]);
}

Process::~Process()
{
	talk_.reset();
	waitpid(pid_, nullptr, 0);
}
