# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# NVMe over RDMA or TCP: the kernel's target (nvmet), and controllers of it. Sourced by what uses them, after lib.sh and
# shared/disk.sh.
# shellcheck shell=bash

PORT=4420
TRANSPORT=rdma # or tcp
NQN=nqn.2014-08.org.nvmexpress:srnic
TARGET=/sys/kernel/config/nvmet
SUBSYSTEM=$TARGET/subsystems/$NQN

# ---- the target ----

target_up() {
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
	truncate -s "${MIB}M" "$LOGS/disk" && mkdir -p "$SUBSYSTEM/namespaces/1" &&
		echo 1 >"$SUBSYSTEM/attr_allow_any_host" && echo "$LOGS/disk" >"$SUBSYSTEM/namespaces/1/device_path" &&
		echo 1 >"$SUBSYSTEM/namespaces/1/enable"
}

port_up() { # NUMBER FAMILY ADDRESS
	mkdir "$TARGET/ports/$1" && echo $TRANSPORT >"$TARGET/ports/$1/addr_trtype" && echo "$2" >"$TARGET/ports/$1/addr_adrfam" &&
		echo "$3" >"$TARGET/ports/$1/addr_traddr" && echo $PORT >"$TARGET/ports/$1/addr_trsvcid" && serve "$1"
}

serve() { ln -s "$SUBSYSTEM" "$TARGET/ports/$1/subsystems/"; }

target_down() { # PORT'S-NUMBER...
	local n
	for n; do
		rm "$TARGET/ports/$n/subsystems/$NQN" && rmdir "$TARGET/ports/$n" || return
	done
	echo 0 >"$SUBSYSTEM/namespaces/1/enable"
	rmdir "$SUBSYSTEM/namespaces/1" "$SUBSYSTEM"
}

# ---- the host ----

discovered() { timeout "$LIMIT" nvme discover -t $TRANSPORT -a "$1" -s $PORT | grep $NQN; }

connected() { # ADDRESS NVME-CONNECT'S-OPTION...
	timeout "$LIMIT" nvme connect -t $TRANSPORT -a "$1" -s $PORT -n $NQN -l 60 -c 1 "${@:2}" && within 100 disk
}

# The only controller of our subsystem, and its block device.
disk() {
	local file
	file=$(grep -lx $NQN /sys/class/nvme/nvme*/subsysnqn) && CONTROLLER=$(basename "$(dirname "$file")") || return
	DISK=$(ls -d "/sys/class/nvme/$CONTROLLER/nvme"*n1 2>/dev/null) && DISK=/dev/$(basename "$DISK") || return
	DISK=${DISK/c[0-9]*n/n}
	[ -b "$DISK" ]
}

disconnected() { timeout "$LIMIT" nvme disconnect -n $NQN && ! grep -lx $NQN /sys/class/nvme/nvme*/subsysnqn; }
