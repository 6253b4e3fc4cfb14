#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Devices of type srnic_ib: when there may be one, what it says of itself (the same as rxe, but for what has a reason),
# its GIDs and settings, and what happens to its interface.
#
#   sr0: srnic0 (type srnic), srnic2 (type srnic_ib) and rxe0 on veth0; srnic1 (type srnic_ib) on lo
cd "$(dirname "$0")" && . ./lib.sh

add() { ns0 rdma link add "$1" type "$2" netdev "$3"; } # DEVICE TYPE INTERFACE

delete() { rdma link delete "$1"; }

exists() { [ -e /sys/class/infiniband/"$1" ]; }

gone() { ! exists "$1"; }

# ---- when there may be one ----

has_alias() { modinfo -F alias srnic | grep -x rdma-link-srnic_ib; }

srnic_comes_first() {
	add srnic2 srnic_ib veth0 && refused_and_logged "in use" \
		"cannot add srnic0 on veth0: there is an srnic_ib device on that interface: delete it, add srnic first" \
		add srnic0 srnic veth0 && delete srnic2
}

both() { add srnic0 srnic veth0 && add srnic2 srnic_ib veth0 && add srnic1 srnic_ib lo; }

# ---- what it says of itself ----

# FIELD=VALUE of each, "cap" for each flag.
devinfo() { # DEVICE
	ibv_devinfo -v -d "$1" | awk '
		/^[\t ]*$/ || /port:[\t ]*1$/ { next }
		{ gsub(/^[\t ]+|[\t ]+$/, "") }
		/^[A-Z0-9_]+$/ { print "flag " $0 "=yes"; next }
		/^GID\[/ { gsub(/[\t ]+/, " "); sub(/\]:/, "]="); print; next }
		{ name = $0; sub(/:.*/, "", name); sub(/^[^:]*:[\t ]*/, ""); print name "=" $0 }' | sort
}

# Fields that may differ from those of rxe, and why.
declare -A DIFFERS=(
	[hca_id]="its name" [fw_ver]="ours" [vendor_id]="ours" [vendor_part_id]="ours" [hw_ver]="ours" [board_id]="ours"
	[node_guid]="rxe has that of type srnic" [sys_image_guid]="rxe has that of type srnic"
	[device_cap_flags]="the sum of the flags below" [device_cap_flags_ex]="the sum of the flags below"
	["flag BAD_PKEY_CNTR"]="the one partition cannot be violated" ["flag BAD_QKEY_CNTR"]="counted as rx_datagrams_qkey"
	["flag AUTO_PATH_MIG"]="no alternate path" ["flag CHANGE_PHY_PORT"]="there is one port"
	["flag UD_AV_PORT_ENFORCE"]="there is one port"
	["flag FLUSH_PERSISTENT"]="no persistent memory" ["Unknown flags"]="flags that this ibv_devinfo has no name for: that"
	["flag ODP_SUPPORT"]="no paging on demand" ["flag SUPPORT_SEND"]="of ODP" ["flag SUPPORT_RECV"]="of ODP"
	["flag SUPPORT_WRITE"]="of ODP" ["flag SUPPORT_READ"]="of ODP" ["flag SUPPORT_ATOMIC"]="of ODP"
	["flag SUPPORT_SRQ"]="of ODP"
	[max_ah]="ours" [max_mcast_grp]="ours" [max_mcast_qp_attach]="ours" [max_total_mcast_qp_attach]="ours"
	[max_qp]="ours" [max_qp_wr]="ours" [max_sge]="ours" [max_sge_rd]="ours" [max_cq]="ours" [max_cqe]="ours"
	[max_mr]="ours" [max_mw]="ours" [max_pd]="ours" [max_srq]="ours" [max_srq_wr]="ours" [max_srq_sge]="ours" [max_mr_size]="ours"
	[max_res_rd_atom]="ours" [page_size_cap]="ours" [max_pkeys]="the table has one" [gid_tbl_len]="ours"
	[port_cap_flags]="GIDs are addresses"
	[atomic_cap]="atomic with programs' own operations, too"
	["completion timestamp_mask"]="rxe has no timestamps" ["completion_timestamp_mask not supported"]="we have timestamps"
	[hca_core_clock]="rxe has no timestamps" ["core clock not supported"]="we have timestamps"
	[num_comp_vectors]="ours" [max_msg_sz]="rxe has 8 MiB before Linux 6.2"
)

