#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Who may change the settings of a device: a writer with CAP_NET_ADMIN in the user namespace to which the interface's
# network namespace belongs. uid 0 alone, which owns the files, does not suffice.
#
#   sr0, of the first user namespace: srnic0 on dummy0
#   a container's network namespace, of its own user namespace: srnic1 on dummy1
cd "$(dirname "$0")" && . ./lib.sh

CONTAINER=

# With that capability only, with all but it; as root of the container. CAPABILITY COMMAND...
root_with() { setpriv --bounding-set="-all,+$1" --inh-caps="-all,+$1" "${@:2}"; }
root_without() { setpriv --bounding-set="-$1" --inh-caps="-$1" "${@:2}"; }
in_container() { nsenter --target "$CONTAINER" --user --net "$@"; }
in_container_with() { in_container setpriv --bounding-set="-all,+$1" --inh-caps="-all,+$1" "${@:2}"; }
in_container_without() { in_container setpriv --bounding-set="-$1" --inh-caps="-$1" "${@:2}"; }

file_of() { echo "/sys/class/infiniband/$1/$2"; } # DEVICE SETTING

writes() { # DEVICE SETTING=VALUE COMMAND...: by way of the command
	# shellcheck disable=SC2016 # that shell's
	"${@:3}" bash -c '[ "$(id -u)" = 0 ] && echo "$1" >"$2"' bash "${2#*=}" "$(file_of "$1" "${2%%=*}")"
}

# Each file of a device that can be written, but those of the RDMA core, with a value that it does not have: SETTING=VALUE.
changes() { # DEVICE
	local name value
	while IFS= read -r name; do
		value=$(cat "$(file_of "$1" "$name")")
		case $name:$value in
		framing:mpa) echo "$name=any" ;;
		port_map:) echo "$name=3260:13260" ;;
		*:0) echo "$name=1" ;;
		*:[1-9]*) echo "$name=$((value - 1))" ;;
		*) echo "$name=unknown" ;;
		esac
	done < <(find "/sys/class/infiniband/$1/" -maxdepth 1 -type f -perm /222 ! -name uevent ! -name node_desc -printf '%f\n')
}

refused() { # DEVICE SETTING=VALUE COMMAND...
	local file said before
	file=$(file_of "$1" "${2%%=*}")
	before=$(cat "$file")
	! said=$(writes "$@" 2>&1) || { echo "$2 was written"; return 1; }
	echo "$2: $said"
	[[ $said = *"Operation not permitted"* ]] && [ "$(cat "$file")" = "$before" ]
}

all_refused() { # DEVICE COMMAND...
	local one
	for one in $(changes "$1"); do
		refused "$1" "$one" "${@:2}" || return
	done
}

all_set() { # DEVICE COMMAND...
	local one
	for one in $(changes "$1"); do
		writes "$1" "$one" "${@:2}" && [ "$(cat "$(file_of "$1" "${one%%=*}")")" = "${one#*=}" ] || return
	done
}

all_are_known() { # DEVICE
	changes "$1"
	[ "$(changes "$1" | wc -l)" -ge 8 ] && ! changes "$1" | grep '=unknown'
}

container_up() {
	unshare --user --map-root-user --net sleep 600 & CONTAINER=$!
	within 50 has_other_network && ip link add dummy1 type dummy && ip link set dummy1 netns $CONTAINER &&
		nsenter --target "$CONTAINER" --net rdma link add srnic1 type srnic netdev dummy1
}

has_other_network() { [ "$(readlink /proc/$CONTAINER/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }

container_down() {
	kill $CONTAINER
	wait $CONTAINER
	within 50 eval '! rdma dev show srnic1 2>/dev/null'
}

needs setpriv unshare
modprobe -a ib_uverbs srnic
rdma system show | grep -q 'netns shared' || skip "in exclusive mode this namespace has no files of others' devices"
nothing_in_the_way && ip netns add sr0 && trap everything_down EXIT && ip -n sr0 link add dummy0 type dummy &&
	ns0 rdma link add srnic0 type srnic netdev dummy0 || { echo "Bail out! no device"; exit 1; }
check "for each setting this test knows another value than its default" all_are_known srnic0
check "root without CAP_NET_ADMIN changes none" all_refused srnic0 root_without net_admin
check "root of another user namespace changes none" all_refused srnic0 unshare --user --map-root-user
check "root with CAP_NET_ADMIN, and no other capability, changes each" all_set srnic0 root_with net_admin
if check "a container with a device" container_up; then
	check "root of a container changes no setting of another's device" all_refused srnic0 in_container
	check "root of the container without CAP_NET_ADMIN changes none" all_refused srnic1 in_container_without net_admin
	check "root of the container with CAP_NET_ADMIN changes each of its own" all_set srnic1 in_container_with net_admin
	check "the container goes, and its device" container_down
fi
finish
