#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# srnicctl on both ends of a connection: what it shows, sets and finds wrong, as root and as nobody, and its exit codes.
cd "$(dirname "$0")" && . ./lib.sh

PORT=7174 CARRIER=17174

ctl() { # NUMBER ARGUMENT...: in the namespace of that end
	nsenter --net=/run/netns/sr"$1" srnicctl "${@:2}"
}

nobody_ctl() { # NUMBER ARGUMENT...
	nsenter --net=/run/netns/sr"$1" \
		setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all srnicctl "${@:2}"
}

# What python makes of `srnicctl show -j` of an end: d is its device, c its connection.
of() { # NUMBER EXPRESSION
	ctl "$1" -j show srnic"$1" | python3 -c "if True:
		import json, sys
		d = json.load(sys.stdin)['devices'][0]
		c = ([c for c in d['connections'] if c['state'] == 'RTS'] + [None])[0]
		print($2)"
}

# The same expression at both ends.
ends_say() { # EXPRESSION OF-SRNIC0 OF-SRNIC1
	local said
	said="$(of 0 "$1") $(of 1 "$1")"
	echo "$1: $said"
	[ "$said" = "$2 $3" ]
}

is_true() { # NUMBER EXPRESSION
	local said
	said=$(of "$1" "$2")
	echo "$2 at $1: $said"
	[ "$said" = True ]
}

exits() { # CODE COMMAND...
	local code
	"${@:2}"
	code=$?
	echo "exit code $code"
	[ $code = "$1" ]
}

says_with() { # CODE TEXT COMMAND...: exits with this code, and has the text on either output
	local said code
	said=$("${@:3}" 2>&1)
	code=$?
	echo "$said"
	echo "exit code $code"
	[ $code = "$1" ] && grep -qF -- "$2" <<<"$said"
}

says() { says_with 0 "$@"; } # TEXT COMMAND...

# ---- devices and settings ----

shows_device() {
	local default
	says "srnic0: type srnic on veth0, ACTIVE, 0 QPs" ctl 0 show srnic0 &&
		says "srnic1: type srnic on an interface of another network namespace" ctl 0 show || return
	for default in "  framing mpa," "mpa_crc on," "mpa_markers off," "mpa_large_fpdus off," "rdmap_swap off," \
		"local_shortcut off," "peer_timeout 60," "port_map none"; do
		says "$default" ctl 0 show srnic0 || return
	done
}

both_json() { # what is in one line is in several
	[ "$(ctl 0 -j show | python3 -m json.tool)" = "$(ctl 0 -p show | python3 -m json.tool)" ] &&
		[ "$(ctl 0 -j show | wc -l)" = 1 ]
}

set_and_read() { # SETTING VALUE EXPRESSION
	ctl 0 set srnic0 "$1" "$2" && [ "$(cat "/sys/class/infiniband/srnic0/$1")" = "$2" ] &&
		[ "$(ctl 0 get srnic0 "$1")" = "$2" ] &&
		[ "$(of 0 "d['settings']['$1']")" = "$3" ]
}

refuses() { # VALUE
	says_with 6 "framing takes mpa, rdmatcp or any, not \"$1\"" ctl 0 set srnic0 framing "$1"
}

too_many_pairs() {
	local i pairs
	for ((i = 1; i <= 17; i++)); do
		pairs+=" $i:$((100 + i))"
	done
	exits 6 ctl 0 set srnic0 port_map "$pairs" && ctl 0 set srnic0 port_map "${pairs% *}"
}

# What get prints is what set takes.
gets_all() {
	local name value
	ctl 0 set srnic0 peer_timeout 77 port_map "1:2 3:4" && ctl 0 get srnic0 >"$LOGS/all" &&
		ctl 0 set srnic0 peer_timeout 60 port_map "" || return
	while IFS='=' read -r name value; do
		ctl 0 set srnic0 "${name% }" "${value# }" || return
	done <"$LOGS/all"
	[ "$(ctl 0 get srnic0 port_map)" = "1:2 3:4" ] && [ "$(ctl 0 get srnic0 peer_timeout)" = 77 ] &&
		ctl 0 set srnic0 peer_timeout 60 port_map ""
}

