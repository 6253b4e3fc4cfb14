# shellcheck shell=bash
# arm64 from this machine: the root whose cross compilers build for the guest's root, and how make calls them. Sourced;
# tools_ready is the entry.

# shellcheck source=package.sh
. "${BASH_SOURCE[0]%/*}/package.sh"

CROSS=aarch64-linux-gnu

# For arm64: sets TOOLS after root_ready, a trixie root with cross compilers, and indexes the modules of ROOT.
tools_ready() {
	for_arm64 || return 0
	cross_root_ready
	[ -e "$ROOT/usr/lib/modules/$RELEASE_KERNEL/modules.dep" ] ||
		in_root --bind "$ROOT" /run/base "$TOOLS" depmod -b /run/base "$RELEASE_KERNEL"
}

cross_root_ready() {
	local RELEASE=trixie ROOT GUEST_ROOT RELEASE_KERNEL
	root_ready
	package_root_ready "g++-$CROSS" libc6-dev-arm64-cross
	TOOLS=$GUEST_ROOT
}

# kernel_vars for arm64: the compilers find headers of libraries in TOOLS, and the libraries in ROOT.
cross_vars() {
	local dir
	KVER=$RELEASE_KERNEL
	KERNEL_SOURCE=/usr/src/linux-headers-$KVER
	MAKE_VARS=(KDIR="$KERNEL_SOURCE" ARCH=arm64 CROSS_COMPILE="$CROSS-")
	KERNEL_BINDS=()
	for dir in "$KERNEL_SOURCE" "${KERNEL_SOURCE%-arm64*}-common" "/usr/lib/linux-kbuild-${KVER%-arm64*}"; do
		KERNEL_BINDS+=(--bind "$ROOT$dir" "$dir")
	done
	PROGRAM_VARS=(CC="$CROSS-gcc" CXX="$CROSS-g++")
	PROGRAM_BINDS=(--bind "$ROOT/usr/lib/$CROSS" "/usr/lib/$CROSS")
}
