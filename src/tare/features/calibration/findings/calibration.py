"""Whether the machine scales linearly with the CPU time that it is given, and why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tare.experiment.findings.finding import FindingUnit, uncompared
from tare.experiment.results import Results
from tare.experiment.sweep import analysis, messages, trials
from tare.experiment.sweep.axis import AXES
from tare.experiment.sweep.document import Calibration
from tare.features.calibration.findings.comparison import compared
from tare.features.calibration.findings.tables import models_tables, points_table, regimes_table
from tare.registry import Description
from tare.results.finding import Answer, Estimate, Finding
from tare.results.message import Message, Said, message
from tare.statistics.regression import Line

_DESCRIPTION = Description(
    name="calibration",
    title="Work per second by CPU time given, and the fitted lines",
    question="Does this machine scale linearly with the CPU it is given?",
    source="CALIBRATE (Manner and Wirtz, 2021)",
)
_METHOD = "ordinary least squares, HC3 errors"


def find(results: Results) -> Finding | None:
    """Judge every calibration that is in the results."""
    if trials.swept(results) is None:
        return None
    found = analysis.calibrations(results)
    if not found:
        why = analysis.refusal(results)
        return uncompared(_DESCRIPTION, message("no calibration: {why}", why=why))
    several = len(found) > 1
    others = list(compared(found))
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=(*_each(found, _answer), *others),
        verdict=_verdict(found),
        settle=next((c.asked.sentence for c in found if c.asked.verdict == "inconclusive"), None),
        summary=(*_each(found, _short if several else messages.summary), *others),
        basis=f"throughput ({'self' if _of_kernels(results) else 'around'})",
        estimates=tuple(e for one in found for e in _estimates(one)),
        tables=tuple(
            table
            for one in found
            for table in (
                points_table(one, several=several),
                regimes_table(one, several=several),
                *models_tables(one, several=several),
            )
        ),
        caveats=tuple(_each(found, _caveats)),
        charts=("calibration",),
    )


def _of_kernels(results: Results) -> bool:
    return all(w.kernel for w in results.experiment.workloads)


def _each(
    found: Sequence[Calibration], said: Callable[[Calibration], Iterator[Said]]
) -> Iterator[Said]:
    """Return what is said of each calibration, with its subject where there are several."""
    for one in found:
        for each in said(one):
            yield _of(one, each) if len(found) > 1 else each


def _of(found: Calibration, said: Said) -> Message:
    return message("{subject}: {said}", subject=messages.subject(found), said=said)


def _answer(found: Calibration) -> Iterator[Said]:
    """Say what half of the CPU is worth, how the speed follows it, and why a range is slower."""
    yield from messages.summary(found)
    ceiling = messages.ceiling(found)
    if ceiling is not None and ceiling != messages.slowest(found):
        yield ceiling.evidence
    if parted := messages.parted(found):
        yield parted


def _short(found: Calibration) -> Iterator[Said]:
    yield messages.verdict(found)


def _verdict(found: Sequence[Calibration]) -> Answer:
    answers = {messages.answer(one) for one in found}
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
    along = AXES[found.axis].unit.removesuffix("s")
    for kind, model, unit_along in (
        ("asked", found.asked, along),
        ("delivered", found.delivered, "CPU"),
    ):
        if model is None:
            continue
        line: Line = model.line
        for name, value, low, high, unit in (
            ("slope", line.slope, line.slope_low, line.slope_high, f"{found.work}/s/{unit_along}"),
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
            name="saturates at", levels=levels, value=found.asked.saturates_at, unit=along,
            low=found.asked.saturates_low, high=found.asked.saturates_high, confidence=0.95,
            method="hinge, profile likelihood", n=found.asked.line.n, trials=trial_numbers,
        )  # fmt: skip


def _caveats(found: Calibration) -> Iterator[Said]:
    yield from found.caveats


UNIT = FindingUnit(description=_DESCRIPTION, order=-10, find=find, of_sweeps=True)
