"""A sweep that is measured into a folder, and what is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.command_line import interrupted
from tare.errors import StoreError, TrialError
from tare.experiment.specification import Experiment
from tare.features.calibration import sweep as sweeps
from tare.render.words import text
from tare.results.message import message

if TYPE_CHECKING:
    from tare.experiment.findings.sessions import Caveat
    from tare.experiment.supplies import Supplies
    from tare.experiment.sweep.document import Calibration

#: The calibration, beside the trials that it was concluded from.
FILE = "calibration.json"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came of a sweep, and where it is."""

    #: That of the longest period of the quota first, where several were tried.
    calibrations: tuple[Calibration, ...]
    folder: Path
    page: Path
    ended: str
    #: Caveats, and the session that levels are taken from; None: all sessions.
    caveats: tuple[Caveat, ...] = ()
    levels_of: int | None = None

    @property
    def calibration(self) -> Calibration:
        """The one that is told as a whole."""
        return self.calibrations[0]

    @property
    def document(self) -> Calibration | tuple[Calibration, ...]:
        """What is written as JSON."""
        return self.calibrations if len(self.calibrations) > 1 else self.calibration


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
) -> Told:
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
        What --resume is to be given instead of this folder.

    Raises
    ------
    InterruptError
        With the line that goes on.
    TrialError
        If a result was wrong, or nothing could be measured.
    """
    from tare.experiment import pipeline
    from tare.experiment.findings import caveats
    from tare.experiment.journal import MachineFact
    from tare.features.calibration.progress import SweepBar
    from tare.render.words import sentences

    console.err.print(f"Keeping {folder}{' (goes on)' if resume else ''}", soft_wrap=True)
    prepared = pipeline.check(found)
    prepared.facts += [
        MachineFact(name=f"held.{name}", value=value, source="tare calibrate --settings")
        for name, value in (settings or {}).items()
    ]
    goes_on = f"tare calibrate --resume --out {again or folder}"
    hint = f"{goes_on}   (goes on)"
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
    told = conclusion(folder, ended, supplies)
    for caveat in sentences(caveats.sentences(told.caveats, told.levels_of)):
        console.err.print(f"Caveat  {caveat}", soft_wrap=True)
    _remember(told.calibration, found)
    return told


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


def conclusion(folder: Path, ended: str, supplies: Supplies) -> Told:
    """Conclude from what a folder holds, and write the calibration and the page into it."""
    from tare.experiment import pipeline, report
    from tare.experiment.sweep.analysis import required

    with console.err.status("working out the answer") as status:
        results = pipeline.results_of(folder)
        answers = pipeline.answers(results, supplies.findings())
        status.update("drawing the page")
        page = report.write(folder, supplies, None, answers.findings, results=results)[0]
        several = required(results.of_levels, str(folder))
        found = tuple(sorted(several, key=lambda one: -one.period_s))
        told = Told(
            calibrations=found,
            folder=folder,
            page=page,
            ended=ended,
            caveats=answers.caveats,
            levels_of=answers.levels_of,
        )
        console.write_json(told.document, str(folder / FILE))
    return told
