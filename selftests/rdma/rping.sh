#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rping moves and verifies data between two namespaces: Send, RDMA Read and RDMA Write, both families, both directions.
cd "$(dirname "$0")" && . ./lib.sh

COUNT=${COUNT:-1000}

another_mac() {
	ip -n sr0 link set veth0 address 02:00:00:00:0a:01 && ip -n sr1 link set veth1 address 02:00:00:00:0a:02 &&
		reach sr0 "$IP1" && reach sr0 "$IP61" && reach sr1 "$IP60" || return
	pause 0.2 # the RDMA core looks at it by and by
	rping_between sr1 sr0 "$IP1" 10 64 && rping_between sr0 sr1 "$IP60" 10 64
}

# Addresses that name an interface, too. The wildcard's listener gets the request with the interface's scope.
link_local() {
	local server
	server=$(ip -n sr1 -6 -o addr show dev veth1 scope link | awk '{sub("/.*", "", $4); print $4}') && [ -n "$server" ] &&
		reach sr0 "$server%veth0" || return
	with_server sr1 "rping -s -a $server%veth1 -C 10 -v -p 7174" sr0 "exec ./rping-client $server%veth0 7174 10" 7174 &&
		rping_on_wildcard sr1 sr0 "$server%veth0"
}

# The other addresses are gone after that.
without_ipv6() {
	ns0 sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && ns1 sysctl -qw net.ipv6.conf.all.disable_ipv6=1 &&
		rping_between sr1 sr0 "$IP1" 10 64 && rping_on_wildcard sr0 sr1 "$IP0"
}

# Before there is another device: for 127.0.0.1 rdma_cm takes the machine's first.
on_lo() {
	modprobe -a ib_uverbs rdma_ucm srnic && ip -n sr0 link set lo up || return
	if before_linux 6.6; then
		refused_and_logged "Cannot assign requested address" \
			"cannot add srnic2 on lo: before Linux 6.6 an interface needs a hardware address" device_on_lo
	else
		device_on_lo && rping_between sr0 sr0 127.0.0.1 10 64 && rping_between sr0 sr0 ::1 10 64 && rdma link delete srnic2
	fi
}

device_on_lo() { ns0 rdma link add srnic2 type srnic netdev lo; }

needs rping
hosts_up || { echo "Bail out! no namespaces"; exit 1; }
check "rping, on lo; before Linux 6.6 the device is refused, and the log says why" on_lo
devices_up || { echo "Bail out! no devices"; exit 1; }
check "rping, IPv4, server in sr1" rping_between sr1 sr0 "$IP1" "$COUNT" 65535
check "rping, IPv4, server in sr0" rping_between sr0 sr1 "$IP0" "$COUNT" 65535
check "rping, IPv6, server in sr1" rping_between sr1 sr0 "$IP61" "$COUNT" 65535
check "rping, IPv6, server in sr0" rping_between sr0 sr1 "$IP60" "$COUNT" 65535
check "rping, server on the wildcard address in sr1" rping_on_wildcard sr1 sr0 "$IP1"
check "rping, server on the wildcard address in sr0" rping_on_wildcard sr0 sr1 "$IP0"
check "rping, link-local addresses" link_local
check "rping, the interfaces have other hardware addresses" another_mac
check "rping, IPv6 is switched off" without_ipv6
finish
