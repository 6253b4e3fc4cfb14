# shellcheck shell=bash
# Shared by all scripts of the lab: messages, the cache, keys for its contents, locks, clean-up. Sourced, never run.

VM=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
TREE=${SRNIC_TREE:-$(cd -- "$VM/../.." && pwd)}
CACHE=${SRNIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srnic}
# The Debian release of most guests, and of QEMU. set_release changes it.
RELEASE=trixie
LINUX=6.12			# the series of the kernel, as in the name of its source package
NEWEST_LINUX=7.2		# the newest series that srnic is known to build for
export LC_ALL=C

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# Exit statuses of the lab itself; otherwise the guest command's status is returned unchanged.
[ -n "${STATUS_LAB:-}" ] || readonly STATUS_LAB=125 STATUS_HANG=124 STATUS_SPLAT=123

die() {
	say "$*"
	exit "$STATUS_LAB"
}

# The release whose root the kernel called $1 is booted with.
set_release() {
	case $1 in
	bookworm | sid) RELEASE=$1 LINUX='' ;;	# siw is not built for these
	backports) RELEASE=trixie-backports LINUX='' ;;
	arm64 | arm64-16k) RELEASE=trixie-$1 LINUX='' ;;
	uml-newest) RELEASE=trixie LINUX=$NEWEST_LINUX ;;
	*) RELEASE=trixie LINUX=6.12 ;;
	esac
}

for_arm64() { [[ $RELEASE = *-arm64* ]]; }

# A key for the contents of standard input.
key() { sha256sum | cut -c1-16; }

# Runs a long step: announces it, then prints how long it took. Its output goes to a log, which is shown if it fails.
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

# Calls "$@" while holding the cache lock called $1, so that concurrent runs do not build the same thing twice.
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

# Adds an exit handler; they run last one first.
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
