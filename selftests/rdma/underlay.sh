#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What may be below a device: VLAN, macvlan, WireGuard, bridge, bond; what may happen to it in the middle of a transfer; and
# an interface in a VRF. KINDS: some of them. TYPES: of devices; to those of type srnic_ib belongs the program of byhand/.
#
#   sr0: srnic2 on u0, 10.98.0.1 ── w0 ══ one cable, or two ══ w1 ── u1, 10.98.0.2 on srnic3 :sr1
cd "$(dirname "$0")" && . ./lib.sh

A=10.98.0.1 B=10.98.0.2 A6=fd98::1 B6=fd98::2
PORT=7174
BYHAND=$PWD/byhand/build/byhand
STRANGERS=$PWD/strangers/build/strangers

cable() { # NAME: a cable with ends NAME0 and NAME1
	ip link add "$1"0 netns sr0 type veth peer name "$1"1 netns sr1 && ip -n sr0 link set "$1"0 up && ip -n sr1 link set "$1"1 up
}

on_top() { # NUMBER OF-WHAT TYPE...: an interface u0 or u1 on one end of a cable
	ip -n sr"$1" link add link "$2$1" name u"$1" type "${@:3}"
}

# ---- what is below ----

vlan() { on_top "$1" w vlan id 5; }
macvlan() { on_top "$1" w macvlan mode bridge; }
wireguard() {
	local other=$((1 - $1))
	ip -n sr"$1" link add u"$1" type wireguard && ip -n sr"$1" addr add 10.97.0."$1"/31 dev w"$1" &&
		ns"$1" wg set u"$1" listen-port 51820 private-key "$LOGS/key$1" peer "$(wg pubkey <"$LOGS/key$other")" \
			allowed-ips 0.0.0.0/0,::/0 endpoint 10.97.0.$other:51820
}
bridge() { ip -n sr"$1" link add u"$1" type bridge && ip -n sr"$1" link set w"$1" master u"$1"; }
bond() {
	local cable
	cable_twice && ip -n sr"$1" link add u"$1" type bond mode active-backup miimon 50 || return
	for cable in w x; do
		ip -n sr"$1" link set $cable"$1" down && ip -n sr"$1" link set $cable"$1" master u"$1" || return
	done
}
cable_twice() { ip -n sr0 link show x0 >/dev/null 2>&1 || cable x; }

# ---- devices ----

end_up() { # NUMBER ADDRESS ADDRESS6 DEVICE
	ip -n sr"$1" addr add "$2/24" dev u"$1" && ip -n sr"$1" addr add "$3/64" dev u"$1" nodad && ip -n sr"$1" link set u"$1" up &&
		ns"$1" rdma link add "$4" type "$TYPE" netdev "$(serving "$1")"
}

# The RDMA core gives the addresses of a VLAN to the device of type srnic_ib on the interface below.
serving() { if [ "$KIND $TYPE" = "vlan srnic_ib" ]; then echo w"$1"; else echo u"$1"; fi; } # NUMBER

under_up() { # KIND
	cable w && "$1" 0 && "$1" 1 && end_up 0 $A $A6 srnic2 && end_up 1 $B $B6 srnic3 && reach sr0 $B && reach sr0 $B6
}

under_down() {
	rdma link delete srnic2 && rdma link delete srnic3 || return
	ip -n sr0 link del u0 2>/dev/null
	ip -n sr1 link del u1 2>/dev/null
	ip -n sr0 link del w0 2>/dev/null
	ip -n sr0 link del x0 2>/dev/null
	! ip -n sr0 link show x0 >/dev/null 2>&1
}

pings() { rping_between sr1 sr0 $B 50 65535 && rping_between sr0 sr1 $A6 50 65535; }

