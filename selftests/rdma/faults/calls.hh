// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The parts of the list of calls.
#pragma once
#include "verbs.hh"

#include <cerrno>
#include <cstring>
#include <stdexcept>

inline void need(bool there, const char *what)
{
	if (!there)
		throw std::runtime_error(std::string(what) + ": " + strerror(errno));
}

inline int errno_of(int ret) { return ret < 0 ? errno : ret; }

std::vector<Verb> object_verbs();			// object_verbs.cc
std::vector<Verb> connection_verbs(const Place &place); // connection_verbs.cc
std::vector<Verb> transfer_verbs(const Place &place);	// connection_verbs.cc
