# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Shared by the tests in this folder: two "hosts", and TAP output. Sourced by each of them, as root, on a machine where
# srnic is installed.
#
#   namespace sr0                      namespace sr1
#   ┌──────────────────────┐          ┌──────────────────────┐
#   │ srnic0 on veth0      ├──────────┤ veth1, srnic1        │
#   │ 10.99.0.1, fd99::1   │ MTU 1500 │ 10.99.0.2, fd99::2   │
#   └──────────────────────┘          └──────────────────────┘
# shellcheck shell=bash

IP0=10.99.0.1 IP1=10.99.0.2
IP60=fd99::1 IP61=fd99::2
HOST0=10.98.0.1 HOST60=fd98::1
# ONE_HOST: 1 makes sr1 another name of sr0, and both ends are on srnic0. Data then goes through lo, whatever the link is.
DEVICE1=srnic1
[ "${ONE_HOST:-}" != 1 ] || IP1=$IP0 IP61=$IP60 DEVICE1=srnic0
TESTS=0 FAILED=0
LOGS=$(mktemp -d)

# Commands in a namespace. nsenter, because `ip netns exec` would mount a /sys without RDMA devices.
ns0() { nsenter --net=/run/netns/sr0 "$@"; }
ns1() { nsenter --net=/run/netns/sr1 "$@"; }

# FRAMING: of new devices, for any of these tests.
framing_up() {
	local default=/sys/module/srnic/parameters/framing
	[ -z "${FRAMING:-}" ] || modprobe srnic || return
	[ ! -e $default ] || echo "${FRAMING:-mpa}" >$default
}

# Of srnicNUMBER, and checks it.
set_device() { # NUMBER ATTRIBUTE VALUE
	local file=/sys/class/infiniband/srnic$1/$2
	echo "$3" >"$file" && [ "$(cat "$file")" = "$3" ]
}

# SETTINGS: "ATTRIBUTE=VALUE..." of each new device.
settings_up() { # NUMBER...
	local n setting
	for n; do
		for setting in ${SETTINGS:-}; do
			set_device "$n" "${setting%=*}" "${setting#*=}" || return
		done
	done
}

# Before anything is made: leaves a machine alone that has such devices or namespaces already.
nothing_in_the_way() {
	local name
	for name in srnic0 srnic1 srnic2; do
		[ ! -e /sys/class/infiniband/$name ] || { echo "# $name exists already: rdma link delete $name"; return 1; }
	done
	for name in sr0 sr1; do
		[ ! -e /run/netns/$name ] || { echo "# namespace $name exists already: ip netns del $name"; return 1; }
	done
}

hosts_up() {
	nothing_in_the_way || return
	trap everything_down EXIT
	framing_up && ip netns add sr0 && another_host && cable_up
}

another_host() {
	if [ "${ONE_HOST:-}" = 1 ]; then
		: >/run/netns/sr1 && mount --bind /run/netns/sr0 /run/netns/sr1
	else
		ip netns add sr1
	fi
}

# CABLE: veth, or wire: the interfaces of vm/run --wire, with the names of the others.
cable_up() {
	local n
	if [ "${CABLE:-veth}" = wire ]; then
		wire_end sr0 0 && wire_end sr1 1 || return
	else
		ip link add veth0 netns sr0 type veth peer name veth1 netns sr1 || return
	fi
	for n in 0 1; do
		ip -n sr$n link set lo up
		ip -n sr$n addr add 10.99.0.$((n + 1))/24 dev veth$n
		ip -n sr$n addr add fd99::$((n + 1))/64 dev veth$n nodad
		ip -n sr$n link set veth$n up
	done
	reach sr0 "$IP1" && reach sr0 "$IP61" && reach sr1 "$IP60"
}

