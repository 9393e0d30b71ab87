"""``tare calibrate``: plans a sweep, measures it and reports on it."""

from __future__ import annotations

import math
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.cli import console
from tare.cli.delivery import Delivered, reporting
from tare.errors import ExperimentError, StoreError, Typed
from tare.experiment import plan_file
from tare.experiment.session import folder as folders
from tare.experiment.specification import Experiment, Stopping
from tare.experiment.sweep.numbers import step
from tare.features.calibration import asked as calibrate_asked
from tare.features.calibration import matrix
from tare.features.calibration import sweep as sweeps
from tare.features.calibration.session import delivered, measure
from tare.render.words import text
from tare.results.message import Duration, Message, Value, message
from tare.workloads.specification import WorkloadSpec

if TYPE_CHECKING:
    from tare.experiment.supplies import Supplies
    from tare.features.calibration.options import SweepOptions

_PLAN_TEXTS = {
    "quotas": (
        "{% if steps == 1 %}1 quota{% else %}{steps} quotas{% endif %} from {first} to "
        "{last} CPUs{% if periods %} × {periods} periods{% endif %}"
    ),
    "whole": (
        "{steps | counted('step')} from {first} to {last} whole CPUs{% if periods %} × "
        "{periods} periods{% endif %}"
    ),
    "sizes": (
        "{steps} memory sizes from {first} to {last}{% if periods %} × {periods} periods{% endif %}"
    ),
}


def sweep(
    options: SweepOptions,
    folder: Path,
    supplies: Supplies,
) -> Delivered:
    """Measure a sweep, or one for every combination of settings, into a folder.

    Raises
    ------
    TareError
        If it cannot be measured here, or was interrupted; what was measured is kept.
    """
    from tare.experiment import pipeline
    from tare.features.calibration import entries, matrix_command

    resume, as_root = options.resume, options.as_root
    if resume:
        if matrix.is_in(folder):
            report = matrix_command.resume(folder, supplies, as_root=as_root)
            return delivered(report, folder)
        found = stored(folder, options)
    else:
        values = matrix_command.asked(options.settings)
        found = calibrate_asked.experiment(options)
        check_free(folder)
        if values:
            matrix_command.check(values)
    found, each_s = plan_windows(found, options)
    if options.settings:
        report = matrix_command.begin(found, values, folder, each_s, supplies, as_root=as_root)
        return delivered(report, folder)
    concluded = measure(found, folder, each_s, supplies, resume=resume, as_root=as_root)
    report = entries.report(concluded, None if options.json == "-" else options.json)
    made = delivered(report, folder)
    with reporting(made):
        pipeline.check_same(concluded.caveats, concluded.levels_of, folder, strict=options.strict)
    return made


def folder_for(options: SweepOptions) -> Path:
    """Return the folder of the results: as asked for, or a free one.

    Raises
    ------
    ExperimentError
        If a sweep is to be resumed whose folder is not named.
    """
    if not options.resume:
        return options.out or calibrate_asked.free_folder()
    if options.out is None:
        raise ExperimentError(
            "--resume goes on with what a folder holds", "name the folder with --out"
        )
    calibrate_asked.check_resumed(options)
    return options.out


def stored(folder: Path, options: SweepOptions) -> Experiment:
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
            "go on with it by tare experiment run --resume",
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
            Typed(
                f"tare calibrate --resume --out {shlex.quote(str(folder))}   "
                "(goes on; or choose another --out)"
            )
            if held
            else "choose another --out",
        )


def plan_windows(found: Experiment, options: SweepOptions) -> tuple[Experiment, float]:
    """Try the rights and one execution, choose how many windows fit, and tell what is to come.

    Returns
    -------
    (Experiment, float)
        With its windows, and about how many seconds one of each step takes.
    """
    from tare.features.calibration import rights
    from tare.features.calibration.execution_time import execution_s

    began = time.monotonic()
    right = rights.check(found)
    each_s = sweeps.seconds(
        found, [execution_s(found, one, as_root=options.as_root) for one in found.workloads]
    )
    if (budget := options.budget) is not None:
        stopping = within(budget, budget - (time.monotonic() - began), each_s)
        found = msgspec.structs.replace(found, stopping=stopping)
    console.err.print(_plan_line(found, each_s, right, resume=options.resume), soft_wrap=True)
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
            Typed(
                f"--budget '{enough} s'   "
                f"({sweeps.FEWEST_WINDOWS} windows at each step; or fewer steps, or a smaller "
                "kernel)"
            ),
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


def _plan_line(found: Experiment, each_s: float, right: Message, *, resume: bool) -> str:
    """Return one line on what is to come: what, how many windows, how long, by which right."""
    cpus = sweeps.given_cpus(found)
    periods = len(found.factors.get("period", ()))
    ends: tuple[Value, Value] = step(min(cpus)), step(max(cpus))
    kind = {"quota": "quotas", "cpuset": "whole", "memory": "sizes"}[sweeps.by(found)]
    if kind == "sizes":
        sizes = [str(name) for name in found.factors["size"]]
        ends = sizes[0], sizes[-1]
    steps = message(
        _PLAN_TEXTS[kind],
        steps=len(cpus),
        first=ends[0],
        last=ends[1],
        periods=periods if periods > 1 else None,
    )
    windows = found.stopping.trials or sweeps.WINDOWS
    platform = str(found.factors["platform"][0])
    time = console.seconds(windows * each_s)
    planned = message(
        "{workload}{% if platform %} on {platform}{% endif %}, {threads | counted('thread')}"
        ": {steps} × {windows | counted('window')}, {time}; {right}",
        workload=", ".join(map(_workload_name, found.workloads)),
        platform=None if platform == "bare" else platform,
        threads=sweeps.threads(found),
        steps=steps,
        windows=windows,
        time=message("at most {time}" if resume else "about {time}", time=time),
        right=right,
    )
    return f"Sweep   {text(planned)}"


def _workload_name(spec: WorkloadSpec) -> str:
    """Name a workload with its size."""
    size = spec.parameters.get("size") if spec.kernel else None
    if size is None:
        return spec.name
    leading = spec.parameters.get("leading_dimension")
    return f"{spec.kernel} (size {size}{f', LDA {leading}' if leading else ''})"
