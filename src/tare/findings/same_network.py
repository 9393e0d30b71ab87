"""Was it the same network throughout? What its fingerprint says in each session."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from tare.findings.finding import FindingUnit
from tare.frames import Results
from tare.network_fingerprint import remembered
from tare.network_fingerprint.difference import Difference
from tare.network_fingerprint.remembered import GIVEN, Told
from tare.network_fingerprint.telling import figure_told, name_told
from tare.registry import Description
from tare.render.words import listing
from tare.results.finding import Column, Finding, Table
from tare.units import change, counted, quantity

_DESCRIPTION = Description(
    name="same_network",
    title="What the network's fingerprint says in each session",
    question="Was it the same network throughout?",
    source="CLOUDNET, F5.2 and F5.5: publish the network's fingerprint with results, and compare "
    "only where it matches",
)
#: Changes that one sentence names.
_MOST_TOLD = 4


def told(results: Results) -> dict[int, Told]:
    """Return what the facts of each session say of its network, where they do."""
    found: dict[int, Told] = {}
    facts = results.facts[results.facts["platform"].isna()]
    for number in sorted({int(session) for session in facts["session"]}):
        some = facts[facts["session"] == number]
        one = remembered.read(zip(some["name"], some["value"], strict=True))
        if one is not None:
            found[number] = one
    return found


def unlike(results: Results) -> list[tuple[tuple[int, int], Difference]]:
    """Return the pairs of sessions that were given fingerprints of networks that differ."""
    given = {number: one for number, one in told(results).items() if one.origin == GIVEN}
    pairs = [
        (pair, remembered.difference(given[pair[0]], given[pair[1]]))
        for pair in combinations(sorted(given), 2)
    ]
    return [(pair, found) for pair, found in pairs if found.verdict == "differs"]


def apart(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Say how two sessions, by their facts, are of unlike networks; None: as far as known, not.

    Only where both were given a fingerprint: a remembered one may be of any network.
    """
    one, other = remembered.read(before.items()), remembered.read(after.items())
    if one is None or other is None or not one.origin == other.origin == GIVEN:
        return None
    found = remembered.difference(one, other)
    return named(found) if found.verdict == "differs" else None


def named(found: Difference) -> str:
    """Say each difference in a few words."""
    words = [
        f"{name_told(c.figure)} {quantity(c.before, c.unit)} → {quantity(c.after, c.unit)}"
        + ("" if c.change is None or c.unit == "1" else f" ({change(c.change)})")
        for c in found.differing
    ]
    words += [f"{name} {was} → {now}" for name, (was, now) in found.facts.items()
              if name in found.deciding]  # fmt: skip
    more = len(words) - _MOST_TOLD
    return ", ".join(words[:_MOST_TOLD]) + (f" and {more} more" if more > 0 else "")


def find(results: Results) -> Finding | None:
    """Say what the network was, and compare sessions."""
    sessions = told(results)
    pairs = [
        (one, other, remembered.difference(sessions[one], sessions[other]))
        for one, other in combinations(sorted(sessions), 2)
    ]
    changed = [pair for pair in pairs if pair[2].verdict == "differs"]
    # What is only remembered may be of a network that these results have nothing to do with.
    if not changed and all(one.origin != GIVEN for one in sessions.values()):
        return None
    answer = _answer(sessions, pairs, changed)
    undecided = any(pair[2].verdict == "inconclusive" for pair in pairs)
    verdict = "no" if changed else "inconclusive" if undecided else "yes" if pairs else "none"
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict=verdict,  # type: ignore[arg-type]
        # Of those that were given, the caveat above everything says it already.
        summary=answer if changed and not unlike(results) else None,
        tables=(_table(sessions),),
    )


_Pairs = list[tuple[int, int, Difference]]


def _answer(sessions: Mapping[int, Told], pairs: _Pairs, changed: _Pairs) -> str:
    if changed:
        words = "; ".join(
            f"between sessions {one} and {other}, {named(found)}"
            for one, other, found in changed[:_MOST_TOLD]
        )
        return (
            f"By its fingerprints the network is not the same: {words}. What depends on it is not "
            "to be compared across these sessions."
        )
    first = sessions[min(sessions)]
    what = (
        f"The network to {first.texts.get('end', 'another host')}, as of "
        f"{first.texts.get('date', 'some day')}: {first.texts.get('shaping', 'not told')}."
    )
    if not pairs:
        return what
    unsure = [f"{one} and {other}" for one, other, f in pairs if f.verdict == "inconclusive"]
    if unsure:
        return f"{what} That nothing has changed is not shown for sessions {listing(unsure)}."
    return f"{what} Nothing differs by more than matters in {counted(len(sessions), 'session')}."


def _table(sessions: Mapping[int, Told]) -> Table:
    rows: list[dict[str, Any]] = []
    for number, one in sessions.items():
        texts = {"shaping": one.texts.get("shaping"), "taken": one.texts.get("date"),
                 "how it came": one.origin}  # fmt: skip
        rows += [{"session": str(number), "what": w, "value": v} for w, v in texts.items() if v]
        rows += [
            {"session": str(number), "what": name_told(name), "value": figure_told(figure)}
            for name, figure in one.figures.items()
        ]
    return Table(
        title="The network's fingerprint",
        columns=(
            Column(key="session", title="session"),
            Column(key="what", title="what"),
            Column(key="value", title="value [95 %]"),
        ),
        rows=tuple(rows),
        note="Given by --network-fingerprint, or remembered from the last tare net fingerprint on "
        "this machine.",
    )


UNIT = FindingUnit(
    description=_DESCRIPTION, order=112, find=find, of_sweeps=True, of_rates=True,
    over_sessions=True,
)  # fmt: skip
