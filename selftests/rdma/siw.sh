#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A stranger as the peer: the kernel's own siw, in both roles.
cd "$(dirname "$0")" && . ./lib.sh

COUNT=${COUNT:-100}

siw_up() {
	hosts_up && modprobe siw && modprobe rdma_ucm && ns0 rdma link add srnic0 type srnic netdev veth0 &&
		ns1 rdma link add siw1 type siw netdev veth1
}

ping_pong() { # SERVER-NS CLIENT-NS ADDRESS SIZE
	with_server "$1" "rping -s -a $3 -C $COUNT -S $4 -v -p 7174" \
		"$2" "rping -c -a $3 -C $COUNT -S $4 -v -V -p 7174 | tail -n 3" 7174
}

if ! modinfo siw >/dev/null 2>&1; then
	echo "1..0 # SKIP this kernel has no siw"
	exit 0
fi
siw_up || { echo "Bail out! no devices"; exit 1; }
for size in 64 65535; do
	check "rping, siw serves, $size octets, IPv4" ping_pong sr1 sr0 "$IP1" $size
	check "rping, srnic serves, $size octets, IPv4" ping_pong sr0 sr1 "$IP0" $size
	check "rping, siw serves, $size octets, IPv6" ping_pong sr1 sr0 "$IP61" $size
	check "rping, srnic serves, $size octets, IPv6" ping_pong sr0 sr1 "$IP60" $size
done
rdma link delete siw1
finish
