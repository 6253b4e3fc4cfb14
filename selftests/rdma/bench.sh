#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Measures srnic, siw, rxe and TCP in turn, in one guest. Prints a line for each run: environment, case, peer, nanoseconds
# for an operation. selftests/bench makes tables of them.
#
# Cases whose names have 2-procs or credits have a process for each end; in the others one process is both ends. Runs of
# two processes get a second line, CASE-switches: how often the guest switched between threads, in thousandths of a switch
# for an operation. Polled ends of two processes have a processor each.
#
# Environments: lo, both ends on one interface of one host; veth, between namespaces with an MTU of 1500. Each driver has
# an interface or a cable of its own, and srnic and siw share one; TCP has srnic's. rxe works in the first namespace only,
# where it is connected by hand over link-local addresses, and bypasses IP there; it always has a CRC, siw by default
# none. srnic-ib is type srnic_ib, on srnic's interfaces and connected by hand. wire, by itself: srnic and TCP as on veth,
# but on the interfaces of vm/run --wire, with a processor for each end. The kernel's consumers follow, each an environment
# of its own: bench/nfs.sh, nvme.sh, iser.sh; and programs of others: bench/programs.sh.
#
# ROUNDS: of all cases. PEERS, ENVIRONMENTS, CONSUMERS: which. ONLY: of the cases' names (bench/wanted.sh). SCALE: one of so
# many operations. POLLED: 1 if polling is fair. READY: a file that gets the kernel's symbols when all devices are there.
# COUNTS: as of bench/counts.sh. PINNED: same, all but the consumers is kept on the first processor; other, the end that
# responds on the second.
export NO_TAP=1
cd "$(dirname "$0")" && . ./lib.sh && . bench/wanted.sh && . bench/counts.sh

RATE=$PWD/bench/build/rate
ROUNDS=${ROUNDS:-5}
ALL="srnic srnic-crc srnic-large srnic-rdmatcp srnic-shortcut srnic-ib srnic-ib-shortcut siw srnic-to-siw siw-to-srnic rxe tcp tcp-zerocopy"
PEERS=${PEERS:-$ALL}
ENVIRONMENTS=${ENVIRONMENTS:-lo veth}
CONSUMERS=${CONSUMERS-nfs nvme iser programs}
SCALE=${SCALE:-1}
POLLED=${POLLED:-0}
PINNED=${PINNED:-}

# NAME OPERATION COUNT OPTION... of rate.
cases() {
	cat <<-'END'
		write-1M write 300 depth=4 size=1048576
		write-64K write 3000 depth=16 size=65536
		write-64K-list write 3000 depth=16 size=65536 list=16
		write-4K write 20000 depth=64 size=4096
		write-64 write 40000 depth=64 size=64
		write-64-list write 100000 depth=64 size=64 list=16
		send-1M send 300 depth=4 size=1048576
		send-64K send 3000 depth=16 size=65536
		send-4K send 20000 depth=64 size=4096
		send-64 send 40000 depth=64 size=64
		send-64-list send 100000 depth=64 size=64 list=16
		send-64-credits send-credits 40000 depth=64 size=64
		send-64-credits-batch send-credits 40000 depth=64 size=64 batch=1
		send-64K-credits send-credits 1500 depth=16 size=65536
		send-64-1-QP send 102400 depth=16 size=64
		send-64-4-QPs send 102400 pairs=4 depth=64 size=64
		send-64-16-QPs send 102400 pairs=16 depth=16 size=64
		send-64-256-QPs send 102400 pairs=256 depth=16 size=64
		send-64-16-QPs-together send 102400 pairs=16 depth=16 size=64 list=0 together=1
		send-64-256-QPs-together send 102400 pairs=256 depth=16 size=64 list=0 together=1
		write-4K-16-QPs write 32000 pairs=16 depth=16 size=4096
		write-4K-16-QPs-shared write 32000 pairs=16 depth=16 size=4096 regions=4
		read-1M read 300 depth=4 size=1048576
		read-64K read 3000 depth=16 size=65536
		read-4K read 10000 depth=16 size=4096
		read-64 read 20000 depth=64 size=64
		write-imm-64 write-imm 20000 depth=16 size=64 list=0
		write-imm-64K write-imm 2000 depth=16 size=65536 list=0
		fetch-add-1 fetch-add 10000 depth=1
		fetch-add-16 fetch-add 40000 depth=16 list=0
		ping-pong-64 ping-pong 20000 size=64
		ping-pong-64-polled ping-pong 20000 size=64 poll=1
		write-1M-2-procs write 300 depth=4 size=1048576 processes=2
		write-64K-2-procs write 1500 depth=16 size=65536 processes=2
		write-64-2-procs write 20000 depth=64 size=64 processes=2
		send-64K-2-procs send 1500 depth=16 size=65536 processes=2
		send-64-2-procs send 20000 depth=64 size=64 processes=2
		send-64-2-procs-polled send 20000 depth=64 size=64 processes=2 poll=1 apart=1
		send-64-list-2-procs send 48000 depth=64 size=64 list=16 processes=2
		read-64K-2-procs read 1500 depth=16 size=65536 processes=2
		read-4K-2-procs read 5000 depth=16 size=4096 processes=2
		read-4K-2-procs-polled read 5000 depth=16 size=4096 processes=2 poll=1 apart=1
		ping-pong-64-2-procs ping-pong 10000 size=64 processes=2
		ping-pong-64-2-procs-polled ping-pong 10000 size=64 processes=2 poll=1 apart=1
		connect connect 200
	END
}

