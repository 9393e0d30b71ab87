"""Options of ``tare tasks``, some of which a file with ``[tasks]`` has as keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tare.options import kinds, shared
from tare.options.option import HOW_MANY, OUTPUT, WHAT, Options, argument, like, option

#: Most runs of a task in a cell.
MOST_TRIALS = 10_000
#: Table of the file.
TASKS = "tasks"
#: The time that scores are about.
Metric = Literal["cpu", "wall"]

FOLDERS: Any = argument(
    kinds.FOLDER, "DIR…", "Folders of task sets, joined by task.", repeatable=True,
    is_required=True,
)  # fmt: skip
METRIC: Any = option(
    kinds.choice(("cpu", "wall")), "Time that scores are about.", group=WHAT, default="cpu",
)  # fmt: skip


class RunOptions(Options):
    """Options of ``tare tasks run``."""

    file: Path = argument(kinds.PATH, "FILE", "File with [tasks] (TOML).", is_required=True)
    metric: Metric = METRIC
    trials: int | None = option(
        kinds.whole(1, MOST_TRIALS), "Runs of each task.", group=HOW_MANY, short="-n",
        shown="of FILE", table=TASKS, key="trials",
        meaning="how often each task is run in each cell: with several, scores have an interval "
        "for these very tasks, and results that differ are found",
    )  # fmt: skip
    parallel: int | None = option(
        kinds.whole(1, 4096), "Runs at a time.", group=HOW_MANY, shown="of FILE",
        table=TASKS, key="parallel", meaning="runs at a time, each on CPUs of its own",
    )  # fmt: skip
    as_root: bool = shared.AS_ROOT
    skip_missing: bool = shared.SKIP_MISSING
    out: Path | None = like(shared.OUT, help="Folder for the results.", shown="FILE less .toml")
    resume: bool = shared.RESUME
    json: str | None = shared.JSON
    quiet: bool = shared.QUIET


class ReportOptions(Options):
    """Options of ``tare tasks report``."""

    folders: list[Path] = FOLDERS
    metric: Metric = METRIC
    report: Path | None = like(
        shared.REPORT, help="Page: .html, .md, or .json.",
        shown="DIR/report.html; of several, joined.html",
    )  # fmt: skip
    json: str | None = shared.JSON


class ExportOptions(Options):
    """Options of ``tare tasks export``."""

    folders: list[Path] = FOLDERS
    file: str = option(
        kinds.STREAM, "Write .csv, .json, .parquet (extra tables); -: CSV to stdout.",
        group=OUTPUT, default="-",
    )  # fmt: skip
    benchexec: Path | None = option(
        kinds.FOLDER, "Instead: BenchExec's XML, for its table-generator.", group=OUTPUT,
    )  # fmt: skip