# As rxe, or in the list: what is not comes last.
as_rxe() {
	local name value line unexpected=()
	declare -A ours=() theirs=()
	while IFS='=' read -r name value; do ours[$name]=$value; done < <(devinfo srnic2)
	while IFS='=' read -r name value; do theirs[$name]=$value; done < <(devinfo rxe0)
	[ ${#ours[@]} -gt 40 ] && [ ${#theirs[@]} -gt 40 ] || { echo "no fields"; return 1; }
	while read -r name; do
		[ "${ours[$name]-}" != "${theirs[$name]-}" ] || continue
		line="$name: ${ours[$name]-none}, rxe ${theirs[$name]-none}"
		if [ -n "${DIFFERS[$name]-}" ]; then echo "$line: ${DIFFERS[$name]}"; else unexpected+=("$line"); fi
	done < <(printf '%s\n' "${!ours[@]}" "${!theirs[@]}" | sort -u)
	[ ${#unexpected[@]} = 0 ] || { printf 'not expected: %s\n' "${unexpected[@]}"; return 1; }
}

# The provider lists it only if it knows the type.
compare_with_rxe() {
	local name="each field of ibv_devinfo is as rxe's, or differs for a reason"
	if ! modprobe -q rdma_rxe || ! add rxe0 rxe veth0; then
		skip_one "$name" "this kernel has no rxe"
	elif ! ibv_devices | grep -qw srnic2; then
		skip_one "$name" "the provider does not know type srnic_ib"
	else
		check "$name" as_rxe && sed 's/^/# /' "$LOGS/$TESTS"
	fi
	! exists rxe0 || delete rxe0
}

settings_are() { # DEVICE NAME=VALUE...: these, and no other
	local setting name
	for setting in "${@:2}"; do
		[ "$(cat "/sys/class/infiniband/$1/${setting%=*}")" = "${setting#*=}" ] || return
	done
	for name in framing mpa_crc mpa_markers mpa_large_fpdus rdmap_swap local_shortcut peer_timeout port_map; do
		[[ " ${*:2}" = *" $name="* ]] || [ ! -e "/sys/class/infiniband/$1/$name" ] || return
	done
}

counters_are_there() {
	local file
	for file in port_xmit_data port_rcv_packets; do
		[ "$(cat /sys/class/infiniband/srnic2/ports/1/counters/$file)" = 0 ] || return
	done
	[ "$(counter srnic2 connects)" = 0 ]
}

# The MAD layer knows it.
has_umad() { grep -qlx srnic2 /sys/class/infiniband_mad/*/ibdev; }

# ---- GIDs ----

PORT=ports/1

has_gid() { gid_index "$@" >/dev/null; }

has_not_gid() { ! has_gid "$@"; }

eui64() { # INTERFACE: its link-local address by EUI-64
	local a
	IFS=: read -ra a < <(ns0 cat "/sys/class/net/$1/address" 2>/dev/null || ip -n sr0 -br link show "$1" | awk '{print $3}')
	printf 'fe80:0000:0000:0000:%02x%s:%sff:fe%s:%s%s\n' $((0x${a[0]} ^ 2)) "${a[1]}" "${a[2]}" "${a[3]}" "${a[4]}" "${a[5]}"
}

first_gid() {
	local gid
	read -r gid <"/sys/class/infiniband/srnic2/$PORT/gids/0"
	echo "$gid, want $(eui64 veth0)"
	[ "$gid" = "$(eui64 veth0)" ] && [ "$(cat /sys/class/infiniband/srnic2/$PORT/gid_attrs/types/0)" = "RoCE v2" ] &&
		[ "$(cat /sys/class/infiniband/srnic2/$PORT/gid_attrs/ndevs/0)" = veth0 ]
}

addresses_are_gids() { # DEVICE ADDRESS...
	local address index
	for address in "${@:2}"; do
		index=$(gid_index "$1" "$(gid_of "$address")") &&
			[ "$(cat "/sys/class/infiniband/$1/$PORT/gid_attrs/types/$index")" = "RoCE v2" ] || return
	done
}

comes() { # DEVICE INTERFACE ADDRESS
	ip -n sr0 addr add "$3" dev "$2" && within 50 has_gid "$1" "$(gid_of "${3%/*}")"
}

goes() { # DEVICE INTERFACE ADDRESS
	ip -n sr0 addr del "$3" dev "$2" && within 50 has_not_gid "$1" "$(gid_of "${3%/*}")"
}

comes_and_goes() { comes "$@" && goes "$@"; }

# ---- the interface ----

port_state() { rdma link show "$1/1" | awk '{print $4}'; }

state_is() { [ "$(port_state "$1")" = "$2" ]; }

port_follows() {
	state_is srnic2 ACTIVE && ip -n sr0 link set veth0 down && within 20 state_is srnic2 DOWN &&
		ip -n sr0 link set veth0 up && within 50 state_is srnic2 ACTIVE && state_is srnic0 ACTIVE
}

# Old kernels rename no interface that is up.
take_name() { # OLD NEW
	ip -n sr0 link set "$1" down && ip -n sr0 link set "$1" name "$2" && ip -n sr0 link set "$2" up
}

renamed() {
	take_name veth0 other0 && [ "$(cat /sys/class/infiniband/srnic2/$PORT/gid_attrs/ndevs/0)" = other0 ] &&
		ns0 rdma link show srnic2/1 | grep "netdev other0" && take_name other0 veth0 && within 50 state_is srnic2 ACTIVE
}

interface_goes() {
	ip -n sr0 link delete veth0 && within 50 gone srnic2 && within 50 gone srnic0
}

unloads() { modprobe -r srnic && gone srnic1; }

needs rdma ibv_devinfo python3
modprobe -a ib_uverbs rdma_ucm srnic
hosts_up || { echo "Bail out! no interfaces"; exit 1; }
check "the module has an alias by which rdma link add finds it" has_alias
check "on an interface with srnic_ib srnic is refused, and the log says what to do" srnic_comes_first
check "srnic and srnic_ib are on one interface" both
check "a second srnic_ib is refused, and the log says so" refused_and_logged "busy" \
	"cannot add srnic_ib device other on veth0: there is an srnic_ib device on that interface already" \
	add other srnic_ib veth0
compare_with_rxe
check "it has three settings, without CRCs at first" settings_are srnic2 mpa_crc=0 local_shortcut=0 peer_timeout=60
check "a setting can be changed" set_device 2 mpa_crc 1
check "its counters are there" counters_are_there
if modprobe -q ib_umad; then
	check "there is a file for MADs of it" has_umad
else
	skip_one "there is a file for MADs of it" "no ib_umad in this kernel"
fi
check "GID 0 is the link-local address by EUI-64, of RoCE v2" first_gid
check "the interface's addresses are GIDs" addresses_are_gids srnic2 $IP0 $IP60
check "an IPv4 address comes and goes, and so does its GID" comes_and_goes srnic2 veth0 10.99.7.7/24
check "an IPv6 address comes and goes, and so does its GID" comes_and_goes srnic2 veth0 fd99::77/64
check "the addresses of lo are GIDs" addresses_are_gids srnic1 127.0.0.1 ::1
check "an address comes to lo, and so does its GID" comes srnic1 lo 127.0.7.7/8
check "an IPv6 address comes to lo, and so does its GID" comes srnic1 lo fd99::78/128
if before_linux 6.12; then
	skip_one "an address leaves lo, and so does its GID" "this kernel's RDMA core cannot remove it"
else
	check "an address leaves lo, and so does its GID" goes srnic1 lo 127.0.7.7/8
	check "an IPv6 address leaves lo, and so does its GID" goes srnic1 lo fd99::78/128
fi
check "the port's state follows the interface" port_follows
check "the interface may get another name" renamed
check "rdma link delete" eval "delete srnic2 && gone srnic2 && exists srnic0"
check "it comes back" add srnic2 srnic_ib veth0
check "the interface goes, and both devices with it" interface_goes
check "modprobe -r while there is a device" unloads
finish
