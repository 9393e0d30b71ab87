"""Was it the same machine throughout? What probes found before and after each session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from tare.errors import StoreError
from tare.findings import same_network
from tare.findings.finding import Column, Finding, FindingUnit, Table
from tare.findings.phrasing import change, counted, listing, quantity
from tare.fingerprint.difference import Change, Rule, Take, differences
from tare.registry import Description
from tare.results import Results

_DESCRIPTION = Description(
    name="same_machine",
    title="What probes found before and after the trials of each session",
    question="Was it the same machine throughout?",
    source="CLOUDNET, F5.2: check the baselines of the machine before every experiment",
)
#: Changes that one sentence names.
_MOST_TOLD = 4


#: Takes of each session, in order of time: before, after.
Sessions = dict[int, list[Take]]


@dataclass(frozen=True)
class _Compared:
    """What was put beside each other, and what came of it."""

    what: str
    changes: tuple[Change, ...]

    @property
    def changed(self) -> list[Change]:
        return [c for c in self.changes if c.verdict == "changed"]


def find(results: Results) -> Finding | None:
    """Compare what the machine could do before and after, and from session to session."""
    compared = _compared(takes(results), rules(results))
    if not compared:
        return None
    changed = [one for one in compared if one.changed]
    answer = _changed_told(changed) if changed else _same_told(compared)
    return Finding(
        name=_DESCRIPTION.name,
        question=_DESCRIPTION.question,
        answer=answer,
        verdict="no" if changed else "yes",
        summary=answer if changed else None,
        tables=(_table(compared),),
    )


def chosen(results: Results, numbers: Sequence[int], folder: Path) -> Results:
    """Return the results of some sessions, or of all where the machine was the same in them.

    Parameters
    ----------
    results : Results
    numbers : sequence of int
        Sessions that were asked for; none: all.
    folder : Path
        Where the results are, for the message.

    Raises
    ------
    StoreError
        If there is no such session, or the machine was not the same: what differs, and how to
        go on.
    """
    if not numbers:
        _refuse(results, folder)
        return results
    known = [int(n) for n in results.sessions["session"]]
    for number in numbers:
        if number not in known:
            raise StoreError(
                f"{folder} has no session {number}", f"it has: {', '.join(map(str, known))}"
            )
    return results.of_sessions(numbers)


def _refuse(results: Results, folder: Path) -> None:
    same_network.refuse(results, folder)
    sessions, known = takes(results), rules(results)
    pairs = list(combinations(sorted(sessions), 2))
    for one, other in pairs:
        changes = differences(sessions[one], sessions[other], known, len(pairs))
        found = _Compared("", changes)
        if found.changed:
            raise StoreError(
                f"the machine was not the same in sessions {one} and {other} "
                f"({named(found.changed)}), so nothing is concluded over both",
                f"tare experiment report {folder} --session {other}   (from that one; "
                "--session again for more)",
            )


def named(changes: Sequence[Change]) -> str:
    """Say each change in a few words: ``syscall.getpid 80.1 ns → 140 ns (+75 %)``."""
    shown = [
        f"{c.metric} {quantity(c.before, c.unit)} → {quantity(c.after, c.unit)} ({change(c.ratio)})"
        for c in changes[:_MOST_TOLD]
    ]
    more = len(changes) - _MOST_TOLD
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def takes(results: Results) -> Sessions:
    """Return what each session found of the machine."""
    found: dict[int, dict[str, dict[str, Sequence[float]]]] = {}
    for row in results.figures.to_dict("records"):
        moments = found.setdefault(int(row["session"]), {})
        take = moments.setdefault(str(row["moment"]), {})
        take[str(row["metric"])] = tuple(float(v) for v in row["values"])
    return {
        number: [moments[m] for m in ("before", "after") if m in moments]
        for number, moments in found.items()
    }


def rules(results: Results) -> dict[str, Rule]:
    """Return what the probes say of changes of their metrics."""
    return {
        str(row["metric"]): Rule(unit=row["unit"], better=row["better"], margin=row["margin"])
        for row in results.figures.to_dict("records")
    }


def _compared(sessions: Sessions, rules: Mapping[str, Rule]) -> list[_Compared]:
    """Compare before with after in each session, and each session with the first."""
    within = {number: some for number, some in sorted(sessions.items()) if len(some) == 2}
    first, *others = sorted(sessions) or [0]
    beside = len(within) + len(others)
    found = [
        _Compared(f"session {number}", differences(some[:1], some[1:], rules, beside))
        for number, some in within.items()
    ]
    for other in others:
        changes = differences(sessions[first], sessions[other], rules, beside)
        found.append(_Compared(f"sessions {first} and {other}", changes))
    return found


def _same_told(compared: Iterable[_Compared]) -> str:
    some = list(compared)
    metrics = max(len(one.changes) for one in some)
    return (
        f"Nothing that was looked at ({counted(metrics, 'metric')} of the machine) changed by more "
        f"than matters: {listing(one.what for one in some)}."
    )


def _changed_told(changed: Sequence[_Compared]) -> str:
    told = "; ".join(f"in {one.what}, {named(one.changed)}" for one in changed[:_MOST_TOLD])
    return (
        f"The machine changed: {told}. Comparisons within blocks hold, since every cell met the "
        "change alike; the values of one cell mix what it was before and after."
    )


def _table(compared: Iterable[_Compared]) -> Table:
    def percent(ratio: float | None) -> float | None:
        return None if ratio is None else 100 * (ratio - 1)

    rows: list[dict[str, Any]] = [
        {
            "compared": one.what,
            "metric": c.metric,
            "before": quantity(c.before, c.unit),
            "after": quantity(c.after, c.unit),
            "change": percent(c.ratio),
            "low": percent(c.low),
            "high": percent(c.high),
            "margin": 100 * c.margin,
            "verdict": c.verdict,
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
        note="A change counts where it is significant over all metrics (Holm) and its whole "
        "interval is beyond what matters, in every pair of takes.",
    )


UNIT = FindingUnit(description=_DESCRIPTION, order=110, find=find, of_sweeps=True)
