# shellcheck shell=bash
# The kernel's own software iWARP, siw, as a peer to talk to and to race: built out of tree from the kernel's source for
# a Debian kernel, which does not have it. User-mode Linux has it already. What siw lets nobody set at run time is set in
# the source: `siw-crc` is siw that requires CRCs. Sourced; siw_ready is the entry.

# shellcheck source=linux.sh
. "${BASH_SOURCE[0]%/*}/linux.sh"

# Two faults of siw that show on a slow machine, mended in its source. It calls TCP's callbacks from its own sends with
# softirqs on and takes a lock there that it also takes in a softirq: lockdep tells of that once, and of nothing else ever
# after. And what an initiator sends before siw, after its MPA Reply, has changed its callbacks is not looked at until more
# comes, which may be never.
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

build_siw() { # DIRECTORY KIND
	local dir=$1
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	linux_source_unpack "$dir.new" drivers/infiniband/sw/siw
	mend_siw "$dir.new/drivers/infiniband/sw/siw" || return
	[ "$2" != siw-crc ] ||
		sed -i 's/^\(const bool mpa_crc_required\);/\1 = true;/' "$dir.new/drivers/infiniband/sw/siw/siw_main.c"
	in_root --bind "$dir.new/drivers/infiniband/sw/siw" /run/siw "$ROOT" \
		make -C "/lib/modules/$RELEASE_KERNEL/build" M=/run/siw CONFIG_RDMA_SIW=m modules || return
	mv "$dir.new" "$dir"
}

# Sets SIW, the module's file of this kind: siw or siw-crc.
siw_ready() {
	local dir
	dir=$CACHE/$1-$RELEASE_KERNEL-$(declare -f build_siw mend_siw | key)
	if [ ! -d "$dir" ]; then
		linux_source_ready
		step "building $1 for $RELEASE_KERNEL" build_siw "$dir" "$1"
	fi
	touch "$dir"
	SIW=$dir/drivers/infiniband/sw/siw/siw.ko
}
