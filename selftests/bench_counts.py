# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How many instructions an emulated guest executes for an operation: all of them, without copies, and srnic's own.

The emulator counts while a run measures (vm/instructions.cc), and bench/counts.sh keeps what it has counted after each
run in a file of its own. A count is of all runs so far.
"""

import collections
import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
NAME = "instructions_by_stage"
LOADER = importlib.machinery.SourceFileLoader(NAME, str(pathlib.Path(__file__).resolve().parent / "profile"))
profile = importlib.util.module_from_spec(importlib.util.spec_from_loader(NAME, LOADER))
LOADER.exec_module(profile)

ALL, UNCOPIED, OWN = "-instructions", "-instructions-but-copies", "-own-instructions"

# The module's, without copying and CRCs.
OWN_STAGES = {"receive half", "transmit engine", "queues", "the rest of srnic"}


class NoPrograms:
    """User space, function by function, is no matter here."""

    def name(self, address):
        return "program", False


class Counts:
    """Of one guest, which shares a directory with this program."""

    def __init__(self, share):
        self.share = pathlib.Path(share)
        self.symbols = None
        self.before = collections.Counter()

    def since_before(self, text):
        """Of each block, how often it was executed in the latest run, as the emulator writes it."""
        now = collections.Counter()
        for line in text.splitlines():
            address, instructions, *times = line.split()
            now[address, instructions] += sum(map(int, times))
        latest, self.before = now - self.before, now
        return "\n".join(f"{address} {instructions} {times} 0" for (address, instructions), times in latest.items())

    def take(self, name, operations):
        """Of the latest run, for an operation: {what a case's name gets behind it: instructions}."""
        symbols, file = self.share / f"{name}.symbols", self.share / name
        if symbols.exists():
            self.symbols = profile.Symbols(symbols)
            symbols.unlink()
        counted, *_ = profile.count_blocks(self.since_before(file.read_text()), self.symbols, NoPrograms())
        file.unlink()
        stages = dict(profile.stages_of(counted))
        whole = sum(stages.values())
        taken = {ALL: whole, UNCOPIED: whole - stages.get("copying", 0),
                 OWN: sum(stages.get(stage, 0) for stage in OWN_STAGES)}
        return {end: round(instructions / operations) for end, instructions in taken.items()}
