# shellcheck shell=bash
# The guest's payload: the installed project, further modules with an index of all modules, the selftests and the
# command. One tar file, unpacked over the disk at boot. Sourced; make_payload is the entry.

# shellcheck source=build.sh
. "${BASH_SOURCE[0]%/*}/build.sh"

# modprobe's index of all modules in payload and root, made here because it is slow under emulation. Reused while the
# modules' names and symbols do not change.
index_modules() {
	local modules=$1 of_root=$GUEST_ROOT/usr/lib/modules/$KVER cached d binds=()
	cached=$BUILD/modules.index-$({ echo "$GUEST_ROOT"; cd "$modules" && find . -name '*.ko*' -exec sha256sum {} + | sort; } | key)
	if [ ! -d "$cached" ]; then
		rm -rf "$BUILD"/modules.index-*
		if [ "$KVER" = "$RELEASE_KERNEL" ]; then
			cp "$of_root"/modules.{order,builtin,builtin.modinfo} "$modules/"
			for d in "$of_root"/*/; do
				[ -L "${d%/}" ] || [ -e "$modules/$(basename "$d")" ] ||
					binds+=(--bind "$d" "/run/base/lib/modules/$KVER/$(basename "$d")")
			done
		fi
		in_root --bind "$modules" "/run/base/lib/modules/$KVER" "${binds[@]}" "$TOOLS" depmod -b /run/base "$KVER" || return
		rm -rf "$cached.new" && mkdir "$cached.new" && cp "$modules"/modules.* "$cached.new/" && mv "$cached.new" "$cached" || return
	fi
	cp "$cached"/* "$modules/"
}

# Where the command's program is in the guest: in the selftests, a program of the guest, or a file that is copied.
guest_path() {
	local path=$1 dir=$2 full
	case $path in
	*/*) ;;
	*) echo "$path"; return ;;
	esac
	full=$(realpath -m -- "$path")
	if [ ! -e "$full" ] && [ -e "$TREE/$path" ]; then
		full=$TREE/$path
	fi
	if [[ $full = "$TREE"/selftests/* && -e $full ]]; then
		echo "/srnic/${full#"$TREE/"}"
	elif [ -e "$GUEST_ROOT$path" ] || [ ! -f "$full" ]; then
		echo "$path"
	else
		cp -L -- "$full" "$dir/srnic/.lab/${full##*/}"
		echo "/srnic/.lab/${full##*/}"
	fi
}

make_payload() {
	local out=$1 dir=$1.d modules program
	shift
	modules=$dir/usr/lib/modules/$KVER
	mkdir -p "$modules" "$dir/srnic/.lab"
	[ -z "${KERNEL_MODULES:-}" ] || cp -a "$KERNEL_MODULES/." "$modules/"
	[ -n "${PACKAGED:-}" ] || cp -a "$STAGE/." "$dir/"
	[ -z "${SIW:-}" ] || install -D -m 644 "$SIW" "$modules/updates/siw.ko"
	rm -f "$modules"/{build,source}
	index_modules "$modules" || return
	cp -a "$SELFTESTS" "$dir/srnic/selftests"
	program=$(guest_path "$1" "$dir")
	shift
	printf '%s\0' "$program" "$@" >"$dir/srnic/.lab/command"
	printf '%s\n' "${SETTINGS[@]}" >"$dir/srnic/.lab/settings"
	tar -C "$dir" --owner=0 --group=0 -cf "$out" .
	rm -rf "$dir"
}