help_and_version() {
	says "usage: srnicctl" ctl 0 --help && [ "$(ctl 0 help)" = "$(ctl 0 --help)" ] && [ "$(ctl 0 --version)" = "srnicctl $(cat /sys/module/srnic/version)" ]
}

# ---- a connection ----

connected() { is_true 0 "c is not None" && is_true 1 "c is not None"; }

# rping from srnic0 to srnic1, until disconnected.
connect_ends() {
	become_in_ns sr1 "exec rping -s -a $IP1 -p $PORT -C 1000000 -S 100" >"$LOGS/rping1" 2>&1 &
	SERVER=$!
	wait_listening sr1 "$PORT" $SERVER
	become_in_ns sr0 "exec rping -c -a $IP1 -p $PORT -C 1000000 -S 100" >"$LOGS/rping0" 2>&1 &
	CLIENT=$!
	within 50 connected
}

disconnect_ends() {
	kill $CLIENT $SERVER 2>/dev/null
	wait $CLIENT $SERVER 2>/dev/null
	within 50 no_qps
}

no_qps() { is_true 0 "not d['connections']" && is_true 1 "not d['connections']"; }

peers() {
	ends_say "c['dst-addr'].split(':')[0]" "$IP1" "$IP0" &&
		ends_say "c['src-addr'].split(':')[0]" "$IP0" "$IP1" &&
		[ "$(of 0 "c['dst-addr']")" = "$IP1:$PORT" ] && [ "$(of 1 "c['src-addr']")" = "$IP1:$PORT" ] &&
		[ "$(of 0 "c['src-addr']")" = "$(of 1 "c['dst-addr']")" ]
}

depths() { [ "$(of 0 "c['ird'], c['ord']")" = "$(of 1 "c['ord'], c['ird']")" ] && is_true 0 "c['ord'] > 0"; }

queues() {
	local n
	for n in 0 1; do
		is_true $n "c['sq']['entries'] >= 16 and c['sq']['outstanding'] <= c['sq']['entries']" &&
			is_true $n "c['rq']['entries'] >= 2 and c['rq']['available'] <= c['rq']['entries']" || return
	done
	is_true 0 "c['rq']['taken'] > 0"
}

texts() {
	says "initiator, $IP0:" ctl 0 show srnic0 && says " -> $IP1:$PORT, rping (" ctl 0 show srnic0 &&
		says "responder, $IP1:$PORT <- $IP0:" ctl 1 show srnic1 &&
		says "MPA, CRC, no markers, FPDUs with up to" ctl 0 show
}

# An EMSS of 1448 (with timestamps) holds 1442 octets of ULPDU.
one_segment() { is_true 0 "not c['large_fpdus'] and 1400 < c['mulpdu'] <= 1454"; }

# The rdma tool breaks its lines.
rdma_reads_them_too() {
	ns0 rdma resource show qp link srnic0 -dd | tr -s '\n \t' ' ' >"$LOGS/dd"
	ns0 rdma resource show cq dev srnic0 -dd | tr -s '\n \t' ' ' >>"$LOGS/dd"
	cat "$LOGS/dd"
	grep -q "initiator 1 .*end none" "$LOGS/dd" &&
		grep -q "_produced [1-9][0-9]* drv_consumed [0-9]* drv_peak [1-9]" "$LOGS/dd"
}

