"""From what is asked to the experiment that answers it, and about how long it takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tare import registry
from tare.errors import ExperimentError, Typed
from tare.experiment.specification import PERIOD_S, Experiment, SizeSpec, Stopping, WindowSpec
from tare.experiment.sweep.document import By
from tare.features.calibration import steps
from tare.registry import Description
from tare.workloads.specification import WorkloadSpec

#: The kernel that solves linear equations, as CALIBRATE's; its size unless another is asked for.
LINPACK, SIZE = "linpack", 1000
#: Windows at each step, and the fewest that say anything of their spread.
WINDOWS, FEWEST_WINDOWS = 7, 3
#: Bytes of a double. A solve holds the matrix and a copy; its vectors are negligible.
_NUMBER_BYTES = 8
#: Memory of an instance besides its matrices, in bytes.
_REST_BYTES = 24 * steps.MIB
#: Time around a window: periods until the quota stops the workers, and seconds to start the next
#: trial.
_WAITING_PERIODS, _OVERHEAD_S = 0.8, 0.06


def kernel(text: str, kernels: Mapping[str, Description]) -> WorkloadSpec:
    """Return the workload of a kernel that is written as ``NAME[:parameter=value,…]``.

    Raises
    ------
    ExperimentError
        If there is no such kernel or parameter, or a value is out of its range.
    """
    name, _, rest = text.partition(":")
    if name not in kernels:
        close = _closest(name, kernels)
        raise ExperimentError(
            f"there is no kernel {name!r}",
            Typed(f"--kernel {close}") if close else f"there are: {', '.join(kernels)}",
        )
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value.isdecimal():
            raise ExperimentError(
                f"--kernel: {part!r} is not possible; expected parameter=NUMBER",
                Typed(f"--kernel {name}:size={SIZE}"),
            )
        given[key] = int(value)
    chosen = registry.checked(f"the kernel {name}", kernels[name], given)
    # One execution after another is counted, so that none needs to be repeated.
    return WorkloadSpec(name=name, kernel=name, parameters=chosen, repetitions=1)


def _closest(name: str, known: Mapping[str, Any]) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(name, known, n=1)), None)


def experiment(
    *,
    by: By,
    workloads: Sequence[WorkloadSpec],
    cpus: Sequence[float],
    memory_mib: Sequence[int] = (),
    platform: str = "bare",
    image: str | None = None,
    threads: int = 1,
    periods_s: Sequence[float] = (PERIOD_S,),
    periods: int = WindowSpec().periods,
    windows: int = WINDOWS,
    seed: int = 1,
    fingerprint: bool = False,
) -> Experiment:
    """Return the experiment: every step in each of its blocks, a window of time at each.

    Parameters
    ----------
    cpus : sequence of float
        CPU time of each step; with ``memory`` the sizes in MiB stand beside.
    periods_s : sequence of float
        Periods of the quota, of which several are tried beside each other.
    """
    if by == "quota":
        factor, sizes = "quota", {}
    elif by == "cpuset":
        factor = "size"
        sizes = {f"{n:g} CPU{'s' * (n > 1)}": SizeSpec(cpuset=int(n)) for n in cpus}
    else:
        factor = "size"
        sizes = {
            f"{mib} MB": SizeSpec(cores=cores, memory_bytes=mib * steps.MIB)
            for cores, mib in zip(cpus, memory_mib, strict=True)
        }
    several = {"period": tuple(periods_s)} if len(periods_s) > 1 else {}
    return Experiment(
        name="calibrate",
        question="Does this machine scale linearly with the CPU time that it is given?",
        workloads=tuple(workloads),
        factors={
            "platform": (platform,),
            "workers": (threads,),
            factor: tuple(sizes) or tuple(cpus),
            **several,
        },
        sizes=sizes,
        platforms={"docker": {"image": image}} if image else {},
        seed=seed,
        instances="shared",
        window=WindowSpec(periods=periods),
        quota_period_s=PERIOD_S if several else periods_s[0],
        stopping=Stopping(trials=windows, budget_s=None),
        fingerprint=fingerprint,
    )


def given_cpus(found: Experiment) -> list[float]:
    """Return the CPU time that each step of a sweep gives."""
    if "quota" in found.factors:
        return [float(quota) for quota in found.factors["quota"]]
    limits = [found.limits(str(name)) for name in found.factors.get("size", ())]
    return [float(limit.cores or limit.cpuset or 0) for limit in limits]


def by(found: Experiment) -> By:
    """Return what a sweep sweeps."""
    if "quota" in found.factors:
        return "quota"
    limits = [found.limits(str(name)) for name in found.factors.get("size", ())]
    return "memory" if any(limit.memory_bytes for limit in limits) else "cpuset"


def threads(found: Experiment) -> int:
    """Return how many threads work side by side."""
    inside = int(found.workloads[0].parameters.get("threads", 1))
    return int(found.factors["workers"][0]) * max(1, inside)


def seconds(found: Experiment, executions_s: Sequence[float]) -> float:
    """Return about how long one window at every step takes.

    Parameters
    ----------
    found : Experiment
        A sweep.
    executions_s : sequence of float
        Time of one execution of each workload, with a whole CPU for each of its threads.
    """
    window = found.window or WindowSpec()
    side_by_side = threads(found)
    periods_s = found.factors.get("period", (found.quota_period_s,))
    total = 0.0
    for cpus, execution_s in itertools.product(given_cpus(found), executions_s):
        each = min(1.0, cpus / side_by_side)
        # A window contains one whole execution, which may begin some time after the window does.
        whole_s = 1.5 * execution_s / each
        waiting_s = max(periods_s) * (_WAITING_PERIODS if each < 1 else 0)
        total += max(window.periods * max(periods_s), whole_s) + waiting_s + _OVERHEAD_S
    return total * len(periods_s)


def windows(budget_s: float, each_s: float) -> int:
    """Return how many windows at every step fit a budget: 0, where not even one does."""
    return int(budget_s / each_s)


def linpack_flop(size: int) -> float:
    """Return the operations of one solve, by the convention of LINPACK."""
    return 2 / 3 * size**3 + 2 * size**2


def check_memory(workload: WorkloadSpec, threads: int, room_bytes: int, where: str) -> None:
    """Refuse matrices that do not fit the memory that there is.

    Parameters
    ----------
    workload : WorkloadSpec
        Nothing is said of others than LINPACK.
    threads : int
        Solves side by side.
    room_bytes : int
        What they may take together.
    where : str
        Of what that is the memory, in words.

    Raises
    ------
    ExperimentError
        With the largest size that fits.
    """
    if workload.kernel != LINPACK:
        return
    size = int(workload.parameters.get("size", SIZE))
    leading = int(workload.parameters.get("leading_dimension", 0))
    # Only the copy that is solved has the leading dimension.
    bytes_each = _NUMBER_BYTES * threads
    needed = bytes_each * size * (size + max(size, leading))
    room = max(0, room_bytes - _REST_BYTES)
    if needed <= room:
        return
    fits = math.isqrt(room // bytes_each // 2) // 10 * 10
    fitting = f"size={fits}"
    if leading > size and size <= fits:
        fitting = f"size={size},leading_dimension={room // bytes_each // size - size}"
    apart = f", {leading} apart," if leading > size else ""
    raise ExperimentError(
        f"matrices of {size} × {size} numbers{apart} take {needed / steps.MIB:,.0f} MiB for "
        f"{threads} thread{'s' * (threads > 1)}; {where} has {room_bytes / steps.MIB:,.0f} MiB",
        Typed(f"--kernel {LINPACK}:{fitting}   (the largest that fits)")
        if fits >= 10
        else "less --threads, or more memory",
    )
