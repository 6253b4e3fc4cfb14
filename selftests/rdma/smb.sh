#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# SMB Direct: the kernel's server (ksmbd, ksmbd-tools) and client (cifs, cifs-utils), unmodified. The server listens in
# the first network namespace only, so both ends are on one device there:
#
#   client: cifs, -o rdma ── srnic0 on smb0, 10.96.0.1 ── ksmbd: RDMA port 5445, iWARP's of SMB Direct, or 445
#
# MIB: of the large file. LIMIT: seconds for each step.
cd "$(dirname "$0")" && . ./lib.sh && . shared/disk.sh

ADDRESS=10.96.0.1 ADDRESS6=fd96::1
EXPORT=$LOGS/export MOUNT=$LOGS/mount

# ---- the server ----

configure() {
	cat >"$LOGS/ksmbd.conf" <<-END
		[global]
		interfaces = smb0
		bind interfaces only = yes
		[share]
		path = $EXPORT
		read only = no
	END
	ksmbd.adduser -C "$LOGS/ksmbd.conf" -P "$LOGS/users" -a -p secret tester
}

# The port is chosen when ksmbd starts, by the devices that there are.
server_up() {
	mkdir -p "$EXPORT" "$MOUNT" && chmod 711 "$LOGS" && chmod 777 "$EXPORT" && modprobe ksmbd && configure || return
	ksmbd.mountd -n -C "$LOGS/ksmbd.conf" -P "$LOGS/users" >"$LOGS/mountd" 2>&1 &
	MOUNTD=$!
	within 100 listens 445 && within 100 listens_for_rdma && return
	cat "$LOGS/mountd"
	return 1
}

listens() { ss -Hltn | grep -q ":$1 "; }

# Where RDMA has ports of its own SMB Direct has that of SMB.
listens_for_rdma() {
	if [ "${DEVICE_TYPE:-srnic}" = srnic ]; then
		listens 5445
	else
		rdma resource show cm_id | grep -q "state LISTEN .*:445\b"
	fi
}

server_down() {
	ksmbd.control -s
	wait $MOUNTD
	modprobe -r ksmbd
}

# ---- the client ----

mounted() {
	timeout "$LIMIT" mount -t cifs "//$ADDRESS/share" "$MOUNT" -o rdma,vers=3.1.1,username=tester,password=secret &&
		grep "$MOUNT" /proc/mounts | grep rdma
}

uncached() { umount "$MOUNT" && mounted >/dev/null; }

copied() { # BYTES
	head -c "$1" /dev/urandom >"$LOGS/from" && timeout "$LIMIT" cp "$LOGS/from" "$MOUNT/file" && uncached &&
		timeout "$LIMIT" cmp "$LOGS/from" "$MOUNT/file" && cmp "$LOGS/from" "$EXPORT/file" && rm "$MOUNT/file"
}

fio_verifies() {
	timeout "$LIMIT" fio --name=verify --directory="$MOUNT" --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite \
		--numjobs=3 --bsrange=4k-1m --size=$((MIB / 4))M --verify=crc32c --verify_fatal=1 && rm "$MOUNT"/verify.*
}

# Two for each read that it lets the server have in flight; with fewer its writes and reads queue up.
has_regions() {
	local regions
	regions=$(rdma resource show mr | grep -c '^dev srnic0 ')
	echo "$regions regions"
	[ "$regions" -ge 16 ]
}

# The modules need rdma_cm if they were built with it.
with_rdma() { modinfo -F depends "$1" | grep -qE "rdma_cm|smbdirect"; }	# the latter since 7.0

possible() {
	modprobe -aq ksmbd cifs && with_rdma ksmbd && with_rdma cifs && type ksmbd.mountd mount.cifs fio >/dev/null 2>&1
}

if ! possible; then
	skip "no SMB server and client with RDMA here, kernel or programs (ksmbd-tools, cifs-utils, fio)"
fi
modprobe -r ksmbd
modprobe -a ib_uverbs srnic && disk_device_up smb0 $ADDRESS $ADDRESS6 || { echo "Bail out! no device"; exit 1; }
OBJECTS=$(objects)
check "a server" server_up
check "the share is mounted over RDMA" mounted
check "the client has memory regions for eight requests" has_regions
for bytes in 1 4096 1000003 $((MIB << 20)); do
	check "a file of $bytes bytes is written, and read back unchanged" \
		grows srnic0 tx_octets $((2 * bytes)) copied $bytes
done
check "fio verifies what three processes write" grows srnic0 tx_octets $((3 * MIB << 19)) fio_verifies
check "the share is unmounted" umount "$MOUNT"
check "the server goes" server_down
check "nothing is left behind" settled "$OBJECTS"
rdma link delete srnic0
ip link del smb0
finish