# The QP that each filter leaves, of the connection's.
filters() {
	local qp pid filter
	qp=$(of 0 "c['lqpn']") && pid=$(of 0 "c['pid']") || return
	for filter in "--qp=$qp" "--pid=$pid" "--peer=$IP1" "--peer=$IP1:$PORT" "--peer=$IP1 --pid=$pid --qp=$qp"; do
		# shellcheck disable=SC2086 # options
		says "  QP $qp: RTS" ctl 0 show srnic0 $filter || return
	done
	for filter in "--qp=$((qp + 1000))" --pid=1 "--peer=$IP1:1" "--peer=$IP0"; do
		says "nothing matches" ctl 0 show srnic0 "$filter" || return
	done
}

short_lines() {
	ctl 0 show -s srnic0 | tee "$LOGS/short" | grep -E "^srnic0 +[0-9]+ +RTS +$IP1:$PORT +rping \([0-9]+\) +[0-9]+/[0-9]+ " &&
		[ "$(wc -l <"$LOGS/short")" = 3 ]
}

completion_queues() {
	says " at most, rping (" ctl 0 show srnic0 && is_true 0 "len(d['cqs']) == 1 and d['cqs'][0]['produced'] > 2" &&
		is_true 0 "d['cqs'][0]['waiting'] <= d['cqs'][0]['peak'] <= d['cqs'][0]['entries']"
}

rates() {
	ctl 0 -j -n 1 -d 0.5 top srnic0 | python3 -c "if True:
		import json, sys
		device, qp = json.load(sys.stdin)['rates']
		assert device['ifname'] == 'srnic0', device
		assert device['tx_octets'] > 1000 and device['tx_fpdus'] > 10, device
		assert qp['tx_octets'] > 1000 and qp['sends'] > 1 and qp['dst-addr'] == '$IP1:$PORT', qp"
}

batch_top() { says "srnic0  all  1 QP" ctl 0 top -b -n 1 -d 0.2 srnic0; }

# CRCs are off only if both ends ask; an end that asks for markers receives them.
other_settings() {
	ctl 0 set srnic0 mpa_crc 0 mpa_markers 1 && ctl 1 set srnic1 mpa_crc 0 && connect_ends &&
		ends_say "c['crc']" False False && ends_say "c['rx_markers']" True False &&
		ends_say "c['tx_markers']" False True
}

defaults() { ctl 0 set srnic0 mpa_crc 1 mpa_markers 0 && ctl 1 set srnic1 mpa_crc 1; }

tells_ends() { # WAY THE-CLIENTS THE-SERVERS
	says "$2; $3" end_by "$1"
}

listens() {
	local server status=0
	ctl 1 set srnic1 port_map $PORT:$CARRIER || return
	become_in_ns sr1 "exec rping -s -a $IP1 -p $PORT" >"$LOGS/rping1" 2>&1 &
	server=$!
	wait_listening sr1 $CARRIER $server
	says "listening on $IP1:$PORT (TCP port $CARRIER) rping (" ctl 1 show srnic1 &&
		[ "$(of 1 "d['listening'][0]['tcp-port']")" = $CARRIER ] &&
		says "leave open: $CARRIER" ctl 1 doctor srnic1 || status=1
	kill $server
	wait $server 2>/dev/null
	ctl 1 set srnic1 port_map "" && return $status
}

# ---- nobody ----

# The JSON of `show` without what moves.
at_rest() {
	python3 -c "if True:
		import json, sys
		devices = json.load(sys.stdin)['devices']
		for connection in devices[0]['connections']:
			for moves in 'sq', 'rq', 'tx_octets', 'rx_octets':
				connection.pop(moves, None)
			for cq in devices[0]['cqs']:
				for moves in 'waiting', 'peak', 'produced':
					cq.pop(moves)
		print(devices)"
}

nobody_sees_as_much() {
	local all
	all=$(ctl 0 -j show srnic0 | at_rest) && echo "$all" && [[ $all = *"'role'"* ]] &&
		[ "$(nobody_ctl 0 -j show srnic0 | at_rest)" = "$all" ] &&
		says "-> $IP1:$PORT, rping (" nobody_ctl 0 show srnic0 &&
		says "srnic0  all  1 QP" nobody_ctl 0 top -b -n 1 -d 0.1 srnic0
}

