# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# For scripts that use the kernel consumer (consumer/), a module that does what it is told.
MODULE=$PWD/consumer/srnic_consumer.ko
DEVICE=/dev/srnic_consumer
# Bytes of a large buffer: whole pages, of which siw registers 256 at most.
LARGE=$((1044480 - 1044480 % $(getconf PAGESIZE)))

consumer_or_skip() {
	[ -e "$MODULE" ] || skip "$MODULE is not built: make guest-tests"
}

# Writes one line to the module and reads its answer. Descriptor 8 is the peer's namespace.
# shellcheck disable=SC2016 # expanded by the inner shell
run_case='exec 8<"$1" 9<>'$DEVICE' && shift && echo "$* 8" >&9; status=$?; cat <&9; exit $status'

consume() { # CASE ROUNDS OCTETS NS ADDRESS PEER-NS PEER-ADDRESS
	timeout "${LIMIT:-300}" nsenter --net="/run/netns/$4" bash -c "$run_case" run "/run/netns/$6" "$1" "$2" "$3" "$5" "$7"
}
