# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A disk of the kernel's SCSI target (LIO), in a file of MIB. Sourced after lib.sh and shared/disk.sh.
# shellcheck shell=bash

TARGET=/sys/kernel/config/target
STORE=$TARGET/core/fileio_0/disk

store_up() {
	modprobe -a target_core_mod target_core_file || return
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
	mkdir -p $STORE && echo "fd_dev_name=$LOGS/disk,fd_dev_size=$((MIB << 20))" >$STORE/control && echo 1 >$STORE/enable
}

store_down() { rmdir $STORE ${STORE%/*}; }
