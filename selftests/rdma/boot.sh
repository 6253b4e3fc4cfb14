#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Devices that come back at boot: the commands of srnic@.service and srnic-ib@.service make, change and delete the device
# of an interface by its file in /etc/srnic. There is no systemd here, so this runs the very lines of the unit.
cd "$(dirname "$0")" && . ./lib.sh

UNIT=/usr/lib/systemd/system/srnic@.service
[ -e "$UNIT" ] || skip "$UNIT is not there: make install, on a machine with systemd"
FILE=/etc/srnic/dummy7.conf
LIST=/sys/class/infiniband

line() { # Start|Reload|StopPost INTERFACE
	local line
	line=$(sed -n "s/^Exec$1=//p" "$UNIT")
	echo "${line//%I/$2}"
}

unit() { # Start|Reload|Stop INTERFACE
	local line
	line=$(line "${1/Stop/StopPost}" "$2")
	[ -n "$line" ] && $line
}

file_has() { mkdir -p /etc/srnic && printf '%s\n' "$@" >"$FILE"; }

has() { # DEVICE SETTING VALUE
	local value
	value=$(cat "$LIST/$1/$2")
	echo "$2 of $1: $value"
	[ "$value" = "$3" ]
}

# The command fails, with this text, and there is no device of srnic.
refuses() { # TEXT COMMAND...
	local said
	said=$("${@:2}" 2>&1) && { echo "it did not fail: $said"; return 1; }
	echo "$said"
	grep -qF -- "$1" <<<"$said" && no_device
}

no_device() { ! rdma link | grep srnic; }

without_file() {
	rm -f $FILE
	unit Start dummy7 && has srnic-dummy7 mpa_crc 1 && unit Stop dummy7 && no_device
}

by_file() {
	file_has "# a comment" "" "name = store0 # another" "mpa_crc=0" " peer_timeout = 20" \
		"port_map = 3260:13260 445:10445" "framing = any"
	unit Start dummy7 && has store0 mpa_crc 0 && has store0 peer_timeout 20 && has store0 framing any &&
		has store0 port_map "3260:13260 445:10445"
}

module_keeps_its_map() { [ -z "$(cat /sys/module/srnic/parameters/port_map)" ]; }

reloads() {
	sed -i 's/20/30/' $FILE
	unit Reload dummy7 && has store0 peer_timeout 30
}

reload_wants_same_name() {
	local said
	sed -i 's/store0/store1/' $FILE
	said=$(unit Reload dummy7 2>&1) && return 1
	echo "$said"
	grep -q 'restart srnic@dummy7' <<<"$said" && has store0 peer_timeout 30
}

# The name has changed in the file: what was made goes.
stops() { unit Stop dummy7 && no_device; }

stops_after_interface() {
	rm $FILE
	ip link add dummy8 type dummy && unit Start dummy8 && ip link delete dummy8 && within 50 no_device && unit Stop dummy8
}

on() { rdma link | grep -q "netdev $1\b"; } # INTERFACE

# Renamed by hand, the device is still the unit's: it is set, deleted, and made again with the file's name.
renamed_by_hand() {
	file_has "name = store0" "peer_timeout = 20"
	unit Start dummy7 && rdma dev set store0 name other0 && file_has "name = store0" "peer_timeout = 30" &&
		unit Reload dummy7 && has other0 peer_timeout 30 && unit Stop dummy7 && no_device &&
		unit Start dummy7 && has store0 peer_timeout 30 && unit Stop dummy7 && no_device
}

# A rule of udev renames a device as soon as it is there: here, before that program runs the next time.
renamed_before() { # PROGRAM
	local status=0
	mkdir -p "$LOGS/bin"
	printf '#!/bin/sh\n%s dev set store0 name other0 2>/dev/null\nexec %s "$@"\n' "$(command -v rdma)" \
		"$(command -v "$1")" >"$LOGS/bin/$1"
	chmod +x "$LOGS/bin/$1"
	file_has "name = store0" "peer_timeout = 20"
	PATH=$LOGS/bin:$PATH unit Start dummy7 || status=1
	rm "$LOGS/bin/$1"
	has other0 peer_timeout 20 && unit Stop dummy7 && no_device && return $status
}

interface_renamed() {
	ip link add dummy8 type dummy && unit Start dummy8 && ip link set dummy8 name dummy9 && on dummy9 &&
		unit Stop dummy8 && no_device && ip link delete dummy9
}

# By what srnic-stop.service runs. The units themselves have nothing to delete then.
all_stop() {
	local command
	command=$(sed -n 's/^ExecStop=//p' "${UNIT/@/-stop}")
	[ -n "$command" ] && $command
}

all_devices_stop() {
	rm -f $FILE
	ip link add dummy8 type dummy && ip link add dummy9 type dummy && unit Start dummy7 && unit Start dummy8 &&
		UNIT=${UNIT/srnic@/srnic-ib@} unit Start dummy7 && [ "$(rdma link | grep -c srnic-)" = 3 ] &&
		rdma link add own0 type srnic netdev dummy9 && all_stop && no_device && on dummy9 && all_stop &&
		unit Stop dummy7 && unit Stop dummy8 && rdma link delete own0 && ip link delete dummy8 &&
		ip link delete dummy9
}

