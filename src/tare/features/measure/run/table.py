"""``tare run`` of several commands, parameters or platforms: one table of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tare.cli import console
from tare.errors import ExperimentError, Typed
from tare.experiment.time_limits import COUNTED
from tare.features.measure.comparison import session
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.comparison.session import conclude, differences_in, measure, prepare

if TYPE_CHECKING:
    from tare.cli.lines import Line
    from tare.results.report import Report


def check(platforms: Sequence[str], lines: Sequence[Line], refused: Mapping[str, bool]) -> None:
    """Refuse what is asked of one command alone, and a platform that is named twice.

    Parameters
    ----------
    platforms : sequence of str
        In the order of the table.
    lines : sequence of Line
        In the order of the table.
    refused : mapping
        Options to whether they were given.
    """
    twice = next((one for one in platforms if list(platforms).count(one) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--platform {twice} is given twice", "name each platform once")
    if len(platforms) > 1 and len(lines) > 1:
        raise ExperimentError(
            f"{len(lines)} commands on {len(platforms)} platforms are more than one table",
            Typed("tare experiment new   (or choose one of both)"),
        )
    given = next((option for option, is_given in refused.items() if is_given), None)
    if given is not None:
        what = "platform" if len(platforms) > 1 else "command"
        raise ExperimentError(
            f"{given} is about one {what}, and {max(len(platforms), len(lines))} are asked for",
            f"leave {given} out (--budget and --trials are for all), or run each {what} by itself",
        )


def run_table(
    table: dict[str, Any],
    lines: Sequence[Line],
    execution: Execution,
    export: str | None,
    *,
    named: bool,
) -> Report:
    """Measure all in turn, and compare them with the first.

    Parameters
    ----------
    table : dict
        The experiment, with ``compare``.
    lines : sequence of Line
        What was typed.
    execution : Execution
        As for ``tare compare``.
    export : str or None
        File in hyperfine's format.
    named : bool
        Whether the commands were given names.
    """
    from tare.features.measure.run.exports import as_hyperfine, trial_json, trials_of

    prepared = prepare(table, execution.given)
    with execution.folder() as folder:
        ended, failure = measure(prepared, folder, execution)
        results = prepared.results(folder)
        trials = trials_of(results)
        counted = [
            {"workload": t.workload, "platform": t.platform, **trial_json(t)}
            for t in trials
            if t.status in COUNTED
        ]
        found = differences_in(results, folder, execution, ended, trials=counted)
        if export is not None:
            console.write_json(as_hyperfine(trials, lines, named=named), export)
        complete = partial(session.check, results, execution, ended, failure)
        return conclude(
            found, results, ended, folder, execution, complete, is_table=True, trials=counted
        )
