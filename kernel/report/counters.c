// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The names of counters, and their sums over the CPUs.
 */
#include "report/counters.h"

#define CHECK_PREFIX "rdmatcp_"
#define CHECK(name) (SRNIC_RX_CHECKS + CORE_RDMATCP_##name - 1)

const struct rdma_stat_desc srnic_counter_descs[SRNIC_COUNTERS] = {
	[SRNIC_TX_OCTETS] = { .name = "tx_octets" },
	[SRNIC_TX_FPDUS] = { .name = "tx_fpdus" },
	[SRNIC_RX_OCTETS] = { .name = "rx_octets" },
	[SRNIC_RX_FPDUS] = { .name = "rx_fpdus" },
	[SRNIC_RX_CRC_ERRORS] = { .name = "rx_crc_errors" },
	[SRNIC_RX_ERRORS] = { .name = "rx_errors" },
	[SRNIC_TX_TERMINATES] = { .name = "tx_terminates" },
	[SRNIC_RX_TERMINATES] = { .name = "rx_terminates" },
	[SRNIC_CONNECTS] = { .name = "connects" },
	[SRNIC_STARTUP_FAILURES] = { .name = "startup_failures" },
	[SRNIC_STARTUP_TIMEOUTS] = { .name = "startup_timeouts" },
	[SRNIC_STARTUP_GAVE_WAY] = { .name = "startup_gave_way" },
	[SRNIC_STARTUP_NO_DEVICE] = { .name = "startup_no_device" },
	[SRNIC_BACKLOG_FULL] = { .name = "backlog_full" },
	[SRNIC_RESETS] = { .name = "resets" },
	[SRNIC_TX_DOORBELLS] = { .name = "tx_doorbells" },
	[SRNIC_TX_BATCHES] = { .name = "tx_batches" },
	[SRNIC_TX_SHORTCUT] = { .name = "tx_shortcut" },
	[SRNIC_TX_COPIED] = { .name = "tx_copied" },
	[SRNIC_TX_PASSES_DOORBELL] = { .name = "tx_passes_doorbell" },
	[SRNIC_TX_PASSES_WORKER] = { .name = "tx_passes_worker" },
	[SRNIC_TX_PASSES_THREAD] = { .name = "tx_passes_thread" },
	[SRNIC_TX_PASSES_ASKER] = { .name = "tx_passes_asker" },
	[SRNIC_TX_ORD_STALLS] = { .name = "tx_ord_stalls" },
	[SRNIC_TX_SOCKET_FULL] = { .name = "tx_socket_full" },
	[SRNIC_TX_NO_MEMORY] = { .name = "tx_no_memory" },
	[SRNIC_RX_BATCHES] = { .name = "rx_batches" },
	[SRNIC_RX_NO_RECEIVE] = { .name = "rx_no_receive" },
	[SRNIC_SRQ_LIMITS] = { .name = "srq_limits" },
	[CHECK(VERSION)] = { .name = CHECK_PREFIX "version" },
	[CHECK(CONNECTION_ID)] = { .name = CHECK_PREFIX "connection_id" },
	[CHECK(NUMBER)] = { .name = CHECK_PREFIX "number" },
	[CHECK(BITS)] = { .name = CHECK_PREFIX "bits" },
	[CHECK(LENGTH)] = { .name = CHECK_PREFIX "length" },
	[CHECK(OFFSET)] = { .name = CHECK_PREFIX "offset" },
	[CHECK(CONTROL)] = { .name = CHECK_PREFIX "control" },
	[CHECK(CRC)] = { .name = CHECK_PREFIX "crc" },
	[CHECK(BUFFER_ID)] = { .name = CHECK_PREFIX "buffer_id" },
	[CHECK(BOUNDS)] = { .name = CHECK_PREFIX "bounds" },
	[CHECK(ACCESS)] = { .name = CHECK_PREFIX "access" },
	[CHECK(NO_BUFFER)] = { .name = CHECK_PREFIX "no_buffer" },
	[CHECK(TOO_LONG)] = { .name = CHECK_PREFIX "too_long" },
	[CHECK(LOCAL)] = { .name = CHECK_PREFIX "local" },
};

const char *srnic_check_name(enum core_rdmatcp_fault check)
{
	return srnic_counter_descs[SRNIC_RX_CHECKS + check - 1].name + strlen(CHECK_PREFIX);
}

u64 srnic_stats_sum(const struct srnic_stats __percpu *stats, enum srnic_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[counter]);
	return sum;
}

u64 srnic_counted(const struct srnic_dev *dev, enum srnic_counter counter)
{
	return srnic_stats_sum(dev->stats, counter);
}
