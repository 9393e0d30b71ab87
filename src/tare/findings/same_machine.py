"""Do probes before and after each session show the same machine? Between them nobody looked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tare.findings.caveats import activity_words, changes_words, sessions_words
from tare.findings.finding import FindingUnit
from tare.findings.sessions import comparisons, probed
from tare.fingerprint.activity import LIMIT
from tare.fingerprint.sessions import Judged, Probed
from tare.frames import Results
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Answer, Column, Finding, Table
from tare.units import chosen, counted, quantity

_DESCRIPTION = Description(
    name="same_machine",
    title="What probes found before and after the trials of each session",
    question="Do the probes before and after show the same machine?",
    source="CLOUDNET, F5.2: check the baselines of the machine before every experiment",
)
#: Comparisons that one answer names.
_MOST_NAMED = 3


def find(results: Results) -> Finding | None:
    """Compare what the machine could do before and after, and from session to session."""
    compared = comparisons(results)
    if not compared:
        return None
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=_answer(compared),
        verdict=_verdict(compared),
        caveats=(_MOMENTS, *_not_probed(results)),
        tables=(_table(compared), *_takes(probed(results))),
    )


def _verdict(compared: Sequence[Judged]) -> Answer:
    verdicts = {one.verdict for one in compared}
    return (
        "no" if "changed" in verdicts else "inconclusive" if "inconclusive" in verdicts else "yes"
    )


def _answer(compared: Sequence[Judged]) -> str:
    changed = [one for one in compared if one.verdict == "changed"]
    unsure = [one for one in compared if one.verdict == "inconclusive"]
    if changed:
        told = "; ".join(
            f"{sessions_words(one.sessions)}, {changes_words(one.changes)}"
            for one in changed[:_MOST_NAMED]
        )
        more = f"; and {len(changed) - _MOST_NAMED} more" if changed[_MOST_NAMED:] else ""
        return f"The machine changed: {told}{more}. Comparisons within blocks hold."
    if unsure:
        told = "; ".join(f"{sessions_words(one.sessions)}, {_why(one)}" for one in unsure)
        return f"Inconclusive: {told}."
    return f"No significant change was found: {'; '.join(map(_found, compared))}."


def _found(one: Judged) -> str:
    """Say between which probes nothing was found, and how many metrics are shown to be the same."""
    shown = sum(c.verdict == "same" for c in one.changes)
    between = "between the probes at its beginning and its end"
    where = sessions_words(one.sessions)
    where = f"{where}, {between}" if len(one.sessions) == 1 else f"between {where}"
    return f"{where} ({shown} of {counted(len(one.changes), 'metric')} shown to be the same)"


_MOMENTS = "The machine was probed before and after the trials; what it did between is not known."


def _not_probed(results: Results) -> Iterable[str]:
    """Name the sessions, and their moments, that say nothing."""
    found = probed(results)
    for number in (int(n) for n in results.sessions["session"]):
        session = found.get(number)
        missing = (
            ["before", "after"]
            if session is None
            else [moment for moment in ("before", "after") if not getattr(session, moment)]
        )
        if missing:
            yield f"Session {number} was not probed {listing(missing, 'or')} its trials."


def _why(one: Judged) -> str:
    if one.why is None:
        n = sum(c.verdict == "inconclusive" for c in one.changes)
        return f"{n} of {counted(len(one.changes), 'metric')} are neither the same nor changed"
    differing = f"{changes_words(one.changes)}, but"
    if one.why == "busy" and one.activity is not None:
        return f"{differing} {activity_words(one.activity)} while it was probed"
    return f"{differing} it rests on a single take"


def _table(compared: Iterable[Judged]) -> Table:
    def percent(ratio: float | None) -> float | None:
        return None if ratio is None else 100 * (ratio - 1)

    rows: list[dict[str, Any]] = [
        {
            "compared": sessions_words(one.sessions),
            "metric": c.metric,
            "before": quantity(c.before, c.unit),
            "after": quantity(c.after, c.unit),
            "change": percent(c.ratio),
            "low": percent(c.low),
            "high": percent(c.high),
            "margin": 100 * c.margin,
            "verdict": "inconclusive" if one.why and c.verdict == "changed" else c.verdict,
        }
        for one in compared
        for c in one.changes
    ]
    return Table(
        title="What the probes found",
        columns=(
            Column(key="compared", title="compared"),
            Column(key="metric", title="metric"),
            Column(key="before", title="before"),
            Column(key="after", title="after"),
            Column(key="change", title="change", unit="%"),
            Column(key="low", title="from", unit="%"),
            Column(key="high", title="to", unit="%"),
            Column(key="margin", title="matters beyond", unit="%"),
            Column(key="verdict", title="verdict"),
        ),
        rows=tuple(rows),
        note="A change counts where it is significant over all metrics and comparisons (Holm) and "
        "its whole interval is beyond what matters, in every pair of takes; where no take was "
        "disturbed; and where it does not rest on a single take.",
    )


def _takes(sessions: dict[int, Probed]) -> Iterable[Table]:
    """Lay out how busy the machine was in each take, where that was recorded."""
    rows: list[dict[str, Any]] = []
    for number, session in sorted(sessions.items()):
        for moment, some in (("before", session.before), ("after", session.after)):
            rows += [
                {
                    "session": str(number),
                    "moment": moment,
                    "take": place,
                    "cpus": one.activity.other_cpus,
                    "stolen": one.activity.stolen_cpus,
                    "load": one.activity.load_average,
                    "pressure": one.activity.cpu_pressure,
                    "disturbed": "yes" if one.disturbed else "no",
                }
                for place, one in enumerate(some, 1)
                if one.activity is not None
            ]
    if rows:
        yield Table(
            title="How busy the machine was while it was probed",
            columns=(
                Column(key="session", title="session"),
                Column(key="moment", title="moment"),
                Column(key="take", title="take"),
                Column(key="cpus", title="CPUs used by others", unit="1"),
                Column(key="stolen", title="CPUs stolen", unit="1"),
                Column(key="load", title="load average", unit="1"),
                Column(key="pressure", title="CPU pressure", unit="1"),
                Column(key="disturbed", title="disturbed"),
            ),
            rows=tuple(rows),
            note=f"Disturbed: others had more than {chosen(LIMIT)} of the machine's CPU time, or "
            "tasks waited as long for memory or a disk. Such a take is repeated, at most three "
            "times, and never counts as a change.",
        )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=110, find=find, of_sweeps=True, over_sessions=True
)
