# shellcheck shell=bash
# siw, the kernel's own software iWARP, for tests of interoperability and speed: built out of tree from the kernel's
# source for Debian's kernel, which lacks it, and for the variants. `siw-crc` requires CRCs; `siw-params` has siw's
# compile-time constants as module parameters, in /sys/module/siw/parameters. Sourced; siw_ready is the entry.

# shellcheck source=linux.sh
. "${BASH_SOURCE[0]%/*}/linux.sh"

# Fixes two bugs of siw that show on slow machines. Its sends call TCP's callbacks with softirqs on, and these take a lock
# that softirqs take as well: lockdep reports that and then disables itself. And data that an initiator sends before siw
# has changed its callbacks, after its MPA Reply, is not read until more arrives, perhaps never.
mend_siw() {
	sed -i -e 's/\bread_\(un\|\)lock(&sk->sk_callback_lock)/read_\1lock_bh(\&sk->sk_callback_lock)/' \
		-e '/^\t\tsiw_sk_assign_rtr_upcalls(cep);$/ {
			a\\t\tlock_sock(cep->sock->sk);
			a\\t\tif (!skb_queue_empty(&cep->sock->sk->sk_receive_queue) &&
			a\\t\t    cep->sock->sk->sk_data_ready == siw_rtr_data_ready)
			a\\t\t\tsiw_rtr_data_ready(cep->sock->sk);
			a\\t\trelease_sock(cep->sock->sk);
		}' "$1"/*.c
	grep -q 'release_sock(cep->sock->sk)' "$1/siw_cm.c" && ! grep -q 'read_lock(&sk->sk_callback_lock)' "$1"/*.c
}

# Turns constants into parameters of the same names and default values.
open_siw() { # DIRECTORY
	local flags='try_gso\|mpa_crc_required\|mpa_crc_strict\|peer_to_peer' name
	sed -i "s/^\(extern \)\?const bool \($flags\)\b/\1bool \2/" "$1/siw_main.c" "$1/siw.h"
	for name in try_gso mpa_crc_required mpa_crc_strict peer_to_peer; do
		grep -q "^bool $name\b" "$1/siw_main.c" && grep -q "^extern bool $name;" "$1/siw.h" || return
		echo "module_param($name, bool, 0644);"
	done >>"$1/siw_main.c"
	echo 'module_param(mpa_version, byte, 0644);' >>"$1/siw_main.c"
}

build_siw() { # DIRECTORY KIND
	local dir=$1 source=$1.new/drivers/infiniband/sw/siw
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	linux_source_unpack "$dir.new" drivers/infiniband/sw/siw
	mend_siw "$source" || return
	case $2 in
	siw-crc) sed -i 's/^\(const bool mpa_crc_required\);/\1 = true;/' "$source/siw_main.c" ;;
	siw-params) open_siw "$source" || return ;;
	esac
	in_root "${KERNEL_BINDS[@]}" --bind "$source" /run/siw "$ROOT" \
		make "${MAKE_VARS[@]/#KDIR=/-C}" M=/run/siw CONFIG_RDMA_SIW=m modules || return
	mv "$dir.new" "$dir"
}

build_siw_once() { # DIRECTORY KIND
	[ -d "$1" ] || step "building $2 for $KVER" build_siw "$1" "$2"
}

# Sets SIW, the module of this kind (siw, siw-crc or siw-params) for the kernel of kernel_vars.
siw_ready() {
	local dir
	dir=$CACHE/$1-$KVER-$({ echo "$KERNEL_SOURCE"; declare -f build_siw mend_siw open_siw; } | key)
	if [ ! -d "$dir" ]; then
		locked cache linux_source_ready
		locked siw build_siw_once "$dir" "$1"
	fi
	touch "$dir"
	SIW=$dir/drivers/infiniband/sw/siw/siw.ko
}
