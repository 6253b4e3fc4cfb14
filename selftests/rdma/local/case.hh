// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The cases. Each runs in its own process, which has not used verbs before. A Failure says what is
// wrong, a Skip what this machine lacks. main.cc then checks for effects on others.
#pragma once
#include <random>

#include "../shared/case.hh"
#include "pair.hh"

// Where the cases run: an address of a local srnic device, and that device's name.
extern std::string address, device;
extern std::mt19937 chance;

Cases ring_cases();	 // rings.cc: errors of a user, garbage in the rings
Cases process_cases();	 // processes.cc: closed descriptors, fork
Cases kill_cases();	 // kills.cc: kill -9 in a loop of each verb
Cases mapping_cases();	 // mappings.cc: mmap and its relatives
Cases command_cases();	 // commands.cc: the driver's part of uverbs commands
Cases abi_cases();	 // abi.cc: the provider with an older or newer module
Cases limit_cases();	 // limits.cc: rlimits and cgroups
Cases window_cases();	 // windows.cc: memory windows
Cases right_cases();	 // rights.cc: what may be registered, and for how long
Cases race_cases();	 // races.cc: things that happen at the same time
Cases answer_cases();	 // answers.cc: an id of rdma_cm answered more than once
Cases resize_cases();	 // resizes.cc: queues of another size
Cases time_cases();	 // times.cc: timestamps of completions
Cases domain_cases();	 // domains.cc: parent domains and thread domains
Cases import_cases();	 // imports.cc: what another process made
Cases exported_cases();	 // exported.cc: regions of dma-bufs
Cases moderated_cases(); // moderated.cc: events that wait
