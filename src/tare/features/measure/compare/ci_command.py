"""``tare ci``: is a commit slower? Two commits are built, and compared as by ``tare compare``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from tare.cli import console
from tare.cli.call import Call
from tare.errors import UsageError
from tare.features.measure.compare.options import CompareOptions
from tare.options import kinds, measuring, shared
from tare.options.command import command
from tare.options.measuring import DocumentOptions, MeasuringOptions
from tare.options.option import WHAT, argument, like, option
from tare.results.report import Report

#: Trials of which one fails in 99 % of comparisons if a tenth of all do: 1 − 0.9⁴⁴.
_MIN_TRIALS = 44
_BUDGET_S = 60.0


class CiOptions(DocumentOptions, MeasuringOptions):
    """Options of ``tare ci``."""

    foreign = measuring.FOREIGN_OF_COMPARE
    command: list[str] = argument(
        kinds.WORD, "-- COMMAND", "Command to measure in both.", repeatable=True,
        is_required=True, before_dashes="--build",
    )  # fmt: skip
    build: str | None = option(
        kinds.WORD, "Shell line that builds a commit.", group=WHAT, metavar="LINE"
    )
    base: str | None = option(
        kinds.WORD, "Reference.", group=WHAT, metavar="REV",
        shown="where head left the default branch",
    )  # fmt: skip
    head: str = option(kinds.WORD, "Candidate.", group=WHAT, metavar="REV", default="HEAD")
    gate: float = like(measuring.GATE, default=0.05, shown="5%")
    gate_on: str | None = measuring.GATE_ON
    metric: list[str] = like(
        MeasuringOptions.records["metric"], help="cpu (default), wall, memory …; repeatable."
    )
    min_trials: int | None = measuring.MIN_TRIALS
    budget: float | None = like(
        MeasuringOptions.records["budget"], help="Time limit without builds.",
        shown="60 s; none with -n",
    )  # fmt: skip
    seed: int | None = measuring.SEED
    name: Any = None
    platform: Any = None
    bisect: bool = like(CompareOptions.records["bisect"])
    junit: Path | None = shared.JUNIT


@command(CiOptions)
def ci(given: CiOptions, call: Call) -> Report:
    """Compare two commits.

    Is a commit slower than another? Both are built in folders outside your work tree, which are
    removed afterwards, and their runs are interleaved.

        tare ci --build 'make -j2' --gate 2% -- ./bench --size 3
    """
    from tare.cli.command_line import begin_budget
    from tare.features.measure.compare import revisions
    from tare.features.measure.compare.command import compare
    from tare.platforms import users

    if given.bisect and (given.base is None or given.base.startswith(("HEAD", "@"))):
        raise UsageError(
            "--bisect needs a good commit that stays the same while git moves HEAD",
            "name it with --base: a tag, a hash or a branch",
        )
    if users.calling_user() is not None:
        raise UsageError("tare ci builds commits, and builds nothing as root", "without sudo")
    console.check_writable(given.json, given.junit, given.markdown, given.report)
    candidate = revisions.resolve(given.head)
    reference = (
        revisions.default_base(candidate) if given.base is None else revisions.resolve(given.base)
    )
    if given.head == "HEAD" and not given.bisect and revisions.is_changed():
        console.note("changes that are not committed are not measured")
    words = given.command[0] if len(given.command) == 1 else shlex.join(given.command)
    try:
        split = shlex.split(words)
    except ValueError:
        split = []  # as a shell may read it; otherwise the command is refused as it is below
    revisions.check_paths(split)
    with revisions.checked_out(reference, candidate) as both:
        for one in both if given.build else ():
            with console.err.status(f"building {one.name}"):
                revisions.build(one, str(given.build))
        # A shell may define it, and what runs first may make it.
        if split and not (given.shell or given.setup or given.prepare):
            revisions.check_program(*both, split[0])
        begin_budget()
        shared_names = given.given & CompareOptions.records.keys()
        asked = CompareOptions(
            **{name: getattr(given, name) for name in shared_names}
            | {
                "commands": [words, words],
                "name": [one.name for one in both],
                "directory": [str(one.directory) for one in both],
                "gate": given.gate,
                "metric": given.metric or ["cpu"],
                "min_trials": given.min_trials
                or (None if given.bisect or given.trials else _MIN_TRIALS),
                "budget": given.budget or (None if given.trials else _BUDGET_S),
            }
        )
        made: Report = compare.work(asked, call)
        return made
