# shellcheck shell=bash
# User-mode Linux with the RDMA stack: a kernel as a process, at native speed. Built in the cache: uml is fast and has
# consumers of RDMA, uml-debug checks locking and memory, uml-newest is uml of the newest series. Sourced; uml_ready builds
# it, uml_start boots it.

# shellcheck source=kernel.sh
. "${BASH_SOURCE[0]%/*}/kernel.sh"

uml_ready() {
	local fast=(guest.config networks.config consumers.config uml.config)
	case $1 in
	uml) kernel_ready uml um all "${fast[@]}" ;;
	uml-newest) kernel_ready uml-newest um all "${fast[@]}" newest.config ;;
	uml-debug) kernel_ready uml-debug um all guest.config checks.config uml.config uml-debug.config ;;
	esac
}

# A process of the guest is a process here, with one mapping for each run of contiguous pages of guest memory. If that is
# fragmented, the largest messages of semantics.sh need more than the usual 65,530 mappings, and the guest's process dies
# of SIGSEGV.
uml_mappings() {
	local limit=/proc/sys/vm/max_map_count wanted=2097152
	[ "$(cat $limit)" -ge $wanted ] || { echo $wanted >$limit; } 2>/dev/null ||
		say "vm.max_map_count cannot be raised to $wanted: a guest with large mappings may die"
}

# Keeps this guest's processes on one processor, which no other guest of this cache keeps to: each system call in the guest
# switches between two of them, and waking a sleeping processor takes ten times as long as the switch. Without a processor
# of its own a guest goes where the scheduler puts it.
uml_processor() { # sets PINNED, the command to start the guest with
	local cpu fd
	PINNED=()
	for cpu in $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , '\n' |
		while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done); do
		exec {fd}>"$CACHE/.lock-processor-$cpu"
		! flock -n "$fd" || { PINNED=(taskset -c "$cpu"); return; }
		exec {fd}>&-
	done
}

# Starts a guest like qemu_start does. The disk is a copy-on-write file, and the channels are serial lines on open files.
# Its own PID namespace ends all of the kernel's processes with it (under a shell, because a namespace's first process
# cannot abort, which is how this kernel panics).
uml_start() {
	local share=()
	uml_mappings
	uml_processor
	[ -z "$SHARE" ] || share=(--bind "$SHARE" /run/share)
	set_in_root --bind "$KERNEL_SOURCE" /run/linux --bind "$CACHE" /run/cache --bind "$RUN" /run/vm "${share[@]}" "$ROOT" \
		unshare --pid --fork --kill-child --mount-proc sh -c '"$@"; exit' sh /run/linux/linux mem=2G umid=vm uml_dir=/run/vm \
		"ubd0=/run/vm/cow,/run/cache/${IMAGE##*/}" ubd1r=/run/vm/payload.tar "initrd=/run/cache/${INITRD##*/}" \
		seccomp=auto con=null con0=null,fd:1 ssl=null ssl1=null,fd:3 ssl2=null,fd:4 \
		console=tty0 loglevel=6 panic=-1 oops=panic sysrq_always_enabled
	"${PINNED[@]}" "${IN_ROOT[@]}" </dev/null >>"$RUN/console.log" 2>"$RUN/kernel.log" 3>"$RUN/output" 4>>"$RUN/status" &
	GUEST=$! EMULATED=0
}

uml_traces() { "$VM/uml-stacks" "$RUN/vm/mconsole"; }
