"""What ``tare calibrate`` is asked, and the experiment that it comes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tare.errors import ExperimentError, Typed
from tare.experiment import machine_facts
from tare.experiment.placement import Machine
from tare.experiment.specification import PERIOD_S, Experiment, WindowSpec
from tare.experiment.sweep.document import By
from tare.experiment.sweep.trials import fewest_steps
from tare.features.calibration import steps, sweep
from tare.statistics.scaling import FEWEST
from tare.workloads.specification import WorkloadSpec

if TYPE_CHECKING:
    from tare.features.calibration.options import SweepOptions

#: Whole CPUs of virtual machines.
VCPUS = "vcpus"
#: Options that say something of a sweep of quotas only.
_OF_QUOTAS = ("step", "quotas")
#: Options that may differ when a sweep is resumed.
_LATER = ("windows", "budget", "as_root", "strict", "out", "resume", "json")


def option(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name}" if name != "command" else "a command"


def check_resumed(options: SweepOptions) -> None:
    """Refuse to ask anew what a sweep that goes on has already.

    Raises
    ------
    ExperimentError
        Naming the option.
    """
    asked = (name for name in options.records if name in options.given)
    other = next((name for name in asked if name not in _LATER), None)
    if other is not None:
        raise ExperimentError(
            f"--resume goes on with what the folder holds, so that {option(other)} says nothing",
            "leave it out, or measure into a new folder without --resume",
        )


def experiment(options: SweepOptions) -> Experiment:
    """Return the experiment that was asked for, with its windows as many as were asked for.

    Raises
    ------
    ExperimentError
        If an option is wrong, or does not go with another.
    """
    by = _by(options)
    here = Machine.parse(machine_facts.topology())
    cpus = len(here.spread)
    mib: tuple[int, ...] = ()
    given: tuple[float, ...]
    if by == "quota":
        given = _quotas(options, cpus)
    elif by == "cpuset":
        given = tuple(float(n) for n in steps.whole_cpus(cpus))
    else:
        mib = steps.memory_sizes(cpus, here.memory_bytes)
        given = tuple(size / steps.LAMBDA_MB for size in mib)
    _check_enough(len(given), by)
    periods_s = tuple(dict.fromkeys(options.period or (PERIOD_S,)))
    platform = _platform(options)
    if by != "cpuset":
        for period_s in periods_s:
            steps.check_period(given, period_s, platform)
    workloads = _workloads(options, platform)
    # Each worker's solve may itself run several threads, which share the CPUs.
    inside = max(int(one.parameters.get("threads", 1)) for one in workloads)
    threads = options.threads or max(1, cpus // inside)
    for workload in workloads:
        _check_memory(workload, threads, mib)
    return sweep.experiment(
        by=by,
        workloads=workloads,
        cpus=given,
        memory_mib=mib,
        platform=platform,
        image=options.image,
        threads=threads,
        periods_s=periods_s,
        periods=options.periods or WindowSpec().periods,
        windows=windows(options),
        seed=1 if options.seed is None else options.seed,
        fingerprint=options.fingerprint,
    )


def _check_enough(count: int, by: By) -> None:
    if count < fewest_steps(by):
        enough = fewest_steps(by) if by == "cpuset" else FEWEST
        steps_told = f"{count} step{'s' * (count != 1)}"
        raise ExperimentError(
            f"{steps_told} of {by} cannot distinguish a line from a bend: {enough} or more do",
            Typed("--step 0.1") if by == "quota" else Typed("--by quota"),
        )


def windows(options: SweepOptions) -> int:
    """Return how many windows were asked for at each step."""
    if options.windows is not None and options.budget is not None:
        raise ExperimentError(
            "--windows and --budget exclude each other: one follows from the other",
            "leave one of them out",
        )
    return options.windows or sweep.WINDOWS


def _by(options: SweepOptions) -> By:
    by: Any = options.by
    if by == VCPUS:
        # A machine's virtual CPUs are those that it is confined to, one on each.
        _platform(options)
        by = "cpuset"
    for name in _OF_QUOTAS:
        if by != "quota" and name in options.given:
            raise ExperimentError(
                f"{option(name)} says nothing with --by {by}", "leave one of them out"
            )
    found: By = by
    return found


def _platform(options: SweepOptions) -> str:
    """Return where the sweep is measured: virtual CPUs are those of a virtual machine."""
    if options.by != VCPUS:
        return options.platform or "bare"
    platform = options.platform or "vm"
    if platform.partition("/")[0] != "vm":
        raise ExperimentError(
            f"--by {VCPUS} gives CPUs to virtual machines, and --platform is {platform}",
            Typed(f"--by {VCPUS} --platform vm"),
        )
    return platform


def _quotas(options: SweepOptions, cpus: int) -> tuple[float, ...]:
    if options.quotas is None:
        return steps.quotas(cpus, options.step or steps.STEP)
    if options.step is not None:
        raise ExperimentError("--quotas and --step exclude each other", "leave one of them out")
    return steps.listed(options.quotas, cpus)


def _workloads(options: SweepOptions, platform: str) -> tuple[WorkloadSpec, ...]:
    """Return what is executed; of several sizes of one kernel the largest first."""
    from tare.experiment.catalogue import catalogue

    if options.command:
        if options.kernel:
            raise ExperimentError(
                "--kernel is about a kernel, and there is a command", "leave one out"
            )
        return (_command(options.command, platform),)
    typed = options.kernel or (sweep.LINPACK,)
    found = [sweep.kernel(one, catalogue().kernels) for one in typed]
    if len(found) == 1:
        return (found[0],)
    twice = next((one for one in typed if typed.count(one) > 1), None)
    if twice is not None:
        raise ExperimentError(f"--kernel {twice} is there twice", "leave one of them out")
    # Workloads of the same kernel differ in their parameters, so names include them.
    named = [
        msgspec.structs.replace(spec, name=re.sub("[:=,]+", " ", one).strip())
        for one, spec in zip(typed, found, strict=True)
    ]
    return tuple(sorted(named, key=lambda spec: -int(spec.parameters.get("size", 0))))


def _command(words: Sequence[str], platform: str) -> WorkloadSpec:
    from tare.cli.command_line import workload

    name = Path(words[0]).name or "command"
    told = workload(name, list(words), platform, input=None, keys={})
    found = WorkloadSpec(name=name, command=tuple(told["command"]), directory=told.get("directory"))
    inherit = tuple(told.get("inherit", found.inherit))
    return msgspec.structs.replace(found, inherit=inherit)


def _check_memory(workload: WorkloadSpec, threads: int, mib: tuple[int, ...]) -> None:
    """See that matrices fit the machine, and the least of the memory sizes."""
    room = machine_facts.available_bytes()
    if room is not None:
        sweep.check_memory(workload, threads, room, "this machine, in what is available,")
    if mib:
        least = min(mib)
        sweep.check_memory(workload, threads, least * steps.MIB, f"the least size, {least} MB,")


def free_folder() -> Path:
    """Return a folder whose name is free: ``calibration``, ``calibration-2`` and so on."""
    number = 1
    while True:
        folder = Path("calibration" if number == 1 else f"calibration-{number}")
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return folder
        number += 1
