#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Each rank sends to its neighbour and receives from the other one, with all sizes; then all add up their numbers."""

import hashlib

from mpi4py import MPI

SIZES = [0, 1, 4096, 16385, 65536, 1 << 20]
ROUNDS = 3


def pattern(rank, size, turn):
    seed = hashlib.sha256(f"{rank} {size} {turn}".encode()).digest()
    return bytearray((seed * (size // len(seed) + 1))[:size])


def main():
    world = MPI.COMM_WORLD
    left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
    for size in SIZES:
        for turn in range(ROUNDS):
            received = bytearray(size)
            world.Sendrecv([pattern(world.rank, size, turn), MPI.BYTE], right, turn, [received, MPI.BYTE], left, turn)
            assert received == pattern(left, size, turn), f"rank {world.rank}: wrong bytes, size {size}"
    assert world.allreduce(world.rank + 1) == world.size * (world.size + 1) // 2
    if world.rank == 0:
        print(f"{world.size} ranks, {ROUNDS} messages of each of {len(SIZES)} sizes")


main()
