# shellcheck shell=bash
# The kernel's own software iWARP, siw, as a peer to talk to and to race: built out of tree from the kernel's source for
# a Debian kernel, which does not have it. User-mode Linux has it already. What siw lets nobody set at run time is set in
# the source: `siw-crc` is siw that requires CRCs. Sourced; siw_ready is the entry.

# shellcheck source=linux.sh
. "${BASH_SOURCE[0]%/*}/linux.sh"

build_siw() { # DIRECTORY KIND
	local dir=$1
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	linux_source_unpack "$dir.new" drivers/infiniband/sw/siw
	[ "$2" != siw-crc ] ||
		sed -i 's/^\(const bool mpa_crc_required\);/\1 = true;/' "$dir.new/drivers/infiniband/sw/siw/siw_main.c"
	in_root --bind "$dir.new/drivers/infiniband/sw/siw" /run/siw "$ROOT" \
		make -C "/lib/modules/$RELEASE_KERNEL/build" M=/run/siw CONFIG_RDMA_SIW=m modules || return
	mv "$dir.new" "$dir"
}

# Sets SIW, the module's file of this kind: siw or siw-crc.
siw_ready() {
	local dir
	dir=$CACHE/$1-$RELEASE_KERNEL-$(declare -f build_siw | key)
	if [ ! -d "$dir" ]; then
		linux_source_ready
		step "building $1 for $RELEASE_KERNEL" build_siw "$dir" "$1"
	fi
	touch "$dir"
	SIW=$dir/drivers/infiniband/sw/siw/siw.ko
}
