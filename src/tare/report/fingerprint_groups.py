"""How a page of a machine is divided: which probes stand together, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tare.findings.phrasing import listing, percent, quantity
from tare.fingerprint.document import Figure, Fingerprint
from tare.report.tables import fixed


@dataclass(frozen=True)
class Group:
    """A section of the page.

    Attributes
    ----------
    probes : tuple of str
        First words of the metrics that stand in it.
    told : tuple of (str, str)
        Metrics that the answer tells, with the words before their values.
    """

    anchor: str
    question: str
    probes: tuple[str, ...]
    told: tuple[tuple[str, str], ...] = ()


GROUPS = (
    Group(
        "memory",
        "How fast is memory, and how large are the caches?",
        ("memory",),
        (
            ("memory.latency.l1", "a load takes from L1"),
            ("memory.latency.l2", "from L2"),
            ("memory.latency.l3", "from L3"),
            ("memory.latency.dram", "from memory"),
        ),
    ),
    Group(
        "processor",
        "How fast is the processor?",
        ("loop", "call", "branch", "cores", "cpu"),
        (
            ("loop.effective_frequency", "the clock runs in fact at"),
            ("loop.empty", "an empty iteration takes"),
            ("call.int.0", "a call without arguments"),
            ("branch.mispredict", "a branch predicted wrongly"),
        ),
    ),
    Group(
        "kernel",
        "What does the kernel take?",
        ("clock", "syscall", "process", "thread", "switch", "fault"),
        (
            ("clock.vdso", "reading the clock takes"),
            ("syscall.getpid", "the least system call"),
            ("switch.process", "a switch between processes"),
            ("process.fork", "a fork"),
            ("fault.minor", "a minor page fault"),
        ),
    ),
    Group(
        "network",
        "How fast is the network?",
        ("network",),
        (
            ("network.round_trip.p50", "half of the round trips take up to"),
            ("network.round_trip.p99", "99 % of them up to"),
            ("network.connect", "a connection takes"),
        ),
    ),
    Group(
        "files",
        "How fast are files?",
        ("file",),
        (("file.read.random", "a random read takes"), ("file.cache.size", "the page cache holds")),
    ),
    Group(
        "quiet",
        "How quiet is it?",
        ("noise", "steal"),
        (
            ("noise.share", "what else runs takes this share of a CPU:"),
            ("steal.share", "the host takes"),
        ),
    ),
)
_REST = Group("further", "What else was measured?", ())


def group_of(name: str) -> Group:
    """Return the group in which a metric stands."""
    first = name.split(".", 1)[0]
    return next((group for group in GROUPS if first in group.probes), _REST)


def groups_of(names: Iterable[str]) -> list[Group]:
    """Return the groups of some metrics, in the order of the page."""
    found = {group_of(name).anchor for name in names}
    return [group for group in (*GROUPS, _REST) if group.anchor in found]


def answer(group: Group, metrics: Mapping[str, Figure], curves: int) -> str:
    """Tell what matters most of a group, in a sentence or two."""
    told = [f"{words} {value_told(metrics[name])}" for name, words in group.told if name in metrics]
    if not told:
        told = [f"{name} is {value_told(figure)}" for name, figure in [*metrics.items()][:3]]
    sentences = [f"{listing(told)}." if told else ""]
    sizes = caches_found(metrics)
    if sizes:
        found = listing(f"{name.upper()} {quantity(size, 'bytes')}" for name, size in sizes.items())
        sentences.append(f"By the curve, the caches hold: {found}.")
    if not told and curves:
        sentences.append("What was measured is a curve: see below.")
    text = " ".join(s for s in sentences if s)
    return text[:1].upper() + text[1:]


def caches_found(metrics: Mapping[str, Figure]) -> dict[str, float]:
    """Return the caches' sizes as found from the curve, the nearest first."""
    return {
        name.rsplit(".", 1)[1]: figure.value
        for name, figure in sorted(metrics.items())
        if name.startswith("memory.cache.") and figure.unit == "bytes"
    }


def value_told(figure: Figure) -> str:
    """Write a figure's value; a share as per cent."""
    if figure.unit == "1" and 0 < abs(figure.value) < 0.1:
        return percent(figure.value)
    return quantity(figure.value, figure.unit)


def interval_told(figure: Figure) -> str:
    """Write "1.220 ns [1.213, 1.231]": as many digits as the interval supports."""
    from math import floor, log10

    from tare.report.scales import scale_for

    scale, unit = scale_for([figure.value], figure.unit)
    value = figure.value / scale
    if figure.ci is None:
        return f"{quantity(figure.value, figure.unit)} [–]"
    low, high = (end / scale for end in figure.ci)
    width = high - low
    most = 4 if not value else max(0, 3 - floor(log10(abs(value))))
    places = min(most, 1 - floor(log10(width))) if width > 0 else most
    one, start, end = (fixed(v, max(0, places)) for v in (value, low, high))
    return f"{one}{' ' if unit else ''}{unit} [{start}, {end}]"


def half_width(figure: Figure) -> float | None:
    """Half of the interval's width, relative to the value; None where there is none."""
    if figure.ci is None or not figure.value:
        return None
    return (figure.ci[1] - figure.ci[0]) / 2 / abs(figure.value)


def ratio(figure: Figure) -> float | None:
    """Return the value as a multiple of the prediction; None where that is none."""
    if not figure.predicted or figure.value <= 0 or figure.predicted <= 0:
        return None
    return figure.value / figure.predicted


def ordered(fingerprint: Fingerprint) -> dict[str, Figure]:
    """Return the figures in the order of the page."""
    names = list(fingerprint.metrics)
    order = [g.anchor for g in (*GROUPS, _REST)]
    names.sort(key=lambda name: order.index(group_of(name).anchor))
    return {name: fingerprint.metrics[name] for name in names}
