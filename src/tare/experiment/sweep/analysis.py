"""From the results of a sweep to its calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec
import numpy as np

from tare.errors import AgentError, StoreError, Typed
from tare.experiment.catalogue import catalogue
from tare.experiment.results import Results
from tare.experiment.sweep import arrival, causes, ceiling, messages
from tare.experiment.sweep.caveats import caveats
from tare.experiment.sweep.document import Calibration, Interval, Machine, Point
from tare.experiment.sweep.trials import Sweep, fewest_steps, sweeps, why_not
from tare.registry import Description
from tare.render.words import sentence, sentences, text
from tare.results.message import Message
from tare.statistics.moments import mean_and_sd
from tare.statistics.scaling import Scaling, scaling, withheld
from tare.statistics.statistic import FloatArray
from tare.workloads.specification import WorkloadSpec

#: Facts of a session that tell what a setting was held at: ``held.governor``.
HELD = "held."
#: What of a machine decides about its speed, by the names that facts have, too.
_FACTS = (
    "cpu", "kernel", "hypervisor", "governor", "driver", "driver_mode", "hwp", "turbo", "smt",
    "cgroup",
)  # fmt: skip


@lru_cache(maxsize=4)
def calibrations(results: Results) -> tuple[Calibration, ...]:
    """Conclude every calibration that an experiment holds.

    Parameters
    ----------
    results : Results
        Trials that are windows, at several steps of CPU.

    Returns
    -------
    tuple of Calibration
        One for each workload on each platform with each number of workers (and each level of
        any other factor), in the order of the experiment; none where the experiment is about
        something else: :func:`refusal` says why.
    """
    if results.experiment.window is None:
        return ()
    return tuple(
        _calibration(results, sweep)
        for sweep in sweeps(results)
        if len(sweep.table.distinct("cpus")) >= fewest_steps(sweep.by)
    )


def calibration(results: Results) -> Calibration | None:
    """Return the first calibration that an experiment's results hold; None: there is none."""
    return next(iter(calibrations(results)), None)


def refusal(results: Results) -> Message | None:
    """Say why results hold no calibration; None: they do."""
    return why_not(results)


def required(results: Results, name: str) -> tuple[Calibration, ...]:
    """Conclude every calibration.

    Raises
    ------
    StoreError
        If there is none: says why.
    """
    found = calibrations(results)
    if not found:
        why = refusal(results)
        raise StoreError(
            f"{name} is no calibration: {text(why) if why else 'unknown'}",
            Typed("tare calibrate   (makes one)"),
        )
    return found


def _calibration(results: Results, sweep: Sweep) -> Calibration:
    points = tuple(_points(sweep))
    asked = scaling(sweep.table["place"], sweep.table["rate"])
    sessions = results.sessions
    machine = _machine(results)
    spec = _workload(results, sweep)
    workers = int(sweep.levels.get("workers", 1))
    usable = ceiling.Usable(threads=_threads(spec, workers), cpus=machine.cpus)
    lost = arrival.lost_share(sweep, usable)
    # More time does not make more of too few steps.
    if lost is not None and arrival.is_disturbed(lost) and asked.reason != "few steps":
        asked = withheld(asked, "disturbed", messages.disturbed(lost))
    delivered = _against_delivered(sweep)
    return Calibration(
        measured=str(sessions["started"][0]) if sessions else None,
        by=sweep.by,
        axis=sweep.axis,
        workload=_named(spec, sweep),
        work=_work(spec),
        platform=sweep.levels.get("platform", "bare"),
        workers=workers,
        period_s=sweep.period_s,
        levels=_further(results, sweep),
        points=points,
        asked=_stored(asked),
        delivered=None if delivered is None else _stored(delivered),
        regimes=causes.regimes(points, asked, machine, usable, sweep.axis),
        lost_share=lost,
        machine=machine,
        settings=_held(results),
        caveats=tuple(sentences(caveats(results, sweep, points, usable, asked, lost))),
    )


def _stored(found: Scaling) -> Scaling:
    """Return what a document holds of it: text."""
    return msgspec.structs.replace(found, sentence=sentence(found.sentence))