nobody_sets_nothing() {
	says_with 4 "only root with CAP_NET_ADMIN may set it" nobody_ctl 0 set srnic0 peer_timeout 5 &&
		[ "$(of 0 "d['settings']['peer_timeout']")" = 60 ]
}

unprivileged_learns() (
	ulimit -l 8192
	says "ok	memlock: programs of this user may register 8.39MB" nobody_ctl 0 doctor srnic0 && ulimit -l 64 &&
		says_with 7 "warn	memlock: programs of this user may register only 65.5kB of memory" \
			nobody_ctl 0 doctor srnic0
)

# ---- doctor ----

doctor_in_json() {
	ctl 0 -j doctor srnic0 | python3 -c "if True:
		import json, sys
		findings = json.load(sys.stdin)['checks']
		assert len(findings) > 9 and {f['level'] for f in findings} == {'ok'}, findings"
}

# On a machine where nobody has restricted it. The rule is taken back after doctor's checks.
RULE=/etc/udev/rules.d/90-rdma-cm.rules
RDMA_CM=/dev/infiniband/rdma_cm

rdma_cm_is_for() { [ "$(stat -c %a:%G $RDMA_CM)" = "$1" ]; } # MODE:GROUP

apply_rules() { udevadm control --reload && udevadm trigger --name-match=infiniband/rdma_cm && within 100 rdma_cm_is_for "$1"; }

doctor_warns_of_rdma_cm() { says_with 7 "warn	rdma_ucm: every user may open $RDMA_CM" ctl 0 doctor srnic0; }

rule_restricts_rdma_cm() {
	cp /usr/share/srnic/90-rdma-cm.rules $RULE && apply_rules 660:rdma &&
		says "ok	rdma_ucm: programs can connect" ctl 0 doctor srnic0 &&
		says_with 8 "FAIL	rdma_ucm: this user may not open $RDMA_CM" nobody_ctl 0 doctor srnic0
}

rule_goes() {
	rm $RULE
	chgrp root $RDMA_CM && chmod 666 $RDMA_CM && apply_rules 666:root
}

doctor_is_content() {
	exits 0 ctl 0 doctor srnic0 && exits 0 ctl 1 doctor srnic1 &&
		says "ok	installed module: the loaded one" ctl 0 doctor srnic0
}

interface_down() {
	local status=0
	ip -n sr0 link set veth0 down
	says_with 8 "do: ip link set veth0 up" ctl 0 doctor srnic0 || status=1
	ip -n sr0 link set veth0 up
	return $status
}

no_address() {
	ip -n sr0 link add dummy0 type dummy && ip -n sr0 link set dummy0 addrgenmode none && ip -n sr0 link set dummy0 up &&
		ns0 rdma link add srnic2 type srnic netdev dummy0 &&
		says_with 8 "FAIL	srnic2, addresses: dummy0 has no address" ctl 0 doctor srnic2
}

