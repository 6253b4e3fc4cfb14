#!/bin/bash
# Builds the project for one of the lab's kernels, inside the guest root, from copies of the tree in the cache: one for
# the programs, which all kernels share, and one for each kernel's modules. The tree itself is never written to, and a
# second build compiles only what changed. TESTS: directories of selftests/rdma whose programs are wanted, if not all.
# Run as a script it builds, shows the compiler's messages and exits with make's status:
#	build.sh [stock | bookworm | backports | sid | arm64 | arm64-16k | uml | uml-debug | uml-newest | debug]
# Sourced, project_ready is the entry, after root_ready and tools_ready.

# shellcheck source=deps.sh
. "${BASH_SOURCE[0]%/*}/deps.sh"
# shellcheck source=cross.sh
. "${BASH_SOURCE[0]%/*}/cross.sh"
# shellcheck source=linux.sh
. "${BASH_SOURCE[0]%/*}/linux.sh"
# shellcheck source=uml.sh
. "${BASH_SOURCE[0]%/*}/uml.sh"
# shellcheck source=debug.sh
. "${BASH_SOURCE[0]%/*}/debug.sh"

# The tree's files as git sees them (untracked ones too), or all files without git.
tree_files() (
	cd "$TREE" || exit
	if git -c safe.directory="$TREE" rev-parse --git-dir >/dev/null 2>&1; then
		git -c safe.directory="$TREE" ls-files -z -co --exclude-standard | sort -zu
	else
		find . -type f -printf '%P\0' | sort -z
	fi | while IFS= read -r -d '' f; do
		[ ! -e "$f" ] || printf '%s\0' "$f"
	done
)

# A key for all files that can change the build: all but the lab and the documentation.
tree_key() (
	cd "$TREE" &&
		tree_files | grep -zvE '^(selftests/vm|Documentation)/|\.md$' | xargs -0 -r sha256sum | key
)

# Updates the copy of the tree. Changed files get the current time, so that make also notices a file restored with its old
# time. Files deleted from the tree are deleted from the copy.
copy_tree() {
	local copy=$1 list=$1.files
	mkdir -p "$copy"
	tree_files >"$list.new"
	[ ! -e "$list" ] || comm -z -23 "$list" "$list.new" | (cd "$copy" && xargs -0 -r rm -f)
	rsync -a --no-times --checksum --from0 --files-from="$list.new" "$TREE/" "$copy/"
	mv "$list.new" "$list"
}

# For the kernel called $1, sets KVER, its version, KERNEL_SOURCE, the tree that modules are built against, and MAKE_VARS,
# make's variables for it.
kernel_vars() {
	PROGRAM_VARS=() PROGRAM_BINDS=()
	case $1 in
	stock | bookworm | backports | sid)
		KVER=$RELEASE_KERNEL
		KERNEL_SOURCE=/usr/src/linux-headers-$KVER
		MAKE_VARS=(KDIR="/lib/modules/$KVER/build" SRNIC_CHECK_SIZES=1)
		KERNEL_BINDS=()
		;;
	arm64 | arm64-16k) cross_vars ;;
	uml | uml-debug | uml-newest)
		uml_ready "$1"
		MAKE_VARS=(KDIR=/run/linux ARCH=um)
		KERNEL_BINDS=(--bind "$KERNEL_SOURCE" /run/linux)
		;;
	debug)
		debug_ready
		MAKE_VARS=(KDIR=/run/linux)
		KERNEL_BINDS=(--bind "$KERNEL_SOURCE" /run/linux)
		;;
	*) die "there is no kernel called $1; those there are: stock, bookworm, backports, sid, arm64, arm64-16k, uml, uml-debug, uml-newest, debug" ;;
	esac
	MAKE_VARS+=(RDMA_CORE_SRC="$RDMA_CORE")
	PROGRAM_VARS+=(RDMA_CORE_SRC="$RDMA_CORE")
}

in_build() { in_root "${KERNEL_BINDS[@]}" --bind "$BUILD" /run/build "$TOOLS" "$@"; }

