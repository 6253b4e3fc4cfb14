# shellcheck shell=bash
# Boots a guest in QEMU: with KVM if that really works, emulated if not. Sourced; qemu_start is the entry.

# shellcheck source=emulator.sh
. "${BASH_SOURCE[0]%/*}/emulator.sh"

GUEST_MB=3072

# Sets MACHINE, and what depends on it: the processor, and the kernel's command line.
#
# x86: an emulated timer is late when this machine is busy: not to be tested at boot, as if it were a broken one. Without the
# fast forms of rep movsb the guest copies by words. An emulator takes as long for each octet of it as for a word, and
# counts as many instructions.
#
# arm64: an emulator needs long for signatures of pointers.
set_machine() {
	local line="loglevel=6 panic=-1 oops=panic sysrq_always_enabled reboot=t" emulated=watchdog_thresh=30
	if for_arm64; then
		MACHINE=virt,gic-version=3
		EMULATED_CPU=max,pauth=off
		KERNEL_LINE="console=ttyAMA0 $line"
	else
		MACHINE=q35
		EMULATED_CPU=max,-erms,-fsrm,-fsrs,-fzrm,-fsrc
		KERNEL_LINE="console=ttyS0 $line"
		emulated+=" no_timer_check"
	fi
	EMULATED_LINE="$KERNEL_LINE $emulated"
}

# The common part of the command line.
qemu_base() {
	set_machine
	QEMU=("${EMULATOR[@]}" -name srnic -nodefaults -no-user-config -display none -no-reboot -m "$GUEST_MB"
		-machine "$MACHINE" -smp "$PROCESSORS" -kernel "$KERNEL" -initrd "$INITRD")
}

# KVM may be present and yet hang every guest, so it is used only if a test guest reaches its initrd. Tested once per
# boot of this machine.
kvm_works() {
	local memo
	memo=$CACHE/kvm-$(cat /proc/sys/kernel/random/boot_id)
	! for_arm64 && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo || return 1
	[ -e "$memo" ] || { rm -f "$CACHE"/kvm-*; kvm_probe >"$memo"; }
	[ "$(cat "$memo")" = yes ]
}

kvm_probe() {
	local log=$RUN/probe
	qemu_base
	say "trying whether KVM works here ..."
	(timeout 30 "${QEMU[@]}" -accel kvm -cpu host -append "$KERNEL_LINE" -serial "file:$log" || :) </dev/null >/dev/null 2>&1
	if grep -q '^lab: ' "$log"; then echo yes; else echo no; fi
}

# Has QEMU count instructions.
qemu_counts() {
	g++ -std=c++20 -O2 -Wall -Wextra -shared -fPIC -o "$RUN/instructions.so" "$VM/instructions.cc" ||
		die "the plugin of QEMU that counts instructions cannot be built"
	QEMU+=(-plugin "$RUN/instructions.so,out=$COUNTS")
}

# Two Intel 82574 on one hub: what one sends is with the other at once. (A socket between them blocks both when it is full.)
qemu_wire() {
	local n
	for n in 0 1; do
		QEMU+=(-netdev "hubport,id=wire$n,hubid=0" -device "e1000e,netdev=wire$n,mac=52:54:00:00:00:0$n,romfile=")
	done
}

# Starts the guest in the background and sets GUEST, its process, and EMULATED. RUN is its directory, with its command in
# payload.tar; the guest writes console.log, status and the pipe called output there.
qemu_start() {
	qemu_base
	EMULATED=1
	if [ "$CLOCK" = instructions ]; then
		QEMU+=(-accel "tcg,thread=single" -icount "shift=0,align=off,sleep=off" -cpu "$EMULATED_CPU"
			-append "$EMULATED_LINE")
	elif kvm_works; then
		EMULATED=0
		QEMU+=(-accel kvm -cpu host -append "$KERNEL_LINE")
	else
		QEMU+=(-accel "tcg,thread=multi" -cpu "$EMULATED_CPU" -append "$EMULATED_LINE")
	fi
	QEMU+=(-drive "file=$IMAGE,file.locking=off,format=raw,if=none,id=disk,snapshot=on,cache=unsafe"
		-device virtio-blk-pci,drive=disk
		-drive "file=$RUN/payload.tar,format=raw,if=none,id=payload,readonly=on"
		-device virtio-blk-pci,drive=payload
		-chardev "socket,id=console,path=$RUN/console,server=on,wait=off,logfile=$RUN/console.log"
		-serial chardev:console
		-monitor "unix:$RUN/monitor,server=on,wait=off"
		-device virtio-serial-pci
		-chardev "file,id=output,path=$RUN/output" -device virtserialport,chardev=output,name=output
		-chardev "file,id=status,path=$RUN/status" -device virtserialport,chardev=status,name=status)
	[ -z "$COUNTS" ] || qemu_counts
	[ -z "$WIRE" ] || qemu_wire
	[ -z "$SHARE" ] || QEMU+=(-virtfs "local,path=$SHARE,mount_tag=share,security_model=none")
	TMPDIR=$RUN "${QEMU[@]}" </dev/null >"$RUN/kernel.log" 2>&1 &
	GUEST=$!
}

# Makes a hung guest print the stacks of all tasks: sysrq over the serial console's break.
qemu_traces() { "$VM/sysrq" "$RUN/monitor" console "$RUN/console" t w l; }
