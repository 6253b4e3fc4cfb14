# shellcheck shell=bash
# The guest's disk, made from a root directory, and the small initrd that mounts it. Both are read-only afterwards: each
# guest writes to its own temporary layer. Sourced.

# shellcheck source=root.sh
. "${BASH_SOURCE[0]%/*}/root.sh"

FREE_MB=2048		# room for the guest to write in

make_disk() {
	local image=$1 root=$2 mb
	mb=$(du -s --apparent-size -BM "$root" | cut -dM -f1)
	truncate -s $((mb * 12 / 10 + FREE_MB))M "$image.new"
	/sbin/mke2fs -q -F -t ext4 -O ^has_journal -E lazy_itable_init=1,root_owner=0:0 -m 0 -i 16384 -d "$root" "$image.new" || return
	mv "$image.new" "$image"
}

# Sets IMAGE, the disk of the root $1.
disk_ready() {
	IMAGE=$CACHE/disk-${1##*/}-$(declare -f make_disk | key).ext4
	[ -e "$IMAGE" ] || step "making the guest's disk" make_disk "$IMAGE" "$1"
	touch "$IMAGE"
}

# The modules that the initrd needs for the disk and a shared directory, in loading order, as paths in the root.
initrd_modules() {
	local m
	for m in virtio_pci virtio_console virtio_blk crc32c_generic ext4 9pnet_virtio 9p; do
		# (later kernels have no module of this name: ext4 calls the function)
		[ "$m" != crc32c_generic ] || [ -n "$(find "$ROOT/lib/modules/" -name "$m.ko*")" ] || continue
		in_root --bind "$ROOT" /run/base "$TOOLS" \
			modprobe --dirname /run/base --set-version "$RELEASE_KERNEL" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { sub("^/run/base", "", $2); print $2 }'
}

make_initrd() {
	local out=$1 dir m n=10
	shift
	dir=$(mktemp -d)
	mkdir -p "$dir"/{bin,dev,proc,root,modules}
	cp "$ROOT/usr/bin/busybox" "$dir/bin/"
	cp "$VM/initrd-init" "$dir/init"
	for m; do
		case $m in
		*.xz) xz -dc "$ROOT$m" ;;
		*) cat "$ROOT$m" ;;
		esac >"$dir/modules/$n-$(basename "$m" .xz)"
		n=$((n + 1))
	done
	(cd "$dir" && find . | cpio --quiet -o -H newc -R 0:0) >"$out.new"
	rm -rf "$dir"
	mv "$out.new" "$out"
}

# Sets INITRD. Argument: "modules" if the kernel's drivers are modules, "none" if they are built in.
initrd_ready() {
	local modules=()
	INITRD=$CACHE/initrd-$1-$({ root_key; cat "$VM/initrd-init"; declare -f initrd_modules make_initrd; } | key)
	[ ! -e "$INITRD" ] || return 0
	[ "$1" = none ] || mapfile -t modules < <(initrd_modules)
	make_initrd "$INITRD" "${modules[@]}"
}
