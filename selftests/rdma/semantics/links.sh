# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Devices of any driver, also with both ends on one host, and links where TCP must keep data for long. Sourced after
# lib.sh and faults/carry.sh.
#
# LINKS: which.
# shellcheck shell=bash

TYPE=${TYPE:-${DEVICE_TYPE:-srnic}}
LINKS=${LINKS:-good slow lossy}

is_ours() { [[ $TYPE = srnic* ]]; }

# srnic0, srnic1: the names, whatever the driver.
typed_devices_up() {
	modprobe rdma_ucm && modprobe "${TYPE%_ib}" && ns0 rdma link add srnic0 type "$TYPE" netdev veth0 &&
		ns1 rdma link add srnic1 type "$TYPE" netdev veth1 &&
		settings_up 0 1 && host_device_up "$TYPE" && modprobe sch_netem && modprobe sch_tbf
}

SHAPED=(sr0:lo sr0:veth0 sr1:veth1)

# shaped QDISC...: all links; none: good links again.
shaped() {
	local link
	for link in "${SHAPED[@]}"; do
		tc -n "${link%:*}" qdisc del dev "${link#*:}" root 2>/dev/null
		[ $# = 0 ] || tc -n "${link%:*}" qdisc add dev "${link#*:}" root "$@" || return
	done
}

# on_each_link COMMAND...: runs it on the links of LINKS, with the link's name appended; then restores them.
on_each_link() {
	local link
	for link in $LINKS; do
		case $link in
		good) check "good links" shaped ;;
		slow) check "links of 300 Mb/s" shaped tbf rate 300mbit burst 128kb latency 200ms ;;
		lossy) check "links that lose 2 % and take 2 ms" shaped netem limit 10000 delay 2ms loss 2% ;;
		esac
		"$@" "a $link link"
	done
	check "good links again" shaped
}

no_crc_errors() {
	local device
	is_ours || return 0
	for device in srnic0 srnic1 srnic2; do
		[ "$(counter $device rx_crc_errors)" = 0 ] || { echo "$device has CRC errors"; return 1; }
	done
}

# Runs gives_back WAY NS ADDRESS PEER-NS PEER-ADDRESS, a function of the script's, in all ways on the current links.
buffers_come_back() { # WHOSE LINK'S-NAME
	local way
	for way in write send write-then-send send-then-send; do
		check "RFC 5040 5.5: $1 is given back: $way, $2, between namespaces" gives_back $way sr0 "$IP0" sr1 "$IP1"
		check "RFC 5040 5.5: $1 is given back: $way, $2, on one host" gives_back $way sr0 $HOST0 sr0 $HOST0
	done
}
