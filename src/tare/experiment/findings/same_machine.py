"""Do probes before and after each session show the same machine? Between them, none ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tare.experiment.findings import caveats
from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.findings.sessions import comparisons, probed
from tare.experiment.fingerprints.machine.machine_changes import Judged, Probed
from tare.experiment.results import Results
from tare.registry import Description
from tare.render.words import text
from tare.results.finding import Answer, Column, Finding, Table, interval_columns
from tare.results.message import Message, message
from tare.units import quantity

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
    return answered(
        _DESCRIPTION,
        closed=True,
        answer=_answer(compared),
        verdict=_verdict(compared),
        settle=message("another session on an idle machine")
        if _verdict(compared) == "inconclusive"
        else None,
        caveats=(
            message("the machine was probed before and after the trials, not during them"),
            *_not_probed(results),
        ),
        tables=(_table(compared),),
    )


def _verdict(compared: Sequence[Judged]) -> Answer:
    verdicts = {one.verdict for one in compared}
    return (
        "no" if "changed" in verdicts else "inconclusive" if "inconclusive" in verdicts else "yes"
    )


def _answer(compared: Sequence[Judged]) -> tuple[Message, ...]:
    changed = [one for one in compared if one.verdict == "changed"]
    unsure = [one for one in compared if one.verdict == "inconclusive"]
    if changed:
        differing = [
            message(
                "{sessions}, {changes}",
                sessions=caveats.named(one.sessions),
                changes=caveats.changes(one.changes),
            )
            for one in changed
        ]
        return (
            message(
                "the machine changed: {comparisons | join('; ')}", comparisons=_first(differing)
            ),
            message("comparisons within blocks hold"),
        )
    if unsure:
        return (
            message(
                "inconclusive: {comparisons | join('; ')}", comparisons=_first(map(_why, unsure))
            ),
        )
    return (
        message(
            "no significant change: {comparisons | join('; ')}",
            comparisons=_first(map(_equivalent, compared)),
        ),
    )


def _first(comparisons: Iterable[Message]) -> list[Message]:
    """Keep the first of many comparisons, and say how many others there are."""
    some = list(comparisons)
    others = len(some[_MOST_NAMED:])
    more = [message("{comparisons} more", comparisons=others)] if others else []
    return [*some[:_MOST_NAMED], *more]


def _equivalent(one: Judged) -> Message:
    """Say between which probes nothing was found, and how many metrics are shown to be the same."""
    return message(
        "{sessions}{% if within %} before vs. after its trials{% endif %} ({same} of "
        "{metrics | counted('metric')} shown to be the same)",
        sessions=caveats.named(one.sessions),
        within=len(one.sessions) == 1,
        same=sum(c.verdict == "same" for c in one.changes),
        metrics=len(one.changes),
    )


def _not_probed(results: Results) -> Iterable[Message]:
    """Name the sessions that were not probed before or after their trials."""
    found = probed(results)
    for number in (int(n) for n in results.sessions["session"]):
        session = found.get(number, Probed())
        missing = [moment for moment in ("before", "after") if not getattr(session, moment)]
        if missing:
            yield message(
                "session {session} was not probed {moments | listing('or')} its trials",
                session=number,
                moments=missing,
            )


def _why(one: Judged) -> Message:
    sessions, changes = caveats.named(one.sessions), caveats.changes(one.changes)
    if one.why is None:
        return message(
            "{sessions}, {unclear} of {metrics | counted('metric')} inconclusive",
            sessions=sessions,
            unclear=sum(c.verdict == "inconclusive" for c in one.changes),
            metrics=len(one.changes),
        )
    if one.why == "busy" and one.activity is not None:
        activity = caveats.activity(one.activity)
        return message(
            "{sessions}, {changes}, but {activity} during the probes",
            sessions=sessions,
            changes=changes,
            activity=activity,
        )
    return message(
        "{sessions}, {changes}, but only in a single take", sessions=sessions, changes=changes
    )


def _table(compared: Iterable[Judged]) -> Table:
    def percent(ratio: float | None) -> float | None:
        return None if ratio is None else 100 * (ratio - 1)

    return Table.of(
        message("What the probes found"),
        (
            *("compared", "metric", "before", "after"),
            *interval_columns("change", "change", "%"),
            Column(key="margin", title="margin", unit="%"),
            "verdict",
        ),
        (
            (
                *(text(caveats.named(one.sessions)), c.metric),
                *(quantity(value, c.unit) for value in (c.before, c.after)),
                *map(percent, (c.ratio, c.low, c.high)),
                100 * c.margin,
                "inconclusive" if one.why and c.verdict == "changed" else c.verdict,
            )
            for one in compared
            for c in one.changes
        ),
        note=message(
            "A change counts where it is significant over all metrics and comparisons (Holm). Its "
            "whole interval must exceed the margin in every pair of takes. Disturbed takes do not "
            "count, and a single take is not enough."
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=110, find=find, killed="used", of_sweeps=True,
    over_sessions=True,
)  # fmt: skip
