# shellcheck shell=bash
# QEMU from Debian trixie, for the guests of all releases, unpacked in the cache and not installed. Before version 8.1 an emulated
# processor may keep a stale translation of code that another one has changed; a kernel that patches itself then dies of
# a breakpoint already removed ("Oops: int3"). Sourced; emulator_ready is the entry.

# shellcheck source=root.sh
. "${BASH_SOURCE[0]%/*}/root.sh"

unpack_emulator() { # DIRECTORY PACKAGE
	local dir=$1 uri
	uri=$(mirror) || exit
	rm -rf "$dir.new"
	mmdebstrap --variant=extract --include="$2" "$RELEASE" "$dir.new" \
		"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $RELEASE main" &&
		mv "$dir.new" "$dir"
}

# Sets EMULATOR, the words that call QEMU, for the processors of this release, with its own libraries and firmware.
emulator_ready() {
	local dir package=qemu-system-x86 program=qemu-system-x86_64
	! for_arm64 || package=qemu-system-arm program=qemu-system-aarch64
	local RELEASE=trixie
	dir=$CACHE/qemu-$({ echo "$RELEASE $package"; declare -f unpack_emulator; } | key)
	[ -d "$dir" ] || step "fetching $package of Debian $RELEASE" unpack_emulator "$dir" "$package"
	touch "$dir"
	EMULATOR=("$dir/usr/lib64/ld-linux-x86-64.so.2" --library-path "$dir/usr/lib/x86_64-linux-gnu"
		"$dir/usr/bin/$program" -L "$dir/usr/share/qemu" -L "$dir/usr/share/seabios")
}
