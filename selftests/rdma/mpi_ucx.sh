#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# MPI over UCX's rc_verbs on devices of type srnic_ib: Open MPI and MPICH, four ranks, with all bytes checked: messages,
# collectives, one-sided and atomic operations (mpi/everything.cc), and the Python program of mpi.sh. What passes has also
# moved its bytes through the device: both take other ways in silence where they can. What fails is run on rxe, too.
#
#   Open MPI   sr0: all ranks on srnic0, through lo: its ranks must reach mpirun in their own namespace
#   MPICH      sr0: ranks 0, 1 ── srnic0 ──cable── srnic1 ── ranks 2, 3 :sr1
#
# LARGEST: the largest message. RANKS. ATOMICS: operations of each rank on one word; of 20 some come to an interface of
# UCX that is armed and not polled again (libsrnic/arming.hh). BUILT: a folder that has everything.openmpi and
# everything.mpich, built before: the compilers take minutes in an emulated guest.
cd "$(dirname "$0")" && . ./lib.sh

LARGEST=${LARGEST:-1048576}
RANKS=${RANKS:-4}
ATOMICS=${ATOMICS:-20}
PROGRAM=${BUILT:-$LOGS}/everything
LIMIT=${LIMIT:-300}
LEAST=$((LARGEST * RANKS * 2))	# bytes of the program's largest messages

# With more than one lane half of a large message goes by TCP. UCX's fences, of one-sided operations, are strong by
# default (1.18), which rc_verbs has only on mlx5: on others, rxe as srnic, they fail.
environment() { # WAYS DEVICE NETDEV
	echo "$PWD/own-net-sys env UCX_TLS=rc_verbs,$1,self UCX_NET_DEVICES=$2:1,$3 UCX_FENCE_MODE=weak" \
		"UCX_MAX_RNDV_LANES=1 UCX_MAX_EAGER_LANES=1 UCX_LOG_LEVEL=${UCX_LOG_LEVEL:-warn}"
}

# How UCX exchanges addresses: by datagrams, with rxe only by TCP. Open MPI would flush a way by TCP, too, where a window
# ends, and wait for ever if its peers have passed that point and read no more.
ways() { [ "$1" = srnic ] && echo ud_verbs || echo tcp; } # DRIVER

# The compiler of this MPI. The C++ interfaces of old releases are left out.
build() { # MPI
	[ -n "${BUILT:-}" ] || "mpicxx.$1" -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX -std=c++20 -O1 \
		-o "$PROGRAM.$1" mpi/everything.cc
}

# Open MPI takes UCX only for devices that it knows by name, mlx*, unless it is made to.
openmpi() { # DRIVER PROGRAM...
	in_ns sr0 "exec $(environment "$(ways "$1")" "${1}0" veth0) mpirun.openmpi --allow-run-as-root \
		--oversubscribe -n $RANKS --mca pml ucx --mca osc ucx --mca opal_common_ucx_devices any ${*:2}"
}

# The ranks' processes are started in their namespaces. Without NOLOCAL those of one host share memory.
mpich() { # DRIVER PROGRAM...
	cat >"$LOGS/rank" <<-END
		#!/bin/sh
		n=\$((PMI_RANK * 2 / PMI_SIZE))
		exec nsenter --net=/run/netns/sr\$n \\
			$(environment tcp "${1}\$n" "veth\$n") "\$@"
	END
	chmod +x "$LOGS/rank"
	in_ns sr0 "MPIR_CVAR_NOLOCAL=1 exec mpiexec.mpich -n $RANKS $LOGS/rank ${*:2}"
}

everything() { # MPI
	compared "$1" "$PROGRAM.$1" "$LARGEST" "$ATOMICS"
}

try() { # MPI PACKAGES
	if command -v "mpicxx.$1" >/dev/null; then
		check "$1's compiler builds the program" build "$1" &&
			check "$1, $RANKS ranks: messages, collectives, one-sided and atomic operations" \
				grown srnic0 "tx_octets + rx_octets >= $LEAST" everything "$1"
	else
		skip_one "$1" "it is not installed ($2)"
	fi
}

objects() { resources_and_streams; }

command -v mpirun.openmpi mpiexec.mpich >/dev/null ||
	skip "there is no MPI (openmpi-bin, libopenmpi-dev; mpich, libmpich-dev)"
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up || { echo "Bail out! no devices"; exit 1; }
BEFORE=$(objects)
if command -v mpirun.openmpi >/dev/null && python3 -c 'import mpi4py' 2>/dev/null; then
	check "openmpi, $RANKS ranks in Python" grown srnic0 "tx_octets >= 1000000" \
		compared openmpi python3 mpi/exchange.py
else
	skip_one "openmpi in Python" "it is not installed (openmpi-bin, python3-mpi4py)"
fi
try openmpi "openmpi-bin, libopenmpi-dev"
try mpich "mpich, libmpich-dev"
check "nothing is left of them" settled "$BEFORE"
finish
