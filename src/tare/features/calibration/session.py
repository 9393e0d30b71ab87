"""What ``tare calibrate`` does: plan a sweep, measure it, conclude, tell."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.errors import ExperimentError, InterruptError, StoreError, TrialError
from tare.experiment import plan_file
from tare.experiment.specification import Experiment, Stopping
from tare.features.calibration import matrix
from tare.features.calibration import options as calibrate_asked
from tare.features.calibration import sweep as sweeps
from tare.features.calibration.options import Options
from tare.render.words import text
from tare.results.message import Duration, message

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
    #: What weakens them, and the session that they are concluded from; None: all.
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


def sweep(
    options: Options,
    out: Path | None,
    json: str | None,
    supplies: Supplies,
    *,
    resume: bool,
    as_root: bool,
) -> None:
    """Do what was asked for.

    Raises
    ------
    TareError
        If it cannot be done here, or was interrupted; what was measured is kept.
    """
    from tare.experiment import pipeline
    from tare.features.calibration import matrix_command
    from tare.features.calibration.screen import show

    if resume:
        folder = _resumed(options, out)
        if matrix.is_in(folder):
            matrix_command.resume(folder, json, supplies, as_root=as_root)
            return
        found = stored(folder, options)
    else:
        values = matrix_command.asked(options.settings)
        found = calibrate_asked.experiment(options)
        folder = out or calibrate_asked.free_folder()
        check_free(folder)
        if values:
            matrix_command.check(values)
    found, each_s = plan_windows(found, options, as_root=as_root, resume=resume)
    if options.settings:
        matrix_command.begin(found, values, folder, json, each_s, supplies, as_root=as_root)
        return
    told = measure(found, folder, each_s, supplies, resume=resume, as_root=as_root)
    if json is not None:
        console.write_json(told.document, json)
    if json != "-":
        show(told, json)
    pipeline.check_same(told.caveats, told.levels_of, folder)


def _resumed(options: Options, out: Path | None) -> Path:
    if out is None:
        raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
    calibrate_asked.check_resumed(options)
    return out


def stored(folder: Path, options: Options) -> Experiment:
    """Return the sweep that a folder holds, to go on with it."""
    found = plan_file.read(folder).experiment
    if found.window is None:
        raise StoreError(
            f"{folder} holds an experiment that is no sweep",
            "tare experiment run FILE --resume --out DIR",
        )
    if options.windows is not None:
        n = calibrate_asked.windows(options)
        found = msgspec.structs.replace(found, stopping=Stopping(trials=n, budget_s=None))
    return found


def check_free(folder: Path) -> None:
    """Refuse a folder that holds something, before anything is tried."""
    try:
        holds = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise StoreError(f"{folder} is a file, not a folder", "choose another --out") from error
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror}", "choose another --out"
        ) from error
    if holds:
        held = not holds.isdisjoint({plan_file.FILE, matrix.FILE})
        raise StoreError(
            f"{folder} is not empty, so nothing was measured",
            f"tare calibrate --resume --out {folder}   (goes on), or choose another --out"
            if held
            else "choose another --out",
        )


def plan_windows(
    found: Experiment, options: Options, *, as_root: bool, resume: bool
) -> tuple[Experiment, float]:
    """Try the rights and one execution, choose how many windows fit, and tell what is to come.

    Returns
    -------
    (Experiment, float)
        With its windows, and about how many seconds one of each step takes.
    """
    from tare.features.calibration import rights
    from tare.features.calibration.pilot import execution_s
    from tare.features.calibration.screen import plan_line

    began = time.monotonic()
    right = rights.check(found)
    each_s = sweeps.seconds(found, execution_s(found, as_root=as_root))
    budget = calibrate_asked.budget_s(options)
    if budget is not None:
        stopping = within(budget, budget - (time.monotonic() - began), each_s)
        found = msgspec.structs.replace(found, stopping=stopping)
    console.err.print(plan_line(found, each_s, right, resume=resume), soft_wrap=True)
    return found, each_s


def within(budget_s: float, left_s: float, each_s: float) -> Stopping:
    """Return as many windows at each step as fit what is left of a budget, which ends the sweep.

    Raises
    ------
    ExperimentError
        If not even one does.
    """
    n = sweeps.windows(left_s, each_s)
    enough = math.ceil((budget_s - left_s + sweeps.FEWEST_WINDOWS * each_s) / 10) * 10
    if n < 1:
        raise ExperimentError(
            f"one window at each step takes {console.about(each_s)}, which does not fit "
            f"{console.seconds(budget_s)}",
            f"--budget '{enough} s', or fewer steps: --step",
        )
    if n < sweeps.FEWEST_WINDOWS:
        few = message(
            "calibration.screen.few_windows",
            windows=n,
            budget=Duration(budget_s),
            fewest=sweeps.FEWEST_WINDOWS,
            enough=enough,
        )
        console.err.print(f"Note    {text(few)}", soft_wrap=True)
    return Stopping(trials=n, budget_s=left_s)


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
    goes_on = f"tare calibrate --resume --out {again or folder}   (goes on)"
    windows = found.stopping.trials or sweeps.WINDOWS
    try:
        with SweepBar(len(prepared.cells), windows, each_s) as bar:
            ended = pipeline.execute(
                prepared, folder, bar, resume=resume, as_root=as_root, probing=supplies.probing
            )
    except KeyboardInterrupt as error:
        raise InterruptError(
            f"interrupted; what was measured is kept in {folder}", goes_on
        ) from error
    except TrialError as error:
        raise TrialError(
            f"{error.message}; what was measured is kept in {folder}", error.hint or goes_on
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
            why = message("calibration.screen.uncited")
    except StoreError as error:
        why = message("calibration.screen.unstored", error=str(error))
    if why is not None:
        console.err.print(f"Note    {text(why)}", soft_wrap=True)


def conclusion(folder: Path, ended: str, supplies: Supplies) -> Told:
    """Conclude from what a folder holds, and write the calibration and the page into it."""
    from tare.experiment import pipeline, report
    from tare.experiment.sweep.analysis import required

    with console.err.status("working out the answer") as status:
        results = pipeline.results_of(folder)
        answers = pipeline.answers(folder, results, supplies.findings())
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
