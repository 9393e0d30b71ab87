"""Was it the same network throughout? What its fingerprint says in each session."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from tare.experiment.findings.finding import FindingUnit, answered
from tare.experiment.fingerprints.network import cache
from tare.experiment.fingerprints.network.cache import GIVEN, Told
from tare.experiment.fingerprints.network.difference import Difference
from tare.experiment.fingerprints.network.messages import figure_told, name_told
from tare.experiment.results import Results
from tare.registry import Description
from tare.results.finding import Column, Finding, Table
from tare.results.message import Amount, Message, Ratio, message

_DESCRIPTION = Description(
    name="same_network",
    title="What the network's fingerprint says in each session",
    question="Was it the same network throughout?",
    source="CLOUDNET, F5.2 and F5.5: publish the network's fingerprint with results, and compare "
    "only where it matches",
)
#: Changes that one sentence names.
_MOST_NAMED = 4


def told(results: Results) -> dict[int, Told]:
    """Return what the facts of each session say of its network, where they do."""
    found: dict[int, Told] = {}
    facts = results.facts.where(platform=None)
    for number in sorted(facts.distinct("session")):
        some = facts.where(session=number)
        one = cache.read(zip(some["name"], some["value"], strict=True))
        if one is not None:
            found[number] = one
    return found


def unlike(results: Results) -> list[tuple[tuple[int, int], Difference]]:
    """Return the pairs of sessions that were given fingerprints of networks that differ."""
    given = {number: one for number, one in told(results).items() if one.origin == GIVEN}
    pairs = [
        (pair, cache.difference(given[pair[0]], given[pair[1]]))
        for pair in combinations(sorted(given), 2)
    ]
    return [(pair, found) for pair, found in pairs if found.verdict == "differs"]


def apart(before: Mapping[str, Any], after: Mapping[str, Any]) -> Message | None:
    """Say how two sessions, by their facts, are of unlike networks; None: as far as known, not.

    Only where both were given a fingerprint: a remembered one may be of any network.
    """
    one, other = cache.read(before.items()), cache.read(after.items())
    if one is None or other is None or not one.origin == other.origin == GIVEN:
        return None
    found = cache.difference(one, other)
    return named(found) if found.verdict == "differs" else None


def named(found: Difference) -> Message:
    """Give each difference."""
    differences = [
        message(
            "{name} {before} → {after}{% if change %} ({change}){% endif %}",
            name=name_told(c.figure),
            before=Amount(c.before, c.unit),
            after=Amount(c.after, c.unit),
            change=None if c.change is None or c.unit == "1" else Ratio(c.change, c.low, c.high),
        )
        for c in found.differing
    ] + [
        message(
            "{name} {before or 'unknown'} → {after or 'unknown'}",
            name=name,
            before=before,
            after=after,
        )
        for name, (before, after) in found.facts.items()
        if name in found.deciding
    ]
    return message(
        "{differences | join(', ')}{% if more %} and {more} more{% endif %}",
        differences=differences[:_MOST_NAMED],
        more=len(differences[_MOST_NAMED:]),
    )


def find(results: Results) -> Finding | None:
    """Say what the network was, and compare sessions."""
    sessions = told(results)
    pairs = [
        (one, other, cache.difference(sessions[one], sessions[other]))
        for one, other in combinations(sorted(sessions), 2)
    ]
    changed = [pair for pair in pairs if pair[2].verdict == "differs"]
    # What is only remembered may be of a network that these results have nothing to do with.
    if not changed and all(one.origin != GIVEN for one in sessions.values()):
        return None
    answer = _answer(sessions, pairs, changed)
    unsure = any(pair[2].verdict == "inconclusive" for pair in pairs)
    verdict = "no" if changed else "inconclusive" if unsure else "yes" if pairs else "none"
    return answered(
        _DESCRIPTION,
        closed=True,
        answer=answer,
        verdict=verdict,  # type: ignore[arg-type]
        settle=message("another fingerprint of the network in each session: tare net fingerprint")
        if verdict == "inconclusive"
        else None,
        # Of those that were given, the caveat above everything says it already.
        summary=answer if changed and not unlike(results) else None,
        tables=(_table(sessions),),
    )


_Pairs = list[tuple[int, int, Difference]]


def _answer(sessions: Mapping[int, Told], pairs: _Pairs, changed: _Pairs) -> tuple[Message, ...]:
    if changed:
        return (
            message(
                "by its fingerprints, the network changed {changes | join('; ')}. Do not "
                "compare across these sessions what depends on it",
                changes=[
                    message(
                        "between sessions {first} and {second}: {differences}",
                        first=one,
                        second=other,
                        differences=named(f),
                    )
                    for one, other, f in changed[:_MOST_NAMED]
                ],
            ),
        )
    texts = sessions[min(sessions)].texts
    network = message(
        "the network to {end or 'another host'}{% if date %} on {date}{% endif %}: "
        "{shaping or 'shaping unknown'}",
        end=texts.get("end"),
        date=texts.get("date"),
        shaping=texts.get("shaping"),
    )
    if not pairs:
        return (network,)
    unsure = [
        message("{first} and {second}", first=one, second=other)
        for one, other, f in pairs
        if f.verdict == "inconclusive"
    ]
    if unsure:
        return message(
            "inconclusive whether the network changed between sessions {pairs | join(', ')}",
            pairs=unsure,
        ), network
    return message(
        "the network did not change by more than the margins in {sessions | counted('session')}",
        sessions=len(sessions),
    ), network


def _table(sessions: Mapping[int, Told]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for number, one in sessions.items():
        texts = {"shaping": one.texts.get("shaping"), "taken": one.texts.get("date"),
                 "how it came": one.origin}  # fmt: skip
        rows += [(str(number), what, value) for what, value in texts.items() if value]
        rows += [(str(number), name_told(n), figure_told(f)) for n, f in one.figures.items()]
    return Table.of(
        message("The network's fingerprint"),
        ("session", "what", Column(key="value", title="value [95 %]")),
        rows,
        note=message(
            "From --network-fingerprint (given), or the last tare net fingerprint on this machine "
            "(remembered)."
        ),
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=112, find=find, of_sweeps=True, of_rates=True,
    over_sessions=True, killed="used",
)  # fmt: skip