provider_gone() {
	local provider status=0
	provider=$(echo /usr/lib/*/libibverbs/libsrnic-rdmav*.so)
	mv "$provider" "$provider.away"
	says_with 8 "FAIL	provider: $provider is missing" ctl 0 doctor srnic0 || status=1
	mv "$provider.away" "$provider"
	return $status
}

objects() { resources; }

needs rping python3 srnicctl
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "show: a device, its interface, its settings" shows_device
check "the same in JSON, on one line and on several" both_json
for setting in "framing any any" "mpa_crc 0 False" "mpa_markers 1 True" "mpa_large_fpdus 1 True" "rdmap_swap 1 True" \
	"local_shortcut 1 True" "peer_timeout 20 20" "port_map 3260:13260 3260:13260"; do
	# shellcheck disable=SC2086 # three words
	check "set: ${setting% *}" set_and_read $setting
done
for setting in "framing mpa mpa" "mpa_crc 1 True" "mpa_markers 0 False" "mpa_large_fpdus 0 False" "rdmap_swap 0 False" \
	"local_shortcut 0 False" "peer_timeout 60 60"; do
	# shellcheck disable=SC2086
	check "set: ${setting% *}" set_and_read $setting
done
check "set: an empty port_map" set_and_read port_map "" ""

check "exit code 2: no such setting" exits 2 ctl 0 set srnic0 mtu 9000
check "exit code 2: no command" exits 2 ctl 0
check "exit code 3: no such device" exits 3 ctl 0 show srnic9
check "exit code 6: a timeout that is too long" exits 6 ctl 0 set srnic0 peer_timeout 86401
check "exit code 6: no such framing, and the message has those that there are" refuses ethernet
check "exit code 6: no map" exits 6 ctl 0 set srnic0 port_map 3260
check "exit code 6: a port that changes places with itself" exits 6 ctl 0 set srnic0 port_map 1:1
check "exit code 6: a port in two pairs" exits 6 ctl 0 set srnic0 port_map "1:2 2:3"
check "exit code 6: 17 pairs, but 16 are taken" too_many_pairs
check "set: an empty port_map again" set_and_read port_map "" ""
check "get: all settings, as set takes them" gets_all
check "help and version" help_and_version

check "rping connects" connect_ends
check "show: the roles" ends_say "c['role']" initiator responder
check "show: the peers" peers
check "show: IRD and ORD, which are the peer's ORD and IRD" depths
check "show: framing and CRC" ends_say "(c['framing'], c['crc'])" "('mpa', True)" "('mpa', True)"
check "show: an FPDU fits a segment" one_segment
check "show: the queues" queues
check "show: the program" ends_say "c['comm']" rping rping
check "show: bytes both ways" is_true 0 "c['tx_octets'] > 1000 and c['rx_octets'] > 1000"
check "show: the same as text" texts
check "show: a line each" short_lines
check "show: by QP, process and peer" filters
check "rdma resource shows these attributes" rdma_reads_them_too
check "srnicctl show says how full completion queues are" completion_queues
check "top: rates of the device and the connection" rates
check "top: as text" batch_top
check "nobody sees as much" nobody_sees_as_much
check "exit code 4: nobody sets nothing" nobody_sets_nothing
check "doctor: exit code 0 for an ordinary user, and 7 if a limit is low" unprivileged_learns
check "show: no QPs when rping has gone" disconnect_ends
check "show: no CRCs, and markers one way" other_settings
check "show: no QPs again" disconnect_ends
check "set: the defaults" defaults
check_with_pyverbs "show: a connection that was closed" tells_ends disconnect \
	"closed: closed at this end" "peer-closed: closed by the peer"
check_with_pyverbs "show: a connection that a Terminate ended" tells_ends terminate \
	"terminate: Terminate received: tagged message: there is no such STag (0x1100)" \
	"error: error found here: tagged message: there is no such STag (0x1100)"
rdma_cm_is_for 666:root && RESTRICTS=1
[ -z "${RESTRICTS:-}" ] || check "doctor: every user may open rdma_cm" doctor_warns_of_rdma_cm
[ -z "${RESTRICTS:-}" ] || check "the udev rule leaves rdma_cm to a group" rule_restricts_rdma_cm
check "show: listeners, and their TCP ports" listens

check "doctor finds nothing wrong" doctor_is_content
check "doctor: in JSON" doctor_in_json
check "exit code 8: no provider" provider_gone
check "exit code 8: an interface without address" no_address
check "exit code 8: an interface that is down" interface_down
[ -z "${RESTRICTS:-}" ] || check "and without the rule all may open it again" rule_goes
rdma link delete srnic2
check "nothing is left behind" settled "$OBJECTS"
finish
