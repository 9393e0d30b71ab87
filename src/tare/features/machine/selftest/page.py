"""The page of a self-test: the same as an experiment's, about tare itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import tare
from tare.features.machine.selftest import chart, messages
from tare.features.machine.selftest.document import Accuracy, Document, FalseAlarms
from tare.features.machine.selftest.lines import Line
from tare.render.words import listing, text
from tare.results.finding import Column, Estimate, Finding, Table
from tare.results.message import Message, Said, message
from tare.results.report import Figure, Origin, Report, Section

_COLUMNS = {
    "metric": "figure", "source": "source", "program": "program", "platform": "platform",
    "workers": "at once", "n": "trials",
}  # fmt: skip
_ACCURACY = message("selftest.question.accuracy")
_ALARMS = message("selftest.question.alarms")
_TITLES = {"ns": "Times", "bytes": "Memory and output", "1": "Counts"}


def make(found: Document, command: str) -> Report:
    """Lay the page of a self-test out."""
    sections: list[Section] = []
    headline: list[Message] = []
    strip = [("kernel", found.kernel)]
    notes: list[Said] = []
    if found.accuracy is not None:
        sections.append(_accuracy(found.accuracy))
        headline += [messages.answer(found.accuracy), *messages.head(found.accuracy)]
        strip += [
            ("measured", f"{found.accuracy.date} UTC"),
            ("trials", f"{found.accuracy.trials:,}"),
            ("platforms", listing(found.accuracy.platforms)),
        ]
        notes += [*map(messages.unchecked, found.accuracy.unchecked), *found.accuracy.notes]
    if found.false_alarms is not None:
        sections.append(_alarms(found.false_alarms))
        headline.append(messages.alarms(found.false_alarms))
        strip.append(("comparisons", f"{found.false_alarms.comparisons:,}"))
    return Report(
        name="selftest",
        question=_ACCURACY if found.accuracy is not None else _ALARMS,
        lead=sections[0].finding.name if sections else None,
        answers=tuple(headline),
        strip=tuple(strip),
        sections=tuple(sections),
        doubts=tuple(notes),
        origin=Origin(
            commands=(command,),
            digests=(("agent", found.agent_digest),),
            versions=(tare.__version__,),
            seed=found.seed,
            title="How to test the same again",
        ),
        doubtful=text(message("selftest.page.doubtful")),
        calm=text(message("selftest.page.calm")),
        rest=f"{command} --json -",
    )


def _accuracy(accuracy: Accuracy) -> Section:
    by_unit: dict[str, list[Line]] = {}
    for one in accuracy.lines:
        by_unit.setdefault(one.unit, []).append(one)
    doubtful = (accuracy.off, accuracy.open, accuracy.doubtful_unused)
    finding = Finding(
        name="accuracy",
        question=_ACCURACY,
        answer=messages.answer(accuracy),
        verdict=accuracy.verdict,
        basis=text(message("selftest.basis")),
        caveats=tuple(one for some in doubtful for one in messages.groups(some)),
        estimates=tuple(map(_estimate, accuracy.lines)),
        tables=tuple(_table(unit, some) for unit, some in by_unit.items()),
    )
    timed = [(unit, some) for unit, some in by_unit.items() if any(o.median for o in some)]
    return Section(
        finding,
        tuple(_figure(unit, some, accuracy.platforms) for unit, some in timed),
    )


def _estimate(one: Line) -> Estimate:
    return Estimate(
        name=f"error of {one.metric} from {one.source}",
        levels={
            "program": one.program, "platform": one.platform, "workers": str(one.workers),
        },
        value=one.median,
        unit=one.unit,
        low=one.low,
        high=one.high,
        confidence=0.95,
        method="median, order statistics",
        n=one.n,
    )  # fmt: skip


def _figure(unit: str, some: Sequence[Line], platforms: Sequence[str]) -> Figure:
    # What is exact has nothing to be seen.
    shown = [one for one in some if one.promised != (0.0, 0.0)] or list(some)
    drawn, _ = chart.errors(shown, unit, platforms)
    # What no report uses is off for reasons that its row has.
    used = [one for one in shown if one.used]
    worst = max(used or shown, key=lambda one: abs(one.median))
    said = message("selftest.caption", figure=worst.named, error=worst.error, used=worst.used)
    caption = text(said)
    return Figure(f"errors-{unit}", _TITLES.get(unit, unit), drawn.to_dict(), caption)


def _table(unit: str, some: Iterable[Line]) -> Table:
    columns = (
        *(Column(key=key, title=title) for key, title in _COLUMNS.items()),
        Column(key="median", title="error", unit=unit),
        Column(key="low", title="from", unit=unit),
        Column(key="high", title="to", unit=unit),
        Column(key="worst", title="worst", unit=unit),
        Column(key="promised", title="specified"),
        Column(key="used", title="used"),
        Column(key="verdict", title="verdict"),
    )
    rows = tuple(
        {
            **{key: getattr(one, key) for key in (*_COLUMNS, "median", "low", "high", "worst")},
            "workers": str(one.workers),
            "promised": text(messages.specified(one)),
            "used": "yes" if one.used else "no",
            "verdict": text(message("selftest.judged", verdict=messages.verdict(one), why=one.why)),
        }
        for one in some
    )
    return Table(
        title=message("selftest.unit", unit=_TITLES.get(unit, unit)),
        columns=columns,
        rows=rows,
        note=message("selftest.note"),
    )


def _alarms(found: FalseAlarms) -> Section:
    table = Table(
        title=message("selftest.alarms_title"),
        columns=(Column(key="verdict", title="verdict"), Column(key="n", title="comparisons")),
        rows=tuple({"verdict": word, "n": n} for word, n in found.verdicts.items()),
    )
    finding = Finding(
        name="false-alarms",
        question=_ALARMS,
        answer=messages.alarms(found),
        verdict="no" if not found.consistent else "yes" if found.close else "inconclusive",
        basis=text(message("selftest.alarms_basis")),
        estimates=(
            Estimate(
                name="rate of alarms", levels={"platform": found.platform},
                value=found.alarms / found.comparisons, unit="1", low=0.0, high=found.rate_below,
                confidence=0.95, method="Clopper–Pearson, one-sided", n=found.comparisons,
            ),
        ),
        caveats=(message("selftest.pairs", pairs=found.pairs),),
        tables=(table,),
    )  # fmt: skip
    return Section(finding)
