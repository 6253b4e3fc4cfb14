#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A mount of NFS over RDMA in daily use: several processes, mapped files, a tree of sources; and what is lost under them:
# the server, the link, the processes. The server is in sr1, the client in sr0. See nfs.sh for the links' quality.
#
# MIB: what fio works on. LIMIT: seconds for each step.
cd "$(dirname "$0")" && . ./lib.sh && . shared/nfs.sh && . shared/disk.sh

DISK=$MOUNT/verified

# What the client sees with cold caches is what the server has.
same_trees() { uncached && diff -r "$MOUNT" "$EXPORT"; }

# ---- files ----

several_processes() { # ENGINE FIO'S-OPTION...
	mountpoint -q "$MOUNT" || return
	timeout "$LIMIT" fio --name=process --directory="$MOUNT" --numjobs=4 --ioengine="$1" --rw=randrw --bsrange=4k-256k \
		--blockalign=4k --size=$((MIB / 16))M --verify=crc32c --verify_fatal=1 --end_fsync=1 "${@:2}" && same_trees &&
		rm "$MOUNT"/process.*
}

names_and_sizes() {
	mkdir "$MOUNT/a" "$MOUNT/b" && head -c 1000003 /dev/urandom >"$MOUNT/a/one" && cp "$MOUNT/a/one" "$MOUNT/b/two" &&
		mv "$MOUNT/a/one" "$MOUNT/b/two" && [ ! -e "$EXPORT/a/one" ] && ln "$MOUNT/b/two" "$MOUNT/a/three" &&
		truncate -s 4097 "$MOUNT/a/three" && [ "$(stat -c %s "$EXPORT/b/two")" = 4097 ] &&
		truncate -s 1000000 "$MOUNT/a/three" && uncached &&
		cmp <(tail -c +4098 "$MOUNT/b/two") <(head -c 995903 /dev/zero) && same_trees
}

# Its last name is gone, but it is open: the client keeps it under another name.
removed_while_open() {
	exec 9<"$MOUNT/b/two" && rm -r "$MOUNT/a" "$MOUNT/b/two" && uncached && [ "$(wc -c <&9)" = 1000000 ]
	local status=$?
	exec 9<&-
	[ $status = 0 ] && rmdir "$MOUNT/b" && [ -z "$(ls -A "$EXPORT")" ]
}

tree_of_sources() {
	(cd .. && tar c --exclude=build rdma) | tar x -C "$MOUNT" && same_trees && diff -r --exclude=build . "$EXPORT/rdma" &&
		rm -r "$MOUNT/rdma" && [ -z "$(ls -A "$EXPORT")" ]
}

# ---- what is lost comes back ----

# Before, nobody's file is opened, so that the next case's fio would not begin.
grace_is_over() { grep -q Y "$NFSD/v4_end_grace"; }

server_restarts() { threads_down && sleep 3 && threads_up && within 300 grace_is_over; }

cable_unplugged() {
	ip -n sr1 link set veth1 down && sleep 3 && ip -n sr1 link set veth1 up &&
		ip -n sr1 addr replace "$IP61/64" dev veth1 nodad
}

# The client's neighbour entry must not fail, as it may after three seconds without an answer. With srnic_ib, as with any
# device for RoCE, rdma_cm then reports the peer of an established connection as unreachable. rpcrdma makes no more memory
# regions for that connection: a request that needs one waits for ever, and so do all behind it (6.0 to 7.2).
cable_away() {
	ip -n sr0 neigh change "$IP1" dev veth0 nud permanent && cable_unplugged
	local status=$?
	ip -n sr0 neigh change "$IP1" dev veth0 nud reachable && return $status
}

device_away() { # NUMBER
	rdma link delete srnic"$1" && sleep 3 && ns"$1" rdma link add srnic"$1" type "${DEVICE_TYPE:-srnic}" netdev veth"$1"
}

# Without a route meanwhile: a client that connects anew while rdma_cm removes its device gets an EINVAL of
# rdma_resolve_route()'s, which its users then get (rpcrdma, 6.12 to 7.2).
clients_device_away() {
	ip -n sr0 route add unreachable "$IP1" && device_away 0
	local status=$?
	ip -n sr0 route del unreachable "$IP1" && return $status
}

# ---- what does not ----

killed() {
	local fio
	timeout "$LIMIT" fio --name=killed --directory="$MOUNT" --numjobs=4 --ioengine=psync --rw=randrw --bs=64k \
		--size=$((MIB / 16))M --time_based --runtime=60 >"$LOGS/killed" 2>&1 &
	fio=$!
	sleep 2
	kill -0 $fio && pkill -KILL -x fio
	wait $fio
	[ $? = 137 ] && within 50 eval "! pgrep -x fio" && rm "$MOUNT"/killed.*
}

# A soft mount's user gets an error when the server is away, not a process that waits for ever.
soft_mount_fails() {
	local status
	threads_down || return
	timeout 60 dd if=/dev/zero of="$MOUNT/soft" bs=4k count=1 conv=fsync
	status=$?
	threads_up && [ $status = 1 ]
}

# The mount's processes keep it, by their working directory: fio closes its file now and then. It is gone when they are.
unmounted_under_load() {
	local fio
	(cd "$MOUNT" && DISK=${DISK##*/} verified --time_based --runtime=60) >"$LOGS/fio" 2>&1 &
	fio=$!
	within 100 fio_is_at_work && ! umount "$MOUNT" && umount -l "$MOUNT" && kill -0 $fio && pkill -KILL -x fio
	local status=$?
	wait $fio
	return $status
}

nfs_or_skip
type fio >/dev/null 2>&1 || skip "no fio here"
hosts_up && devices_up && mkdir "$EXPORT" "$MOUNT" || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "an NFS server listens on RDMA" serve_nfs
check "it is mounted" mount_nfs 4.2 "$IP1"
check "four processes, past the cache" several_processes libaio --direct=1 --iodepth=8
check "four processes, through the cache" several_processes psync
check "four processes with mapped files" several_processes mmap
check "files get other names and sizes" names_and_sizes
check "a file is removed while it is open" removed_while_open
check "a tree of sources" tree_of_sources
check "the server restarts in mid-I/O" in_mid_io server_restarts
check "the cable is unplugged in mid-I/O" in_mid_io cable_away
check "the client's device is removed in mid-I/O" in_mid_io clients_device_away
check "the server's device is removed in mid-I/O" in_mid_io device_away 1
check "processes are killed in mid-I/O" killed
check "the mount goes though it is in use" unmounted_under_load
check "a soft mount" mount_nfs 4.2 "$IP1" ,soft,timeo=10,retrans=1
check "its users get an error when the server is away" soft_mount_fails
check "it is unmounted" umount "$MOUNT"
check "IPv6: it is mounted" mount_nfs 4.2 "[$IP61]"
check "IPv6: four processes, past the cache" several_processes libaio --direct=1 --iodepth=8
check "IPv6: it is unmounted" umount "$MOUNT"
check "the server stops" stop_serving_nfs
check "nothing is left behind" settled "$OBJECTS"
finish
