#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Prometheus' node exporter, as Debian has it, reads the files of all RDMA devices; one that lacks some makes it fail for
# all. Devices of both types, what they move, and the metrics of the alerts in administration.rst. For a guest that has it:
#	selftests/vm/run --kernel uml-newest --package prometheus-node-exporter -- selftests/rdma/monitoring.sh
cd "$(dirname "$0")" && . ./lib.sh

PORT=9100
TEXTS=$LOGS/texts

exporter_up() {
	mkdir "$TEXTS"
	ip link set lo up
	prometheus-node-exporter --web.listen-address=127.0.0.1:$PORT --collector.disable-defaults --collector.infiniband \
		--collector.textfile --collector.textfile.directory="$TEXTS" >"$LOGS/exporter" 2>&1 & EXPORTER=$!
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

of_port() { metric "node_infiniband_$2{device=\"$1\",port=\"1\"}"; } # DEVICE NAME

# srnic0 and srnic1 of type srnic; srnic2 and srnic3 of type srnic_ib beside them.
both_types_up() {
	devices_up && ns0 rdma link add srnic2 type srnic_ib netdev veth0 && ns1 rdma link add srnic3 type srnic_ib netdev veth1
}

collector_succeeds() {
	scrape
	grep '^node_infiniband' "$LOGS/metrics"
	cat "$LOGS/exporter"
	[ "$(metric 'node_scrape_collector_success{collector="infiniband"}')" = 1 ]
}

shows_devices() {
	local device
	for device in 'srnic",device="srnic0' 'srnic",device="srnic1' 'srnic_ib",device="srnic2' 'srnic_ib",device="srnic3'; do
		grep "^node_infiniband_info{board_id=\"$device\"" "$LOGS/metrics" || return
	done
}

sum() { # DEVICE COUNTER...
	local name sum=0
	for name in "${@:2}"; do
		sum=$((sum + $(counter "$1" "$name")))
	done
	echo $sum
}

# What rdma statistic says, in whole words of four octets. Datagrams are counted apart there.
shows_counters() { # DEVICE
	pause 0.1
	scrape
	[ "$(of_port "$1" port_data_transmitted_bytes_total)" = $(($(sum "$1" tx_octets tx_datagram_octets) / 4 * 4)) ] &&
		[ "$(of_port "$1" port_data_received_bytes_total)" = $(($(sum "$1" rx_octets rx_datagram_octets) / 4 * 4)) ] &&
		[ "$(of_port "$1" port_packets_transmitted_total)" = "$(sum "$1" tx_fpdus tx_datagrams)" ] &&
		[ "$(of_port "$1" port_packets_received_total)" = "$(sum "$1" rx_fpdus rx_datagrams)" ]
}

# Runs the command. Sent and received of the device grow by so many bytes, and by little more.
moves() { # DEVICE BYTES COMMAND...
	local sent received
	scrape
	sent=$(of_port "$1" port_data_transmitted_bytes_total)
	received=$(of_port "$1" port_data_received_bytes_total)
	"${@:3}" && shows_counters "$1" || return
	sent=$(($(of_port "$1" port_data_transmitted_bytes_total) - sent))
	received=$(($(of_port "$1" port_data_received_bytes_total) - received))
	echo "$1: $sent bytes sent and $received received, for $2"
	[ $sent -ge "$2" ] && [ $sent -lt $(($2 * 11 / 10)) ] && [ $received -ge "$2" ] && [ $received -lt $(($2 * 11 / 10)) ]
}

pingpong() { # rc|ud BYTES COUNT
	local run="ibv_$1_pingpong -g 1 -s $2 -n $3"
	with_server sr1 "$run -d srnic3" sr0 "$run -d srnic2 $IP1" 18515
}

# The state that an alert compares with 4.
shows_state() {
	ip -n sr0 link set veth0 down
	within 50 state_is srnic0 1 && within 50 state_is srnic2 1 && state_is srnic1 1 || return
	ip -n sr0 link set veth0 up
	within 50 state_is srnic0 4 && within 50 state_is srnic2 4
}

state_is() { scrape && [ "$(of_port "$1" state_id)" = "$2" ]; } # DEVICE NUMBER

# What the exporter does not read, by its text collector: the command of administration.rst.
texts() {
	rdma statistic | awk '{ i = 1 } $1 == "link" { device = substr($2, 1, index($2, "/") - 1); i = 3 }
		{ for (; i < NF; i += 2) print "rdma_" $i "_total{device=\"" device "\"} " $(i + 1) }' >"$TEXTS/rdma.new"
	mv "$TEXTS/rdma.new" "$TEXTS/rdma.prom"
}

# What the expressions of administration.rst name.
shows_what_alerts_read() {
	local name
	for name in node_infiniband_{info,state_id,port_errors_received_total,rate_bytes_per_second} \
		rdma_{resets,startup_failures,pairing_failures,rx_crc_errors}_total; do
		grep -qE "^$name[{].*device=\"srnic" "$LOGS/metrics" || { echo "no $name"; return 1; }
	done
}

shows_texts() {
	local name
	ns0 timeout 20 rping -c -a $IP1 -p 7199 -C 1 # nobody listens
	texts && scrape
	grep '^rdma_' "$LOGS/metrics"
	for name in resets startup_failures backlog_full rx_no_receive streams_lost tx_overdue tx_octets; do
		[ "$(metric "rdma_${name}_total{device=\"srnic0\"}")" = "$(counter srnic0 $name)" ] || { echo "$name"; return 1; }
	done
	[ "$(metric 'rdma_connects_total{device="srnic2"}')" -gt 0 ]
}

needs rping ibv_rc_pingpong prometheus-node-exporter
hosts_up && both_types_up || { echo "Bail out! no devices"; exit 1; }
if check "the node exporter answers" exporter_up; then
	check "its infiniband collector succeeds" collector_succeeds
	check "it shows devices of both types" shows_devices
	check "it shows what type srnic moves" moves srnic0 1000100 rping_between sr1 sr0 "$IP1" 100 10001
	check "it shows what type srnic_ib moves" moves srnic2 1000000 pingpong rc 10000 100
	check "and its datagrams" moves srnic2 100000 pingpong ud 1000 100
	check "it shows a link that goes down and comes back" shows_state
	check "it shows rdma's other counters by its text collector" shows_texts
	check "it shows all that the alerts read" shows_what_alerts_read
	kill $EXPORTER
	wait $EXPORTER 2>/dev/null
fi
rdma link delete srnic2
rdma link delete srnic3
finish
