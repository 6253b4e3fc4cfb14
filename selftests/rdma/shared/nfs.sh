# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# An NFS server over RDMA in sr1, and mounts of it in sr0: kernel and programs unmodified. Sourced by the NFS tests, after
# lib.sh.
# shellcheck shell=bash

PORT=20049 MOUNTD_PORT=20048
DAEMONS=()
NFSD=/proc/fs/nfsd EXPORT=$LOGS/export MOUNT=$LOGS/mount

# Ends the test if there is no NFS over RDMA here, or if this machine uses NFS itself.
nfs_or_skip() {
	if mountpoint -q $NFSD || pgrep -x 'rpc.mountd|rpcbind|nfsdcld' >/dev/null; then
		skip "this machine is an NFS server itself"
	fi
	if ! modprobe -aq rpcrdma nfsd nfsv4 nfsv3 || ! type rpc.mountd rpcbind >/dev/null 2>&1; then
		skip "no NFS over RDMA here, kernel or programs (nfs-kernel-server)"
	fi
}

# ---- the server ----

daemon() { # COMMAND...: in sr1, in the foreground of a background that ends with it
	nsenter --net=/run/netns/sr1 "$@" >>"$LOGS/daemons" 2>&1 &
	DAEMONS+=($!)
}

listens() { wait_listening sr1 "$1" "${DAEMONS[-1]}" && kill -0 "${DAEMONS[-1]}"; }

# rpc.mountd answers the kernel's questions about exports; version 3 needs rpcbind.
daemons_up() {
	daemon rpcbind -f && listens 111 && daemon rpc.mountd -F -p $MOUNTD_PORT && listens $MOUNTD_PORT
}

serve_nfs() {
	daemons_up && ns1 exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 "$IP0:$EXPORT" "[$IP60]:$EXPORT" &&
		ns1 mount -t nfsd nfsd $NFSD && echo 10 >$NFSD/nfsv4gracetime && threads_up
}

threads_up() { echo "rdma $PORT" >$NFSD/portlist && echo 4 >$NFSD/threads && grep -q "^rdma $PORT" $NFSD/portlist; }

# Clients lose their connections.
threads_down() { echo 0 >$NFSD/threads; }

stop_serving_nfs() {
	threads_down && umount $NFSD && ns1 exportfs -u "$IP0:$EXPORT" "[$IP60]:$EXPORT" || return
	kill "${DAEMONS[@]}"
	wait "${DAEMONS[@]}"
	cat "$LOGS/daemons"
}

# ---- the client ----

# Since 6.16 a device or route that is gone is an error for mounts in a network namespace, unless this is said.
WAITS=
before_linux 6.16 || WAITS=,fatal_neterrors=none

mount_nfs() { # VERSION ADDRESS [,OPTION...]
	local options=vers=$1,port=$PORT$WAITS${3:-} path=/
	case $2 in
	*:*) options+=,proto=rdma6 ;;
	*) options+=,proto=rdma ;;
	esac
	[ "$1" != 3 ] || options+=,mountproto=tcp,mountport=$MOUNTD_PORT,nolock path=$EXPORT
	timeout 60 nsenter --net=/run/netns/sr0 mount -t nfs -o "$options" "$2:$path" "$MOUNT" &&
		grep "$MOUNT nfs.*proto=rdma" /proc/mounts
}

uncached() { sync -f "$MOUNT" && echo 3 >/proc/sys/vm/drop_caches; }

