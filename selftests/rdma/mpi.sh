#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# MPI: Open MPI over libfabric's reliable datagrams over verbs, with a Python program.
#
#   sr0: rank 0, rank 1, ... ── srnic2 on dummy0, 10.98.0.1: all ranks on one host, but through the device
#
# FI_MR_CACHE_MAX_COUNT=0: libfabric would keep registrations of memory that the program has returned to the kernel, and
# find them when other pages are mapped there, as Python's large objects are (Open MPI 5.0 and libfabric 2.1; siw and
# srnic alike).
cd "$(dirname "$0")" && . ./lib.sh

runs() { # RANKS
	in_ns sr0 "mpirun --allow-run-as-root --oversubscribe -n $1 --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include 'verbs;ofi_rxm' -x FI_VERBS_IFACE=dummy0 -x FI_MR_CACHE_MAX_COUNT=0 \
		python3 mpi/exchange.py"
}

if ! command -v mpirun >/dev/null || ! python3 -c 'import mpi4py' 2>/dev/null; then
	skip "Open MPI or its Python module is not installed (openmpi-bin, python3-mpi4py)"
fi
hosts_up && host_device_up srnic || { echo "Bail out! no devices"; exit 1; }
check "two ranks exchange messages" grows srnic2 tx_octets 1000001 runs 2
check "three ranks" grows srnic2 tx_octets 1000001 runs 3
finish
