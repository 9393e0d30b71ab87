"""What ``tare calibrate`` does: plan a sweep, measure it, tell."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.errors import ExperimentError, StoreError
from tare.experiment import plan_file
from tare.experiment.session import folder as folders
from tare.experiment.specification import Experiment, Stopping
from tare.features.calibration import matrix
from tare.features.calibration import options as calibrate_asked
from tare.features.calibration import sweep as sweeps
from tare.features.calibration.options import Options
from tare.features.calibration.session import measure
from tare.render.words import text
from tare.results.message import Duration, message

if TYPE_CHECKING:
    from tare.experiment.supplies import Supplies


def sweep(
    options: Options,
    out: Path | None,
    json: str | None,
    supplies: Supplies,
    *,
    resume: bool,
    as_root: bool,
    strict: bool,
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
    pipeline.check_same(told.caveats, told.levels_of, folder, strict=strict)


def _resumed(options: Options, out: Path | None) -> Path:
    if out is None:
        raise ExperimentError("--resume goes on with what a folder holds", "add --out DIR")
    calibrate_asked.check_resumed(options)
    return out


def stored(folder: Path, options: Options) -> Experiment:
    """Return the sweep that a folder holds, to go on with it."""
    if not folders.has_begun(folder):
        raise StoreError(
            f"{folder} holds no sweep to go on with",
            "name the folder that --out named; where nothing was measured yet, leave --resume out",
        )
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
    from tare.features.calibration.execution_time import execution_s
    from tare.features.calibration.screen import plan_line

    began = time.monotonic()
    right = rights.check(found)
    each_s = sweeps.seconds(
        found, [execution_s(found, one, as_root=as_root) for one in found.workloads]
    )
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
    spent_s = budget_s - left_s
    enough = math.ceil((spent_s + sweeps.FEWEST_WINDOWS * each_s) / 10) * 10
    if n < 1:
        raise ExperimentError(
            f"the trial execution took {console.seconds(spent_s)}, and one window at each step "
            f"takes {console.about(each_s)}: {console.about(spent_s + each_s)} in all, which does "
            f"not fit {console.seconds(budget_s)}",
            f"--budget '{enough} s'   ({sweeps.FEWEST_WINDOWS} windows at each step), or fewer "
            "steps: --step, or a smaller --kernel size",
        )
    if n < sweeps.FEWEST_WINDOWS:
        few = message(
            "{windows | counted('window')} at each step {% if windows == 1 %}fits{% else %}"
            "fit{% endif %} {budget}; their scatter is known from {fewest} on: --budget '"
            "{enough} s'",
            windows=n,
            budget=Duration(budget_s),
            fewest=sweeps.FEWEST_WINDOWS,
            enough=enough,
        )
        console.err.print(f"Note    {text(few)}", soft_wrap=True)
    return Stopping(trials=n, budget_s=left_s)