# Has this peer this operation? None polls unless each end has a processor: a polling end keeps one, and user-mode Linux has
# no other; an emulator that counts instructions gives its processors turns, so that each poll costs the other end's turn.
has() { # PEER NAME
	[[ $2 != *-polled || $POLLED = 1 ]] || return
	case $1:$2 in
	*siw*:write-imm* | *siw*:fetch-add* | *-to-*:*connect | *-to-*:*QPs* | srnic-rdmatcp:fetch-add*) return 1 ;;
	rxe:connect | rxe:*QPs* | srnic-ib*:connect) return 1 ;;
	*-crc:*-64K-2-procs | *-large:*-64K-2-procs | *-to-*:*-64K-2-procs) ;;
	*-crc:*-2-procs* | *-large:*-2-procs* | *-rdmatcp:*-2-procs* | *-to-*:*-2-procs*) return 1 ;;	# to save time
	siw:*-16-QPs* | siw:*-256-QPs*) return 1 ;;	# 55 CQs at the most
	tcp*:*list | tcp*:write-imm* | tcp*:*QPs* | tcp*:*-polled) return 1 ;;
	tcp:write* | tcp:ping-pong* | tcp:connect | tcp-zerocopy:write-64K | tcp-zerocopy:write-1M) ;;
	tcp*) return 1 ;;
	esac
}

built_or_skip "$RATE"

# On the interfaces of devices_up and host_device_up.
ib_up() {
	ns0 rdma link add ib0 type srnic_ib netdev veth0 && ns1 rdma link add ib1 type srnic_ib netdev veth1 &&
		ns0 rdma link add ib2 type srnic_ib netdev dummy0
}

siw_up() {
	modprobe siw && another_cable 2 10.97.0 && ns0 rdma link add siw0 type siw netdev veth2 &&
		ns1 rdma link add siw1 type siw netdev veth3 && ip -n sr0 link add dummy1 type dummy &&
		ip -n sr0 addr add 10.96.0.1/24 dev dummy1 && ip -n sr0 link set dummy1 up &&
		ns0 rdma link add siw2 type siw netdev dummy1
}

mixed_up() {
	another_cable 4 10.95.0 && ns0 rdma link add srnic3 type srnic netdev veth4 &&
		ns1 rdma link add siw3 type siw netdev veth5
}

rxe_cable_up() {
	modprobe rdma_rxe && ip link add rxe_a mtu 1500 type veth peer name rxe_b mtu 1500 && ip link set rxe_a up &&
		ip link set rxe_b up && rdma link add rxe_a type rxe netdev rxe_a &&
		rdma link add rxe_b type rxe netdev rxe_b && sleep 2
}

# Gives each end of the wire a processor for its interrupts.
wire_up() {
	local device irq n=0
	for device in /sys/bus/pci/drivers/e1000e/0*; do
		for irq in "$device"/msi_irqs/*; do
			echo $n >/proc/irq/"${irq##*/}"/smp_affinity_list || return
		done
		n=$((n + 1))
	done
}

