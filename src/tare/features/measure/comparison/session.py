"""Measures commands that are compared, and concludes with their report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tare.cli import console
from tare.cli.again import offers
from tare.cli.command_line import (
    CONCLUDING_S,
    explained,
    hiding,
    how_to_see,
    metric_name,
    spent_s,
)
from tare.cli.delivery import reporting
from tare.errors import (
    CutShortError,
    IncompleteError,
    InterruptError,
    TerminatedError,
    TrialError,
    Typed,
)
from tare.features.measure.comparison.execution import Execution, kept
from tare.options.measuring import SessionOptions
from tare.render.words import sentence, text
from tare.results import phrases
from tare.results.message import Message, message
from tare.results.verdict import GATE_CODES

if TYPE_CHECKING:
    from tare.cli.progress import SessionProgress
    from tare.experiment.findings.judgement import Difference
    from tare.experiment.findings.side_failures import LostCandidate
    from tare.experiment.pipeline import Prepared
    from tare.experiment.results import Results
    from tare.results.report import Report


#: Of a report with a page, what the command itself says.
_OWN = (
    "command", "exit_code", "figures", "entries", "next_steps", "gate", "comparisons", "lost",
    "failed", "further", "shows_cells",
)  # fmt: skip


def prepare(table: dict[str, Any], given: SessionOptions) -> Prepared:
    """Read the question; errors name options."""
    from tare.experiment import file, pipeline
    from tare.experiment.catalogue import catalogue
    from tare.experiment.file.table import CommandLine

    known = catalogue()
    asked = table["experiment"]
    # Where none is named, the workloads say which it is.
    if "metric" in asked:
        asked["metric"] = [metric_name(one, known.metrics) for one in asked["metric"]]
    question = file.from_table(table, CommandLine(type(given)), known)
    return pipeline.check(question)


def measure(
    prepared: Prepared, folder: Path, execution: Execution, bar: SessionProgress | None = None
) -> tuple[str, TrialError | None]:
    """Measure a session that there must be something to conclude from.

    ``bar`` shows the progress; by default on standard error.

    Returns
    -------
    (str, TrialError or None)
        As of :func:`conduct`, where some trials are good all the same.
    """
    from tare.cli.progress import Bar
    from tare.experiment.findings.failures import failures

    bar = bar or Bar(budget_s=prepared.experiment.stopping.budget_s)
    ended, failure = conduct(prepared, folder, execution, bar)
    if failure is not None and not (results := prepared.results(folder)).good:
        raise explained(failure, failures(results), prepared) from failure
    return ended, failure


def conduct(
    prepared: Prepared, folder: Path, execution: Execution, bar: SessionProgress
) -> tuple[str, TrialError | None]:
    """Measure a session, which Ctrl-C ends with what there is.

    Returns
    -------
    (str, TrialError or None)
        Why it ended: ``interrupted`` if somebody stopped it; and what failed.

    Raises
    ------
    ExperimentError
        If something was piped into tare meanwhile, which no command has read.
    InterruptError
        If it was told to end at once.
    KeyboardInterrupt
        If somebody stopped it before there was anything.
    """
    from tare.cli.standard_input import refuse_piped
    from tare.experiment import pipeline, plan
    from tare.experiment.session.request import SHORT_PROBING

    try:
        with bar:
            for said in plan.supply(prepared.experiment, prepared.cells, prepared.machine):
                bar.note(sentence(said))
            ended = pipeline.execute(
                prepared,
                folder,
                bar,
                resume=execution.given.resume,
                as_root=execution.given.as_root,
                disturbances=True,
                charts=execution.page,
                spent_s=spent_s() if execution.is_command else CONCLUDING_S,
                supplies=execution.supplies,
                probing=SHORT_PROBING,
            )
            inputs = any(workload.input for workload in prepared.experiment.workloads)
            if execution.is_command and not inputs:
                # Who writes to a pipe may have taken as long as the trials.
                refuse_piped()
            return ended, None
    except TerminatedError as error:
        raise cut_short(folder, execution) from error
    except KeyboardInterrupt:
        if not bar.has_begun or not execution.is_command:
            raise
        return "interrupted", None
    except CutShortError as error:
        return "interrupted", error
    except TrialError as error:
        return "failed", error


def differences_in(
    results: Results,
    folder: Path,
    execution: Execution,
    ended: str,
    *,
    trials: Sequence[Any] | None = None,
) -> tuple[Difference, ...]:
    """Return what results say of the factor that is compared; ``trials``: as for the report.

    None where all platforms but the reference are emulated, and where every candidate's trials all
    failed and a gate answers for them.

    Raises
    ------
    TrialError
        If nothing can be compared; with the report of what was measured, if anything was.
    InterruptError
        If that is because somebody stopped it: ``ended`` is what :func:`measure` returned.
    """
    from tare.experiment.findings.cells import values_of
    from tare.experiment.findings.failures import by_level, failures
    from tare.experiment.findings.judgement import differences, emulated_apart, failing, lost
    from tare.features.measure.comparison import report

    found = differences(results)
    if not isinstance(found, Message):
        return found
    has_values = not isinstance(values_of(results), Message)
    if (has_values and emulated_apart(results) is not None) or lost(results):
        return ()
    if ended == "interrupted":
        raise cut_short(folder, execution)
    factor = results.experiment.stopping.compare or "workload"
    with contextlib.ExitStack() as stack:
        if has_values:
            made = report.make(
                results, (), ended=ended, gate=None, command=execution.command, is_table=True,
                trials=trials,
            )  # fmt: skip
            stack.enter_context(reporting(msgspec.structs.replace(made, entries=())))
        why = "; ".join(map(text, by_level(results, factor=factor)))
        stacks = (
            hiding(failing(results, factor), results.experiment) if factor == "platform" else ()
        )
        raise TrialError(f"{sentence(found)} {why}".strip(), how_to_see(failures(results), stacks))


def conclude(
    found: Sequence[Difference],
    results: Results,
    ended: str,
    folder: Path,
    execution: Execution,
    check: Callable[[int], None],
    *,
    is_table: bool = False,
    trials: Sequence[Any] | None = None,
    without: Sequence[LostCandidate] | None = None,
) -> Report:
    """Return the report of comparisons, with the page where one is drawn.

    ``check`` is given the exit code and raises what is missing; the error carries the report.

    Raises
    ------
    ChangedError
        If the machine changed, and that is an error.
    """
    from tare.experiment import pipeline
    from tare.experiment.findings import sessions
    from tare.features.measure.comparison import report
    from tare.features.measure.comparison.next_steps import next_step
    from tare.features.measure.outlived import with_bash

    background = with_bash(results, execution.command, execution.given.shell)
    step = background or next_step(found, results, execution)
    made = report.make(
        results, found, ended=ended, gate=execution.gate, command=execution.command,
        is_table=is_table, kept=execution.given.out is not None,
        next_=() if step is None else (step,), trials=trials, without=without,
    )  # fmt: skip
    with reporting(made):
        made = with_page(made, folder, results, execution)
    with reporting(made):
        pipeline.check_same(
            sessions.caveats(results),
            results.levels_of,
            execution.given.out,
            strict=execution.given.strict,
        )
        # What a gate judges is protected by blocks.
        check(made.exit_code)
    return made


def cut_short(folder: Path, execution: Execution) -> InterruptError:
    """Return what is said of a comparison from which nothing can be concluded yet."""
    if execution.given.out is None:
        hint = "keep it with --out, and go on with --resume" if offers("--resume") else None
        return InterruptError("interrupted; nothing was kept", hint)
    return kept(folder)


def check_complete(
    results: Results, execution: Execution, ended: str, code: int, *, is_number_asked: bool = True
) -> None:
    """Raise where trials are missing or failed often, and no verdict fails.

    ``is_number_asked``: somebody asked for so many; otherwise those that fit the budget are enough.
    """
    from tare.experiment.findings import completeness
    from tare.experiment.findings.failures import failing_often, failures
    from tare.render.words import paragraph

    # Who stops it by hand wants no more of them.
    enough = ended == "interrupted" or (ended == "budget" and not is_number_asked)
    short = None if enough else completeness.find(results)
    told = None if short is None else paragraph(short.answer)
    trials = results.trial_table
    often = failing_often(zip(trials["session"], trials["status"], strict=True))
    if told is None and often is not None:
        told = text(message(phrases.RUN_OFTEN, failed=often[0], trials=often[1]))
    if told is not None and code == 0:
        raise IncompleteError(
            told,
            Typed("--resume   (measures what is missing)")
            if execution.given.out is not None
            else how_to_see(failures(results))
            if (trials["status"] == "failed").any()
            else "a longer --budget",
        )


def check(
    results: Results, execution: Execution, ended: str, failure: TrialError | None, code: int
) -> None:
    """Raise what failed or is missing, after the comparisons were reported.

    Parameters
    ----------
    results : Results
    execution : Execution
    ended : str
        Why the session ended.
    failure : TrialError or None
        What ended it.
    code : int
        Exit code of the gate; 0 without one.

    Raises
    ------
    TrialError
        If the session failed, or every trial of something that is compared did.
    IncompleteError
        If trials are missing.
    """
    from tare.experiment.findings.failures import failures
    from tare.experiment.findings.judgement import failing, failing_trials, lost

    if failure is not None:
        raise failure
    factor = results.experiment.stopping.compare or "workload"
    hopeless = failing(results, factor)
    if not hopeless:
        check_complete(results, execution, ended, code)
    # Otherwise the gate has answered for the failed command already.
    elif not lost(results) and code != GATE_CODES["fail"]:
        stacks = hiding(hopeless, results.experiment) if factor == "platform" else ()
        of_run = execution.command == "run"
        raise TrialError(
            ("" if of_run else f"nothing is compared with {hopeless[0]}: ")
            + text(failing_trials(results, factor, hopeless)),
            how_to_see(failures(results), stacks),
        )


def check_report(destination: Path | None) -> None:
    """Refuse the name of a report that says no format, before anything is measured.

    Raises
    ------
    StoreError
        If no format of a report ends so.
    """
    if destination is not None:
        from tare.render import files

        files.format_of(destination)


def with_page(report: Report, folder: Path, results: Results, execution: Execution) -> Report:
    """Add the questions and charts of the page, where one was asked for or the folder stays."""
    from tare.experiment import pipeline
    from tare.experiment.report import page as pages

    if not execution.page:
        return report
    with console.err.status("drawing the page"):
        findings = pipeline.answers(results, execution.supplies.findings()).findings
        page = pages.document(folder, execution.supplies, findings, results=results)
    return merged(report, page)


def merged(report: Report, page: Report) -> Report:
    """Return the report of an experiment's page with what the command itself says."""
    own = {name: getattr(report, name) for name in _OWN}
    return msgspec.structs.replace(
        page,
        **own,
        cells=page.cells if report.cells is None else report.cells,
        caveats=(*report.caveats, *(one for one in page.caveats if one not in report.caveats)),
        notes=(*report.notes, *(one for one in page.notes if one not in report.notes)),
    )
