// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Defines the tracepoints of trace.h.
 */
#define CREATE_TRACE_POINTS
#include "tracing/trace.h"
