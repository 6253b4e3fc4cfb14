#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Writes and reads a disk in requests of many buffers, each of a few blocks that begin and end anywhere in a page, and
# compares. Argument: the disk.
import mmap
import os
import random
import sys

BLOCK = 512
PAGE = 4096
PIECES = 60
ROUNDS = 40


def pieces(memory, lengths):
    """Buffers of these lengths in memory, none of which touches the next one."""
    at = 0
    for length in lengths:
        at += random.randrange(1, 2 * PAGE // BLOCK) * BLOCK
        yield memoryview(memory)[at:at + length]
        at += length


def main(disk):
    random.seed(1)
    fd = os.open(disk, os.O_RDWR | os.O_DIRECT)
    memory = mmap.mmap(-1, PIECES * 8 * PAGE)
    for number in range(ROUNDS):
        lengths = [random.randrange(1, 17) * BLOCK for _ in range(random.randrange(1, PIECES))]
        total, where = sum(lengths), random.randrange(0, 8192) * BLOCK
        data = random.randbytes(total)
        out, at = list(pieces(memory, lengths)), 0
        for buffer in out:
            buffer[:], at = data[at:at + len(buffer)], at + len(buffer)
        assert os.pwritev(fd, out, where) == total, f'round {number}: a short write'
        random.shuffle(lengths)
        back = list(pieces(memory, lengths))
        for buffer in back:
            buffer[:] = bytes(len(buffer))
        assert os.preadv(fd, back, where) == total, f'round {number}: a short read'
        assert b''.join(back) == data, f'round {number}: other bytes came back'
    print(ROUNDS, 'requests')


main(*sys.argv[1:])
