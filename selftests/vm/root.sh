# shellcheck shell=bash
# The guest root: a directory with a minimal Debian, the kernel, its headers, compilers, tools for the tests, and
# rdma-core's configured source. Programs are built in it by chroot, and the guest's disk is made from it. Sourced;
# root_ready is the entry.

# shellcheck source=common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"
# shellcheck source=unpacked.sh
. "${BASH_SOURCE[0]%/*}/unpacked.sh"

RDMA_CORE=/usr/src/rdma-core	# inside the root
PREPARE=$VM/../../userspace/prepare-rdma-core

package_list() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$VM/packages${1:-}"; }

# The function that makes the root of the release.
bootstrap_of() {
	case $RELEASE in
	trixie) echo bootstrap ;;
	*-backports) echo bootstrap_backports ;;
	*-arm64*) echo bootstrap_arm64 ;;
	*) echo bootstrap_release ;;
	esac
}

root_key() {
	if [ "$RELEASE" = trixie ]; then
		{ package_list; echo "$RELEASE"; declare -f bootstrap rdma_core_source; } | key
	elif for_arm64; then
		{ package_list -arm64; echo "$RELEASE"; arm64_recipe; } | key
	else
		{ package_list -release; echo "$RELEASE"; declare -f "$(bootstrap_of)"; } | key
	fi
}

# The Debian mirror that this machine's apt uses; SRNIC_MIRROR overrides it.
mirror() {
	local uri=${SRNIC_MIRROR:-}
	[ -n "$uri" ] || uri=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian \([^ ]*\)$/\1/p' | head -n 1)
	[ -n "$uri" ] || die "apt has no Debian mirror configured here: set SRNIC_MIRROR to the URL of one"
	printf '%s\n' "$uri"
}

bootstrap() {
	local dir=$1 uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	uri=$(mirror)
	mmdebstrap --variant=minbase --include="$(package_list | paste -sd,)" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		"$RELEASE" "$dir" \
		"deb [signed-by=$keyring] $uri $RELEASE main" \
		"deb-src [signed-by=$keyring] $uri $RELEASE main"
}

# The small root of another release than trixie: its kernel, and what the tests of --kernel bookworm and sid need. Sid's
# index is valid for some days only: a mirror may be older.
bootstrap_release() {
	local dir=$1 uri from
	uri=$(mirror)
	from="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $RELEASE main"
	mmdebstrap --variant=minbase --include="$(package_list -release | paste -sd,)" \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' "$RELEASE" "$dir" "deb $from" "deb-src $from"
}

# Such a root of a release with what its backports have in the place of its own: the kernel.
bootstrap_backports() {
	local dir=$1 suite=${RELEASE%-backports} uri from
	uri=$(mirror)
	from="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri"
	mmdebstrap --variant=minbase --include="$(package_list -release | paste -sd,)" \
		--aptopt="APT::Default-Release \"$RELEASE\"" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$dir" \
		"deb $from $suite main" "deb-src $from $suite main" "deb $from $RELEASE main" "deb-src $from $RELEASE main"
}

