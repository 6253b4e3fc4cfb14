// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The whole core as one object, for the module. An inline function of C++ has a copy in every
// object that calls it, and the linker keeps one of them; but objtool's and mcount's tables would
// still refer to the others. With one object there are none, and the compiler sees across files.
// selftests/core compiles each file for itself, and checks that none is missing here.
#include "core/connection.cc"
#include "core/crc32c.cc"
#include "core/framings.cc"
#include "core/invalidate.cc"
#include "core/operations.cc"
#include "core/message_rules.cc"
#include "core/region.cc"
#include "core/ring.cc"
#include "core/receiver.cc"
#include "core/scheduler.cc"
#include "core/stag.cc"
#include "core/mpa/framing.cc"
#include "core/mpa/startup.cc"
#include "core/mpa/fpdu_builder.cc"
#include "core/rdmap/atomic.cc"
#include "core/rdmap/rdmap_receiver.cc"
#include "core/rdmap/terminate.cc"
#include "core/rdmap/rdmap_builder.cc"
#include "core/rdmatcp/rdmatcp.cc"
#include "core/rdmatcp/segment_receiver.cc"
#include "core/rdmatcp/startup.cc"
#include "core/rdmatcp/segment_builder.cc"