project_make() { in_build make -C /run/build/srnic -j"$(nproc)" "${MAKE_VARS[@]}" "$@"; }

programs_make() {
	in_root "${PROGRAM_BINDS[@]}" --bind "$PROGRAMS" /run/build "$TOOLS" make -C /run/build/srnic -j"$(nproc)" \
		"${PROGRAM_VARS[@]}" "$@"
}

merge_usr() {
	local d
	for d in bin lib lib64 sbin; do
		[ -d "$1/$d" ] || continue
		mkdir -p "$1/usr/$d"
		cp -a "$1/$d/." "$1/usr/$d/"
		rm -rf "${1:?}/$d"
	done
}

build_modules() { project_make module guest-modules; }

build_programs() {
	rm -rf "$PROGRAMS/stage" && mkdir -p "$PROGRAMS/stage"
	programs_make guest-programs TESTS="${TESTS:-*}" && programs_make install-userspace DESTDIR=/run/build/stage
}

# The files for the guest, with /lib and the like in their places in a merged /usr.
gather() {
	rm -rf "$BUILD/stage" && mkdir -p "$BUILD/stage"
	project_make install-module DESTDIR=/run/build/stage && cp -a "$PROGRAMS/stage/." "$BUILD/stage/" &&
		merge_usr "$BUILD/stage" &&
		rsync -a --exclude=/rdma/consumer "$PROGRAMS/srnic/selftests/" "$BUILD/srnic/selftests/"
}

# Trees and roots do not share a build.
build_key() { echo "$TREE" "${ROOT##*/}" | key; }
build_lock() { echo "build-$1-$(build_key)"; }	# for the kernel called $1; taken with locked

set_places() { # KERNEL
	BUILD=$CACHE/build/$1-$(build_key)
	PROGRAMS=$CACHE/build/programs-$(build_key)
	mkdir -p "$BUILD" "$PROGRAMS"
	touch "$BUILD" "$PROGRAMS"
	kernel_vars "$1"
}

# Builds unless this tree was built already. Sets STAGE, the directory that make install wrote to, and SELFTESTS, the
# built selftests. Hold the lock of that kernel's build while calling this and using the results.
project_ready() {
	set_places "$1"
	[ -e "$TREE/Makefile" ] || die "$TREE has no Makefile, so there is nothing to build"
	project_update "$1"
	STAGE=$BUILD/stage
	SELFTESTS=$BUILD/srnic/selftests
}

# The same, but always builds, to show the compiler's messages.
project_shown() {
	set_places "$1"
	rm -f "$BUILD/done" "$PROGRAMS/done"
	project_update "$1" shown
}

shown() { shift && "$@" || exit; }

# The keys are computed before the copies, so a file that changes in between is built again, not missed.
project_update() { # KERNEL [STEP]
	local want
	want="$(tree_key)-${KERNEL_SOURCE##*/} ${TESTS:-}"
	copy_tree "$BUILD/srnic"
	[ "$(cat "$BUILD/done" 2>/dev/null)" != "$want" ] || return 0
	rm -f "$BUILD/done"
	"${2:-step}" "building the modules for $1" build_modules
	locked "$(build_lock programs)" add_programs "${2:-step}"
	echo "$want" >"$BUILD/done"
}

# Under the lock of the programs, so that no other kernel's build changes them meanwhile.
add_programs() { # STEP
	local want
	want="$(tree_key) ${TESTS:-}"
	copy_tree "$PROGRAMS/srnic"
	if [ "$(cat "$PROGRAMS/done" 2>/dev/null)" != "$want" ]; then
		rm -f "$PROGRAMS/done"
		"$1" "building the programs" build_programs
		echo "$want" >"$PROGRAMS/done"
	fi
	"$1" "gathering what the guest needs" gather
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	need_root
	deps_ready
	set_release "${1:-stock}"
	locked cache root_ready
	locked cache tools_ready
	locked "$(build_lock "${1:-stock}")" project_shown "${1:-stock}"
fi
