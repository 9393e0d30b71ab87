"""What a self-test found, as messages for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from tare.features.machine.selftest.document import Accuracy, FalseAlarms, Unchecked
from tare.features.machine.selftest.lines import Line
from tare.results.message import Amount, Deviation, Message, message


def answer(accuracy: Accuracy) -> Message:
    """Return whether tare measures correctly here."""
    judged, open_ = len(accuracy.judged), len(accuracy.open)
    if accuracy.off:
        return message("selftest.no", off=len(accuracy.off), judged=judged)
    if not judged:
        return message("selftest.nothing")
    if accuracy.verdict == "yes":
        return message("selftest.yes", judged=judged)
    return message(
        "selftest.inconclusive",
        kept=judged - open_,
        judged=judged,
        open=open_,
        unmeasured=accuracy.unmeasured,
        cells=accuracy.cells,
        few=accuracy.few,
    )


def specified(line: Line) -> Message:
    """Return the specified range of an error."""
    low, high = line.promised
    if low is None or high is None:
        return message("selftest.unspecified")
    if low == high == 0:
        return message("selftest.exact")
    return message("selftest.range", low=Deviation(low, line.unit), high=Deviation(high, line.unit))


def verdict(line: Line) -> Message:
    """Return whether an error is as specified."""
    return message(f"selftest.verdict.{line.verdict}")


def head(accuracy: Accuracy) -> list[Message]:
    """Return the figures that stand for all."""
    return [
        message(
            "selftest.head",
            name=message(f"selftest.name.{name}"),
            error=line.error,
            source=line.source,
            place=message("selftest.place", program=line.program, platform=line.platform),
            n=line.n,
            interval=line.low is not None,
        )
        for name, line in accuracy.head().items()
    ]


def groups(some: Sequence[Line]) -> list[Message]:
    """Return lines of the same metric and source together, with the largest error."""
    found: dict[tuple[str, str], list[Line]] = {}
    for one in some:
        found.setdefault((one.metric, one.source), []).append(one)
    return [_group(lines) for lines in found.values()]


def _group(lines: list[Line]) -> Message:
    worst = max(lines, key=lambda one: one.badness)
    return message(
        "selftest.group",
        figure=worst.named,
        error=worst.error,
        specified=specified(worst),
        others=len(lines) - 1,
        unused=None if worst.used else verdict(worst),
        why=worst.why,
    )


def unchecked(one: Unchecked) -> Message:
    """Return which source is not here."""
    return message(
        "selftest.unchecked",
        source=one.source,
        metrics=[*one.metrics],
        platforms=[*one.platforms],
        why=one.why,
    )


def alarms(found: FalseAlarms) -> Message:
    """Return how often tare called a program different from itself."""
    return message(
        "selftest.alarms",
        alarms=found.alarms,
        comparisons=found.comparisons,
        platform=found.platform,
        consistent=found.consistent,
        limit=found.limit,
        below=Amount(found.rate_below, "share"),
    )
