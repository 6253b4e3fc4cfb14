# shellcheck shell=bash
# Builds the lab's own kernels in the cache, from the source that linux.sh fetches and configuration fragments.
# Sourced; kernel_ready is the entry.

# shellcheck source=siw.sh
. "${BASH_SOURCE[0]%/*}/siw.sh"

# Merges the fragments; the last one that names an option sets it.
kernel_config() {
	cat "$@" | awk '
		match($0, /^CONFIG_[A-Z0-9_]+=/) { o = substr($0, 1, RLENGTH - 1); want[o] = $0 }
		/^# CONFIG_[A-Z0-9_]+ is not set$/ { want[$2] = $0 }
		END { for (o in want) print want[o] }'
}

# kconfig silently drops options with unmet dependencies: that is an error here.
kernel_missing_options() {
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

# User-mode Linux 6.12 keeps a process's floating point state in an area of fixed size, 2696 bytes. PTRACE_SETREGSET needs
# the processor's full state: 11008 bytes with AMX. With less, init dies at boot ("ptrace set fp regs failed"); more
# does no harm. The area lies on the kernel's stack, once for each nested signal: uml.config enlarges that, too.
mend_uml() {
	sed -i 's/\bHOST_FP_SIZE, 2696\b/HOST_FP_SIZE, 12288/' "$1/user-offsets.c" &&
		grep -q 'HOST_FP_SIZE, 12288' "$1/user-offsets.c"
}

# KASAN checks srnic and what it is among. The rest of the kernel builds, and runs, quicker without.
mend_kasan() {
	# shellcheck disable=SC2016 # make's
	sed -i -e '/^include \$(kbuild-file)$/i lab-checked := net net/% lib lib/% drivers/net drivers/infiniband/%' \
		-e '/^include \$(kbuild-file)$/i KASAN_SANITIZE := $(if $(KBUILD_EXTMOD)$(filter $(lab-checked),$(obj)),,n)' \
		"$1/scripts/Makefile.build" &&
		grep -q '^KASAN_SANITIZE' "$1/scripts/Makefile.build"
}

checks_itself() { [[ $* = */checks.config* ]]; } # FRAGMENT...

# All that decides what a kernel does.
kernel_recipe() { # FRAGMENT...
	declare -f mend_uml
	! checks_itself "$@" || declare -f mend_kasan
	cat "$@"
}

build_kernel() { # DIRECTORY ARCH "TARGET..." FRAGMENT...
	local dir=$1 arch=$2 targets=$3 missing
	shift 3
	rm -rf "$dir" "$dir.new"
	linux_source_unpack "$dir.new"
	mend_siw "$dir.new/drivers/infiniband/sw/siw" || return
	[ "$arch $LINUX" != "um 6.12" ] || mend_uml "$dir.new/arch/x86/um" || return
	! checks_itself "$@" || mend_kasan "$dir.new" || return
	kernel_config "$@" >"$dir.new/lab.config"
	in_root --bind "$dir.new" /run/linux "$ROOT" sh -euc '
		cd /run/linux
		make -s ARCH="$1" KCONFIG_ALLCONFIG=lab.config allnoconfig
		scripts/kconfig/merge_config.sh -m .config lab.config >/dev/null
		make -s ARCH="$1" olddefconfig
	' sh "$arch" || return
	missing=$(kernel_missing_options "$dir.new")
	[ -z "$missing" ] || { echo "the kernel's configuration does not take: $missing"; return 1; }
	in_root --bind "$dir.new" /run/linux "$ROOT" sh -euc '
		cd /run/linux
		make -j"$(nproc)" ARCH="$1" KCFLAGS=-w $2	# its warnings are for its maintainers
		make -s ARCH="$1" INSTALL_MOD_PATH=/run/linux/installed INSTALL_MOD_STRIP=1 modules_install
	' sh "$arch" "$targets" || return
	prune_kernel "$dir.new"
	mv "$dir.new" "$dir"
}

# Removes what module builds do not need: the kernel's objects, and the bulk of the source, which is for other machines.
prune_kernel() {
	local dir
	find "$1" -path "$1/scripts" -prune -o -path "$1/tools" -prune -o -path "$1/installed" -prune -o \
		-type f \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '.tmp_vmlinux*' \) -exec rm -f {} +
	for dir in "$1"/arch/*/; do
		[[ $dir = */x86/ || $dir = */um/ ]] || rm -rf "$dir"
	done
	rm -rf "$1"/Documentation "$1"/sound "$1"/drivers/{gpu,media,staging,net/ethernet,net/wireless}
}

build_kernel_once() { # NAME DIRECTORY ...
	[ -d "$2" ] || step "building the $1 kernel (ten minutes and more)" build_kernel "${@:2}"
}

# For the kernel called $1, sets KERNEL_SOURCE, the built tree, KVER, its version, and KERNEL_MODULES, its installed
# modules. Its configuration is ARCH's allnoconfig, changed by the fragments, which are files of this folder.
kernel_ready() { # NAME ARCH "TARGET..." FRAGMENT...
	local fragments=("${@:4}")
	fragments=("${fragments[@]/#/$VM/}")
	KERNEL_SOURCE=$CACHE/$1-$(linux_name)-$({ chroot "$ROOT" gcc --version; kernel_recipe "${fragments[@]}"; } | key)
	if [ ! -d "$KERNEL_SOURCE" ]; then
		locked cache linux_source_ready
		locked "$1" build_kernel_once "$1" "$KERNEL_SOURCE" "$2" "$3" "${fragments[@]}"
	fi
	touch "$KERNEL_SOURCE"
	KVER=$(cat "$KERNEL_SOURCE/include/config/kernel.release")
	KERNEL_MODULES=$KERNEL_SOURCE/installed/lib/modules/$KVER
}
