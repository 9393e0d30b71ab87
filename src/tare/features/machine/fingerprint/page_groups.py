"""How a page of a machine is divided: which probes stand together, and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tare.experiment.fingerprints.machine.document import Figure, Fingerprint
from tare.features.machine.fingerprint import phrases
from tare.results.message import Amount, Atom, Message, message

_PAGE_FIGURES = "medians: {figures | join(', ')}"


@dataclass(frozen=True)
class Group:
    """A section of the page.

    Attributes
    ----------
    probes : tuple of str
        First words of the metrics that stand in it.
    shown : tuple of str
        Metrics that the answer has.
    """

    anchor: str
    question: str
    probes: tuple[str, ...]
    shown: tuple[str, ...] = ()


GROUPS = (
    Group(
        "memory", "How fast is memory, and how large are the caches?", ("memory",),
        ("memory.latency.l1", "memory.latency.l2", "memory.latency.l3", "memory.latency.dram",
         "memory.bandwidth.read.1", "memory.bandwidth.copy.1"),
    ),
    Group(
        "processor", "How fast is the processor?", ("loop", "call", "branch", "cores", "cpu"),
        ("loop.effective_frequency", "loop.empty", "call.int.0", "branch.mispredict"),
    ),
    Group(
        "kernel", "How long do operations of the kernel take?",
        ("clock", "syscall", "process", "thread", "switch", "fault"),
        ("clock.vdso", "syscall.getpid", "switch.process", "process.fork", "thread.create_join",
         "fault.minor_anonymous"),
    ),
    Group(
        "network", "How fast is the network?", ("network",),
        ("network.round_trip.tcp_p50", "network.round_trip.tcp_p99", "network.connect.whole",
         "network.bandwidth.loopback"),
    ),
    Group(
        "files", "How fast are files?", ("file",),
        ("file.read.random.latency.4096", "file.read.sequential.bandwidth.1048576",
         "file.cache.speed", "file.cache_size.group"),
    ),
    Group(
        "quiet", "How quiet is it?", ("noise", "steal"),
        ("noise.lost", "noise.worst", "steal.share", "steal.wait"),
    ),
)  # fmt: skip
#: Figures at the top of the page, in order.
_FIRST = (
    "loop.effective_frequency", "memory.latency.dram", "memory.bandwidth.read.1", "syscall.getpid",
    "process.fork", "file.read.random.latency.4096",
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


def answer(group: Group, metrics: Mapping[str, Figure], curves: int) -> tuple[Message, ...]:
    """Give what matters most of a group, in a sentence or two."""
    figures = _figures(metrics, group.shown) or _figures(metrics, [*metrics][:3])
    caches = [
        message(phrases.STAIRCASE_CACHE, name=name.upper(), size=Amount(size, "bytes"))
        for name, size in caches_found(metrics).items()
    ]
    said = []
    if figures:
        said.append(message(_PAGE_FIGURES, figures=figures))
    if caches:
        said.append(message("caches, by the curve: {caches | join(', ')}", caches=caches))
    if not figures and curves:
        said.append(message("see the curves below"))
    return tuple(said)


def lead(metrics: Mapping[str, Figure]) -> Message | None:
    """Give the figures that matter most of all; None: none of them was measured."""
    figures = _figures(metrics, _FIRST)
    return message(_PAGE_FIGURES, figures=figures) if figures else None


def _figures(metrics: Mapping[str, Figure], names: Iterable[str]) -> list[Atom]:
    return [
        message("{what} {value}", what=name, value=_amount(metrics[name]))
        for name in names
        if name in metrics
    ]


def caches_found(metrics: Mapping[str, Figure]) -> dict[str, float]:
    """Return the caches' sizes as found from the curve, the nearest first."""
    return {
        name.rsplit(".", 1)[1]: figure.value
        for name, figure in sorted(metrics.items())
        if name.startswith("memory.cache.") and figure.unit == "bytes"
    }


def _amount(figure: Figure) -> Amount:
    share = figure.unit == "1" and 0 <= figure.value <= 1
    return Amount(figure.value, "share" if share else figure.unit)


def ordered(fingerprint: Fingerprint) -> dict[str, Figure]:
    """Return the figures in the order of the page."""
    names = list(fingerprint.metrics)
    order = [g.anchor for g in (*GROUPS, _REST)]
    # Of memory the staircase comes first: what else is told of it rests on that.
    staircase = ("memory.latency", "memory.cache")
    names.sort(key=lambda n: (order.index(group_of(n).anchor), not n.startswith(staircase)))
    return {name: fingerprint.metrics[name] for name in names}
