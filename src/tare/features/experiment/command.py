"""``tare experiment``: a question as a file, its plan, its execution, its report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import msgspec
import typer

from tare.cli import console, options, quantities
from tare.cli.again import again as typed_again
from tare.cli.commands import Commands
from tare.cli.delivery import reporting
from tare.errors import IncompleteError, StoreError, TrialError, UsageError
from tare.results.message import Message, message
from tare.results.report import Entry, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.experiment.findings.completeness import Failing
    from tare.experiment.pipeline import Answers, Prepared
    from tare.experiment.results import Results
    from tare.experiment.specification import Limit
    from tare.experiment.supplies import Supplies

#: The page of an experiment, in its folder.
PAGE = "report.html"

app = Commands(
    no_args_is_help=True,
    help="""Plan, run and report experiments that are written as files.

        tare experiment run examples/demo.toml --out demo-results
    """,
)

File = Annotated[Path, typer.Argument(help="Experiment file (TOML).", metavar="FILE")]
SkipMissing = Annotated[
    bool, typer.Option("--skip-missing", help="Leave out platforms and loads that are missing.")
]


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="File to write.", metavar="[FILE]")] = Path(
        "experiment.toml"
    ),
    application: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of an application: tare describe applications."),
    ] = None,
    json: options.Json = None,
) -> Report:
    """Write an experiment file to start from.

    tare experiment new mine.toml --application mpi-prime
    """
    from tare.experiment.file import template

    text = template(application)
    try:
        with file.open("x") as target:
            target.write(text)
    except FileExistsError as error:
        raise StoreError(
            f"{file} is there already, so nothing was written", "choose another name"
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot write {file}: {error.strerror}", "tare experiment new /another/place.toml"
        ) from error
    return Report(
        command="experiment new",
        name="experiment new",
        question=message("Which file was written?"),
        figures={"written": [str(file)]},
        entries=(Entry("Wrote", message("{file}", file=str(file))),),
        next=(message("tare experiment plan {file}", file=str(file)),),
    )


@app.command()
def plan(
    file: File,
    skip_missing: SkipMissing = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder of its results: how long the rest takes."
        ),
    ] = None,
    json: options.Json = None,
) -> Report:
    """Show the cells and how long their trials take.

    Estimated from a trial or two of some of them, or from those in DIR.

        tare experiment plan examples/stability.toml
    """
    from tare.cli.command_line import folder_in_memory
    from tare.cli.progress import Bar
    from tare.experiment import pipeline
    from tare.features.experiment import plan_report
    from tare.render.words import sentences

    prepared = pipeline.prepare(file, skip_missing=skip_missing)
    forecast = None if out is None else pipeline.remaining(prepared, out)
    goes_on = forecast is not None
    if forecast is None:
        for line in sentences(plan_report.announcement(prepared.experiment, prepared.cells)):
            console.err.print(line)
        with folder_in_memory() as folder, Bar(file=file) as bar:
            forecast = pipeline.forecast(prepared, folder, bar)
    words = ["tare", "experiment", "run", str(file)]
    words += ["--skip-missing"] * skip_missing
    words += [] if out is None else ["--out", str(out)]
    again = shlex.join([*words, *["--resume"] * goes_on])
    return plan_report.make(prepared, forecast, again)


@app.command()
def run(
    ctx: typer.Context,
    file: File,
    skip_missing: SkipMissing = False,
    as_root: options.AsRoot = False,
    strict: options.Strict = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for the results. [default: FILE less .toml]"
        ),
    ] = None,
    resume: options.Resume = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Measure for at most this time, whatever FILE says."),
    ] = None,
    network_fingerprint: options.NetworkFingerprint = None,
    fleet: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="On many hosts: ssh:HOST,HOST, local:N, or a Dask scheduler."
        ),
    ] = None,
    json: options.Json = None,
) -> Report:
    """Run an experiment and write its report.

    tare experiment run examples/demo.toml --out demo-results
    """
    supplies: Supplies = ctx.obj
    from tare.cli.command_line import interrupted
    from tare.cli.progress import Bar
    from tare.experiment import pipeline, plan_file

    folder = out or file.with_suffix("")
    ctx.params["report"] = folder / PAGE
    if fleet is not None:
        if budget is not None:
            raise UsageError("--budget is for one machine", f"the key budget in {file}")
        return supplies.on_fleet(
            file, fleet, folder, skip_missing=skip_missing, as_root=as_root, resume=resume
        )
    plan_file.check_no_fleet(folder)
    again = typed_again("experiment run", {"--out": str(folder), "--resume": None})
    prepared = pipeline.prepare(file, skip_missing=skip_missing, network=network_fingerprint)
    if budget is not None:
        prepared = prepared.within(quantities.wait("--budget", budget))
    for note in prepared.notes:
        console.err.print(f"Note: {note.message}")
    try:
        try:
            with Bar(file=file) as bar:
                pipeline.execute(
                    prepared, folder, bar, resume=resume, as_root=as_root, supplies=supplies
                )
        except TrialError as error:
            _raise_explained(error, folder, prepared, supplies)
        return _report(folder, supplies, resumed=(str(file), again), strict=strict)
    except KeyboardInterrupt as error:
        shows = shlex.join(["tare", "experiment", "report", str(folder)])
        raise interrupted(folder, again, shows) from error


def _check_complete(answers: Answers, results: Results, file: str, again: str) -> None:
    """Raise where cells have fewer good trials than requested; ``again``: what measures them."""
    from tare.experiment.findings import completeness
    from tare.render.words import paragraph

    short = next((f for f in answers.findings if f.name == completeness.NAME), None)
    if short is not None:
        raise IncompleteError(
            paragraph(short.answer),
            f"a longer budget in {file}, then {again}   (measures for as long again)"
            if completeness.over_budget(results)
            else _repaired(completeness.failing(results), again),
        )


def _repaired(failing: Sequence[Failing], again: str) -> str:
    """Return what measures what is missing: first of all, what fails has to be repaired."""
    from tare.render.words import listing, text
    from tare.results.message import message

    if not failing:
        return f"{again}   (measures what is missing)"
    cells = listing(name for one in failing for name in one.cells)
    return text(
        message(
            "repair “{cells}” ({reason}), then {command}",
            cells=cells,
            reason=failing[0].reason,
            command=again,
        )
    )


@app.command()
def report(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder of the experiment.", metavar="DIR")],
    session: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="Only what this session measured; repeatable."),
    ] = None,
    charts: options.Charts = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder for --charts. [default: DIR/charts]"
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Page: .html, .md, or .json. [default: DIR/report.html]"),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[KIND=]LIMIT",
            help="How often a limit of a judge misjudges: 1s, memory=64MiB; repeatable.",
        ),
    ] = None,
    strict: options.Strict = False,
    json: options.Json = None,
) -> Report:
    """Print the answers of an experiment and write its report.

    Also while it still runs.

        tare experiment report demo-results --report demo.md
        tare experiment report judge-results --limit '1 s'
    """
    from tare.render import files

    options.check_charts(charts, out, report)
    if charts is not None:
        ctx.params["out"] = out or folder / "charts"
    else:
        ctx.params["report"] = report or folder / PAGE
        files.format_of(ctx.params["report"])
    return _report(
        folder, ctx.obj, sessions=session or (), limits=_limits(limit or ()), strict=strict
    )


def _limits(typed: Sequence[str]) -> tuple[Limit, ...]:
    """Return the limits that were typed."""
    from tare.experiment.file import kinds

    found: list[Limit] = []
    for text in typed:
        of, _, value = text.rpartition("=")
        try:
            found += kinds.LIMIT.read({of: value} if of else value)
        except ValueError:
            raise UsageError(
                f"--limit {text!r} is neither a time nor a size", "--limit '1 s', or memory=64MiB"
            ) from None
    return tuple(found)


def _resumed(results: Results, folder: Path) -> tuple[str, str]:
    """Return the experiment's file, and what to type to go on with what is kept in a folder."""
    typed = results.sessions["argv"].tolist() if "argv" in results.sessions else []
    words = [str(word) for word in typed[0][1:]] if typed else []
    if words[:2] != ["experiment", "run"]:
        return "the experiment", "the command that measured it, with --resume"
    file = next((word for word in words if word.endswith(".toml")), "FILE")
    again = shlex.join(["tare", "experiment", "run", file, "--out", str(folder), "--resume"])
    return file, again


