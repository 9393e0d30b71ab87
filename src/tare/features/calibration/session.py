"""A sweep that is measured into a folder, and what is concluded from it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.command_line import interrupted
from tare.cli.delivery import Delivered
from tare.errors import StoreError, TrialError, Typed
from tare.experiment.specification import Experiment
from tare.features.calibration import sweep as sweeps
from tare.render.words import text
from tare.results.message import message

if TYPE_CHECKING:
    from tare.experiment.findings.sessions import Caveat
    from tare.experiment.supplies import Supplies
    from tare.experiment.sweep.document import Calibration
    from tare.results.report import Report

#: The calibration, beside the trials that it was concluded from.
FILE = "calibration.json"


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What was concluded from a sweep, and where its results are."""

    #: That of the longest period of the quota first, where several were tried.
    calibrations: tuple[Calibration, ...]
    folder: Path
    #: The page of its folder.
    report: Report
    ended: str
    #: Caveats, and the session that levels are taken from; None: all sessions.
    caveats: tuple[Caveat, ...] = ()
    levels_of: int | None = None

    @property
    def calibration(self) -> Calibration:
        """The one that is reported as a whole."""
        return self.calibrations[0]

    @property
    def document(self) -> Calibration | tuple[Calibration, ...]:
        """What the folder keeps."""
        return self.calibrations if len(self.calibrations) > 1 else self.calibration


def delivered(report: Report, folder: Path) -> Delivered:
    """Return a report with its page in the folder of the results."""
    return Delivered(report, page=folder / "report.html" if report.sections else None)


def measure(
    found: Experiment,
    folder: Path,
    each_s: float,
    supplies: Supplies,
    *,
    resume: bool,
    as_root: bool,
    settings: dict[str, str] | None = None,
    again: Path | None = None,
) -> Conclusion:
    """Measure a sweep into a folder, and conclude from all that it holds.

    Parameters
    ----------
    found : Experiment
    folder : Path
    each_s : float
        About how long one window of each step takes.
    supplies : Supplies
    resume : bool
        Whether the folder holds a part of it.
    as_root : bool
    settings : dict, optional
        What is held meanwhile.
    again : Path, optional
        What --resume is to be given instead of this folder: of several sweeps, each of which
        gets a page of its own.

    Raises
    ------
    InterruptError
        With the line that goes on.
    TrialError
        If a result was wrong, or nothing could be measured.
    """
    from tare.experiment import pipeline
    from tare.experiment.journal import MachineFact
    from tare.features.calibration.progress import SweepBar
    from tare.render import files

    console.err.print(f"Keeping {folder}{' (goes on)' if resume else ''}", soft_wrap=True)
    prepared = pipeline.check(found)
    prepared.facts += [
        MachineFact(name=f"held.{name}", value=value, source="tare calibrate --settings")
        for name, value in (settings or {}).items()
    ]
    goes_on = shlex.join(["tare", "calibrate", "--resume", "--out", str(again or folder)])
    hint = Typed(f"{goes_on}   (goes on)")
    windows = found.stopping.trials or sweeps.WINDOWS
    try:
        with SweepBar(len(prepared.cells), windows, each_s) as bar:
            ended = pipeline.execute(
                prepared, folder, bar, resume=resume, as_root=as_root, supplies=supplies
            )
    except KeyboardInterrupt as error:
        raise interrupted(folder, goes_on) from error
    except TrialError as error:
        raise TrialError(
            f"{error.message}; what was measured is kept in {folder}", error.hint or hint
        ) from error
    concluded = conclusion(folder, ended, supplies)
    _remember(concluded.calibration, found)
    if again is not None:
        files.write(concluded.report, folder / "report.html")
    return concluded


def _remember(found: Calibration, asked: Experiment) -> None:
    """Let later sessions cite it; that they cannot is no reason to lose it."""
    from tare.experiment.sweep import cache

    why = None
    try:
        kept = cache.remember(found, asked.window.periods if asked.window else 0)
        if not kept and found.asked.verdict == "inconclusive":
            why = message("later results do not cite this calibration, since it is inconclusive")
    except StoreError as error:
        why = message("later sessions cannot cite it: {error}", error=str(error))
    if why is not None:
        console.err.print(f"Note    {text(why)}", soft_wrap=True)


def conclusion(folder: Path, ended: str, supplies: Supplies) -> Conclusion:
    """Conclude from what a folder holds, and write the calibration into it."""
    from tare.experiment import pipeline
    from tare.experiment.report import page as reports
    from tare.experiment.sweep.analysis import required

    with console.err.status("working out the answer"):
        results = pipeline.results_of(folder)
        answers = pipeline.answers(results, supplies.findings())
        several = required(results.of_levels, str(folder))
        made = Conclusion(
            calibrations=tuple(sorted(several, key=lambda one: -one.period_s)),
            folder=folder,
            report=reports.document(folder, supplies, answers.findings, results=results),
            ended=ended,
            caveats=answers.caveats,
            levels_of=answers.levels_of,
        )
        console.write_json(made.document, str(folder / FILE))
    return made
