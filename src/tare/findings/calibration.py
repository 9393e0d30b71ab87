"""Whether the machine scales linearly with the CPU time that it is given, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.calibration import conclude, telling, trials
from tare.calibration.document import Calibration
from tare.findings.calibration_beside import beside
from tare.findings.calibration_tables import models_table, points_table, regimes_table
from tare.findings.finding import FindingUnit, uncompared
from tare.frames import Results
from tare.registry import Description
from tare.results.finding import Answer, Estimate, Finding
from tare.statistics.regression import Line

_DESCRIPTION = Description(
    name="calibration",
    title="Work done a second against the CPU time given, and the lines through it",
    question="Does this machine scale linearly with the CPU it is given?",
    source="CALIBRATE (Manner and Wirtz, 2021)",
)
_CHARTS = ("calibration", "calibration_delivered", "calibration_several")
_METHOD = "ordinary least squares, HC3 errors"


def find(results: Results) -> Finding | None:
    """Conclude every calibration that is in the results, and say each in a few sentences."""
    if trials.swept(results) is None:
        return None
    found = conclude.calibrations(results)
    if not found:
        return uncompared(_DESCRIPTION, f"That is not answered: {conclude.refusal(results)}.")
    several = len(found) > 1
    told = [_told(one, several=several) for one in found]
    others = list(beside(found))
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=" ".join([*told, *others]),
        verdict=_verdict(found),
        summary=" ".join([*(_summary(one, several=several) for one in found), *others]),
        basis=f"throughput ({'self' if _of_kernels(results) else 'around'})",
        estimates=tuple(e for one in found for e in _estimates(one)),
        tables=tuple(
            table
            for one in found
            for table in (
                points_table(one, several=several),
                regimes_table(one, several=several),
                models_table(one, several=several),
            )
        ),
        caveats=tuple(dict.fromkeys(_caveats(found))),
        charts=_CHARTS,
    )


def _of_kernels(results: Results) -> bool:
    return all(w.kernel for w in results.experiment.workloads)


def _told(found: Calibration, *, several: bool) -> str:
    """Say the verdict, what it means for comparisons, and why a range is slower."""
    slowest = telling.slowest(found)
    ceiling = telling.ceiling(found)
    more = (
        None if ceiling in (None, slowest) else ceiling.evidence,
        telling.parted(found),
    )
    return " ".join((_summary(found, several=several), *filter(None, more)))


def _summary(found: Calibration, *, several: bool) -> str:
    slowest = telling.slowest(found)
    parts = (
        f"{telling.subject(found)}:" if several else None,
        telling.verdict(found),
        telling.comparability(found),
        None if slowest is None else telling.because(slowest),
    )
    return " ".join(filter(None, parts))


def _verdict(found: Sequence[Calibration]) -> Answer:
    answers = {telling.answer(one) for one in found}
    return "no" if "no" in answers else "inconclusive" if "inconclusive" in answers else "yes"


def _estimates(found: Calibration) -> Iterator[Estimate]:
    levels = {
        "workload": found.workload,
        "platform": found.platform,
        "workers": str(found.workers),
        "period_s": f"{found.period_s:g}",
        **found.levels,
    }
    trial_numbers = tuple(t for p in found.points for t in p.trials)
    for kind, model in (("asked", found.asked), ("delivered", found.delivered)):
        if model is None:
            continue
        line: Line = model.line
        for name, value, low, high, unit in (
            ("slope", line.slope, line.slope_low, line.slope_high, f"{found.work}/s/CPU"),
            ("intercept", line.intercept, line.intercept_low, line.intercept_high,
             f"{found.work}/s"),
            ("r2", line.r2, None, None, "1"),
            ("p", line.p, None, None, "1"),
            ("maximum", line.maximum, None, None, f"{found.work}/s"),
        ):  # fmt: skip
            yield Estimate(
                name=f"{name} ({kind})", levels=levels, value=value, unit=unit, low=low, high=high,
                confidence=None if low is None else 0.95, method=_METHOD, n=line.n,
                trials=trial_numbers,
            )  # fmt: skip
    if found.asked.saturates_at is not None:
        yield Estimate(
            name="saturates at", levels=levels, value=found.asked.saturates_at, unit="CPU",
            low=found.asked.saturates_low, high=found.asked.saturates_high, confidence=0.95,
            method="hinge, profile likelihood", n=found.asked.line.n, trials=trial_numbers,
        )  # fmt: skip


def _caveats(found: Sequence[Calibration]) -> Iterator[str]:
    for one in found:
        where = f"{telling.subject(one)}: " if len(found) > 1 else ""
        for caveat in one.caveats:
            yield f"{where}{caveat}"


UNIT = FindingUnit(description=_DESCRIPTION, order=-10, find=find, of_sweeps=True)
