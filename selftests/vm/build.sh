#!/bin/bash
# Builds the project for one of the lab's kernels, inside the guest root, from a copy of the tree that lives in the
# cache: the tree itself is never written to, and a second build only compiles what changed.
# Run alone it builds, shows the compiler's messages and exits with make's status:
#	build.sh [stock | uml | uml-debug | debug]
# Sourced, project_ready is the entry.

# shellcheck source=deps.sh
. "${BASH_SOURCE[0]%/*}/deps.sh"
# shellcheck source=linux.sh
. "${BASH_SOURCE[0]%/*}/linux.sh"
# shellcheck source=uml.sh
. "${BASH_SOURCE[0]%/*}/uml.sh"
# shellcheck source=debug.sh
. "${BASH_SOURCE[0]%/*}/debug.sh"

# The tree's files, as git sees them (untracked ones too), or all of them where there is no git.
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

# Everything but the lab and the documentation can change what is built.
tree_key() (
	cd "$TREE" &&
		tree_files | grep -zvE '^(selftests/vm|Documentation)/|\.md$' | xargs -0 -r sha256sum | key
)

# Brings the copy of the tree up to date. What differs is copied with the time of now: make is to see also a file that was put
# back with its old time. Files that are gone from the tree go from the copy.
copy_tree() {
	local copy=$1 list=$1.files
	mkdir -p "$copy"
	tree_files >"$list.new"
	[ ! -e "$list" ] || comm -z -23 "$list" "$list.new" | (cd "$copy" && xargs -0 -r rm -f)
	rsync -a --no-times --checksum --from0 --files-from="$list.new" "$TREE/" "$copy/"
	mv "$list.new" "$list"
}

# Sets KVER, the kernel's version, KERNEL_SOURCE, the tree that modules are built against, and MAKE_VARS, what make is told
# about it, for the kernel called $1.
kernel_vars() {
	case $1 in
	stock)
		KVER=$RELEASE_KERNEL
		KERNEL_SOURCE=/usr/src/linux-headers-$KVER
		MAKE_VARS=(KDIR="/lib/modules/$KVER/build")
		KERNEL_BINDS=()
		;;
	uml | uml-debug)
		uml_ready "$1"
		MAKE_VARS=(KDIR=/run/linux ARCH=um)
		KERNEL_BINDS=(--bind "$KERNEL_SOURCE" /run/linux)
		;;
	debug)
		debug_ready
		MAKE_VARS=(KDIR=/run/linux)
		KERNEL_BINDS=(--bind "$KERNEL_SOURCE" /run/linux)
		;;
	*) die "there is no kernel called $1; those there are: stock, uml, uml-debug, debug" ;;
	esac
	MAKE_VARS+=(RDMA_CORE_SRC="$RDMA_CORE")
}

in_build() { in_root "${KERNEL_BINDS[@]}" --bind "$BUILD" /run/build "$ROOT" "$@"; }

project_make() { in_build make -C /run/build/srnic -j"$(nproc)" "${MAKE_VARS[@]}" "$@"; }

# What the guest is given, with /lib and the like where a merged /usr has them, and the module index made here, where
# that takes no emulation.
stage() {
	local new=$BUILD/stage
	rm -rf "$new"
	mkdir -p "$new"
	project_make install DESTDIR=/run/build/stage || return
	merge_usr "$new"
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

build() { project_make all guest-tests && stage; }

# Trees and roots do not share a build.
build_key() { echo "$TREE" "${ROOT##*/}" | key; }
build_lock() { echo "build-$1-$(build_key)"; }	# for the kernel called $1; taken with locked

# Builds unless that was done for this very tree, and sets STAGE, the directory of what make install made, and SELFTESTS,
# the tree's selftests with what make built there. To be called, and used, under the lock of that kernel's build.
project_ready() {
	BUILD=$CACHE/build/$1-$(build_key)
	mkdir -p "$BUILD"
	kernel_vars "$1"
	touch "$BUILD"
	[ -e "$TREE/Makefile" ] || die "$TREE has no Makefile, so there is nothing to build"
	project_update "$1"
	STAGE=$BUILD/stage
	SELFTESTS=$BUILD/srnic/selftests
}

# The same for somebody who wants to see the compiler's messages: builds whatever was done before.
project_shown() {
	local want
	BUILD=$CACHE/build/$1-$(build_key)
	mkdir -p "$BUILD"
	kernel_vars "$1"
	want=$(tree_key)-${KERNEL_SOURCE##*/}
	copy_tree "$BUILD/srnic"
	rm -f "$BUILD/done"
	build || exit
	echo "$want" >"$BUILD/done"
}

# The key is taken before the copy: a file that changes in between is then built once more, not forgotten.
project_update() {
	local want
	want=$(tree_key)-${KERNEL_SOURCE##*/}
	copy_tree "$BUILD/srnic"
	[ "$(cat "$BUILD/done" 2>/dev/null)" != "$want" ] || return 0
	rm -f "$BUILD/done"
	step "building the project for $1" build
	echo "$want" >"$BUILD/done"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	need_root
	deps_ready
	locked cache root_ready
	locked "$(build_lock "${1:-stock}")" project_shown "${1:-stock}"
fi
