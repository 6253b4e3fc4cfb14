#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Prometheus' node exporter, as Debian has it, reads the files of all RDMA devices; one that lacks some makes it fail for
# all. For a guest that has it:
#	selftests/vm/run --kernel uml-newest --package prometheus-node-exporter -- selftests/rdma/monitoring.sh
cd "$(dirname "$0")" && . ./lib.sh

PORT=9100

exporter_up() {
	ip link set lo up
	prometheus-node-exporter --web.listen-address=127.0.0.1:$PORT --collector.disable-defaults --collector.infiniband \
		>"$LOGS/exporter" 2>&1 & EXPORTER=$!
	within 300 scrape
}

scrape() {
	local status=0
	exec {HTTP}<>/dev/tcp/127.0.0.1/$PORT || return
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >&"$HTTP" && timeout 20 cat <&"$HTTP" >"$LOGS/metrics" || status=1
	exec {HTTP}>&-
	[ $status = 0 ] && grep -q '^node_scrape_collector_success' "$LOGS/metrics"
}

metric() { awk -v name="$1" '$1 == name { printf "%d\n", $2 }' "$LOGS/metrics"; } # NAME{LABELS}

collector_succeeds() {
	scrape
	grep '^node_infiniband' "$LOGS/metrics"
	cat "$LOGS/exporter"
	[ "$(metric 'node_scrape_collector_success{collector="infiniband"}')" = 1 ]
}

shows_devices() {
	local device
	for device in srnic0 srnic1; do
		grep "^node_infiniband_info{board_id=\"srnic\",device=\"$device\"" "$LOGS/metrics" || return
	done
}

# Of srnic0: what rdma statistic says, in whole words of four octets.
shows_traffic() {
	pause 0.1
	scrape
	[ "$(of_port data_transmitted_bytes)" = $(($(counter srnic0 tx_octets) / 4 * 4)) ] &&
		[ "$(of_port data_received_bytes)" = $(($(counter srnic0 rx_octets) / 4 * 4)) ] &&
		[ "$(of_port packets_transmitted)" = "$(counter srnic0 tx_fpdus)" ] &&
		[ "$(of_port packets_received)" = "$(counter srnic0 rx_fpdus)" ]
}

of_port() { metric "node_infiniband_port_$1_total{device=\"srnic0\",port=\"1\"}"; } # NAME

needs rping prometheus-node-exporter
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "rping moves data" rping_between sr1 sr0 "$IP1" 100 10001
if check "the node exporter answers" exporter_up; then
	check "its infiniband collector succeeds" collector_succeeds
	check "it shows the devices" shows_devices
	check "it shows what they moved" shows_traffic
	kill $EXPORTER
	wait $EXPORTER 2>/dev/null
fi
finish
