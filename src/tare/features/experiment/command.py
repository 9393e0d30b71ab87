"""``tare experiment``: a question as a file, its plan, its execution, its report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tare.cli import console, options, quantities
from tare.cli.again import again as typed_again
from tare.cli.commands import Commands
from tare.errors import IncompleteError, StoreError, TrialError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.experiment.findings.completeness import Failing
    from tare.experiment.pipeline import Answers, Prepared
    from tare.experiment.results import Results
    from tare.experiment.specification import Limit
    from tare.experiment.supplies import Supplies

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
) -> None:
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
    if json is not None:
        console.write_json({"version": 1, "written": [str(file)]}, json)
    if json != "-":
        console.out.print(f"Wrote {file}. Next: tare experiment plan {file}")


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
) -> None:
    """Show the cells and how long their trials take.

    Estimated from a trial or two of some of them, or from those in DIR.

        tare experiment plan examples/stability.toml
    """
    from tare.cli.command_line import folder_in_memory
    from tare.cli.progress import Bar
    from tare.experiment import pipeline
    from tare.features.experiment.plan_screen import announcement, show_plan
    from tare.render.words import sentences

    prepared = pipeline.prepare(file, skip_missing=skip_missing)
    forecast = None if out is None else pipeline.remaining(prepared, out)
    goes_on = forecast is not None
    if forecast is None:
        for line in sentences(announcement(prepared.experiment, prepared.cells)):
            console.err.print(line)
        with folder_in_memory() as folder, Bar(file=file) as bar:
            forecast = pipeline.forecast(prepared, folder, bar)
    words = ["tare", "experiment", "run", str(file)]
    words += ["--skip-missing"] * skip_missing
    words += [] if out is None else ["--out", str(out)]
    again = shlex.join([*words, *["--resume"] * goes_on])
    show_plan(prepared, forecast, json, again)
    if json != "-":
        console.out.print(f"Next: {again}", soft_wrap=True)


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
) -> None:
    """Run an experiment and write its report.

    tare experiment run examples/demo.toml --out demo-results
    """
    supplies: Supplies = ctx.obj
    from tare.cli.command_line import interrupted
    from tare.cli.progress import Bar
    from tare.experiment import pipeline, plan_file

    folder = out or file.with_suffix("")
    if fleet is not None:
        if budget is not None:
            raise UsageError("--budget is for one machine", f"the key budget in {file}")
        supplies.on_fleet(
            file, fleet, folder,
            skip_missing=skip_missing, as_root=as_root, resume=resume, json=json,
        )  # fmt: skip
        return
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
            raise _explained(error, folder, prepared, supplies) from error
        _tell(folder, json, supplies, resumed=(str(file), again), strict=strict)
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
) -> None:
    """Print the answers of an experiment and write its report.

    Also while it still runs.

        tare experiment report demo-results --report demo.md
        tare experiment report judge-results --limit '1 s'
    """
    options.check_charts(charts, out, report)
    _tell(
        folder, json, ctx.obj, sessions=session or (), charts=charts, out=out or report,
        limits=_limits(limit or ()), strict=strict,
    )  # fmt: skip


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


def _longer(file: str, again: str) -> str:
    """Return the hint that says what to change and type for more trials of an experiment."""
    if not again.startswith("tare "):
        return f"{again} and more trials or budget"
    return f"a longer budget or more trials in {file}, then {again}"


def _explained(
    error: TrialError, folder: Path, prepared: Prepared, supplies: Supplies
) -> TrialError:
    """Return the error that ended a session; where every trial failed, write a page that says so.

    The page and the error have what commands wrote at last.
    """
    from tare.cli.command_line import explained
    from tare.experiment import pipeline
    from tare.experiment import report as pages
    from tare.experiment.findings.failures import failures

    results = pipeline.results_of(folder)
    if set(results.trial_table["status"]) != {"failed"}:
        return error
    page = pages.write(folder, supplies, results=results)[0]
    console.out.print(f"Report: {page}", soft_wrap=True)
    told = explained(error, failures(results), prepared)
    return TrialError(told.message, told.hint or error.hint)


def _tell(
    folder: Path,
    json: str | None,
    supplies: Supplies,
    *,
    sessions: Sequence[int] = (),
    charts: str | None = None,
    out: Path | None = None,
    resumed: tuple[str, str] | None = None,
    limits: tuple[Limit, ...] = (),
    strict: bool = False,
) -> None:
    """Print the answers, write the report, say where it is; raise where it is incomplete.

    ``out`` is a folder for ``charts``, and else a file. ``resumed``: the experiment's file, and
    what goes on with it. ``limits``: asked about in place of those of the experiment. ``strict``: a
    machine that changed is an error.
    """
    from tare.experiment import pipeline
    from tare.experiment import report as pages
    from tare.render import data, files

    if charts is None and out is not None:
        files.format_of(out)
    with console.err.status("working out the answers") as status:

        def tell(done: int, of: int) -> None:
            status.update(f"working out the answers: {done} of {of}")

        results = pipeline.results_of(folder, sessions)
        if limits:
            results = results.judged_by(limits)
        file, again = resumed or _resumed(results, folder)
        answers = pipeline.answers(results, supplies.findings(), tell)
        status.update("drawing the page")
        page = pages.document(folder, supplies, answers.findings, results=results)
        try:
            if charts is None:
                written = files.write(page, out or folder / "report.html")
            else:
                written = files.write_charts(page, charts, out or folder / "charts")
        except StoreError as error:
            if out is not None:
                raise
            raise StoreError(
                error.message,
                f"free some room, then: tare experiment report {folder}   "
                "(the journal holds everything that was measured)",
            ) from error
    if json != "-":
        from tare.experiment import plan
        from tare.experiment.findings import completeness
        from tare.experiment.request_quantiles import few_in

        # A session that is incomplete ends with an error, which has the next step.
        is_complete = all(f.name != completeness.NAME for f in answers.findings)
        # More trials do not help where each has too few requests.
        few = few_in(results, plan.metric(results.experiment))
        console.show(page, written, _longer(file, again) if is_complete and not few else None)
    if json is not None:
        told = {name: getattr(answers, name) for name in answers.__struct_fields__}
        console.write_json(
            {**data.builtins(told), "written": [str(path) for path in written]}, json
        )
    if not results.counted:
        raise TrialError(
            f"no trial of the experiment in {folder} ended well, so nothing can be concluded",
            _longer(file, again) if resumed else None,
        )
    pipeline.check_same(answers.caveats, results.levels_of, folder, strict=strict)
    _check_complete(answers, results, file, again)
