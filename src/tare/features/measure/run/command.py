"""``tare run``: one command, on any platform stack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.cli.call import Call
from tare.cli.command_line import explained, how_to_see
from tare.cli.delivery import reporting
from tare.cli.standard_input import standard_input
from tare.errors import IncompleteError, TrialError, Typed
from tare.features.measure.run.options import RunOptions
from tare.options.command import command
from tare.results.message import Message, message
from tare.results.report import Entry, Report

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.features.measure.comparison.execution import Execution
    from tare.features.measure.run.summary import Summary
    from tare.features.measure.run.work import Asked


@command(RunOptions)
def run(given: RunOptions, call: Call) -> Report:
    """Measure how long a command takes.

    Several commands, values of a parameter, or platforms make one table. For hyperfine's
    options see docs/how-to/from-hyperfine.md.

        tare run -- sleep 0.1
        tare run 'sleep 0.1' 'sleep 0.103'
        tare run --parameter-scan t 1 3 'sleep 0.{t}'
        tare run --application ffmpeg -p bare -p docker
    """
    from tare.features.measure.comparison.execution import Execution
    from tare.features.measure.comparison.session import check_report
    from tare.features.measure.run import table as run_table
    from tare.features.measure.run import work

    console.check_writable(given.json, given.save, given.markdown, given.export_json, given.report)
    check_report(given.report)
    execution = Execution(call.supplies, given, command="run")
    with standard_input(given.input) as input:
        asked = work.ask(given.replace(input=input))
        if asked.several:
            run_table.check(
                asked.platforms, asked.lines,
                {f"--{name}": name in given.given for name in ("save", "quantile", "precision")},
            )  # fmt: skip
            return run_table.run_table(
                asked.table, asked.lines, execution, given.export_json, named=bool(given.name)
            )
        return _one(asked, execution, given.save, given.export_json, named=bool(given.name))


def _one(
    asked: Asked,
    execution: Execution,
    save: Path | None,
    export: str | None,
    *,
    named: bool,
) -> Report:
    """Measure a single command on a single platform."""
    from tare.experiment import pipeline, plan
    from tare.features.measure.comparison.session import prepare, with_page
    from tare.features.measure.run import report, work
    from tare.features.measure.run.progress import RunBar
    from tare.render.words import text

    (line,) = asked.lines
    prepared = prepare(asked.table, execution.given)
    experiment = prepared.experiment
    with execution.folder() as folder:
        bar = RunBar(plan.metric(experiment), experiment.stopping)
        summary, failure = work.measure(prepared, folder, execution, bar)
        results, found = summary.results, summary.failed
        if summary.by_hand and not summary.good:
            raise KeyboardInterrupt
        made = report.make(
            summary, line.name if named else line.text, execution.given.out, asked.main,
            execution.given.shell,
        )  # fmt: skip
        with reporting(made):
            if summary.good and export is not None:
                from tare.features.measure.run.exports import as_hyperfine, trials_of

                console.write_json(as_hyperfine(trials_of(results), [line], named=named), export)
            if failure is not None:
                raise (
                    TrialError(failure.message, how_to_see(found))
                    if summary.good
                    else explained(failure, found, prepared)
                )
            if execution.given.report is not None:
                made = with_page(made, folder, results, execution)
        with reporting(made):
            if save is not None:
                saved = Entry("Saved", _save(results, save))
                made = msgspec.structs.replace(made, entries=(*made.entries, saved))
        with reporting(made):
            if summary.short is not None:
                raise IncompleteError(text(summary.short), _more(summary, execution.given.out))
            pipeline.check_same(
                summary.caveats,
                summary.levels_of,
                execution.given.out,
                strict=execution.given.strict,
            )
        return made


def _more(summary: Summary, out: Path | None) -> str | None:
    """Return what gets the trials that were asked for."""
    if summary.failed:
        return (None if out else how_to_see(summary.failed)) or _repair(summary, out)
    if out:
        return Typed("--resume   (measures more)")
    return "the same command again" if summary.by_hand else "a longer --budget"


def _repair(summary: Summary, out: Path | None) -> str:
    """Return the same command, after what fails was repaired."""
    from tare.cli.again import again
    from tare.render.words import text

    if out and summary.is_complete:
        # Nothing is missing in this folder: what goes on with it measures as many once more.
        return text(message("repair what fails, then measure it again with another --out"))
    # What a program wrote stands above, never in what is to be typed.
    command = again("run", {"--resume": None} if out else {})
    return Typed(f"{command}   (after repairing what fails)")


def _save(results: Results, file: Path) -> Message:
    """Add what was measured to a baseline, and say how many sessions it has."""
    from tare.experiment import plan
    from tare.features.measure import baseline
    from tare.statistics.sessions import FEWEST_SESSIONS

    whole = baseline.save(file, baseline.of(results, plan.metric(results.experiment)))
    n = len(whole.sessions)
    return message(
        "{file} has {sessions | counted('session')}{% if wanting %}; a comparison with it "
        "needs {wanting} more{% endif %}",
        file=str(file),
        sessions=n,
        wanting=max(0, FEWEST_SESSIONS - n),
    )
