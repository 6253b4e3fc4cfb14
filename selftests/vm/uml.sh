# shellcheck shell=bash
# User-mode Linux with the RDMA stack: a kernel that is a program, at native speed. Built in the cache from the source of
# the guest root's kernel, with uml.config (and uml-debug.config for the flavour that checks locking and memory).
# Sourced; uml_ready makes it, uml_start boots it.

# shellcheck source=linux.sh
. "${BASH_SOURCE[0]%/*}/linux.sh"

uml_fragments() {
	echo "$VM/uml.config"
	[ "$1" = uml ] || echo "$VM/$1.config"
}

# The fragments as one, in which the last that names an option has set it.
uml_config() {
	cat "$@" | awk '
		match($0, /^CONFIG_[A-Z0-9_]+=/) { o = substr($0, 1, RLENGTH - 1); want[o] = $0 }
		/^# CONFIG_[A-Z0-9_]+ is not set$/ { want[$2] = $0 }
		END { for (o in want) print want[o] }'
}

# Options silently disappear when something that they depend on is missing: that is an error here.
uml_missing_options() {
	local dir=$1 line option
	while IFS= read -r line; do
		option=${line#\# }
		option=${option%%[ =]*}
		case $line in
		'#'*) ! grep -q "^$option=" "$dir/.config" ;;
		*) grep -qxF "$line" "$dir/.config" ;;
		esac || echo "$line"
	done <"$dir/lab.config"
}

build_uml() {
	local dir=$1 missing
	shift
	rm -rf "$dir" "$dir.new"
	linux_source_unpack "$dir.new"
	uml_config "$@" >"$dir.new/lab.config"
	in_root --bind "$dir.new" /run/linux "$ROOT" sh -euc '
		cd /run/linux
		make -s ARCH=um x86_64_defconfig
		scripts/kconfig/merge_config.sh -m .config lab.config >/dev/null
		make -s ARCH=um olddefconfig
	' || return
	missing=$(uml_missing_options "$dir.new")
	[ -z "$missing" ] || { echo "the kernel's configuration does not take: $missing"; return 1; }
	in_root --bind "$dir.new" /run/linux "$ROOT" sh -euc '
		cd /run/linux
		nice make -j"$(nproc)" ARCH=um all
		make -s ARCH=um INSTALL_MOD_PATH=/run/linux/installed INSTALL_MOD_STRIP=1 modules_install
	' || return
	mv "$dir.new" "$dir"
}

build_uml_once() { [ -d "$UML_SOURCE" ] || step "building User-mode Linux (some ten minutes)" build_uml "$UML_SOURCE" "$@"; }

# Sets UML_SOURCE, the built tree (the kernel is "linux" in it), UML_VERSION, and UML_MODULES, its installed modules.
uml_ready() {
	local fragments
	mapfile -t fragments < <(uml_fragments "$1")
	UML_SOURCE=$CACHE/$1-$RELEASE_KERNEL-$({ chroot "$ROOT" gcc --version; cat "${fragments[@]}"; } | key)
	if [ ! -d "$UML_SOURCE" ]; then
		locked cache linux_source_ready
		locked "$1" build_uml_once "${fragments[@]}"
	fi
	touch "$UML_SOURCE"
	UML_VERSION=$(cat "$UML_SOURCE/include/config/kernel.release")
	UML_MODULES=$UML_SOURCE/installed/lib/modules/$UML_VERSION
}

# Starts a guest like qemu_start does. The disk is written to through a copy-on-write file, the channels are serial lines
# on open files, and a process namespace of its own ends all of the kernel's processes with it (under a shell, because a
# namespace's first process cannot abort, which is how this kernel panics).
uml_start() {
	local share=()
	[ -z "$SHARE" ] || share=(--bind "$SHARE" /run/share)
	set_in_root --bind "$UML_SOURCE" /run/linux --bind "$CACHE" /run/cache --bind "$RUN" /run/vm "${share[@]}" "$ROOT" \
		unshare --pid --fork --kill-child --mount-proc sh -c '"$@"; exit' sh /run/linux/linux mem=2G umid=vm uml_dir=/run/vm \
		"ubd0=/run/vm/cow,/run/cache/${IMAGE##*/}" ubd1r=/run/vm/payload.tar "initrd=/run/cache/${INITRD##*/}" \
		con=null con0=null,fd:1 ssl=null ssl1=null,fd:3 ssl2=null,fd:4 \
		console=tty0 loglevel=6 panic=-1 oops=panic sysrq_always_enabled
	"${IN_ROOT[@]}" </dev/null >>"$RUN/console.log" 2>"$RUN/kernel.log" 3>"$RUN/output" 4>>"$RUN/status" &
	GUEST=$!
}

uml_traces() { "$VM/uml-stacks" "$RUN/vm/mconsole"; }
