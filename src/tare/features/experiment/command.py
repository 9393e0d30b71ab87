"""``tare experiment``: a question as a file, its plan, its execution, its report."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import msgspec

from tare import files
from tare.cli import console
from tare.cli.again import again as typed_again
from tare.cli.call import Call
from tare.cli.delivery import Delivered, reporting
from tare.errors import IncompleteError, StoreError, TrialError, Typed, UsageError
from tare.features.experiment.charts import check_charts
from tare.options import kinds, shared
from tare.options.command import Entry, Group, command
from tare.options.option import HOW_MANY, WHAT, WHERE, Options, argument, like, option
from tare.results.message import message
from tare.results.report import Entry as ReportEntry
from tare.results.report import NextStep, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.experiment.findings.completeness import Failing
    from tare.experiment.pipeline import Answers, Prepared
    from tare.experiment.results import Results
    from tare.experiment.specification import Limit
    from tare.experiment.supplies import Supplies

#: The page of an experiment, in its folder.
PAGE = "report.html"
#: Options to their values; None: the option has none.
Changes: TypeAlias = Mapping[str, str | None]
#: Returns the command that resumes an experiment, with changes of its options.
Again: TypeAlias = Callable[[Changes], str]
#: Most times as many trials as there are that are suggested at once.
_MOST_TIMES = 50

GROUP = Group(
    help="""Plan, run and report experiments that are written as files.

        tare experiment run examples/demo.toml --out demo-results
    """,
    commands={
        name: Entry(f"tare.features.experiment.command:{name}")
        for name in ("new", "plan", "run", "report")
    },
)


def _applications() -> tuple[str, ...]:
    from tare.experiment.file.application import built_in

    return tuple(built_in())


def _limits(text: str) -> tuple[Limit, ...]:
    from tare.experiment.file import file_kinds

    of, _, value = text.rpartition("=")
    try:
        found: tuple[Limit, ...] = file_kinds.LIMIT.read({of: value} if of else value)
    except ValueError:
        # Of which kind it was meant to be is not known.
        raise ValueError from None
    return found


FILE: Any = argument(kinds.PATH, "FILE", "Experiment file (TOML).", is_required=True)
SKIP_MISSING: Any = like(
    shared.SKIP_MISSING, help="Leave out platforms and loads that are missing."
)
LIMIT = kinds.Kind(
    'a time or a size, such as "1 s" or memory=64MiB', _limits, metavar="[KIND=]LIMIT"
)


class NewOptions(Options):
    """Options of ``tare experiment new``."""

    file: Path = argument(
        kinds.PATH, "[FILE]", "File to write.", default=Path("experiment.toml"),
    )  # fmt: skip
    application: str | None = option(
        kinds.WORD.offering(_applications), "Of an application: tare describe applications.",
        group=WHAT, metavar="NAME",
    )  # fmt: skip
    json: str | None = shared.JSON


@command(NewOptions, is_small=True)
def new(given: NewOptions, call: Call) -> Report:
    """Write an experiment file to start from.

    tare experiment new mine.toml --application mpi-prime
    """
    from tare.experiment.file import template

    file = given.file
    text = template(given.application)
    try:
        with file.open("x") as target:
            target.write(text)
    except FileExistsError as error:
        raise StoreError(
            f"{file} is there already, so nothing was written", "choose another name"
        ) from error
    except OSError as error:
        raise StoreError(
            f"cannot write {file}: {error.strerror}", "choose another place"
        ) from error
    return Report(
        command="experiment new",
        name="experiment new",
        question=message("Which file was written?"),
        figures={"written": [str(file)]},
        entries=(ReportEntry("Wrote", message("{file}", file=str(file))),),
        next_steps=(NextStep(shlex.join(["tare", "experiment", "plan", str(file)])),),
    )


class PlanOptions(Options):
    """Options of ``tare experiment plan``."""

    file: Path = FILE
    skip_missing: bool = SKIP_MISSING
    out: Path | None = like(shared.OUT, help="Folder of its results: how long the rest takes.")
    json: str | None = shared.JSON


@command(PlanOptions)
def plan(given: PlanOptions, call: Call) -> Report:
    """Show the cells and how long their trials take.

    Estimated from a trial or two of some of them, or from those in DIR.

        tare experiment plan examples/stability.toml
    """
    from tare.cli.command_line import folder_in_memory
    from tare.cli.progress import Bar
    from tare.experiment import pipeline
    from tare.features.experiment import plan_report
    from tare.render.words import sentences

    prepared = pipeline.prepare(given.file, skip_missing=given.skip_missing)
    forecast = None if given.out is None else pipeline.remaining(prepared, given.out)
    goes_on = forecast is not None
    if forecast is None:
        for line in sentences(plan_report.announcement(prepared.experiment, prepared.cells)):
            console.err.print(line)
        with folder_in_memory() as folder, Bar(file=given.file) as bar:
            forecast = pipeline.forecast(prepared, folder, bar)
    words = ["tare", "experiment", "run", str(given.file)]
    words += ["--skip-missing"] * given.skip_missing
    words += [] if given.out is None else ["--out", str(given.out)]
    again = shlex.join([*words, *["--resume"] * goes_on])
    return plan_report.make(prepared, forecast, again)


class RunOptions(Options):
    """Options of ``tare experiment run``."""

    file: Path = FILE
    trials: int | None = like(shared.TRIALS, help="Trials per cell, whatever FILE says.")
    budget: float | None = option(
        kinds.DURATION, "Measure for at most this time, whatever FILE says.", group=HOW_MANY,
    )  # fmt: skip
    fleet: str | None = option(
        kinds.WORD, "On many hosts: ssh:HOST,HOST, local:N, or a Dask scheduler.", group=WHERE,
        metavar="ADDRESS",
    )  # fmt: skip
    as_root: bool = shared.AS_ROOT
    skip_missing: bool = SKIP_MISSING
    out: Path | None = like(shared.OUT, help="Folder for the results.", shown="FILE less .toml")
    resume: bool = shared.RESUME
    strict: bool = shared.STRICT
    network_fingerprint: Path | None = option(
        kinds.PATH, "Store this result of `tare net fingerprint --json` with the results.",
        rare=True,
    )  # fmt: skip
    json: str | None = shared.JSON
    quiet: bool = shared.QUIET


@command(RunOptions)
def run(given: RunOptions, call: Call) -> Delivered:
    """Run an experiment and write its report.

    tare experiment run examples/demo.toml --out demo-results
    """
    from tare.cli.command_line import interrupted
    from tare.cli.progress import Bar
    from tare.experiment import pipeline, plan_file

    file, supplies = given.file, call.supplies
    folder = given.out or file.with_suffix("")
    with_page = partial(Delivered, page=folder / PAGE)
    if given.fleet is not None:
        for name in ("budget", "trials"):
            if getattr(given, name) is not None:
                raise UsageError(f"--{name} is for one machine", f"the key {name} in {file}")
        return with_page(
            supplies.on_fleet(
                file, given.fleet, folder,
                skip_missing=given.skip_missing, as_root=given.as_root, resume=given.resume,
            )
        )  # fmt: skip
    plan_file.check_no_fleet(folder)
    resume: dict[str, str | None] = {"--out": str(folder), "--resume": None}

    def again(changes: Changes) -> str:
        return typed_again("experiment run", {**resume, **changes})

    prepared = pipeline.prepare(
        file, skip_missing=given.skip_missing, network=given.network_fingerprint
    )
    if given.budget is not None:
        prepared = prepared.stopping(budget_s=given.budget)
    if given.trials is not None:
        prepared = prepared.stopping(trials=given.trials)
    for note in prepared.notes:
        console.note(note.message)
    try:
        try:
            with Bar(file=file) as bar:
                pipeline.execute(
                    prepared, folder, bar,
                    resume=given.resume, as_root=given.as_root, supplies=supplies,
                )  # fmt: skip
        except TrialError as error:
            _raise_explained(error, folder, prepared, supplies)
        return _report(folder, supplies, with_page, resumed=again, strict=given.strict)
    except KeyboardInterrupt as error:
        shows = shlex.join(["tare", "experiment", "report", files.argument(folder)])
        raise interrupted(folder, again({}), shows) from error


def _check_complete(answers: Answers, results: Results, again: Again | None) -> None:
    """Raise where cells have fewer good trials than requested; ``again``: what measures them."""
    from tare.experiment.findings import completeness
    from tare.render.words import paragraph

    short = next((f for f in answers.findings if f.name == completeness.NAME), None)
    if short is not None:
        raise IncompleteError(
            paragraph(short.answer),
            None
            if again is None
            else Typed(f"{again({})}   (measures for as long again)")
            if completeness.over_budget(results)
            else _repaired(completeness.failing(results), again({})),
        )


def _repaired(failing: Sequence[Failing], again: str) -> str:
    """Return what measures what is missing: first of all, what fails has to be repaired."""
    from tare.render.words import listing, text
    from tare.results.message import message

    if not failing:
        return Typed(f"{again}   (measures what is missing)")
    cells = listing(name for one in failing for name in one.cells)
    repaired = text(
        message("after repairing “{cells}”: {reason}", cells=cells, reason=failing[0].reason)
    )
    return Typed(f"{again}   ({repaired})")


class ReportOptions(Options):
    """Options of ``tare experiment report``."""

    folder: Path = argument(kinds.FOLDER, "DIR", "Folder of the experiment.", is_required=True)
    session: list[int] = option(
        kinds.whole(1), "Only what this session measured; repeatable.", group=WHAT,
        repeatable=True,
    )  # fmt: skip
    limit: list[tuple[Limit, ...]] = option(
        LIMIT, "How often a limit of a judge misjudges: 1s, memory=64MiB; repeatable.",
        group=WHAT, repeatable=True,
    )  # fmt: skip
    out: Path | None = like(shared.OUT, help="Folder for --charts.", shown="DIR/charts")
    charts: str | None = shared.CHARTS
    report: Path | None = like(
        shared.REPORT, help="Page: .html, .md, or .json.", shown="DIR/report.html"
    )
    strict: bool = shared.STRICT
    json: str | None = shared.JSON


@command(ReportOptions)
def report(given: ReportOptions, call: Call) -> Delivered:
    """Print the answers of an experiment and write its report.

    Also while it still runs.

        tare experiment report demo-results --report demo.md
        tare experiment report judge-results --limit '1 s'
    """
    from tare.render import files

    check_charts(given.charts, given.out, given.report)
    if given.report is not None:
        files.format_of(given.report)
    delivered = (
        partial(Delivered, page=given.folder / PAGE)
        if given.charts is None
        else partial(Delivered, charts=given.out or given.folder / "charts")
    )
    return _report(
        given.folder, call.supplies, delivered, sessions=given.session,
        limits=tuple(itertools.chain.from_iterable(given.limit)), strict=given.strict,
    )  # fmt: skip


def _resumed(results: Results, folder: Path) -> Again | None:
    """Return how to write what to type to go on with what a folder holds; None: no file did."""
    from tare.experiment import plan_file

    typed = results.sessions["argv"].tolist() if "argv" in results.sessions else []
    words = [str(word) for word in typed[0][1:]] if typed else []
    if words[:2] != ["experiment", "run"]:
        return None
    typed_file = next((word for word in words if word.endswith(".toml")), "")
    # The folder has a copy, whose relative paths may lead elsewhere.
    file = typed_file if Path(typed_file).is_file() else str(folder / plan_file.TEXT)
    line = ["tare", "experiment", "run", file, "--out", str(folder), "--resume"]

    def again(changes: Changes) -> str:
        return shlex.join([*line, *(one for both in changes.items() for one in both if one)])

    return again


def _longer(again: Again, results: Results, answers: Answers) -> NextStep:
    """Return what measures more trials of an experiment."""
    trials = results.experiment.stopping.trials
    if trials is None:
        return NextStep(again({}), message("measures for as long again"))
    command = again({"--trials": str(_needed(answers, trials))})
    return NextStep(command, message("more trials per cell"))


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
    made = pages.document(folder, supplies, results=results)
    with reporting(Delivered(made, page=folder / PAGE)):
        raise TrialError(told.message, told.hint or error.hint) from error


def _report(
    folder: Path,
    supplies: Supplies,
    delivered: Callable[[Report], Delivered],
    *,
    sessions: Sequence[int] = (),
    resumed: Again | None = None,
    limits: tuple[Limit, ...] = (),
    strict: bool = False,
) -> Delivered:
    """Return the report of an experiment; raise with it where it is incomplete.

    ``delivered``: says where its page or charts go. ``resumed``: what goes on with it.
    ``limits``: asked about in place of those of the experiment. ``strict``: a machine that changed
    is an error.
    """
    from tare.experiment import pipeline
    from tare.experiment.report import page as pages

    with console.err.status("working out the answers") as status:

        def count(done: int, of: int) -> None:
            status.update(f"working out the answers: {done} of {of}")

        results = pipeline.results_of(folder, sessions)
        if limits:
            results = results.judged_by(limits)
        again = resumed or _resumed(results, folder)
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
        next_steps=(_longer(again, results, answers),)
        if again and _needs_more(made, answers, results)
        else (),
    )
    with reporting(delivered(made)):
        if not results.counted:
            raise TrialError(
                f"no trial of the experiment in {folder} ended well, so nothing can be concluded",
                Typed(_longer(again, results, answers).command) if resumed and again else None,
            )
        pipeline.check_same(answers.caveats, results.levels_of, folder, strict=strict)
        _check_complete(answers, results, again)
    return delivered(made)


def _needed(answers: Answers, trials: int) -> int:
    """Return how many trials per cell settle inconclusive answers, as many as are worth it.

    ``trials``: those there are; twice as many where no such number is known.
    """
    known = [trials + one.trials for f in answers.findings for one in f.waiting]
    limits = [f.trials_needed for f in answers.findings]
    known += [needed for needed in limits if needed is not msgspec.UNSET]
    worth = [needed for needed in known if trials < needed <= _MOST_TIMES * trials]
    return max(worth, default=2 * trials)


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
