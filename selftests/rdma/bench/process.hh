// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Another process of this program, for the end that responds, and the socket between both.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include <sys/types.h>

// One end of the socket. Throws Broken if the other process has ended.
class Talk {
	const int fd_;

	void send(const void *what, size_t len) const;
	void receive(void *what, size_t len) const;

public:
	explicit Talk(int fd) : fd_(fd) {}
	Talk(const Talk &) = delete;
	~Talk();
	template <class T> void say(const T &what) const { send(&what, sizeof(what)); }
	template <class T> T hear() const
	{
		T what;

		receive(&what, sizeof(what));
		return what;
	}
	// Sleeps until the other process closes its end.
	void until_over() const;
};

// Must be made before the program opens a device: its child would share what libibverbs maps.
class Process {
	pid_t pid_ = 0;
	std::unique_ptr<Talk> talk_;

public:
	// part: all that the process does. apart: it stays on the second processor.
	Process(bool apart, const std::function<void(const Talk &)> &part);
	Process(const Process &) = delete;
	// Closes the socket, and waits for the process.
	~Process();
	const Talk &talk() const { return *talk_; }
};