# Sets IN_ROOT, a command that runs "$@" in a root with /proc, /sys, /dev, a private /tmp and this machine's resolver,
# all in a temporary mount namespace. The root is read-only unless --writable comes first; --bind FROM TO adds to it.
set_in_root() {
	local dir writable=0 binds=() script
	while :; do
		case $1 in
		--writable) writable=1; shift ;;
		--bind) binds+=("$2" "$3"); shift 3 ;;
		*) break ;;
		esac
	done
	dir=$1
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	script='
		dir=$1 writable=$2 n=$3
		shift 3
		mount --bind "$dir" "$dir"
		mount -t proc proc "$dir/proc"
		mount --rbind /sys "$dir/sys"
		mount --rbind /dev "$dir/dev"
		mount -t tmpfs tmpfs "$dir/tmp"
		mount -t tmpfs tmpfs "$dir/run"
		if [ -s /etc/resolv.conf ] && [ -e "$dir/etc/resolv.conf" ]; then
			cat /etc/resolv.conf >"$dir/run/resolv.conf"
			mount --bind "$dir/run/resolv.conf" "$dir/etc/resolv.conf"
		fi
		while [ "$n" -gt 0 ]; do
			mkdir -p "$dir$2"
			mount --bind "$1" "$dir$2"
			shift 2
			n=$((n - 1))
		done
		[ "$writable" = 1 ] || mount -o remount,bind,ro "$dir"
		exec chroot "$dir" /usr/bin/env -i HOME=/root LC_ALL=C TERM="${TERM:-dumb}" \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" "$@"
	'
	IN_ROOT=(unshare --mount --propagation private bash -euc "$script" in_root
		"$dir" "$writable" $((${#binds[@]} / 2)) "${binds[@]}" "$@")
}

in_root() {
	set_in_root "$@"
	"${IN_ROOT[@]}"
}

# rdma-core's source, of the version of the root's packages: a provider includes its private headers, some of which its
# cmake generates.
rdma_core_source() {
	in_root --writable "$1" sh -euc '
		cd /usr/src
		version=$(dpkg-query -W -f "\${source:Version}" rdma-core)
		apt-get update -qq
		apt-get source -qq --tar-only "rdma-core=$version"
		mkdir rdma-core
		tar -C rdma-core --strip-components=1 -xf rdma-core_*.orig.tar.*
		rm -f rdma-core_*
		cmake -S rdma-core -B rdma-core/build -G Ninja -DNO_PYVERBS=1 -DNO_MAN_PAGES=1 -DENABLE_RESOLVE_NEIGH=1 \
			-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr \
			-DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu
		ninja -C rdma-core/build kern-abi ccan_pic rdma_util_pic
		rm -rf /var/lib/apt/lists/*
	'
}

# The same as a user of that release does it: with prepare-rdma-core, anew if that changed. Older roots have it as
# /usr/src/srnic-*, which looks like a part of the packages.
rdma_core_release() { # ROOT CACHE
	in_root --writable --bind "${PREPARE%/*}" /run/userspace "$1" sh -euc '
		apt-get update -qq
		rm -rf /usr/src/srnic-* /usr/src/prepared-*
		source=$(SRNIC_CACHE=$1 /run/userspace/prepare-rdma-core)
		ln -sfn "$source" /usr/src/rdma-core
		rm -rf /var/lib/apt/lists/*
		touch "$1/done"
	' sh "$2"
}

rdma_core_ready() { # ROOT
	local cache
	cache=/usr/src/prepared-$({ declare -f rdma_core_release; cat "$PREPARE"; } | key)
	[ -e "$1$cache/done" ] || step "preparing rdma-core's source in the $RELEASE root" rdma_core_release "$1" "$cache"
}

make_root() {
	local dir=$1 new=$1.new
	mirror >/dev/null || exit
	forget_old
	rm -rf "$new"
	step "making a Debian $RELEASE root" "$(bootstrap_of)" "$new"
	: >"$new/etc/resolv.conf"
	[ "$RELEASE" != trixie ] || step "fetching and configuring rdma-core's source" rdma_core_source "$new"
	mv "$new" "$dir"
}

# Cache entries not used for two weeks.
forget_old() {
	find "$CACHE" -mindepth 1 -maxdepth 1 -mtime +14 -name '*-*' ! -name '.*' -exec rm -rf {} +
	find "$CACHE/build" "$CACHE/log" -mindepth 1 -maxdepth 1 -mtime +14 -exec rm -rf {} + 2>/dev/null || :
}

# Sets ROOT (the root's directory), TOOLS (that of the root whose programs build for it) and RELEASE_KERNEL (the version
# of its kernel), creating the root if missing. For arm64, TOOLS must be set by tools_ready after that.
root_ready() {
	ROOT=$CACHE/root-$(root_key)
	[ -d "$ROOT" ] || make_root "$ROOT"
	touch "$ROOT"
	TOOLS=$ROOT
	if [ "$RELEASE" = trixie ]; then
		ln -sfn "${ROOT##*/}" "$CACHE/root"
	elif ! for_arm64; then
		rdma_core_ready "$ROOT"
	fi
	RELEASE_KERNEL=$(basename "$(echo "$ROOT"/lib/modules/*)")
}