# A stop that fails fails with what rdma says, and the next one deletes the device.
deletion_fails() { # COMMAND...
	local said status=0
	mkdir -p "$LOGS/bin"
	printf '#!/bin/sh\n[ "$2" != delete ] || { echo "busy today" >&2; exit 1; }\nexec %s "$@"\n' \
		"$(command -v rdma)" >"$LOGS/bin/rdma"
	chmod +x "$LOGS/bin/rdma"
	unit Start dummy7
	said=$(PATH=$LOGS/bin:$PATH "$@" 2>&1) && status=1
	rm "$LOGS/bin/rdma"
	echo "$said"
	grep -qF "srnic-dummy7 cannot be deleted: busy today" <<<"$said" && on dummy7 && unit Stop dummy7 &&
		no_device && return $status
}

# Each unit keeps the device that it made.
names_exchanged() {
	rm -f $FILE
	ip link add dummy8 type dummy && unit Start dummy7 && unit Start dummy8 &&
		rdma dev set srnic-dummy7 name other0 && rdma dev set srnic-dummy8 name srnic-dummy7 &&
		rdma dev set other0 name srnic-dummy8 && unit Stop dummy7 && on dummy8 && ! on dummy7 &&
		unit Stop dummy8 && no_device && ip link delete dummy8
}

made_by_hand() {
	local said
	unit Start dummy7 && rdma link delete srnic-dummy7 && rdma link add srnic-dummy7 type srnic netdev dummy7 || return
	said=$(unit Reload dummy7 2>&1) && return 1
	echo "$said"
	grep -q 'restart srnic@dummy7' <<<"$said" && unit Stop dummy7 && on dummy7 && rdma link delete srnic-dummy7
}

# As systemd does that: a SIGTERM, and then what follows each stop.
stopped_meanwhile() {
	local seconds words
	read -ra words < <(line Start dummy7)
	file_has "port_map = 3260:13260"
	for seconds in 0 0.05 0.1 0.2 0.4; do
		"${words[@]}" &
		sleep $seconds
		kill $! 2>/dev/null
		wait $!
		module_keeps_its_map && unit Stop dummy7 && no_device || return
	done
}

# A program that listens on all addresses listens on a new device, too, before anyone can set its map.
maps_listeners() {
	local server status=0
	file_has "port_map = 7174:17174"
	unit Start lo || return
	rping -s -p 7174 >/dev/null 2>&1 &
	server=$!
	within 100 listens 7174 && unit Start dummy7 && within 50 listens 17174 || status=1
	ss -ltn
	kill -9 $server
	wait $server 2>/dev/null
	unit Stop lo && unit Stop dummy7 && return $status
}

listens() { ss -Hltn | grep -q ":$1 "; }

moves_data_on_lo() {
	rm -f $FILE
	unit Start lo || return
	timeout 20 rping -s -a 127.0.0.1 -C 10 -v -p 7174 >/dev/null &
	within 50 listens 7174 && timeout 20 rping -c -a 127.0.0.1 -C 10 -v -V -p 7174 | tail -n 1 | cut -c 1-60 &&
		wait $! && unit Stop lo
}

# The unit's commands with a modprobe in the place of kmod's that fails with this text.
with_modprobe() { # TEXT COMMAND...
	mkdir -p "$LOGS/bin"
	printf '#!/bin/sh\necho "%s" >&2\nexit 1\n' "$1" >"$LOGS/bin/modprobe"
	chmod +x "$LOGS/bin/modprobe"
	PATH=$LOGS/bin:$PATH "${@:2}"
}

# What kmod's modprobe says of these errors, and what the unit makes of it.
module_refusals() {
	local insert="modprobe: ERROR: could not insert 'srnic':"
	refuses "there is no module srnic for Linux" with_modprobe \
		"modprobe: FATAL: Module srnic not found in directory /lib/modules/1" unit Start dummy7 &&
		refuses "refuses the signature of the module" with_modprobe "$insert Key was rejected by service" \
			unit Start dummy7 &&
		refuses "refuses the signature of the module" with_modprobe "$insert Required key not available" \
			unit Start dummy7 &&
		refuses "the kernel is locked down" with_modprobe "$insert Operation not permitted" unit Start dummy7 &&
		refuses "cannot be loaded: could not insert 'srnic': Unknown symbol" with_modprobe \
			"$insert Unknown symbol in module" unit Start dummy7
}

# ---- the module ----

loads() {
	local command
	command=$(UNIT=${UNIT/@/-module} line Start)
	[ -n "$command" ] && $command
}

doctor_says() { srnicctl doctor | grep -A 1 -F "	$1"; } # TEXT

