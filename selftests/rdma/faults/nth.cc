// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Every allocation of every call fails once: for n = 1, 2, ... the call runs with its n-th
// allocation failing (/proc/self/fail-nth), until it makes fewer than n. The call must return an
// errno or work, then work without a failure, and leave no object behind. One TAP line for each
// call. Last, all pages that a post allocates fail.
//	nth ADDRESS NETDEV SPARE-NETDEV [STEP [PART-OF-A-NAME]]
// STEP: from the 100th allocation on, only every STEP-th fails.
// Runs in the namespace of srnic0, which is on NETDEV with ADDRESS; failslab and fail_page_alloc
// must have ignore-gfp-wait = N and task-filter = Y, and fail_page_alloc probability = 100 and
// times = -1. (All of failslab would stop the post itself: the provider rings again until it may.)
#include "objects.hh"
#include "verbs.hh"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace {

constexpr int most = 5000;
int fail_nth = -1, fail_all = -1;
int step = 1;

void arm(int n)
{
	char text[16];
	const int len = snprintf(text, sizeof(text), "%d", n);

	if (pwrite(fail_nth, text, len, 0) != len)
		throw std::runtime_error("fail-nth does not take a number");
}

// True if the failure was injected.
bool disarm()
{
	char text[16] = {};

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 1)
		throw std::runtime_error("fail-nth cannot be read");
	arm(0);
	return text[0] == '0';
}

void settled(const std::vector<uint8_t> &before)
{
	for (int i = 0; i < 1000; i++) {
		if (all_objects() == before)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	}
	throw std::runtime_error("objects are left");
}

void must_work(const Verb &verb, const char *when)
{
	if (int error = verb.run())
		throw std::runtime_error(std::string(when) + ": " + strerror(error));
	verb.undo();
}

void anew(const Verb &verb)
{
	verb.clean();
	verb.prepare();
}

// One failure; false if the call makes fewer than n allocations.
bool fail_once(const Verb &verb, int n, int &errors)
{
	verb.prepare();
	arm(n);
	const int error = verb.run();
	const bool fired = disarm();

	if (error && !fired)
		throw std::runtime_error(std::string("failed by itself: ") + strerror(error));
	errors += error != 0;
	if (error && verb.spent)
		anew(verb);
	if (error)
		must_work(verb, "the next try");
	else
		verb.undo();
	verb.clean();
	return fired;
}

// Leftovers of the call would disturb the others.
[[noreturn]] void give_up(int number, const std::string &name, int n, const std::exception &why)
{
	printf("not ok %d %s\n# failure %d: %s\n", number, name.c_str(), n, why.what());
	fflush(stdout);
	_exit(1);
}

// Returns how many failures failed the call.
int one_verb(const Verb &verb, int number)
{
	int n = 1, errors = 0;

	try {
		verb.prepare();
		must_work(verb, "without failures");
		verb.clean();
		const auto before = all_objects();
		for (; n < most && fail_once(verb, n, errors); n += n < 100 ? 1 : step)
			settled(before);
		settled(before);
		if (n >= most)
			throw std::runtime_error("there is no end of allocations");
	} catch (const std::runtime_error &e) {
		arm(0);
		give_up(number, verb.name, n, e);
	}
	printf("ok %d %s with each allocation failing\n# %d of about %d failures failed the call\n",
	       number, verb.name.c_str(), errors, n - 1);
	fflush(stdout);
	return errors;
}

// ---- no pages ----

constexpr int tries = 20;
constexpr auto unused_pages_stay = std::chrono::seconds(3); // two of TRIM_DELAY (own_batch.c)

void fail_pages(bool on)
{
	if (pwrite(fail_all, on ? "1" : "0", 1, 0) != 1)
		throw std::runtime_error("make-it-fail takes no number");
}

int passes_without_pages()
{
	// the RDMA core keeps counters for a while
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	std::ifstream counter("/sys/class/infiniband/srnic0/ports/1/hw_counters/tx_no_memory");
	int n = -1;

	if (!(counter >> n))
		throw std::runtime_error("tx_no_memory cannot be read");
	return n;
}

// A first post, so that no page of the process or the rings is missing; then the QP's pages are
// given back. True if a pass has stopped meanwhile; not so if a worker was first, which has memory.
bool post_without_pages(const Verb &verb)
{
	verb.prepare();
	must_work(verb, "with memory");
	std::this_thread::sleep_for(unused_pages_stay);
	const int before = passes_without_pages();
	fail_pages(true);
	const int error = verb.run();
	fail_pages(false);
	if (error)
		throw std::runtime_error(std::string("the post: ") + strerror(error));
	verb.undo();
	const bool stopped = passes_without_pages() > before;
	verb.clean();
	return stopped;
}

void without_pages(const Verb &verb, int number)
{
	const char *name = "a post for whose segments there are no pages is done when there are";
	int n = 1;

	try {
		while (!post_without_pages(verb))
			if (++n > tries)
				throw std::runtime_error("no pass has stopped");
	} catch (const std::runtime_error &e) {
		fail_pages(false);
		give_up(number, name, n, e);
	}
	printf("ok %d %s\n", number, name);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "nth ADDRESS NETDEV SPARE-NETDEV [STEP [PART-OF-A-NAME]]\n");
		return 2;
	}
	if ((fail_nth = open("/proc/self/fail-nth", O_RDWR)) < 0 ||
	    (fail_all = open("/proc/self/make-it-fail", O_RDWR)) < 0) {
		perror("/proc/self/fail-nth, /proc/self/make-it-fail");
		return 2;
	}
	const Place place = {argv[1], argv[2], argv[3]};
	if (argc > 4)
		step = std::max(1, atoi(argv[4]));
	int number = 0, errors = 0;
	for (const Verb &verb : all_verbs(place))
		if (argc < 6 || verb.name.find(argv[5]) != std::string::npos)
			errors += one_verb(verb, ++number);
	if (!errors) {
		printf("not ok %d no allocation has failed\n", ++number);
		return 1;
	}
	without_pages(long_write(place), ++number);
	printf("# all calls were tried\n");
	return 0;
}
