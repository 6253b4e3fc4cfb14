// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Whether a processor stood still: a guest's may be taken away for a second, and what has to happen
// within a second then does not, in a driver without a fault.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdio>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

class Pulse {
	static constexpr std::chrono::milliseconds beat{20}, too_long{300};
	std::atomic<bool> stop = false, stood_still = false;
	std::vector<std::thread> threads; // one on each processor

	static void stay_on(unsigned cpu)
	{
		cpu_set_t only;

		CPU_ZERO(&only);
		CPU_SET(cpu, &only);
		sched_setaffinity(0, sizeof(only), &only);
	}

	void watch(unsigned cpu)
	{
		stay_on(cpu);
		for (auto last = std::chrono::steady_clock::now(); !stop;) {
			std::this_thread::sleep_for(beat);
			const auto now = std::chrono::steady_clock::now();

			if (now - last > too_long)
				stood_still = true;
			last = now;
		}
	}

public:
	Pulse()
	{
		for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); cpu++)
			threads.emplace_back([this, cpu] { watch(cpu); });
	}
	Pulse(const Pulse &) = delete;
	~Pulse()
	{
		stop = true;
		for (std::thread &thread : threads)
			thread.join();
	}

	// What `attempt` says went wrong, nothing if nothing did. It is tried again, twice at most,
	// where a processor stood still meanwhile: a fault of the driver fails then as well, or at
	// the latest when none does.
	template <class Attempt> std::string steadily(Attempt attempt)
	{
		for (int tries = 1;; tries++) {
			stood_still = false;
			std::string trouble = attempt();
			if (trouble.empty() || tries == 3)
				return trouble;
			// Until a pause that ends here is noticed.
			std::this_thread::sleep_for(2 * beat);
			if (!stood_still)
				return trouble;
			printf("# a processor stood still; tried again after: %s\n",
			       trouble.c_str());
		}
	}
};
