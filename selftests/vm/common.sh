# shellcheck shell=bash
# What every script of the lab shares: messages, the cache, keys for its contents, locks, clean-up. Sourced, never run.

VM=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
TREE=${SRNIC_TREE:-$(cd -- "$VM/../.." && pwd)}
CACHE=${SRNIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srnic}
RELEASE=trixie
LINUX=6.12			# the series of RELEASE's kernel; its source package is called after it
export LC_ALL=C

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Exit statuses of the lab itself; the guest command's own status is handed on unchanged otherwise.
[ -n "${STATUS_LAB:-}" ] || readonly STATUS_LAB=125 STATUS_HANG=124 STATUS_SPLAT=123

die() {
	say "$*"
	exit "$STATUS_LAB"
}

# A key for whatever is on standard input.
key() { sha256sum | cut -c1-16; }

# Runs a step that takes long: says so before, and how long it took after. Its own output goes to a log, which is shown
# if it fails.
step() {
	local what=$1 log began=$SECONDS
	shift
	mkdir -p "$CACHE/log"
	log=$CACHE/log/${what//[^A-Za-z0-9.-]/-}.$$
	say "$what ..."
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -n 60 "$log" >&2
		die "$what failed; the whole log is in $log"
	fi
	rm -f "$log"
	say "$what: done in $((SECONDS - began)) s"
}

# Calls "$@" while holding the lock of the cache called $1: two runs at once must not build the same thing twice.
locked() {
	local name=$1 fd
	shift
	mkdir -p "$CACHE"
	exec {fd}>"$CACHE/.lock-$name"
	if ! flock -n "$fd"; then
		say "waiting for another run that works on $name"
		flock "$fd"
	fi
	"$@"
	exec {fd}>&-
}

# Exit handlers that can be added to, last one first.
cleanups=()
at_exit() { cleanups=("$*" "${cleanups[@]}"); }
run_cleanups() {
	local c
	for c in "${cleanups[@]}"; do eval "$c"; done
}
trap run_cleanups EXIT
trap 'exit 130' INT TERM HUP

need_root() {
	[ "$(id -u)" = 0 ] || die "the lab makes chroots and disk images: run it as root"
}
