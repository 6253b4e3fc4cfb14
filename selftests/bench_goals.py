# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The goals of srnic's speed (Documentation/performance.rst), each held against what one of bench's guests measures."""

import collections
import csv
import pathlib
import statistics

from bench_counts import ALL, OWN, UNCOPIED

ENDS = ("srnic", "srnic-ib")
ONE_COPY = ("srnic-shortcut", "srnic-ib-shortcut")
SWITCHES = "-switches"


class Goal(collections.namedtuple("Goal", "text guest environments case limits of peers to")):
    """case and of are the name of the row. peers are those of type srnic and of srnic_ib, limits theirs. to is what a figure
    is divided by: the row's figure of another peer; (case, of), the peer's figure of another row; or a number."""

    def cases(self):
        return [self.case, self.to[0]] if isinstance(self.to, tuple) else [self.case]

    def command(self):
        """What measures it: bench's arguments."""
        return ("" if self.guest == "uml" else f"--guest {self.guest} ") + "--case " + ",".join(self.cases())


def goal(text, guest, environments, case, limits, of="", peers=ENDS, to="siw"):
    limits = limits if isinstance(limits, tuple) else (limits, limits)
    return Goal(text, guest, environments.split(), case, limits, of, peers, to)


def crc_limit():
    """What a CRC may cost depends on the processor."""
    return 1.25 if "vpclmulqdq" in pathlib.Path("/proc/cpuinfo").read_text().split() else 1.4


CREDITS = "Send of 64 bytes, look for credits, one completion"
LONG_CREDITS = "Send of 64 KiB, look for credits, one completion"
LISTS = "Sends of 64 bytes in lists of 16"
HALF = "Half a round trip of 64 bytes"
WIRE = "Write of 64 KiB, interfaces with DMA, MTU 1500"
APART = ", two processes"


def both_ways(case):
    """With one process, and with a process for each end: {case: what a goal's text says of it}."""
    return {case: "", f"{case}-2-procs": APART}


GOALS = [
    goal("ucmatose, 64 bytes: time to siw", "uml", "programs", "ucmatose-64", 0.9),
    goal("rstream, a stream of 64 bytes: time to siw", "uml", "programs", "rstream-64-stream", 0.9),
    goal("rstream, a stream of 64 bytes: switches to siw", "uml", "programs", "rstream-64-stream", 1.0, SWITCHES),
    goal("rstream, half a round trip of 64 bytes: time to siw", "uml", "programs", "rstream-64", 1.0),
    goal("rstream, half a round trip of 64 bytes: switches to siw", "uml", "programs", "rstream-64", 1.0, SWITCHES),
    goal("ib_send_bw -e, 64 KiB: time to siw", "uml", "programs", "ib_send_bw-64K", 0.9),
    goal("ib_send_bw -e, 64 KiB: switches to siw", "uml", "programs", "ib_send_bw-64K", 1.0, SWITCHES),
    goal("ib_read_bw -e, 64 KiB: time to siw", "uml", "programs", "ib_read_bw-64K", 0.9),
    goal(f"{CREDITS}: time to siw", "uml", "lo veth", "send-64-credits", 0.9),
    goal(f"{CREDITS}: switches to siw", "uml", "lo veth", "send-64-credits", 1.0, SWITCHES),
    goal(f"{CREDITS}: instructions to siw", "qemu", "lo veth", "send-64-credits", 0.9, ALL),
    goal(f"{CREDITS}, receiver in SCHED_BATCH: time to siw", "uml", "lo veth", "send-64-credits-batch", 0.9),
    goal(f"{CREDITS}, receiver in SCHED_BATCH: switches to siw", "uml", "lo veth", "send-64-credits-batch", 1.0,
         SWITCHES),
    goal(f"{LONG_CREDITS}: time to siw", "uml", "lo veth", "send-64K-credits", 0.9),
    goal(f"{LONG_CREDITS}: switches to siw", "uml", "lo veth", "send-64K-credits", 1.0, SWITCHES),
    goal(f"{LONG_CREDITS}: instructions to siw", "qemu", "lo veth", "send-64K-credits", 1.0, ALL),
    goal(f"{LISTS}, two processes: time to siw", "uml", "lo veth", "send-64-list-2-procs", 0.9),
    goal(f"{LISTS}, two processes: switches to siw", "uml", "lo veth", "send-64-list-2-procs", 1.0, SWITCHES),
    goal("Sends of 64 bytes, two polling processes, a processor each: time to siw", "smp", "lo veth",
         "send-64-2-procs-polled", 0.9),
    goal(f"{HALF}, two processes: time to siw", "uml", "lo veth", "ping-pong-64-2-procs", 1.0),
    goal(f"{HALF}, two processes: switches to siw", "uml", "lo veth", "ping-pong-64-2-procs", 1.0, SWITCHES),
    goal(f"{HALF}, two polling processes, a processor each: time to siw", "smp", "lo veth",
         "ping-pong-64-2-procs-polled", 1.0),
    *(row for case, ends in both_ways("write-64K").items() for row in (
        goal(f"{WIRE}{ends}: instructions to TCP's write()", "wire", "wire", case, (1.6, 1.1), ALL, to="tcp"),
        goal(f"{WIRE}, large FPDUs{ends}: instructions to TCP's write()", "wire", "wire", case, (1.4, None), ALL,
             ("srnic-large", None), "tcp"),
        goal(f"{WIRE}{ends}: instructions but copies to TCP's write()", "wire", "wire", case, (1.6, 1.1), UNCOPIED,
             to="tcp"),
        goal(f"{WIRE}, large FPDUs{ends}: instructions but copies to TCP's write()", "wire", "wire", case, (1.4, None),
             UNCOPIED, ("srnic-large", None), "tcp"))),
    goal("NFS, a read of 1 MiB, one host: time to TCP", "uml", "nfs", "fio-read-1M", (1.15, 1.0), to="tcp"),
    goal("NFS, a read of 1 MiB, one host, local_shortcut: time to TCP", "uml", "nfs", "fio-read-1M", (1.15, 1.0), "",
         ONE_COPY, "tcp"),
    goal("NVMe, a read of 1 MiB, one host: time to TCP", "uml", "nvme", "fio-read-1M", (1.15, 1.0), to="tcp"),
    goal("NVMe, a read of 1 MiB, one host, local_shortcut: time to TCP", "uml", "nvme", "fio-read-1M", (1.15, 1.0), "",
         ONE_COPY, "tcp"),
    *(goal(f"Write of 1 MiB, one host, local_shortcut{ends}: time to siw", "uml", "lo", case, (None, 0.6), "", ONE_COPY)
      for case, ends in both_ways("write-1M").items()),
    *(goal(f"{name} of 64 KiB with a CRC{ends}: time to without", "uml", "lo veth", case, (crc_limit(), None), "",
           ("srnic-crc", None), "srnic")
      for name in ("Write", "Send", "Read") for case, ends in both_ways(f"{name.lower()}-64K").items()),
    goal("Send of 64 KiB, two processes: switches to siw", "uml", "lo veth", "send-64K-2-procs", 1.0, SWITCHES),
    *(goal(f"Receiving a Write of 64 KiB in siw's 46 FPDUs{ends}: own instructions for an FPDU", "qemu", "veth", case,
           (600, None), OWN, ("siw-to-srnic", None), 46) for case, ends in both_ways("write-64K").items()),
    *(goal(f"Send of 64 bytes, depth 64{ends}: own instructions, both ends", "qemu", "lo veth", case, 2000, OWN, to=1)
      for case, ends in both_ways("send-64").items()),
    *(goal(f"{HALF}{ends}: own instructions, both ends", "qemu", "lo veth", case, 2500, OWN, to=1)
      for case, ends in both_ways("ping-pong-64").items()),
    goal("Sends of 64 bytes by 16 QPs in as many threads: instructions to one QP", "qemu", "lo veth", "send-64-16-QPs",
         1.1, ALL, to=("send-64-1-QP", ALL)),
]


