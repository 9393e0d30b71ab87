"""How a page of a machine is divided: which probes stand together, and what is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor, log10

from tare.fingerprint.document import Axis, Curve, Figure, Fingerprint, Point
from tare.registry import Axis as ProbeAxis
from tare.registry import Probe, ProbeMetric
from tare.render.words import listing
from tare.units import fixed, percent, quantity, scale_for


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
            ("memory.bandwidth.read.1", "one thread reads"),
            ("memory.bandwidth.copy.1", "copies"),
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
            ("thread.create_join", "a thread"),
            ("fault.minor_anonymous", "a page fault"),
        ),
    ),
    Group(
        "network",
        "How fast is the network?",
        ("network",),
        (
            ("network.round_trip.tcp_p50", "half of the round trips on the loopback take up to"),
            ("network.round_trip.tcp_p99", "99 % of them up to"),
            ("network.connect.whole", "a connection takes"),
            ("network.bandwidth.loopback", "the loopback carries"),
        ),
    ),
    Group(
        "files",
        "How fast are files?",
        ("file",),
        (
            ("file.read.random.latency.4096", "a read of 4 KiB at random takes"),
            ("file.read.sequential.bandwidth.1048576", "reads of 1 MiB in order bring"),
            ("file.cache.speed", "the page cache brings"),
        ),
    ),
    Group(
        "quiet",
        "How quiet is it?",
        ("noise", "steal"),
        (
            ("noise.lost", "of the CPUs' time, detours take"),
            ("noise.worst", "the longest of them"),
            ("steal.share", "the host takes for others"),
            ("steal.wait", "others here keep a thread waiting for"),
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
    if not told and metrics:
        some = (f"{name} {value_told(figure)}" for name, figure in [*metrics.items()][:3])
        told = [f"Measured: {', '.join(some)}"]
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
    if figure.unit == "1" and 0 <= figure.value <= 1:
        return percent(figure.value) if figure.value else "nothing"
    return quantity(figure.value, figure.unit)


def interval_told(figure: Figure) -> str:
    """Write "1.220 ns [1.213, 1.231]": as many digits as the interval supports."""
    scale, unit = scale_for([figure.value], figure.unit)
    value = figure.value / scale
    if figure.ci is None:
        return f"{quantity(figure.value, figure.unit)} [–]"
    low, high = (end / scale for end in figure.ci)
    width = high - low
    most = 4 if not value else max(0, 3 - floor(log10(abs(value))))
    places = min(most, 1 - floor(log10(width))) if width > 0 else most
    one, start, end = (fixed(v, max(0, places)) if v else "0" for v in (value, low, high))
    return f"{one}{' ' if unit else ''}{unit} [{start}, {end}]"


def listed(
    metrics: Mapping[str, Figure], described: Mapping[str, tuple[Probe, ProbeMetric]]
) -> dict[str, Curve]:
    """Put figures that are points of something together: ``call.int.0`` to ``call.int.7``.

    Parameters
    ----------
    metrics : mapping
        Figures by name.
    described : mapping
        Metric to its probe and itself: what its axes are called.

    Returns
    -------
    dict
        Those of two points and more.
    """
    points: dict[tuple[str, int], list[Point]] = {}
    for name, figure in metrics.items():
        found = re.fullmatch(r"(.+?)((?:\.\d+)+)", name)
        if found is not None:
            at = tuple(int(n) for n in found[2].split(".")[1:])
            point = Point(at=at, value=figure.value, ci=figure.ci, n=figure.n)
            points.setdefault((found[1], len(at)), []).append(point)
    curves = {}
    for (name, count), some in points.items():
        if len(some) < 2:
            continue
        axes = described[name][1].axes if name in described else ()
        if len(axes) != count:
            axes = tuple(ProbeAxis(name=f"n{i}", unit="1", meaning="") for i in range(count))
        unit = next(f.unit for n, f in metrics.items() if n.startswith(f"{name}."))
        told = tuple(Axis(name=axis.name, unit=axis.unit) for axis in axes)
        curves[name] = Curve(unit=unit, axes=told, points=tuple(some))
    return curves


def ordered(fingerprint: Fingerprint) -> dict[str, Figure]:
    """Return the figures in the order of the page."""
    names = list(fingerprint.metrics)
    order = [g.anchor for g in (*GROUPS, _REST)]
    # Of memory the staircase comes first: what else is told of it rests on that.
    staircase = ("memory.latency", "memory.cache")
    names.sort(key=lambda n: (order.index(group_of(n).anchor), not n.startswith(staircase)))
    return {name: fingerprint.metrics[name] for name in names}
