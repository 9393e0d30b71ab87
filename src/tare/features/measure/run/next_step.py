"""What to type after ``tare run`` of one command."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import numpy as np

from tare import files
from tare.cli.again import FILES, again, budget
from tare.experiment.findings.disturbance import THROTTLED, without_throttling
from tare.experiment.findings.doubt import precision_of
from tare.experiment.findings.known import FEWEST_FOR_QUANTILES
from tare.features.measure.next_step import by_cpu_time, with_longer_limit
from tare.features.measure.run.summary import Summary
from tare.results.message import Chosen, message
from tare.results.report import NextStep
from tare.statistics.warmup import begins_with_warm_up

#: Platforms to suggest for an application, the most likely to work first; the first that is
#: installed is taken.
CONTAINERS = ("docker", "runc")
#: Factor on the projected number of trials, since the spread is only estimated.
RESERVE = 1.2
#: Times as many trials, where as many as there were gave no interval.
_MORE = 3


def _longer(summary: Summary) -> NextStep | None:
    """Return the budget that brings what the last one did not: an interval, or the target.

    None where neither is missing, or nothing says how long a trial takes.
    """
    good, stop, reached = summary.good, summary.stop, summary.reached
    if not good or stop is None or stop.reason != "budget":
        return None
    if reached is None or len(good) < FEWEST_FOR_QUANTILES:
        needed = FEWEST_FOR_QUANTILES if len(good) < FEWEST_FOR_QUANTILES else _MORE * len(good)
        brings = message("an interval")
    elif (more := summary.more_trials[0]) and stop.target and reached > stop.target:
        # What was measured is not kept: it begins anew.
        needed = len(good) + more
        brings = message("± {share}", share=Chosen(stop.target))
    else:
        # Trials after the last look at them reached the target.
        return None
    each_s = float(np.mean(good["duration_ns"])) / 1e9
    longer = budget(RESERVE * each_s * needed)
    return NextStep(again("run", {"--budget": longer}), brings)


def _more_trials(summary: Summary) -> NextStep | None:
    """Return the number of trials that brings the interval or precision a fixed one did not."""
    more, stop, n = summary.more_trials[0], summary.stop, len(summary.good)
    if stop is None or stop.reason != "fixed" or not n:
        return None
    if n < FEWEST_FOR_QUANTILES:
        more, brings = FEWEST_FOR_QUANTILES - n, message("an interval")
    else:
        brings = message("± {share}", share=Chosen(precision_of(summary.stopping)))
    return NextStep(again("run", {"--trials": str(n + more)}), brings) if more else None


def _longer_limit(summary: Summary) -> NextStep | None:
    """Return the command with twice the time limit if kills at it left a requested value open.

    None: no requested value is open.
    """
    if not any(known.is_open for known in summary.asked):
        return None
    longer = message("how long the runs above the limit take")
    return with_longer_limit("run", summary.results.experiment, brings=longer)


def _warms_up(summary: Summary) -> bool:
    """Whether the times change by a warm-up of the first trials, which --steady leaves out."""
    stop, time = summary.stop, summary.known(summary.time_metric, 0.5)
    if summary.results.steady is not None or time is None or stop is None:
        return False
    if stop.why not in ("drifts", "jumps"):
        return False
    return begins_with_warm_up(summary.least_values(time.metric, time.source))


def _waits(summary: Summary) -> bool:
    """Whether wall time was asked for, and spreads mainly because of waiting for a CPU."""
    found = summary.disturbance
    wall = summary.common("wall_ns")
    cpu = summary.common("cpu_ns")
    if summary.metric != "wall_ns" or wall is None or cpu is None or summary.killed:
        return False
    if found is None or not found.is_waiting:
        return False
    # Imported only where it is needed, since it takes time.
    from tare.experiment.findings.waiting import waits

    trials = summary.of_levels.good["trial"]
    ready, throttled = (
        summary.of_levels.values_of(*metric, trials)
        for metric in (("wait_ns", "schedstat"), THROTTLED)
    )
    return not np.isnan(ready).any() and waits(
        summary.values("wall_ns", wall),
        without_throttling(ready, throttled),
        summary.values("cpu_ns", cpu),
    )


def _narrower(summary: Summary) -> NextStep | None:
    """Return the command without the main cause of the spread; None: it is not known."""
    if _warms_up(summary):
        steady = message("leaves out the warm-up of the first trials")
        return NextStep(again("run", {"--steady": None}, FILES), steady)
    return by_cpu_time("run") if _waits(summary) else None


def next_step(summary: Summary, kept: Path | None, platform: str) -> NextStep:
    """Return what to type next: what brings what is missing, or what else can be measured."""
    if kept is not None:
        return NextStep(shlex.join(["tare", "experiment", "report", files.argument(kept)]))
    stop = summary.stop
    if (longer := _longer_limit(summary)) is not None:
        return longer
    if (narrower := _narrower(summary)) is not None:
        return narrower
    if stop and stop.refusal and not summary.is_only_dependent:
        return _disturbs()
    # Something else than the precision speaks against the median.
    is_doubtful = summary.trust.verdict == "DOUBT" and not summary.trust.is_sound
    if (longer := _longer(summary) or _more_trials(summary)) is not None:
        return longer
    return (
        _disturbs() if is_doubtful else _further(platform, of_application=bool(summary.conditions))
    )


def _disturbs() -> NextStep:
    return NextStep("tare doctor", message("what disturbs this machine"))


def _further(platform: str, *, of_application: bool) -> NextStep:
    """Return what else can be measured, where nothing is wrong with what was."""
    if platform == "bare":
        # Applications bring their files, which a container has as well.
        containers = CONTAINERS if of_application else ()
        container = next((one for one in containers if shutil.which(one)), "unshare")
        command = again("run", {"--platform": container}, FILES)
        return NextStep(command, message("overhead of a container"))
    return NextStep("tare experiment new", message("compare platforms"))
