"""The report of several platforms: the overhead of each vs. the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.features.machine.fingerprint import summary
from tare.features.machine.fingerprint.page import facts_table, report_of, strip
from tare.features.machine.fingerprint.weights import Weighed, Weights
from tare.render.words import text
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, message
from tare.results.report import Entry, NextStep, Report, Section
from tare.units import significant

#: Of each primitive that programs rest on, the figures that stand for it.
SHOWN = (
    "trial.wall", "trial.round_trip", "trial.spread", "loop.dependent_add", "memory.latency.l2",
    "memory.latency.dram", "memory.bandwidth.copy.1", "fault.minor_anonymous",
    "fault.copy_on_write", "syscall.getpid", "syscall.open_close", "syscall.read_byte",
    "clock.vdso", "switch.process", "process.exec_smallest", "thread.create_join",
    "file.cache.speed", "network.round_trip.tcp_p50", "network.connect.whole",
)  # fmt: skip
#: How long instances take, by their field of ``Starting``.
STARTS = {"first start": "cold", "later starts": "warm", "tear-down": "stop"}
#: What they hold on the host: field of ``Holding``, and its unit.
HELD = {
    "memory around the agent": ("around_memory_bytes", "bytes"),
    "memory of the agent": ("agent_memory_bytes", "bytes"),
    "CPUs around the agent": ("around_cpu_share", "share"),
}
_MARKS = {"costs": "▲", "saves": "▽", "same": "=", "inconclusive": "?"}

#: What a row is of, and its cell on every platform; None: not known there.
Row = tuple[str, list[Amount | str | None]]


def _rows(platforms: Sequence[Weighed], *, every: bool) -> list[Row]:
    """Return the rows: starts, what instances hold, and figures vs. those of the first platform.

    Parameters
    ----------
    platforms : sequence of Weighed
    every : bool
        Whether to return all figures, not only those that stand for a primitive.
    """
    first, *others = platforms
    own = first.fingerprint.metrics if first.fingerprint is not None else {}
    found: list[Row] = []
    for label, key in STARTS.items():
        started = [getattr(one.starting, key, None) for one in platforms]
        found.append((label, [None if one is None else one.amount for one in started]))
    for label, (key, unit) in HELD.items():
        held = [getattr(one.holding, key, None) for one in platforms]
        found.append((label, [None if one is None else Amount(one, unit) for one in held]))
    for metric in own if every else [name for name in SHOWN if name in own]:
        found.append((metric, [own[metric].amount, *(_ratio(one, metric) for one in others)]))
    return [(label, cells) for label, cells in found if any(cell is not None for cell in cells)]


def _ratio(one: Weighed, metric: str) -> str | None:
    """Format the ratio to the first platform; in brackets for emulated platforms."""
    cost = next((cost for cost in one.costs if cost.metric == metric), None)
    if cost is None:
        return None
    ratio = f"× {significant(cost.ratio)}"
    if cost.low is not None and cost.high is not None:
        ratio += f" [{significant(cost.low)}, {significant(cost.high)}]"
    return f"({ratio})" if one.emulated else f"{ratio} {_MARKS[cost.verdict]}"


def _head(one: Weighed) -> str:
    """Return the title of a platform's column."""
    return f"{one.platform} (emulated)" if one.emulated else one.platform


def make(
    found: Weights,
    command: str,
    *,
    named: bool = False,
    paged: bool = True,
    next_step: NextStep | None = None,
) -> Report:
    """Make the report of several platforms; parameters are those of :func:`page.make`."""
    platforms = found.platforms
    prints = [one.fingerprint for one in platforms if one.fingerprint]
    return report_of(
        found,
        command,
        [(f"{one.platform}, {p.probe}", p.why) for one in platforms for p in one.problems],
        name=message(
            "overhead of {platforms | listing}", platforms=[one.platform for one in platforms]
        ),
        question="What is the overhead of each platform?",
        entries=tuple(_entries(found)),
        next_steps=() if next_step is None else (next_step,),
        strip=strip(
            found,
            [figure for one in prints for figure in one.metrics.values()],
            ("platforms", f"{len(platforms)}"),
            ("reference", platforms[0].platform),
        ),
        further=(_table("Overhead", platforms, every=named),),
        sections=(_overhead(found),) if paged else (),
        machine=(facts_table(platforms[0].fingerprint),) if platforms[0].fingerprint else (),
        unfolded=60,
    )


def _entries(found: Weights) -> Iterator[Entry]:
    first, *others = found.platforms
    for one in others:
        yield Entry("Overhead", summary.versus(one, first.platform), "strong")
    yield Entry(
        "Signs",
        message("▲ slower, ▽ faster, = equivalent, ? inconclusive, in brackets: emulated"),
        "quiet",
    )


def _table(title: str, platforms: Sequence[Weighed], *, every: bool) -> Table:
    first = platforms[0]
    others = [one for one in platforms[1:] if one.why is None or one.costs]
    heads = (Column(key=one.platform, title=f"{_head(one)} [95 %]", unit="1") for one in others)
    return Table.of(
        title,
        ("figure", f"{first.platform} [95 %]", *heads),
        ((label, *cells) for label, cells in _rows([first, *others], every=every)),
    )


def _overhead(found: Weights) -> Section:
    first = found.platforms[0].platform
    return Section(
        Finding(
            name="costs",
            closed=False,
            question=message("How much does each platform take?"),
            answer=(
                message(
                    "multiples of the figures on {first}. Above 1 is slower, in time or in rate",
                    first=first,
                ),
                message(
                    "start: from the request for an instance to the agent's hello; the first "
                    "may have loaded what later ones found"
                ),
                message(
                    "around the agent: what the layers started for it, without engines; with "
                    "the agent where the host does not see it"
                ),
            ),
            verdict="none",
            basis=text(
                message(
                    "rounds of all platforms and later starts interleaved in random order; "
                    "Hodges–Lehmann ratio, 95 % interval; Holm over all figures and platforms. "
                    "Memory is proportional (PSS), after the rounds"
                )
            ),
            tables=(_table("Every figure", found.platforms, every=True),),
        )
    )