# An interface of the wire. udev gives it another name first.
wire_end() { # NAMESPACE NUMBER
	local link
	modprobe e1000e && udevadm settle && link=$(grep -lx "52:54:00:00:00:0$2" /sys/class/net/*/address) &&
		link=$(basename "${link%/address}") && ip link set "$link" down && ip link set "$link" netns "$1" name "veth$2"
}

# Back here, under a name that no cable has. A namespace that goes would return it by and by, and as it is called there.
wire_down() {
	local n
	for n in 0 1; do
		ip -n sr$n link set veth$n down && ip -n sr$n link set veth$n netns $$ name wire$n
	done
}

# After link up IPv6 needs longer than rdma_cm waits for a neighbour.
reach() { ip netns exec "$1" ping -q -c 1 -w 10 "$2" >/dev/null; }

# Another cable between the namespaces, for other drivers: vethN and vethN+1, NET.1 and NET.2.
another_cable() { # N NET
	local a=veth$1 b=veth$(($1 + 1))
	ip link add $a netns sr0 type veth peer name $b netns sr1 && ip -n sr0 addr add $2.1/24 dev $a &&
		ip -n sr1 addr add $2.2/24 dev $b && ip -n sr0 link set $a up && ip -n sr1 link set $b up &&
		reach sr0 $2.2
}

# DEVICE_TYPE: srnic, or srnic_ib, where rdma_cm connects as on InfiniBand.
devices_up() {
	modprobe -a ib_uverbs rdma_ucm && ns0 rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev veth0 &&
		ns1 rdma link add srnic1 type "${DEVICE_TYPE:-srnic}" netdev veth1 && settings_up 0 1
}

# The names of devices_up, but of type srnic_ib.
ib_devices_up() { DEVICE_TYPE=srnic_ib devices_up; }

# Soft RoCE on the same interfaces, to compare with: rxe0 and rxe1.
rxe_up() {
	modprobe -q rdma_rxe && ns0 rdma link add rxe0 type rxe netdev veth0 && ns1 rdma link add rxe1 type rxe netdev veth1
}

rxe_down() { rdma link delete rxe0; rdma link delete rxe1; }

# FUNCTION srnic ARGUMENT...; if that fails, FUNCTION rxe ARGUMENT..., and the log has what came of it.
compared() { # FUNCTION ARGUMENT...
	"$1" srnic "${@:2}" && return
	if ! rxe_up; then
		echo "there is no rxe to compare it with"
	elif "$1" rxe "${@:2}" >/dev/null 2>&1; then
		echo "rxe runs it"
	else
		echo "rxe fails, too"
	fi
	rxe_down 2>/dev/null
	return 1
}

# For objects(): streams of QPs that are connected by hand are closed after their QPs.
resources_and_streams() {
	rdma resource show | grep srnic
	ns0 ss -Htn state established
}

gid_index() { # DEVICE GID
	local i gid
	for ((i = 0; i < 256; i++)); do
		read -r gid <"/sys/class/infiniband/$1/ports/1/gids/$i" && [ "$gid" = "$2" ] || continue
		echo $i
		return
	done
	return 1
}

gid_of() { # ADDRESS, as sysfs has it
	python3 -c '
import ipaddress, sys
a = ipaddress.ip_address(sys.argv[1])
h = (a.packed if a.version == 6 else bytes(10) + b"\xff\xff" + a.packed).hex()
print(":".join(h[i:i + 4] for i in range(0, 32, 4)))' "$1"
}

# INDEX: DEVICE:KIND, in the table of GIDs; KIND: IPv4, IPv6, or default, which is link-local.
declare -A INDEX

note_index() { # DEVICE KIND ADDRESS
	local gid
	gid=$(gid_of "$3") && within 50 gid_index "$1" "$gid" >/dev/null && INDEX[$1:$2]=$(gid_index "$1" "$gid")
}

note_indices() { # DRIVER
	INDEX[${1}0:default]=0 INDEX[${1}1:default]=0
	note_index "${1}0" IPv4 "$IP0" && note_index "${1}1" IPv4 "$IP1" &&
		note_index "${1}0" IPv6 "$IP60" && note_index "${1}1" IPv6 "$IP61"
}

set_devices() { # ATTRIBUTE VALUE-OF-SRNIC0 VALUE-OF-SRNIC1
	set_device 0 "$1" "$2" && set_device 1 "$1" "$3"
}

# srnic2, another device in sr0: both ends are on it, so data goes through lo.
host_device_up() { # TYPE
	ip -n sr0 link add dummy0 type dummy && ip -n sr0 addr add $HOST0/24 dev dummy0 &&
		ip -n sr0 addr add $HOST60/64 dev dummy0 nodad && ip -n sr0 link set dummy0 up &&
		ns0 rdma link add srnic2 type "$1" netdev dummy0 && settings_up 2
}

everything_down() {
	local n
	for n in 0 1 2; do
		rdma link delete srnic$n 2>/dev/null
	done
	[ "${CABLE:-veth}" != wire ] || wire_down 2>/dev/null
	ip netns del sr0 2>/dev/null
	ip netns del sr1 2>/dev/null
	rm -rf "$LOGS"
}

# check NAME COMMAND...: one TAP line, with the time if it took long. The command's output goes to the log, and also to
# stdout if it failed.
check() {
	local name=$1 log began=$SECONDS
	shift
	TESTS=$((TESTS + 1))
	FAILED=$((FAILED + 1)) # until it has passed: an error in arithmetic ends all functions at once
	log=$LOGS/$TESTS
	if "$@" >"$log" 2>&1; then
		FAILED=$((FAILED - 1))
		echo "ok $TESTS $name"
		[ $((SECONDS - began)) -lt 5 ] || echo "# $((SECONDS - began)) s"
		return 0
	fi
	echo "not ok $TESTS $name"
	tail -n 30 "$log" | sed 's/^/# /'
	return 1
}

# check, and then a line with the test's NOTE.
measured() {
	local status
	NOTE=
	check "$@"
	status=$?
	[ -z "$NOTE" ] || echo "# $NOTE"
	return $status
}

# check, if what it needs is here.
check_with_pyverbs() { # NAME COMMAND...
	if python3 -c 'import pyverbs.cmid' 2>/dev/null; then
		check "$@"
	else
		skip_one "$1" "python3-pyverbs is not installed"
	fi
}

# rdma-core's tests, unpacked, as DIRECTORY/tests. The lab's guests have rdma-core's source, no documentation.
rdma_core_tests_in() { # DIRECTORY
	local from
	for from in /usr/share/doc/rdma-core/tests /usr/src/rdma-core/tests; do
		[ -e "$from/run_tests.py" ] || continue
		cp -r "$from" "$1/tests" && find "$1/tests" -name '*.gz' -exec gunzip {} +
		return
	done
	return 1
}

skip_one() { # NAME REASON
	TESTS=$((TESTS + 1))
	echo "ok $TESTS $1 # SKIP $2"
}

# A connection of srnic0 to itself, which ends in this way (pyverbs/ends.py).
end_by() { in_ns sr0 "exec python3 pyverbs/ends.py srnic0 $IP0 $1"; } # WAY

# A command, as a string for `bash -c` (with pipefail), in a namespace, for LIMIT seconds at most; some programs do not
# end for a SIGTERM.
in_ns() { # NS COMMAND-STRING
	local limit=${LIMIT:-120} status=0
	timeout -k 5 "$limit" nsenter --net="/run/netns/$1" bash -o pipefail -c "$2" || status=$?
	[ "$status" != 124 ] || echo "not done after $limit s: $2" >&2
	return "$status"
}

# The same, for use last in a subshell with `&`: $! is then the command itself and can be killed.
become_in_ns() { exec timeout -k 5 "${LIMIT:-120}" nsenter --net="/run/netns/$1" bash -c "$2"; }

# Runs both, the client as soon as the server listens (on PORT, if given). Fails if either fails.
with_server() { # SERVER-NS SERVER CLIENT-NS CLIENT [PORT]
	local server status=0 ended=0 port=${5:-}
	become_in_ns "$1" "exec $2" >"$LOGS/server" 2>&1 &
	server=$!
	wait_listening "$1" "$port" "$server"
	in_ns "$3" "$4" || status=$?
	[ "$status" = 0 ] || kill "$server" 2>/dev/null
	wait "$server" || ended=$?
	[ "$ended" != 124 ] || echo "server: not done in time"
	status=${status/#0/$ended}
	[ "$status" = 0 ] || tail -n 15 "$LOGS/server" | sed 's/^/server: /' | cut -c 1-200 # check shows 30 lines of both
	return "$status"
}

# Runs the command up to three times, as long as it fails and TEST finds by what it said that it lost a race which is not
# ours. TEST's BASH_REMATCH is the text that is shown for that.
despite_races() { # TEST COMMAND...
	local try said status
	for try in 1 2 3; do
		said=$("${@:2}" 2>&1)
		status=$?
		[ $status != 0 ] && "$1" "$said" || break
		echo "${BASH_REMATCH[0]}, try $try"
		pause 0.3
	done
	echo "$said"
	return $status
}

# Runs the command beside a server, which listens on PORT and is killed then.
beside() { # SERVER-NS SERVER PORT COMMAND...
	local server status=0
	become_in_ns "$1" "exec $2" & server=$!
	wait_listening "$1" "$3" $server && "${@:4}" || status=1
	kill $server
	wait $server
	return $status
}

# True if the command fails by itself, not by the time limit.
fails_within() { # SECONDS COMMAND...
	LIMIT=$1 "${@:2}"
	[[ $? != @(0|124) ]]
}

# For perftest. Its server accepts two connections with a new listening id for each. A client that connects in
# between is refused, or gets no answer (iw_cm drops a Request whose listener is being destroyed), so this tries again.
with_perftest() { # SERVER-NS SERVER CLIENT-NS CLIENT
	despite_races came_between_listeners with_server "$@" 18515
}

came_between_listeners() { [[ $1 =~ RDMA_CM_EVENT_(REJECTED|UNREACHABLE)|'Connection refused' ]]; } # OUTPUT

# rping, with every byte verified.
rping_between() { # SERVER-NS CLIENT-NS ADDRESS COUNT SIZE
	with_server "$1" "rping -s -a $3 -C $4 -S $5 -v -p 7174" \
		"$2" "exec ./rping-client $3 7174 $4 -S $5" 7174
}

# The same on all addresses of ADDRESS's family.
rping_on_wildcard() { # SERVER-NS CLIENT-NS ADDRESS
	local all=
	[[ $3 != *:* ]] || all="-a ::"
	with_server "$1" "rping -s $all -C 10 -v -p 7175" "$2" "exec ./rping-client $3 7175 10" 7175
}

slow_link() { # COMMAND...: 100 Mbit/s from sr0
	local status
	tc -n sr0 qdisc add dev veth0 root netem rate 100mbit limit 10000 || return
	"$@"
	status=$?
	tc -n sr0 qdisc del dev veth0 root
	return $status
}

# A perftest program between srnic0 and the other end, ITERS times.
perf() { # PROGRAM SIZE [OPTION...]
	local run="$1 -R -s $2 -n $ITERS -F ${*:3}"
	with_perftest sr1 "$run -d $DEVICE1" sr0 "$run -d srnic0 $IP1"
}

# A counter of a device, without a process: a fork takes 12 ms in user-mode Linux.
counter() { # DEVICE NAME
	local value
	read -r value <"/sys/class/infiniband/$1/ports/1/hw_counters/$2" && echo "$value"
}

# Runs the command. True if it succeeds and the counter has grown by at least so much meanwhile.
grows() { # DEVICE COUNTER AT-LEAST COMMAND...
	local before grown
	before=$(counter "$1" "$2")
	"${@:4}" || return
	pause 0.1 # the RDMA core keeps counters for a while
	grown=$(($(counter "$1" "$2") - before))
	echo "$2 of $1 has grown by $grown"
	[ $grown -ge "$3" ]
}

# Runs the command, then checks the expression, in which each counter of the device is its growth meanwhile.
grown() { # DEVICE EXPRESSION COMMAND...
	local before after
	before=$(rdma -j statistic show link "$1/1")
	"${@:3}" || return
	sleep 0.1 # the RDMA core keeps counters for a while
	after=$(rdma -j statistic show link "$1/1")
	python3 - "$before" "$after" "$2" <<-'END'
		import json, sys
		before, after = (json.loads(text)[0] for text in sys.argv[1:3])
		grown = {k: after[k] - before[k] for k in before if isinstance(before[k], int)}
		print({k: n for k, n in grown.items() if n})
		print(sys.argv[3])
		sys.exit(not eval(sys.argv[3], grown))
	END
}

# Runs the command. True if it succeeds and the FPDUs that the device sent meanwhile have so many bytes on average.
fpdus_are() { # DEVICE -gt|-le BYTES COMMAND...
	local octets fpdus mean
	octets=$(counter "$1" tx_octets)
	fpdus=$(counter "$1" tx_fpdus)
	"${@:4}" || return
	pause 0.1 # the RDMA core keeps counters for a while
	octets=$(($(counter "$1" tx_octets) - octets))
	fpdus=$(($(counter "$1" tx_fpdus) - fpdus))
	[ $fpdus -gt 0 ] || { echo "no FPDU"; return 1; }
	mean=$((octets / fpdus))
	echo "$mean bytes, want $2 $3"
	[ "$mean" "$2" "$3" ]
}

# A TCP counter, summed over both namespaces.
tcp_count() { # NAME, as nstat has it
	local n
	for n in 0 1; do
		nsenter --net=/run/netns/sr$n nstat -asz "$1" | awk 'NR > 1 {print $2}'
	done | awk '{n += $1} END {print n + 0}'
}

# sleep, without a process: waits for a line that nobody writes.
exec {NEVER}<> <(:)
pause() { read -rt "$1" -u "$NEVER" || true; } # SECONDS

# Waits until the command succeeds, at most so many tenths of a second.
within() { # TENTHS COMMAND...
	local tenths=$1
	shift
	for (( ; tenths > 0; tenths--)); do
		"$@" && return
		pause 0.1
	done
	return 1
}

srcversion() { cat /sys/module/srnic/srcversion; }

# Changes the installed module: another srcversion, the same code. No package's module is as plain as that.
change_module() {
	local module
	module=$(modinfo -n srnic) && cp "$module" "$LOGS/srnic.ko" && [ "$(modinfo -F srcversion srnic)" = "$(srcversion)" ] &&
		LC_ALL=C sed -i "s/srcversion=$(srcversion)/srcversion=$(srcversion | rev)/" "$module" &&
		[ "$(modinfo -F srcversion srnic)" = "$(srcversion | rev)" ]
}

change_module_back() { cp "$LOGS/srnic.ko" "$(modinfo -n srnic)"; }

may_change_module() { [[ $(modinfo -n srnic) = *.ko ]]; }

# Who waits in the kernel, and where; for what has not happened in time.
blocked_tasks() {
	dmesg -C && echo w >/proc/sysrq-trigger && dmesg
}

counter_is_above() { [ "$(counter "$1" "$2")" -gt "$3" ]; }

# Waits until the counter rises above BEFORE.
rises() { # DEVICE NAME BEFORE
	within $((${PATIENCE:-10} * 10)) counter_is_above "$@" && return
	echo "$2 of $1: $(counter "$1" "$2"), and $3 before"
	return 1
}

# Waits until the device has made more than so many connections and data goes both ways.
moves_data() { # DEVICE CONNECTS
	rises "$1" connects "$2" && rises "$1" tx_octets "$(counter "$1" tx_octets)" &&
		rises "$1" rx_octets "$(counter "$1" rx_octets)"
}

# Sets the MPA revision of Requests.
set_revision() { echo "$1" >/sys/module/srnic/parameters/mpa_revision; }

# Sets how many seconds an initiator waits for a Reply; default 30.
set_reply_timeout() { echo "${1:-30}" >/sys/module/srnic/parameters/reply_timeout; }

objects_are() { [ "$(objects)" = "$1" ]; }

# Waits, at most so many tenths of a second, until the output of objects (a function of the script's) is BEFORE again.
settled() { # BEFORE [TENTHS]
	declare -F objects >/dev/null || { echo "settled() needs objects()"; return 1; }
	within "${2:-150}" objects_are "$1" && return
	echo "before:" "$1"
	echo "after: " "$(objects)"
	return 1
}

# Waits until the server exits or something listens on the TCP port in the namespace: type srnic's listeners are TCP
# sockets, those of type srnic_ib are known to rdma_cm alone.
wait_listening() {
	local i
	for ((i = 0; i < 200; i++)); do
		kill -0 "$3" 2>/dev/null || return
		is_listening "$1" "${2:-[0-9]}" && return
		pause 0.05
	done
	echo "nobody listens on port ${2:-} in $1"
}

is_listening() { # NS PORT
	nsenter --net="/run/netns/$1" ss -Hltn | grep -q ":$2" && return
	[ "${DEVICE_TYPE:-srnic}" = srnic_ib ] && nsenter --net="/run/netns/$1" rdma resource show cm_id | grep -q "state LISTEN .*:$2"
}

resources() { rdma resource show | grep srnic | cut -d ' ' -f 2-; }

# Ends a test that cannot run here, before it has made anything, and says why. kselftest takes 4 for a skip.
skip() { # REASON
	echo "1..0 # SKIP $*"
	rm -rf "$LOGS"
	exit 4
}

# built_or_skip PROGRAM...: skips the test if these were not built.
built_or_skip() {
	local program
	for program; do
		[ ! -x "$program" ] || continue
		skip "$program is not built: make guest-tests (libibverbs-dev, librdmacm-dev)"
	done
}

before_linux() { [ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" != "$1" ]; } # VERSION

# refused_and_logged ERROR LOG-LINE COMMAND...: it fails with this error, and one line of the kernel log says why.
refused_and_logged() {
	local error=$1 line=$2 marker="refused $RANDOM$RANDOM" said logged
	shift 2
	echo "$marker" >/dev/kmsg
	! said=$("$@" 2>&1) || return
	logged=$(dmesg | sed "1,/$marker/d" | grep srnic)
	printf '%s\n' "$said" "$logged"
	[[ $said = *"$error"* ]] && [ "$(grep -c "srnic: $line" <<<"$logged")" = 1 ]
}

# needs PROGRAM...: skips the test if one of these is not installed.
needs() {
	local program package
	for program; do
		! command -v "$program" >/dev/null || continue
		case $program in
		ibv_*) package=ibverbs-utils ;;
		rping | rcopy | rstream | ucmatose) package=rdmacm-utils ;;
		ib_*) package=perftest ;;
		ucx_*) package=ucx-utils ;;
		srnicctl) package="make install" ;;
		wg) package=wireguard-tools ;;
		*) package=$program ;;
		esac
		skip "$program is not installed ($package)"
	done
}

finish() {
	echo "1..$TESTS"
	everything_down
	[ "$FAILED" = 0 ]
}

[ -n "${NO_TAP:-}" ] || echo "TAP version 13"
[ $EUID = 0 ] || skip "only root may make devices and namespaces"
[ -d /sys/module/srnic ] || modinfo srnic >/dev/null 2>&1 || skip "the module srnic is not installed (make install)"
