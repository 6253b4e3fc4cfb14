// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Detects a stalled processor: a guest may lose one for a second. Deadlines of a second then fail
// without a fault of the driver.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "processor.hh"

class Pulse {
	static constexpr std::chrono::milliseconds beat{20}, too_long{300};
	std::atomic<bool> stop = false, stood_still = false;
	std::vector<std::thread> threads; // one on each processor

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

	// The error of `attempt`, or nothing. It is retried, twice at most, if a processor stalled
	// meanwhile: a fault of the driver then fails again.
	template <class Attempt> std::string steadily(Attempt attempt)
	{
		for (int tries = 1;; tries++) {
			stood_still = false;
			std::string trouble = attempt();
			if (trouble.empty() || tries == 3)
				return trouble;
			// Long enough to notice a pause that ends here.
			std::this_thread::sleep_for(2 * beat);
			if (!stood_still)
				return trouble;
			printf("# a processor stood still; tried again after: %s\n",
			       trouble.c_str());
		}
	}
};
