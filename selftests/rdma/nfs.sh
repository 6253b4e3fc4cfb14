#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# An unmodified kernel consumer: NFS over RDMA. The server is in sr1, the client in sr0. Files are written, and read back
# with cold caches, on good, slow and lossy links.
#
# FILES: their sizes, in bytes. VERSIONS: of the protocol. LIMIT: seconds for all files on a link.
cd "$(dirname "$0")" && . ./lib.sh && . shared/nfs.sh && . faults/carry.sh && . semantics/links.sh

FILES=${FILES:-1 4096 1000003 67108864}
VERSIONS=${VERSIONS:-4.2 3}
LIMIT=${LIMIT:-300}
SOURCE=$LOGS/source

make_files() {
	local size
	mkdir "$EXPORT" "$MOUNT" "$SOURCE"
	for size in $FILES; do
		head -c "$size" /dev/urandom >"$SOURCE/$size" || return
	done
}

# Runs the command. The files' bytes cross srnic0 in this direction at least once.
moved() { # COUNTER COMMAND...
	grows srnic0 "$1" $((${FILES// /+})) "${@:2}"
}

same_files() { # DIRECTORY
	local size
	for size in $FILES; do
		cmp "$SOURCE/$size" "$1/$size" || return
	done
}

write_files() {
	local size
	for size in $FILES; do
		timeout "$LIMIT" dd if="$SOURCE/$size" of="$MOUNT/$size" bs=1M conv=fsync status=none || return
	done
}

written() { moved tx_octets write_files && same_files "$EXPORT"; }

read_files() { uncached && same_files "$MOUNT"; }

read_back() { moved rx_octets read_files; }

forgotten() {
	local size
	for size in $FILES; do
		rm "$MOUNT/$size" || return
	done
	[ -z "$(ls "$EXPORT")" ]
}

files_survive() { # LINK'S-NAME
	local name="NFS version $VERSION, $1"
	check "$name: files of $FILES octets are written" written
	check "$name: they are read back unchanged" read_back
	check "$name: they are removed" forgotten
}

nfs_or_skip
hosts_up && typed_devices_up && make_files || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "an NFS server listens on RDMA" serve_nfs
for VERSION in $VERSIONS; do
	check "NFS version $VERSION is mounted over RDMA" mount_nfs "$VERSION" "$IP1" || continue
	on_each_link files_survive
	check "NFS version $VERSION is unmounted" umount "$MOUNT"
done
check "the server stops" stop_serving_nfs
check "nothing is left behind" settled "$OBJECTS"
finish
