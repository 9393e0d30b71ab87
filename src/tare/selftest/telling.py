"""A self-test in words, the same for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from tare.findings.phrasing import listing
from tare.selftest.document import Accuracy, FalseAlarms, Unchecked
from tare.selftest.lines import WORDS, Line
from tare.units import counted, off_by, percent

#: How the figures that stand for all are called.
NAMES = {"wall": "Wall", "cpu": "CPU", "memory": "Memory"}


def answer(accuracy: Accuracy) -> str:
    """Say in a sentence whether tare tells the truth."""
    n, off, open_ = len(accuracy.judged), len(accuracy.off), len(accuracy.open)
    figures = counted(n, "figure")
    are = "is" if n == 1 else "are"
    if off:
        return f"tare is off here: {off} of the {figures} that it uses are not as promised."
    if not n:
        return "Nothing could be checked here."
    doubts = []
    if open_:
        doubts.append(f"{open_} inconclusive")
    if accuracy.unmeasured:
        doubts.append(f"{accuracy.unmeasured} of {accuracy.cells} measurements did not come about")
    if accuracy.few:
        doubts.append(f"some by {counted(accuracy.few, 'trial')}, too few for an interval")
    if doubts:
        return (
            f"tare tells the truth here as far as can be told: {n - open_} of the {figures} that "
            f"it uses {are} as promised; {'; '.join(doubts)}."
        )
    return f"tare tells the truth here: all {figures} that it uses {are} as promised."


def promised(line: Line) -> str:
    """Write what was promised: "promised −0.77 to +1.2 ms"."""
    low, high = line.promised
    if low is None or high is None:
        return "nothing promised"
    if low == high == 0:
        return "promised exactly"
    return f"promised {off_by(low, line.unit)} to {off_by(high, line.unit)}"


def head(line: Line) -> str:
    """Write a line that stands for all: "+0.07 ± 0.02 ms  from perf_cpu (spin on bare)"."""
    n = f"n = {line.n}" if line.low is not None else f"n = {line.n}, no interval"
    return f"{line.error:<18} from {line.source} ({line.program} on {line.platform}, {n})"


def groups(some: Sequence[Line]) -> list[str]:
    """Tell lines of the same metric and source together, with the one that is off most."""
    found: dict[tuple[str, str], list[Line]] = {}
    for one in some:
        found.setdefault((one.metric, one.source), []).append(one)
    return [_group(lines) for lines in found.values()]


def _group(lines: list[Line]) -> str:
    worst = max(lines, key=lambda one: one.badness)
    many = "" if len(lines) == 1 else f"; also in {counted(len(lines) - 1, 'other place')}"
    why = f": {worst.why}" if worst.why else ""
    use = "" if worst.used else f"; {WORDS[worst.verdict]}, but not used here"
    return f"{worst.named}: {worst.error}, {promised(worst)}{many}{use}{why}"


def unchecked(one: Unchecked) -> str:
    """Tell of a source that is not here."""
    return f"{one.source} ({listing(one.metrics)}) on {listing(one.platforms)}: {one.why}"


def alarms(found: FalseAlarms) -> str:
    """Tell how often tare called a program different from itself."""
    verdict = (
        f"fewer than {found.limit} are consistent with 5 %"
        if found.consistent
        else f"{found.limit} or more are too many for 5 %"
    )
    return (
        f"{counted(found.alarms, 'alarm')} in {counted(found.comparisons, 'comparison')} of a "
        f"program with itself on {found.platform}: {verdict}; the true rate is below "
        f"{percent(found.rate_below)}, 95 % sure."
    )