# Cases of byhand/, between the upper devices or others.
by_hand() { # CASES [DEVICE ADDRESS ADDRESS6 DEVICE ADDRESS ADDRESS6]
	local ends=("${@:2}")
	[ $# -gt 1 ] || ends=(srnic2 "$A" "$A6" srnic3 "$B" "$B6")
	LIMIT=60 in_ns sr0 "ulimit -n 8192; exec '$BYHAND' ${ends[*]} 4 '$1'"
}
over_all_addresses() { by_hand "both ways over IPv" "$@"; }

transfers() { if [ "$TYPE" = srnic ]; then pings; else over_all_addresses; fi; }

# WireGuard has no hardware addresses, by which rdma_cm finds such devices: "no such device".
by_rdma_cm() {
	local said
	[ "$KIND" = wireguard ] || { DEVICE_TYPE=$TYPE pings; return; }
	! said=$(in_ns sr0 "timeout 30 rping -c -a $B -C 1 -p $PORT" 2>&1) && echo "$said" &&
		[[ $said = *"RDMA_CM_EVENT_ADDR_ERROR, error -19"* ]]
}

# Something happens to what is below in the middle of a transfer.
goes_on() { if [ "$TYPE" = srnic ]; then rping_goes_on "$@"; else by_hand_goes_on "$@"; fi; } # COMMAND...

# Requests complete, and QPs find each other.
by_hand_goes_on() { # COMMAND...
	local over=$LOGS/over status=0 transfer
	rm -f "$over"
	UNTIL=$over by_hand "it goes on" & transfer=$!
	sleep 1
	"$@" || status=1
	touch "$over"
	wait $transfer && return $status
}

# Every octet arrives.
rping_goes_on() { # COMMAND...
	local server client status=0 before
	in_ns sr1 "exec rping -s -a $B -S 65535 -p $PORT" >"$LOGS/server" 2>&1 & server=$!
	wait_listening sr1 $PORT $server || return
	in_ns sr0 "exec rping -c -a $B -S 65535 -C 1000000 -V -p $PORT" >"$LOGS/client" 2>&1 & client=$!
	moves_data srnic2 "$(($(counter srnic2 connects) - 1))" && "$@" || status=1
	before=$(counter srnic2 rx_octets)
	kill -0 $client && rises srnic2 rx_octets "$before" || { cat "$LOGS/client"; status=1; }
	pkill -x rping
	wait $client $server
	return $status
}

# ---- what happens to it ----

fails_over() {
	ip -n sr0 link set w0 down && sleep 1 && ns0 cat /proc/net/bonding/u0 | grep "Currently Active Slave: x0" &&
		ip -n sr0 link set w0 up && sleep 1 && ip -n sr0 link set x0 down && sleep 1 &&
		ns0 cat /proc/net/bonding/u0 | grep "Currently Active Slave: w0"
}

other_mtu() { # each smaller than the segments under way, and larger
	local mtu
	for mtu in 1400 1300 1500; do
		ip -n sr0 link set u0 mtu $mtu && ip -n sr1 link set u1 mtu $mtu && sleep 1 || return
	done
}

renamed() {
	ip -n sr0 link set u0 down && ip -n sr0 link set u0 name other && ip -n sr0 link set other up &&
		ns0 rdma link show srnic2/1 | grep "netdev other" && ip -n sr0 link set other down &&
		ip -n sr0 link set other name u0 && ip -n sr0 link set u0 up && ns0 rdma link show srnic2/1 | grep "netdev u0"
}

# New connections fail at once; the one that is there goes on.
address_away() { beside sr1 "rping -s -P -a $B -p $((PORT + 1))" $((PORT + 1)) no_new_connection_meanwhile; }

no_new_connection_meanwhile() {
	new_connection && ip -n sr0 addr del $A/24 dev u0 && fails_within 5 new_connection &&
		ip -n sr0 addr add $A/24 dev u0 && new_connection
}

new_connection() { in_ns sr0 "rping -c -a $B -I $A -C 1 -p $((PORT + 1))"; }

goes_down_and_up() {
	ns0 sysctl -q net.ipv6.conf.u0.keep_addr_on_down=1 && ip -n sr0 link set u0 down && within 50 port_is DOWN &&
		ip -n sr0 link set u0 up && within 50 port_is ACTIVE
}

port_is() { ns0 rdma link show srnic2/1 | grep -q "state $1"; }

# By the interface's events, of which several may report a change, and by those of the RDMA core.
port_events_come_once() {
	local watch
	become_in_ns sr0 "exec stdbuf -oL ibv_asyncwatch -d srnic2" >"$LOGS/asyncwatch" 2>&1 &
	watch=$!
	within 50 grep -qs "async event FD" "$LOGS/asyncwatch" && goes_down_and_up && pause 0.5
	kill $watch
	wait $watch 2>/dev/null
	cat "$LOGS/asyncwatch"
	[ "$(grep -c PORT_ERR "$LOGS/asyncwatch") $(grep -c PORT_ACTIVE "$LOGS/asyncwatch")" = "1 1" ]
}

# ---- speed ----

has_speed_of_cable() { grep "^10 Gb/sec" /sys/class/infiniband/srnic2/ports/1/rate; }

# An interface of this type on a dummy, which has no speed. The RDMA core would log a warning at each query.
no_speed_is_quiet() { # TYPE...
	local status=0
	ip -n sr0 link add s0 type dummy && ip -n sr0 link add link s0 name u0 type "$@" && queried || status=1
	ip -n sr0 link del u0
	ip -n sr0 link del s0
	return $status
}

queried() {
	local marker="speed $RANDOM$RANDOM" status=0
	echo "$marker" >/dev/kmsg
	ns0 rdma link add srnic2 type srnic netdev u0 && ns0 ibv_devinfo -v -d srnic2 >"$LOGS/devinfo" &&
		grep "active_speed:.*2.5 Gbps" "$LOGS/devinfo" && ns0 rdma link show srnic2/1 || status=1
	rdma link delete srnic2
	dmesg | sed "1,/$marker/d" >"$LOGS/dmesg"
	! grep -i "speed" "$LOGS/dmesg" && return $status
}

without_speed() {
	local type
	for type in dummy "vlan id 5" "macvlan mode bridge" "ipvlan mode l2" bridge; do
		if [ "${type%% *}" = vlan ] || modprobe -q "${type%% *}"; then
			# shellcheck disable=SC2086 # words
			check "${type%% *}: has no speed, and a query logs nothing" no_speed_is_quiet $type
		else
			skip_one "${type%% *}: has no speed" "no such module in this kernel"
		fi
	done
}

# ---- a device on what is below, too ----

BELOW=10.96.0.1 BELOW6=fd96::1

below_up() {
	ip -n sr0 addr add $BELOW/24 dev w0 && ip -n sr1 addr add 10.96.0.2/24 dev w1 && reach sr0 10.96.0.2 &&
		ip -n sr0 addr add $BELOW6/64 dev w0 nodad && ip -n sr1 addr add fd96::2/64 dev w1 nodad && reach sr0 fd96::2 &&
		ns0 rdma link add srnic4 type srnic netdev w0
}

guids_differ() { # DEVICE DEVICE
	local one other
	read -r one <"/sys/class/infiniband/$1/node_guid" && read -r other <"/sys/class/infiniband/$2/node_guid" &&
		echo "$one $other" && [ "$one" != "$other" ]
}

# A program that listens on all addresses gets the device that rdma_cm chooses.
serves_both() { # DEVICE
	local address
	for address in $A $BELOW $A6 $BELOW6; do
		grows "$1" rx_octets 640 rping_on_wildcard sr0 sr1 $address || return
	done
}

vlan_goes() { rdma link delete srnic2; }
vlan_comes() { ns0 rdma link add srnic2 type srnic netdev u0; }
vlan_comes_again() { vlan_goes && vlan_comes; }
vlan_comes_instead() { rdma link delete srnic4 && vlan_comes; }

# Before Linux 6.6 rdma_cm goes by hardware addresses.
by_their_own_addresses() {
	vlan_goes && ip -n sr0 link set u0 address 02:00:00:00:00:05 && vlan_comes && reach sr0 $B &&
		ns0 rdma link add srnic4 type srnic netdev w0 && rping_on_wildcard sr0 sr1 $A && rping_on_wildcard sr0 sr1 $BELOW &&
		rdma link delete srnic4
}

beside_the_one_below() {
	check "vlan: there is a device on the interface below, too" below_up || return
	check "vlan: their GUIDs differ though their hardware addresses do not" guids_differ srnic2 srnic4
	check "vlan: the VLAN's, which was first, serves the addresses of both" serves_both srnic2
	check "vlan: the VLAN's goes and comes again: now the one below is first" vlan_comes_again
	check "vlan: it serves the addresses of both" serves_both srnic4
	check "vlan: the VLAN's goes" vlan_goes
	check "vlan: the one below goes on serving both" serves_both srnic4
	check "vlan: that one goes, and the VLAN's comes" vlan_comes_instead
	check "vlan: the VLAN's serves both" serves_both srnic2
	check "vlan: with another hardware address than the interface below, each reaches a device" by_their_own_addresses
}

# What has a master has no addresses of its own.
below_a_master_is_refused() {
	refused_and_logged "not supported" "cannot add .*srnic4 on w0: .*bridge or bond" \
		ns0 rdma link add srnic4 type "$TYPE" netdev w0
}

on_a_vlan_is_refused() {
	refused_and_logged "Invalid argument" "cannot add srnic_ib device srnic4 on u0: a VLAN" \
		ns0 rdma link add srnic4 type srnic_ib netdev u0
}

kind() { # KIND: what can happen to any interface happens to a VLAN
	local on=$1
	[ "$TYPE" = srnic ] || on="$1, $TYPE"
	check "$on: a device on it" under_up "$1" || { under_down; return; }
	check "$on: transfers" transfers
	[ "$TYPE" = srnic ] || check "$on: rdma_cm" by_rdma_cm
	[[ $1 != b* ]] || check "$on: a device on its port is refused" below_a_master_is_refused
	[ "$1" != bond ] || check "$on: it fails over in mid-transfer" goes_on fails_over
	[ "$1" != vlan ] || check "$on: its MTU changes in mid-transfer" goes_on other_mtu
	[ "$1 $TYPE" != "vlan srnic_ib" ] || check "$on: a device on the VLAN itself is refused" on_a_vlan_is_refused
	if [ "$1 $TYPE" = "vlan srnic" ]; then
		check "$on: it has the speed of the interface below" has_speed_of_cable
		check "$on: programs get one event when its port goes down, and one when it comes up" port_events_come_once
		check "$on: it gets another name in mid-transfer" goes_on renamed
		check "$on: its address goes in mid-transfer, and comes back" goes_on address_away
		beside_the_one_below
	fi
	check "$on: the devices go" under_down
}

# ---- a device in a VRF ----

# u0 and u1 are the ends of the cable: each in a VRF of its namespace, v0 and v1.
vrf_end() { # NUMBER ADDRESS ADDRESS6
	ip -n sr"$1" link add v"$1" type vrf table 10 && ip -n sr"$1" link set v"$1" up && ip -n sr"$1" link set w"$1" down &&
		ip -n sr"$1" link set w"$1" name u"$1" master v"$1" && ns"$1" sysctl -q net.ipv6.conf.u"$1".keep_addr_on_down=1 &&
		end_up "$@"
}

vrf_up() {
	cable w && vrf_end 0 $A $A6 srnic2 && vrf_end 1 $B $B6 srnic3 && outer_devices_up && vrf_reaches
}
outer_devices_up() { if [ "$TYPE" = srnic ]; then devices_up; else ib_devices_up; fi; }
vrf_reaches() { ns0 ping -q -c 1 -w 10 -I v0 $B && ns0 ping -q -c 1 -w 10 -I v0 $B6; }

vrf_down() {
	rdma link delete srnic0 && rdma link delete srnic1 && ip -n sr0 link del v0 && ip -n sr1 link del v1 && under_down
}

# The control: a socket that is bound to the VRF. rdma_cm has no such option; rping binds to an address.
tcp_in_vrf() {
	local port=$((PORT + 2))
	local serve="s.bind(('', $port)); s.listen(); s.accept()" connect="s.connect(('$B', $port))"
	with_server sr1 "$(bound_python v1 "$serve")" sr0 "$(bound_python v0 "$connect")" $port
}
bound_python() { # VRF STATEMENTS
	echo "python3 -c \"import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'$1'); $2\""
}

vrf_rping() { # TO FROM [LISTEN-AT]
	with_server sr1 "rping -s -a ${3:-$1} -C 20 -S 65535 -v -p $PORT" \
		sr0 "exec ./rping-client $1 $PORT 20 -S 65535 -I $2" $PORT
}

# Programs that listen, on all addresses and on one, before the interfaces move. They last for all that is done meanwhile.
beside_listeners() { # COMMAND...
	local all one status=0
	LIMIT=600 become_in_ns sr1 "exec rping -s -P -a :: -p $PORT" >"$LOGS/server" 2>&1 & all=$!
	LIMIT=600 become_in_ns sr1 "exec rping -s -P -a $B -p $((PORT + 1))" >"$LOGS/server1" 2>&1 & one=$!
	wait_listening sr1 $PORT $all && wait_listening sr1 $((PORT + 1)) $one && "$@" || status=1
	kill $all $one
	wait $all $one
	return $status
}

ping_once() { in_ns sr0 "exec ./rping-client $1 $3 1 -I $2"; } # TO FROM PORT

# What moves goes down and up; rdma_cm may ask for a neighbour meanwhile.
both_listen() { ping_soon $B $A $PORT && ping_soon $B $A $((PORT + 1)) && ping_soon $B6 $A6 $PORT; }
ping_soon() { LIMIT=20 within 5 ping_once "$@" || { echo "no answer from $1, port $3"; return 1; }; }

# The device of no VRF, and that in it, by the same program.
in_and_out() { both_listen && ping_once "$IP1" "$IP0" $PORT && ping_once "$IP61" "$IP60" $PORT; }

leave_vrfs() { ip -n sr0 link set u0 nomaster && ip -n sr1 link set u1 nomaster && reach sr0 $B && reach sr0 $B6 && both_listen; }
enter_vrfs() { ip -n sr0 link set u0 master v0 && ip -n sr1 link set u1 master v1 && vrf_reaches && both_listen; }
there_and_back() { leave_vrfs && enter_vrfs && in_and_out; }

# An administrator may have listening sockets accept from all VRFs.
accepting_all() { # COMMAND...
	local status=0
	ns1 sysctl -q net.ipv4.tcp_l3mdev_accept=1
	"$@" || status=1
	ns1 sysctl -q net.ipv4.tcp_l3mdev_accept=0
	return $status
}

in_vrf() {
	check "vrf: devices on interfaces in VRFs, and on others" vrf_up || { vrf_down; return; }
	check "vrf: TCP" tcp_in_vrf
	check "vrf: rping" vrf_rping $B $A
	check "vrf: rping, on a wildcard" vrf_rping $B $A 0.0.0.0
	check "vrf: rping, IPv6" vrf_rping $B6 $A6
	check "vrf: rping, on a wildcard, IPv6" vrf_rping $B6 $A6 ::
	check "vrf: a program that listens on all addresses serves those in a VRF and others" beside_listeners in_and_out
	check "vrf: also if TCP's listeners accept from all VRFs" accepting_all beside_listeners in_and_out
	check "vrf: programs that listen follow interfaces out of their VRFs, and back" beside_listeners there_and_back
	check "vrf: all goes" vrf_down
}

# ---- devices of type srnic_ib, whose port follows their interfaces ----

both_pair() { over_all_addresses && over_all_addresses srnic0 "$IP0" "$IP60" srnic1 "$IP1" "$IP61"; }
out_of_vrfs() { ip -n sr0 link set u0 nomaster && ip -n sr1 link set u1 nomaster && reach sr0 $B && reach sr0 $B6; }
into_vrfs() { ip -n sr0 link set u0 master v0 && ip -n sr1 link set u1 master v1 && vrf_reaches; }
pair_out_and_in() { out_of_vrfs && both_pair && into_vrfs && both_pair; }

# A peer in sr0 without a VRF, whose address is in sr1's twice: in the VRF, and outside, where it may be another host's.
from_another_vrf() {
	local status=0
	ip -n sr0 link set u0 nomaster && reach sr0 $B && reach sr0 $B6 && ip -n sr1 route add $A/32 dev veth1 || return
	LIMIT=60 in_ns sr0 "exec '$STRANGERS' srnic3 $B $B6 $A $A6 $A $IP1" || status=1
	ip -n sr1 route del $A/32 dev veth1 && ip -n sr0 link set u0 master v0 && vrf_reaches || status=1
	return $status
}

ib_in_vrf() {
	check "vrf, srnic_ib: devices on interfaces in VRFs, and on others" vrf_up || { vrf_down; return; }
	check "vrf, srnic_ib: transfers in a VRF and outside" both_pair
	check "vrf, srnic_ib: also if TCP's listeners accept from all VRFs" accepting_all both_pair
	if [ -x "$STRANGERS" ]; then
		check "vrf, srnic_ib: a Request from another VRF is refused" from_another_vrf
		check "vrf, srnic_ib: also if TCP's listeners accept from all VRFs (Requests)" accepting_all from_another_vrf
	else
		skip_one "vrf, srnic_ib: a Request from another VRF is refused" "strangers is not built"
	fi
	check "vrf, srnic_ib: the interfaces leave their VRFs, and come back" pair_out_and_in
	check "vrf, srnic_ib: all goes" vrf_down
}

needs rping wg
modprobe -a ib_uverbs rdma_ucm srnic && hosts_up || { echo "Bail out! no namespaces"; exit 1; }
(umask 077 && wg genkey >"$LOGS/key0" && wg genkey >"$LOGS/key1")

all_kinds() {
	for KIND in ${KINDS:-vlan macvlan wireguard bridge bond vrf}; do
		case $KIND in
		vlan) module=8021q ;;
		bond) module=bonding ;;
		*) module=$KIND ;;
		esac
		if [ "$KIND $TYPE" = "wireguard srnic" ] && before_linux 6.6; then
			skip_one $KIND "rdma_cm would not find the device: rping.sh has a test of that, with lo"
		elif [ $KIND = vrf ] && modprobe -q vrf; then
			if [ $TYPE = srnic ]; then in_vrf; else ib_in_vrf; fi
		elif modprobe -q $module; then
			kind $KIND
		else
			skip_one "$KIND" "no $module in this kernel"
		fi
	done
}

for TYPE in ${TYPES:-srnic srnic_ib}; do
	if [ $TYPE = srnic ]; then
		all_kinds
		without_speed
	elif [ ! -x "$BYHAND" ]; then
		skip_one "type srnic_ib" "byhand/ is not built: make guest-tests"
	else
		all_kinds
	fi
done
finish