# The options of rate that say which ends these are; nothing where there are none.
ends() { # ENVIRONMENT PEER
	case $1:$2 in
	veth:srnic-to-siw) echo cm sr0:10.95.0.1 sr1:10.95.0.2 && return ;;
	veth:siw-to-srnic) echo cm sr1:10.95.0.2 sr0:10.95.0.1 && return ;;
	*-to-* | veth:srnic*-shortcut | wire:srnic*-shortcut) return ;;
	esac
	case $1:$2 in
	lo:srnic-ib*) echo hand ib2 ib2 && return ;;
	*:srnic-ib*) echo hand ib0 ib1 && return ;;
	esac
	case $1:${2%%-*} in
	lo:srnic) echo cm sr0:$HOST0 sr0:$HOST0 ;;
	lo:siw) echo cm sr0:10.96.0.1 sr0:10.96.0.1 ;;
	lo:tcp) echo tcp sr0:$HOST0 sr0:$HOST0 ;;
	veth:srnic | wire:srnic) echo cm sr0:$IP0 sr1:$IP1 ;;
	veth:siw) echo cm sr0:10.97.0.1 sr1:10.97.0.2 ;;
	veth:tcp | wire:tcp) echo tcp sr0:$IP0 sr1:$IP1 ;;
	veth:rxe) echo hand rxe_a rxe_b ;;
	esac
}

# How srnic is to talk: without CRCs, and as the part of the peer's name behind the hyphen says.
talk() { # PEER
	local n crc=0 large=0 shortcut=0 framing=mpa
	case $1 in
	srnic-crc) crc=1 ;;
	srnic-large) large=1 ;;
	*-shortcut) shortcut=1 ;;
	srnic-rdmatcp) framing=rdmatcp ;;
	esac
	for n in 0 1 2 3; do
		echo $crc >/sys/class/infiniband/srnic$n/mpa_crc
		echo $large >/sys/class/infiniband/srnic$n/mpa_large_fpdus
		echo $shortcut >/sys/class/infiniband/srnic$n/local_shortcut
		echo $framing >/sys/class/infiniband/srnic$n/framing
	done
	for n in 0 1 2; do
		echo $shortcut >/sys/class/infiniband/ib$n/local_shortcut
	done
}

one_run() { # ENVIRONMENT CASE PEER OPERATION COUNT OPTION...
	local where said count=$(($5 / SCALE)) on=()
	where=$(ends "$1" "$3")
	[ -n "$where" ] || return
	talk "$3"
	[ "$3" != tcp-zerocopy ] || set -- "$@" zerocopy=1
	[[ $1 != wire && $PINNED != other ]] || set -- "$@" apart=1
	[ "$PINNED" != same ] || on=(taskset -c 0)
	# shellcheck disable=SC2086
	said=$(timeout 300 "${on[@]}" "$RATE" $where "$4" count=$count "${@:6}") || said=failed
	echo "$1 $2 $3 ${said% *}"
	[[ $said != *' '* ]] || echo "$1 $2-switches $3 ${said#* }"
	[ "$said" = failed ] || counted "$1" "$2" "$3" "$count"
}

round() {
	local environment name operation peer
	while read -r name operation; do
		wanted "$name" || continue
		for environment in $ENVIRONMENTS; do
			for peer in $PEERS; do
				has "$peer" "$name" || continue
				# shellcheck disable=SC2086
				one_run "$environment" "$name" "$peer" $operation </dev/null
			done
		done
	done < <(cases)
}

ulimit -n 16384
[ "$ENVIRONMENTS" != wire ] || CABLE=wire
hosts_up && devices_up && host_device_up srnic && ib_up && siw_up && mixed_up && rxe_cable_up ||
	{ echo "Bail out! no devices"; exit 1; }
[ "$ENVIRONMENTS" != wire ] || wire_up || { echo "Bail out! no wire"; exit 1; }
# The whole file at once: a reader that waits for it finds all of it.
[ -z "${READY:-}" ] || { cat /proc/kallsyms >"$READY.new" && mv "$READY.new" "$READY"; }
keep_symbols
for ((run = 0; run < ROUNDS; run++)); do
	round
done
everything_down
for consumer in $CONSUMERS; do
	ROUNDS=$ROUNDS PEERS=$PEERS ONLY=$ONLY SCALE=$SCALE bench/$consumer.sh || [ $? = 4 ] || exit
done
