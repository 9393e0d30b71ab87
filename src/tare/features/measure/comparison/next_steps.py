"""What to type after a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from tare.cli import console
from tare.cli.again import FILES, again, offers
from tare.experiment.findings import causes
from tare.experiment.findings.judgement import Difference
from tare.experiment.results import Results
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.next_step import by_cpu_time, with_longer_limit
from tare.results.message import message
from tare.results.report import NextStep
from tare.statistics.sequential import FIRST_LOOK

#: Seconds of a budget that pass before the first pair begins: agents start.
_START_S = 2.0


def _needs_median(d: Difference, gate: float | None) -> bool:
    """Whether no known number of pairs settles a gate on the mean, as with killed runs."""
    if gate is None or d.gated is None or d.gate(gate) != "inconclusive" or d.remedy is None:
        return False
    return d.remedy.refuses_mean and d.more_pairs(gate) is None


def _missing_pairs(d: Difference, gate: float | None) -> int:
    """Return how many more pairs would settle it, or would say how many; 0: not known, or none."""
    c = d.comparison
    more = c.more_pairs if gate is None else d.more_pairs(gate)
    if more is not None or not d.paired or d.few is not None or d.gated is not None:
        return more or 0
    return max(0, FIRST_LOOK - c.n)


def _changed_limits(
    found: Sequence[Difference], results: Results, execution: Execution
) -> NextStep | None:
    """Return what settles that which no number of pairs does."""
    command, gate, without = execution.command, execution.gate, ["--out"]
    # Kills at the limit leave an answer inconclusive.
    if any(d.needs_longer_limit(gate) for d in found):
        longer = with_longer_limit(command, results.experiment, without)
        if longer is not None:
            return longer
    if any(_needs_median(d, gate) for d in found):
        return NextStep(again(command, {"--gate-on": "median"}, without))
    return None


def next_step(
    found: Sequence[Difference], results: Results, execution: Execution
) -> NextStep | None:
    """Return what settles what is inconclusive, else what draws the page; None: it is drawn."""
    command, gate = execution.command, execution.gate
    if (changed := _changed_limits(found, results, execution)) is not None:
        return changed
    waiting = [d for d in found if _missing_pairs(d, gate)]
    if gate is not None:
        # More pairs settle neither a gate that fails nor one on trials that failed.
        fails = any(d.gate(gate) == "fail" for d in found)
        waiting = [
            d
            for d in waiting
            if not (fails or (d.failures and d.failures.gate)) and d.gate(gate) == "inconclusive"
        ]
    # A baseline has one metric, and is compared with one session, whatever is kept of it.
    paired = all(d.paired for d in found)
    if waiting and paired and causes.cpu_metric(results) == "cpu_ns":
        return by_cpu_time(command, (*FILES, "--out"))
    if waiting:
        # All candidates are measured in the same blocks.
        blocks = max(_missing_pairs(d, gate) for d in waiting)
        resumes = execution.given.out is not None and paired
        if not resumes:  # what was measured is not gone on with, so it begins anew
            blocks += max(d.comparison.n for d in found)
        more = blocks * max(d.block_seconds for d in found)
        budget = _START_S + 1.5 * more
        if not resumes and results.ended == "budget":
            # A budget that ran out was too short, whatever trials alone take.
            budget = max(budget, 2 * (results.experiment.stopping.budget_s or 0.0))
        changes: dict[str, str | None] = {"--budget": console.seconds(budget)}
        if resumes:
            changes["--resume"] = None
        # Otherwise its folder is full.
        return NextStep(again(command, changes, ["--trials"] if resumes else ["--trials", "--out"]))
    if execution.page:
        return None
    if not found and offers("--output"):
        # Every candidate failed: what it wrote says why.
        return NextStep(
            again(command, {"--output": "{workload}.out"}, FILES),
            message("keeps what it wrote"),
        )
    return NextStep(again(command, {"--report": "report.html"}), message("draws the page"))
