// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Child processes, and the device opened by name.
#pragma once
#include <functional>
#include <string>
#include <sys/types.h>

#include <infiniband/verbs.h>

// Forks; the child runs the function and exits: 0, or 1 with the Failure's words on standard
// output.
pid_t start(const std::function<void()> &body);
// Waits for it, SIGKILL after the time: a hang is a failure. The status as of waitpid().
int finish(pid_t child, int seconds = 60);
// Kills it with SIGKILL and waits for it. It must have been alive until then.
void kill_alive(pid_t child);
// start() and finish(), and the child must have exited with 0.
void in_child(const std::function<void()> &body);

// The device, opened; closed at the end of the scope.
struct Context {
	ibv_context *verbs;
	Context();
	Context(const Context &) = delete;
	~Context();
};

// A context with what QPs and commands refer to.
struct Objects {
	Context context;
	ibv_pd *pd;
	ibv_cq *cq;

	Objects();
	~Objects();
	int fd() const { return context.verbs->cmd_fd; }
};

// A context on its own descriptor, created by write() as old libraries do: the descriptor, or -1
// and errno.
int get_context_by_write(const char *uverbs_file);

void sleep_ms(unsigned int ms);
