"""``tare run`` on several platforms: the smallest experiment, and its one table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from tare import units
from tare.cli import output
from tare.cli.comparing import (
    Execution,
    Wanted,
    check_complete,
    differences_in,
    measure,
    prepare,
)
from tare.errors import ExperimentError, TrialError

if TYPE_CHECKING:
    from tare.findings.judgement import Difference
    from tare.results import Results
    from tare.statistics.intervals import Interval
    from tare.statistics.statistic import FloatArray


def check(platforms: Sequence[str], refused: Mapping[str, bool]) -> None:
    """Refuse what is asked of one platform alone, and a platform that is named twice.

    Parameters
    ----------
    platforms : sequence of str
        In the order of the table.
    refused : mapping
        Options to whether they were given.
    """
    twice = next((one for one in platforms if list(platforms).count(one) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--platform {twice} is given twice", "name each platform once")
    given = next((option for option, is_given in refused.items() if is_given), None)
    if given is not None:
        raise ExperimentError(
            f"{given} is about one platform, and {len(platforms)} are asked for",
            "one --platform, or an experiment: tare experiment new",
        )


def run_platforms(
    table: dict[str, Any], platforms: Sequence[str], execution: Execution, wanted: Wanted
) -> int:
    """Measure one command on several platforms in turn, print the table, return the exit code."""
    asked = {k: v for k, v in table["experiment"].items() if k not in ("quantile", "anytime")}
    table["experiment"] = {**asked, "compare": "platform", "metric": _only(asked)}
    prepared = prepare(table, execution.network)
    with wanted.folder() as folder:
        ended = measure(prepared, folder, execution)
        results, found = differences_in(folder, execution, ended)
        if wanted.json != "-":
            _show(found, results, ended, wanted.out)
        if wanted.json is not None:
            from tare.cli import verdict

            output.write_json(verdict.as_json(found, results, ended, None), wanted.json)
        _check_all(results, platforms)
        check_complete(results, execution, 0)
        return 0


def _only(asked: Mapping[str, Any]) -> str:
    metrics = asked.get("metric", ["wall"])
    if len(metrics) > 1:
        raise ExperimentError(
            "several platforms are compared by one --metric", "name the one that matters"
        )
    return str(metrics[0])


def _show(found: Sequence[Difference], results: Results, ended: str, kept: Path | None) -> None:
    from tare.cli.verdict import trust
    from tare.findings.disturbance import failures

    say = output.out.print
    (workload,) = results.experiment.workloads
    assert workload.command is not None
    say(shlex.join(workload.command), no_wrap=True, overflow="ellipsis")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    first = found[0]
    table.add_column("platform", overflow="fold")
    for heading in ("median (95 %)", f"vs. {first.first}", "p10–p90", "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(first.first, *_own(first.medians[0], first.level_values[0], first, "–"))
    for d in found:
        told = f"{d.ratio} {_word(d)}"
        table.add_row(d.second, *_own(d.medians[1], d.level_values[1], d, told))
    say(table)
    for failed in failures(results, factor="platform"):
        say(f"Failed  {failed}")
    say(f"Trust   {trust(results, found)}")
    if ended == "interrupted":
        say(f"Note    stopped by hand after {len(results.trial_table)} trials")
    for d in found:
        if d.further:
            say(f"Note    {d.second}: {d.further}")
    told = f"tare experiment report {kept}" if kept else "tare run --out DIR …   (keeps the trials)"
    say(f"Next    {told}", style="dim")


def _own(median: Interval, values: FloatArray, d: Difference, beside: str) -> tuple[str, ...]:
    unit = d.basis.unit
    if median.low is None or median.high is None:
        told = units.amount(unit, median.estimate)
    else:
        told = units.interval(unit, median.estimate, median.low, median.high)
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    spread = f"{100 * (high - low) / middle:.2g} %" if len(values) > 1 and middle else "–"
    return told, beside, spread, str(len(values))


def _word(d: Difference) -> str:
    words = {"same": "equivalent", "not decided": "inconclusive"}
    return words.get(d.comparison.verdict, d.comparison.verdict)


def _check_all(results: Results, platforms: Sequence[str]) -> None:
    """Raise where a platform that was asked for has no good trial."""
    from tare.findings.disturbance import failures
    from tare.findings.judgement import failing
    from tare.findings.phrasing import listing

    hopeless = failing(results, "platform")
    if hopeless:
        why = "; ".join(failures(results, hopeless, "platform"))
        raise TrialError(
            f"every trial on {listing(hopeless)} failed: {why}",
            f"tare describe platforms {' '.join(p for p in platforms if p in hopeless)}",
        )