def wanted(guest):
    """Of the goals that this guest measures: the cases and the peers."""
    mine = [each for each in GOALS if each.guest == guest]
    cases = {case for each in mine for case in each.cases()}
    peers = {peer for each in mine for peer in (*each.peers, each.to) if isinstance(peer, str)}
    return sorted(cases), sorted(peers)


def figure(of, figures, environment, peer):
    """The median, divided by what the goal compares it with; None if one of both is missing, or the latter nothing."""
    def median(case, name):
        runs = figures.get((environment, case), {}).get(name)
        return statistics.median(runs) if runs else None
    own = median(of.case + of.of, peer)
    if isinstance(of.to, str):
        other = median(of.case + of.of, of.to)
    elif isinstance(of.to, tuple):
        other = median("".join(of.to), peer)
    else:
        other = of.to
    return own / other if own is not None and other else None


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def measured(of, figures, peer):
    """In all environments, from the least to the most."""
    values = [figure(of, figures, environment, peer) for environment in of.environments] if peer else []
    texts = [number(value) for value in sorted(value for value in values if value is not None)]
    return "" if not texts else texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def limit_of(of):
    srnic, ib = of.limits
    return f"{srnic:g} and {ib:g}" if srnic and ib and srnic != ib else f"{srnic or ib:g}"


def table(guest, figures):
    """{the goal's place: its row}, for those that these figures say something about."""
    rows = {}
    for place, each in enumerate(GOALS):
        cells = [measured(each, figures, peer) for peer in each.peers]
        if each.guest == guest and any(cells):
            rows[place] = [each.text, limit_of(each), *cells, each.command()]
    return rows


HEAD = ["figure", "goal", "type srnic", "type srnic_ib", "measured by make bench BENCH=..."]


def show(rows):
    for row in [HEAD, *(row for _, row in sorted(rows.items()))]:
        print("{:88} {:>14} {:>16} {:>16}   {}".format(*row))


def write(file, rows):
    """The table of Documentation/performance.rst."""
    with open(file, "w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([HEAD, *(row for _, row in sorted(rows.items()))])