def _points(sweep: Sweep) -> Iterator[Point]:
    for cpus, rows in sweep.table.groups("cpus"):
        # Each trial's or none: they stand beside the rates.
        arrived = rows["delivered"]
        arrived = arrived[:0] if np.isnan(arrived).any() else arrived
        yield Point(
            cpus=float(cpus),
            rate=_mean(rows["rate"]),
            delivered=_mean(arrived) if len(arrived) else None,
            n=len(rows),
            trials=tuple(rows["trial"].tolist()),
            rates=tuple(rows["rate"].tolist()),
            deliveries=tuple(arrived.tolist()),
            clock_hz=_known(rows["clock_hz"], np.median),
            frequency_hz=_known(rows["frequency_hz"], np.mean),
            throttled_share=_known(rows["throttled_share"], np.mean),
            throttled_s=_known(rows["throttled_s"], np.mean),
            steal_cpus=_known(rows["steal_cpus"], np.mean),
            thermal_throttles=_known(rows["thermal_throttles"], np.mean),
            memory_bytes=None if np.isnan(size := rows["memory_bytes"][0]) else int(size),
            residual=_known(rows["residual"], np.max),
        )  # fmt: skip


def _known(values: FloatArray, how: Callable[[FloatArray], float]) -> float | None:
    """Reduce the values that are known; None: none is."""
    known = values[~np.isnan(values)]
    return float(how(known)) if len(known) else None


def _mean(values: FloatArray) -> Interval:
    mean, _ = mean_and_sd(values)
    return Interval(value=mean.estimate, low=mean.low, high=mean.high)


def _against_delivered(sweep: Sweep) -> Scaling | None:
    """Fit the rates against the CPU time that arrived."""
    table = sweep.table
    if not (table["delivered"] > 0).all():
        return None
    return scaling(table["delivered"], table["rate"], table["cpus"])


def _workload(results: Results, sweep: Sweep) -> WorkloadSpec | None:
    name = sweep.levels.get("workload")
    return next((w for w in results.experiment.workloads if w.name == name), None)


def _threads(spec: WorkloadSpec | None, workers: int) -> int | None:
    """Return how many threads work side by side; of a command nobody knows."""
    if spec is None or spec.kernel is None:
        return None
    return workers * int(spec.parameters.get("threads", 1))


def _named(spec: WorkloadSpec | None, sweep: Sweep) -> str:
    """Name a workload as a person does: "linpack (size 1000)"."""
    if spec is None:
        return sweep.levels.get("workload", "unknown")
    if spec.kernel is None:
        return spec.name
    kernel = _kernel(spec)
    usual = {p.name: p.default for p in kernel.parameters} if kernel else {}
    told = ", ".join(
        f"{name} {value}"
        for name, value in spec.parameters.items()
        if name == "size" or usual.get(name) != value
    )
    name = spec.kernel if spec.name.startswith(spec.kernel) else spec.name
    return f"{name} ({told})" if told else name


def _kernel(spec: WorkloadSpec) -> Description | None:
    """Return what a kernel says of itself; None where no agent is here to tell."""
    try:
        return catalogue().kernels.get(spec.kernel or "")
    except AgentError:
        return None


def _work(spec: WorkloadSpec | None) -> str:
    """Return what a kernel counts; a command counts its executions."""
    kernel = None if spec is None else _kernel(spec)
    return (kernel and kernel.work) or "execution"


def _further(results: Results, sweep: Sweep) -> dict[str, str]:
    """Return the levels of factors that the document has no other place for."""
    placed = ("workload", "platform", "workers")
    return {f: v for f, v in sweep.levels.items() if f in results.varied and f not in placed}


def _machine(results: Results) -> Machine:
    facts = results.facts.where(platform=None)
    known = dict(zip(facts["name"], facts["value"], strict=True))
    told = {name: str(known[name]) for name in _FACTS if known.get(name) is not None}
    cpus = known.get("cpus")
    boot = results.sessions["boot_id"][-1] if results.sessions else None
    return Machine(
        **told,
        cpus=None if cpus is None else int(cpus),
        boot_id=None if boot is None else str(boot),
    )


def _held(results: Results) -> dict[str, str]:
    return {
        name.removeprefix(HELD): str(value)
        for name, value in zip(results.facts["name"], results.facts["value"], strict=True)
        if name.startswith(HELD)
    }
