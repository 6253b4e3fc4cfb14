# shellcheck shell=bash
# The debug kernel: two processors, preemptible, in QEMU like the stock one, with the kernel's own checks of memory, locks
# and contexts. Built in the cache from the source of the guest root's kernel. Sourced; debug_ready builds it, debug_start
# boots it.

# shellcheck source=kernel.sh
. "${BASH_SOURCE[0]%/*}/kernel.sh"

debug_ready() { kernel_ready debug x86_64 "bzImage modules" guest.config checks.config debug.config; }

# Less memory than other guests, so that the checks have less to scan.
debug_start() {
	KERNEL=$KERNEL_SOURCE/arch/x86/boot/bzImage
	GUEST_MB=2048
	qemu_start
}

debug_traces() { qemu_traces; }
