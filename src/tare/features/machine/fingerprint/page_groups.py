"""How a page of a machine is divided: which probes stand together, and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.results.message import Amount, Atom, message


class Group(NamedTuple):
    """A section of the page.

    Attributes
    ----------
    probes : tuple of str
        First words of the metrics that stand in it.
    """

    anchor: str
    question: str
    probes: tuple[str, ...]


GROUPS = (
    Group("memory", "How fast is memory, and how large are the caches?", ("memory",)),
    Group("processor", "How fast is the processor?", ("loop", "call", "branch", "cores", "cpu")),
    Group(
        "kernel", "How long do operations of the kernel take?",
        ("clock", "syscall", "process", "thread", "switch", "fault"),
    ),
    Group("network", "How fast is the network?", ("network",)),
    Group("files", "How fast are files?", ("file",)),
    Group("quiet", "How quiet is it?", ("noise", "steal")),
)  # fmt: skip
#: Figures that a terminal shows where no probe was requested by name.
LEADING = (
    "loop.effective_frequency", "memory.latency.l1", "memory.latency.l2", "memory.latency.dram",
    "memory.bandwidth.copy.1", "syscall.getpid", "switch.process", "process.fork",
    "fault.minor_anonymous", "network.round_trip.tcp_p50", "file.read.random.latency.4096",
    "noise.lost",
)  # fmt: skip
_REST = Group("further", "What else was measured?", ())


def group_of(name: str) -> Group:
    """Return the group in which a metric stands."""
    first = name.split(".", 1)[0]
    return next((group for group in GROUPS if first in group.probes), _REST)


def groups_of(names: Iterable[str]) -> list[Group]:
    """Return the groups of some metrics, in the order of the page."""
    found = {group_of(name).anchor for name in names}
    return [group for group in (*GROUPS, _REST) if group.anchor in found]


def caches(metrics: Mapping[str, Figure]) -> list[Atom]:
    """Name the caches with their sizes as found from the curve, the nearest first."""
    return [
        message("{name} {size}", name=name.upper(), size=Amount(size, "bytes"))
        for name, size in caches_found(metrics).items()
    ]


def caches_found(metrics: Mapping[str, Figure]) -> dict[str, float]:
    """Return the caches' sizes as found from the curve, the nearest first."""
    return {
        name.rsplit(".", 1)[1]: figure.value
        for name, figure in sorted(metrics.items())
        if name.startswith("memory.cache.") and figure.unit == "bytes"
    }


def ordered(fingerprint: Fingerprint) -> dict[str, Figure]:
    """Return the figures in the order of the page."""
    names = list(fingerprint.metrics)
    order = [g.anchor for g in (*GROUPS, _REST)]
    # Of memory the staircase comes first: what else is told of it rests on that.
    staircase = ("memory.latency", "memory.cache")
    names.sort(key=lambda n: (order.index(group_of(n).anchor), not n.startswith(staircase)))
    return {name: fingerprint.metrics[name] for name in names}