# What runs of the module stays for a device that is there, and is replaced without one.
module_stays() {
	local before said
	before=$(srcversion)
	rdma link add own0 type srnic netdev dummy7 && change_module && doctor_says "installed module: another srnic" &&
		said=$(loads 2>&1) || return
	echo "$said"
	[[ $said = *"has devices of no unit: own0" ]] && [ "$(srcversion)" = "$before" ] && [ -e $LIST/own0 ]
}

module_is_replaced() {
	local before
	before=$(srcversion)
	rdma link delete own0 && loads && [ "$(srcversion)" = "$(rev <<<"$before")" ] &&
		doctor_says "installed module: the loaded one"
}

# Not if it is the installed one already: a parameter keeps its value.
module_is_kept() {
	local file=/sys/module/srnic/parameters/startup_timeout status=0
	echo 7 >$file && loads && [ "$(cat $file)" = 7 ] || status=1
	echo 10 >$file
	return $status
}

module_is_back() { change_module_back && loads && doctor_says "installed module: the loaded one"; }

module_is_loaded() { rmmod srnic && loads && [ -e /sys/module/srnic ]; }

# The device of type srnic_ib has its own unit, file and name, and its GID index 0 is an address of the interface.
ib_beside_srnic() {
	local UNIT=${UNIT/srnic@/srnic-ib@} FILE=/etc/srnic/ib/dummy7.conf gid
	rdma link add srnic-dummy7 type srnic netdev dummy7 && mkdir -p /etc/srnic/ib &&
		file_has "peer_timeout = 20" &&
		ip -6 addr flush dev dummy7 && unit Start dummy7 && has srnic-ib-dummy7 peer_timeout 20 || return
	gid=$(cat $LIST/srnic-ib-dummy7/ports/1/gids/0)
	echo "GID 0: $gid"
	ip -6 addr show dev dummy7 to "$gid" | grep inet6 && file_has "peer_timeout = 30" && unit Reload dummy7 &&
		has srnic-ib-dummy7 peer_timeout 30 && unit Stop dummy7 && rdma link | grep "netdev dummy7" &&
		rdma link delete srnic-dummy7 && file_has "framing = any" &&
		refuses "type srnic_ib, which has no framing" unit Start dummy7 && rm "$FILE"
}

needs rping srnicctl
modprobe -a ib_uverbs rdma_ucm
ip link add dummy7 type dummy && ip addr add 10.97.0.1/24 dev dummy7 && ip link set dummy7 up ||
	{ echo "Bail out! no interface"; exit 1; }
check "without a file, the device is srnic-INTERFACE with defaults, until the unit stops" without_file
check "the file has its name, settings and port map" by_file
check "the port map of other new devices stays as it was" module_keeps_its_map
check "a reload sets what the file has now" reloads
check "a reload cannot change the name" reload_wants_same_name
check "after that, a stop deletes the device that there is" stops
check "a stop succeeds if the interface, and so the device, has gone before" stops_after_interface
check "a device renamed by hand is set, deleted and made again" renamed_by_hand
check "a device renamed as soon as it was made is set and deleted" renamed_before rdma
check "a device renamed while it is set is set and deleted" renamed_before srnicctl
check "a stop deletes the device of an interface that got another name" interface_renamed
check "two devices exchange their names: a stop deletes the unit's own" names_exchanged
check "a device that cannot be deleted: the message says why, and the next stop deletes it" \
	deletion_fails unit Stop dummy7
check "or all of them" deletion_fails all_stop
check "all devices of units go at once, and no other" all_devices_stop
check "what was made by hand instead of the unit's device is left alone" made_by_hand
check "a unit that is stopped while it starts leaves nothing" stopped_meanwhile
if before_linux 6.6; then
	skip_one "a device of the unit on lo" "lo has devices since Linux 6.6"
else
	check "a listener has the mapped port from the device's start" maps_listeners
	check "a device of the unit moves data" moves_data_on_lo
fi
file_has "mpa_crc = 2"
check "a value that is refused: no device" refuses mpa_crc unit Start dummy7
file_has "no_such = 2"
check "an unknown setting: no device" refuses no_such unit Start dummy7
file_has "port_map = 1:1:1"
check "a map that is refused: no device" refuses port_map unit Start dummy7
file_has "# one" "mpa_crc"
check "a line without a value: no device" refuses "$FILE, line 2" unit Start dummy7
rm $FILE
check "no interface: the message says so" refuses "no interface nosuch0" unit Start nosuch0
check "a module that is refused: the message says why" module_refusals
check "without the failures, it still works" without_file
if may_change_module; then
	check "a new module: the old one stays while it has devices" module_stays
	check "and is replaced without them" module_is_replaced
	check "and again" module_is_back
else
	skip_one "a new module replaces the loaded one" "the installed one is compressed"
fi
check "the installed module stays loaded" module_is_kept
check "without a module, it is loaded" module_is_loaded
if modinfo -F alias srnic | grep -q srnic_ib; then
	check "a device of type srnic_ib beside it, with the address of GID index 0" ib_beside_srnic
fi
ip link delete dummy7
finish
