#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# NVMe over RDMA: the kernel's target (nvmet-rdma) and host (nvme-rdma, nvme-cli), unmodified. Both know only the first
# network namespace, so both ends are on one device there:
#
#   host: nvme-rdma ── srnic0 on nvme0, 10.93.0.1, fd93::1 ── nvmet: port 4420 of both addresses, a file as namespace
#
# MIB: of the namespace, at least 16. LIMIT: seconds for each step.
BLOCK=4096
cd "$(dirname "$0")" && . ./lib.sh && . shared/disk.sh && . shared/nvme.sh

ADDRESS=10.93.0.1 ADDRESS6=fd93::1

queue_for_each_processor() { [ "$(cat "/sys/class/nvme/$CONTROLLER/queue_count")" = $(($(nproc) + 1)) ]; }

# ---- what is lost in mid-I/O comes back ----

reset_twice() {
	local n
	for n in 1 2; do
		echo 1 >"/sys/class/nvme/$CONTROLLER/reset_controller" && sleep 1 || return
	done
}

target_away() { rm "$TARGET/ports/$1/subsystems/$NQN" && sleep 3 && serve "$1"; }

# ---- what does not ----

# As with hardware, the target's ports do not listen again by themselves.
device_away() {
	local n
	rdma link delete srnic0 && sleep 1 && rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev nvme0 || return
	for n in 1 2; do
		rm "$TARGET/ports/$n/subsystems/$NQN" && serve $n || return
	done
}

# nvme-rdma gives up the controllers of a device that goes, and fio gets errors.
device_removed() { ends_in_mid_io device_away && ! disk && connected $ADDRESS; }

# nvme-rdma's register_always=N wants a key to all memory, for all peers.
unregistered_memory_is_refused() {
	local status
	modprobe -r nvme_rdma && modprobe nvme_rdma register_always=N && dmesg -C || return
	! connected $ADDRESS && dmesg | grep "srnic0: no remote key to all memory"
	status=$?
	modprobe -r nvme_rdma && modprobe nvme_rdma && return $status
}

each_family() { # NUMBER ADDRESS
	check "NVMe, $2: the subsystem is discovered" discovered "$2" || return
	check "NVMe, $2: connect" connected "$2" || return
	check "NVMe, $2: a queue for each processor, and the administrator's" queue_for_each_processor
	check "NVMe, $2: fio verifies what it writes" verified_over_rdma
	check "NVMe, $2: the controller is reset in mid-I/O" in_mid_io reset_twice
	check "NVMe, $2: the target is lost in mid-I/O" in_mid_io target_away "$1"
	check "NVMe, $2: the link is lost in mid-I/O" in_mid_io link_away nvme0 $ADDRESS6
	check "NVMe, $2: disconnect" disconnected
}

# What came last leaves a device first. With the target gone first, nvme-rdma would give up controllers that had lost it
# just before: their requests time out after 30 s.
if ! modprobe -aq nvmet_rdma nvme_rdma || ! type nvme fio >/dev/null 2>&1; then
	skip "no NVMe over RDMA here, kernel or programs (nvme-cli, fio)"
fi
modprobe -a ib_uverbs srnic && disk_device_up nvme0 $ADDRESS $ADDRESS6 || { echo "Bail out! no device"; exit 1; }
OBJECTS=$(objects)
check "a subsystem" target_up
check "a port, IPv4" port_up 1 ipv4 $ADDRESS
check "a port, IPv6" port_up 2 ipv6 $ADDRESS6
each_family 1 $ADDRESS
each_family 2 $ADDRESS6
check "NVMe: connect again" connected $ADDRESS
check "NVMe: disconnect in mid-I/O" ends_in_mid_io disconnected
check "NVMe: connect again" connected $ADDRESS
check "NVMe: the device is removed in mid-I/O, and comes back" device_removed
check "NVMe: fio verifies what it writes" verified_over_rdma
check "NVMe: disconnect" disconnected
check "NVMe: memory that is not registered is refused, and the log says so" unregistered_memory_is_refused
check "the target goes" target_down 1 2
check "nothing is left behind" settled "$OBJECTS"
rdma link delete srnic0
ip link del nvme0
finish
