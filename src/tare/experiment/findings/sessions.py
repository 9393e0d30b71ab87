"""What may be concluded over several sessions, of a machine that may have changed between them.

Comparisons within blocks hold over all sessions, since a block lies within one. Levels do not:
where the machine or the network was another, they are those of one session, and given by session.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from tare.errors import StoreError
from tare.experiment.findings import same_network
from tare.experiment.fingerprints.machine.difference import Change, Rule
from tare.experiment.fingerprints.machine.machine_changes import Judged, Probed, Taken, judge
from tare.experiment.fingerprints.network.difference import Difference as NetworkDifference
from tare.experiment.journal import Activity
from tare.experiment.results import Results


class Caveat(msgspec.Struct, frozen=True, kw_only=True):
    """What weakens everything that is concluded from some sessions."""

    #: ``changed``: it was another; ``busy``: it differs, but others used the machine while it was
    #: probed, so that it is not known whether it changed.
    kind: Literal["changed", "busy"]
    of: Literal["machine", "network"]
    #: One: before and after its trials; two: one session vs. the other.
    sessions: tuple[int, ...]
    #: What differs of the machine.
    changes: tuple[Change, ...] = ()
    #: How busy the machine was.
    activity: Activity | None = None
    #: What differs of the network.
    network: NetworkDifference | None = None


def judged(results: Results, numbers: Sequence[int], folder: Path) -> Results:
    """Return the results of some sessions, with the one that levels are to be taken from.

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
        If there is no such session.
    """
    known = results.sessions["session"].tolist()
    for number in numbers:
        if number not in known:
            raise StoreError(
                f"{folder} has no session {number}", f"it has: {', '.join(map(str, known))}"
            )
    some = results.of_sessions(numbers) if numbers else results
    if any(c.kind == "changed" and len(c.sessions) > 1 for c in caveats(some)):
        return dataclasses.replace(some, levels_of=_levels_of(some))
    return some


@lru_cache(maxsize=4)
def caveats(results: Results) -> tuple[Caveat, ...]:
    """Return what weakens everything that is concluded from all sessions.

    Those that decide how levels are given come first.
    """
    machine = [
        Caveat(
            kind="changed" if one.verdict == "changed" else "busy",
            of="machine",
            sessions=one.sessions,
            changes=one.differing,
            activity=one.activity,
        )
        for one in comparisons(results)
        if one.verdict == "changed" or one.why == "busy"
    ]
    network = [
        Caveat(kind="changed", of="network", sessions=pair, network=found)
        for pair, found in same_network.unlike(results)
    ]
    return tuple(
        sorted([*machine, *network], key=lambda c: (c.kind != "changed", -len(c.sessions)))
    )


def changed(some: Sequence[Caveat]) -> bool:
    """Return whether something changed, rather than only not known to be the same."""
    return any(c.kind == "changed" for c in some)


@lru_cache(maxsize=4)
def comparisons(results: Results) -> tuple[Judged, ...]:
    """Compare what the machine could do before and after each session, and between sessions."""
    return judge(probed(results), rules(results))


def probed(results: Results) -> dict[int, Probed]:
    """Return what each session found of the machine."""
    busy = {
        (int(row["session"]), str(row["moment"]), int(row["take"])): _activity(row)
        for row in results.takes.records()
    }
    found: dict[int, dict[str, dict[int, dict[str, tuple[float, ...]]]]] = {}
    for row in results.figures.records():
        moments = found.setdefault(int(row["session"]), {})
        take = moments.setdefault(str(row["moment"]), {}).setdefault(int(row["take"]), {})
        take[str(row["metric"])] = tuple(float(v) for v in row["values"])
    return {
        session: Probed(
            **{
                moment: tuple(
                    Taken(figures, busy.get((session, moment, number)))
                    for number, figures in sorted(some.items())
                )
                for moment, some in moments.items()
            }
        )
        for session, moments in found.items()
    }


def _activity(row: Mapping[str, Any]) -> Activity:
    names = Activity.__struct_fields__
    known = {n: row[n] for n in names if row.get(n) is not None and row[n] == row[n]}
    return msgspec.convert(known, Activity, strict=False)


def rules(results: Results) -> dict[str, Rule]:
    """Return which change of each metric matters, by its probe."""
    return {
        str(row["metric"]): Rule(unit=row["unit"], better=row["better"], margin=row["margin"])
        for row in results.figures.records()
    }


def _levels_of(results: Results) -> int | None:
    """Choose the newest session of those that have good trials of the most cells."""
    cells = {n: len(rows.distinct("cell")) for n, rows in results.good.groups("session")}
    return max(cells, key=lambda n: (cells[n], n), default=None)
