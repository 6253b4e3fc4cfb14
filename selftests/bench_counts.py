# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""How many instructions an emulated guest executes for an operation: all of them, and those of srnic's own code.

The emulator counts while a run measures (vm/instructions.cc), and bench.sh keeps what it has counted after each run, in a
file of its own. A count is of all runs so far.
"""

import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
NAME = "instructions_by_stage"
LOADER = importlib.machinery.SourceFileLoader(NAME, str(pathlib.Path(__file__).resolve().parent / "profile"))
profile = importlib.util.module_from_spec(importlib.util.spec_from_loader(NAME, LOADER))
LOADER.exec_module(profile)

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
        self.all = self.own = 0

    def take(self, name, operations):
        """Of the latest run, for an operation: all, and those of srnic's own."""
        self.symbols = self.symbols or profile.Symbols(self.share / "kallsyms")
        file = self.share / name
        counted, *_ = profile.count_blocks(file.read_text(), self.symbols, NoPrograms())
        file.unlink()
        every = sum(counted.values())
        own = sum(count for stage, count in profile.stages_of(counted) if stage in OWN_STAGES)
        taken = round((every - self.all) / operations), round((own - self.own) / operations)
        self.all, self.own = every, own
        return taken