def _longer(file: str, again: str) -> Message:
    """Return the hint that says what to change and type for more trials of an experiment."""
    return message(
        "{% if typed %}a longer budget or more trials in {file}, then {again}{% else %}{again} "
        "and more trials or budget{% endif %}",
        typed=again.startswith("tare "),
        file=file,
        again=again,
    )


def _raise_explained(
    error: TrialError, folder: Path, prepared: Prepared, supplies: Supplies
) -> NoReturn:
    """Raise the error that ended a session; where every trial failed, with a report that says so.

    The report and the error have what commands wrote at last.
    """
    from tare.cli.command_line import explained
    from tare.experiment import pipeline
    from tare.experiment.findings.failures import failures
    from tare.experiment.report import page as pages

    results = pipeline.results_of(folder)
    if set(results.trial_table["status"]) != {"failed"}:
        raise error
    told = explained(error, failures(results), prepared)
    with reporting(pages.document(folder, supplies, results=results)):
        raise TrialError(told.message, told.hint or error.hint) from error


def _report(
    folder: Path,
    supplies: Supplies,
    *,
    sessions: Sequence[int] = (),
    resumed: tuple[str, str] | None = None,
    limits: tuple[Limit, ...] = (),
    strict: bool = False,
) -> Report:
    """Return the report of an experiment; raise with it where it is incomplete.

    ``resumed``: the experiment's file, and what goes on with it. ``limits``: asked about in place
    of those of the experiment. ``strict``: a machine that changed is an error.
    """
    from tare.experiment import pipeline
    from tare.experiment.report import page as pages
    from tare.render.words import text

    with console.err.status("working out the answers") as status:

        def count(done: int, of: int) -> None:
            status.update(f"working out the answers: {done} of {of}")

        results = pipeline.results_of(folder, sessions)
        if limits:
            results = results.judged_by(limits)
        file, again = resumed or _resumed(results, folder)
        answers = pipeline.answers(results, supplies.findings(), count)
        made = pages.document(folder, supplies, answers.findings, results=results)
    made = msgspec.structs.replace(
        made,
        command="experiment report" if resumed is None else "experiment run",
        figures={
            "failures": answers.failures,
            "session_changes": answers.caveats,
            "levels_of": answers.levels_of,
        },
        next=(_longer(file, again),) if _needs_more(made, answers, results) else (),
    )
    with reporting(made):
        if not results.counted:
            raise TrialError(
                f"no trial of the experiment in {folder} ended well, so nothing can be concluded",
                text(_longer(file, again)) if resumed else None,
            )
        pipeline.check_same(answers.caveats, results.levels_of, folder, strict=strict)
        _check_complete(answers, results, file, again)
    return made


def _needs_more(made: Report, answers: Answers, results: Results) -> bool:
    """Whether more trials are the next step."""
    from tare.experiment import plan
    from tare.experiment.findings import completeness
    from tare.experiment.request_quantiles import few_in

    # A session that is incomplete ends with an error, which has the next step.
    is_complete = all(f.name != completeness.NAME for f in answers.findings)
    # More trials do not help where each has too few requests.
    few = few_in(results, plan.metric(results.experiment))
    return bool(made.inconclusive) and is_complete and not few
