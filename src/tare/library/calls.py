"""`tare.run`, `tare.compare` and `tare.audit`: the work of the commands, without their output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import TypeVar, Unpack

import msgspec

from tare.cli import again, limits
from tare.cli.command_line import explained, folder_in_memory, how_to_see
from tare.errors import ChangedError, IncompleteError, TareError, TrialError, UsageError
from tare.features.measure.comparison.execution import Execution
from tare.library import options
from tare.library.options import AuditOptions, Command, CompareOptions, RunOptions, StrPath
from tare.library.progress import NoteCollector
from tare.library.results import AuditResult, ComparisonResult, Result, RunResult, compared
from tare.options.option import Options
from tare.render.words import text
from tare.wiring import SUPPLIES

R = TypeVar("R", bound=Result)


def run(
    command: Command | None = None, *, progress: bool = False, **given: Unpack[RunOptions]
) -> RunResult:
    """Measure how long a command takes; see `tare.run`."""
    from tare.experiment import pipeline, plan
    from tare.features.measure.comparison import session
    from tare.features.measure.run import options as of_command
    from tare.features.measure.run import report, work
    from tare.features.measure.run.progress import RunBar

    with _errors(RunOptions.__annotations__, of_command.RunOptions):
        if command is None and given.get("application") is None:
            raise UsageError("tare.run has no command", 'tare.run(["sleep", "0.1"])')
        asked_for = options.parsed("run", given, RunOptions.__annotations__, of_command.RunOptions)
        if command is not None:
            asked_for = asked_for.replace(command=[options.line(command)])
        execution = Execution(SUPPLIES, asked_for, "run", is_command=False)
        out, strict = asked_for.out, asked_for.strict
        asked = work.ask(asked_for)
        prepared = session.prepare(asked.table, execution.given)
        experiment, silent = prepared.experiment, NoteCollector()
        with _folder(out) as folder:
            bar = RunBar(plan.metric(experiment), experiment.stopping) if progress else silent
            summary, failure = work.measure(prepared, folder, execution, bar)
            if not summary.good:
                raise explained(
                    failure or TrialError("no trial was good"), summary.failed, prepared
                )
            made = report.make(summary, asked.lines[0].text, out, asked.main)
            # Commands to type next continue a command line, and there is none.
            made = msgspec.structs.replace(made, next_steps=())
            result = RunResult(
                asked.lines[0].text, summary.results, summary.ended, tuple(silent.notes), summary,
                made, SUPPLIES, _call("run", [] if command is None else [command], given),
            )  # fmt: skip
            if summary.known(summary.metric, 0.5) is None:
                raise TrialError(f"no trial has a value of {summary.metric}", "another metric")
            with _measured(result):
                how = how_to_see(summary.failed)
                if failure is not None:
                    raise TrialError(failure.message, how)
                if summary.short is not None:
                    more = 'more of them, or a longer time: budget="60 s"'
                    raise IncompleteError(text(summary.short), how or more)
                pipeline.check_same(summary.caveats, summary.levels_of, out, strict=strict)
            return result


def compare(
    *commands: Command, progress: bool = False, **given: Unpack[CompareOptions]
) -> ComparisonResult:
    """Compare commands; see `tare.compare`."""
    from tare.experiment import pipeline
    from tare.experiment.findings import sessions
    from tare.features.measure.compare import options as of_command
    from tare.features.measure.compare import work
    from tare.features.measure.comparison import report, session

    known = CompareOptions.__annotations__
    with _errors(known, of_command.CompareOptions):
        if len(commands) < 2:
            raise UsageError(
                f"tare.compare needs two commands or more, not {len(commands)}",
                'tare.compare(["./old"], ["./new"])',
            )
        asked = options.parsed("compare", given, known, of_command.CompareOptions).replace(
            commands=[options.line(one) for one in commands]
        )
        execution = Execution(SUPPLIES, asked, "compare", is_command=False, gate=asked.gate)
        out, strict = asked.out, asked.strict
        prepared, silent = session.prepare(work.ask(asked), asked), NoteCollector()
        with _folder(out) as folder:
            ended, failure = session.measure(
                prepared, folder, execution, None if progress else silent
            )
            results = prepared.results(folder)
            found = session.differences_in(results, folder, execution, ended)
            made = report.make(results, found, ended=ended, gate=asked.gate)
            gate = None if made.gate is None else made.gate.answer
            result = ComparisonResult(
                tuple(compared(d, asked.gate) for d in found), gate, results, ended,
                tuple(silent.notes), made, SUPPLIES,
                _call("compare", commands, given),
            )  # fmt: skip
            with _measured(result):
                pipeline.check_same(
                    sessions.caveats(results), results.levels_of, out, strict=strict
                )
                session.check(results, execution, ended, failure, made.exit_code)
            return result


def audit(*files: StrPath, progress: bool = False, **given: Unpack[AuditOptions]) -> AuditResult:
    """Check how far results of any tool can be trusted; see `tare.audit`."""
    from tare.cli.stages import Progress
    from tare.features.audit import audit as audits
    from tare.features.audit import options as of_command
    from tare.features.audit.ask import ask

    known = AuditOptions.__annotations__
    with _errors(known, of_command.AuditOptions):
        paths = [options.path("file", file) for file in files]
        if not paths:
            raise UsageError("no file was named", 'tare.audit("results.json")')
        question = ask(options.parsed("audit", given, known, of_command.AuditOptions))
        if progress:
            with Progress() as shown:
                found = audits.audit(paths, question, shown)
        else:
            found = audits.audit(paths, question)
        return AuditResult(found, _call("audit", files, given))


def _folder(out: Path | None) -> AbstractContextManager[Path]:
    """Return the folder of the results, which is removed afterwards where none was named."""
    return folder_in_memory() if out is None else nullcontext(out)


def _call(function: str, arguments: Iterable[object], given: Mapping[str, object]) -> str:
    """Return the call as it may be typed again."""
    positional = [repr(str(one) if isinstance(one, PathLike) else one) for one in arguments]
    named = [
        f"{name}={str(value) if isinstance(value, Path) else value!r}"
        for name, value in given.items()
    ]
    return f"tare.{function}({', '.join(positional + named)})"


@contextmanager
def _errors(known: Iterable[str], of: type[Options]) -> Iterator[None]:
    """Raise errors of this package alone, which name keyword arguments instead of options."""
    # Hints name options of the command that was typed last, and here none is typed.
    again.remember({})
    try:
        yield
    except TareError as error:
        raise options.in_keywords(error, known, of) from error.__cause__
    except (OSError, MemoryError) as error:
        foreseen = limits.foreseen(error)
        if foreseen is None:
            raise
        raise foreseen from error


@contextmanager
def _measured(result: Result) -> Iterator[None]:
    """Give an error that is raised after trials were measured their result."""
    try:
        yield
    except (ChangedError, IncompleteError, TrialError) as error:
        error.result = result
        raise
