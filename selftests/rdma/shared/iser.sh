# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# iSCSI over RDMA (iSER) or TCP: the kernel's target (LIO), and sessions with it (open-iscsi). Sourced by what uses them,
# after lib.sh, shared/disk.sh and shared/lio.sh.
#
# LIO listens on a portal with TCP, for discovery, and then with RDMA on the same port: port_map has TCP port 13260 carry
# the latter.
# shellcheck shell=bash

PORT=3260 CARRIER=13260
TRANSPORT=iser # or tcp
IQN=iqn.2003-01.org.linux-iscsi.srnic:disk
TPG=$TARGET/iscsi/$IQN/tpgt_1

# ---- the target ----

disk_up() { modprobe -a iscsi_target_mod ib_isert && store_up; }

target_up() {
	mkdir -p $TPG/lun/lun_0 && ln -s $STORE $TPG/lun/lun_0/disk || return
	echo 0 >$TPG/attrib/authentication && echo 1 >$TPG/attrib/generate_node_acls &&
		echo 1 >$TPG/attrib/cache_dynamic_acls && echo 0 >$TPG/attrib/demo_mode_write_protect && echo 1 >$TPG/enable
}

map_port() { echo $PORT:$CARRIER >/sys/class/infiniband/srnic0/port_map; }

# A portal has a TCP listener; iser=1 adds one of RDMA.
portal_up() { # ADDRESS:PORT
	mkdir "$TPG/np/$1" && echo 1 >"$TPG/np/$1/iser" && grep -qx 1 "$TPG/np/$1/iser"
}

target_down() {
	echo 0 >$TPG/enable
	rm $TPG/lun/lun_0/disk && rmdir $TPG/np/* $TPG/lun/lun_0 $TPG ${TPG%/*} && store_down
}

# ---- the initiator ----

initiator_up() {
	modprobe ib_iser && mkdir -p /run/lock/iscsi && echo "InitiatorName=$(iscsi-iname)" >/etc/iscsi/initiatorname.iscsi || return
	setsid iscsid -f >"$LOGS/iscsid" 2>&1 &	# at its end it kills its process group
	ISCSID=$!
	within 50 iscsiadm -m iface
}

initiator_down() {
	iscsiadm -k 0 && within 50 eval "! kill -0 $ISCSID 2>/dev/null"
}

# By TCP: at the end of a discovery over iSER, LIO may free what its own worker still uses (isert_do_control_comp).
discovered() { # PORTAL
	timeout "$LIMIT" iscsiadm -m discovery -t sendtargets -p "$1" -I default >"$LOGS/portals" &&
		grep -F "$1" "$LOGS/portals" | grep -F $IQN &&
		iscsiadm -m node -T $IQN -p "$1" -o update -n iface.transport_name -v $TRANSPORT
}

# Lost sessions may take a minute to come back, and then fail commands.
patient() { # PORTAL
	iscsiadm -m node -T $IQN -p "$1" -o update -n node.session.timeo.replacement_timeout -v 60 &&
		iscsiadm -m node -T $IQN -p "$1" -o update -n node.conn\[0\].timeo.noop_out_interval -v 2 &&
		iscsiadm -m node -T $IQN -p "$1" -o update -n node.conn\[0\].timeo.noop_out_timeout -v 2
}

logged_in() { # PORTAL
	patient "$1" && timeout "$LIMIT" iscsiadm -m node -T $IQN -p "$1" --login && iscsiadm -m session | grep "^$TRANSPORT:" &&
		within 100 disk
}

# The disk's node: of the only session.
disk() {
	DISK=$(ls -d /sys/class/iscsi_session/*/device/target*/*/block/* 2>/dev/null)
	[ -n "$DISK" ] && DISK=/dev/${DISK##*/} && [ -b "$DISK" ]
}

logged_out() { # PORTAL
	timeout "$LIMIT" iscsiadm -m node -T $IQN -p "$1" --logout && ! iscsiadm -m session
}
