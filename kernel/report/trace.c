// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Defines the tracepoints of trace.h, which look into the objects that are traced.
 */
#include "queue/cq.h"
#include "report/counters.h"
#include "stream/qp.h"
#include "stream/state.h"
#include "stream/transmit/batch.h"
#include "stream/transmit/engine.h"

#define CREATE_TRACE_POINTS
#include "report/trace.h"
