"""Caveats of several sessions in words: what was not the same, and what that leaves standing."""

from __future__ import annotations

from collections.abc import Sequence

from tare.findings import same_network
from tare.findings.sessions import Caveat
from tare.fingerprint.difference import Change
from tare.journal import Activity
from tare.render.words import listing, text
from tare.units import change, quantity

#: Changes, and comparisons, that one sentence names.
_MOST_NAMED = 2


def sentences(some: Sequence[Caveat], levels_of: int | None) -> list[str]:
    """Write what stands above everything that is concluded: what changed, and what that leaves.

    Parameters
    ----------
    some : sequence of Caveat
    levels_of : int or None
        Session that levels are taken from; None: from all.
    """
    told = _grouped([one for one in some if one.kind == "changed"])
    if levels_of is not None:
        told.append(
            f"Levels are those of session {levels_of} alone; comparisons within blocks use all "
            "sessions and hold."
        )
    return told


def notes(some: Sequence[Caveat]) -> list[str]:
    """Write what stands below the answers: where a busy machine leaves open whether it changed."""
    return _grouped([one for one in some if one.kind == "busy"])


def _grouped(some: Sequence[Caveat]) -> list[str]:
    """Write one sentence for all caveats of a kind."""
    found: dict[tuple[str, int], list[Caveat]] = {}
    for one in some:
        found.setdefault((one.of, len(one.sessions)), []).append(one)
    return [_sentence(group) for group in found.values()]


def _sentence(group: Sequence[Caveat]) -> str:
    first = group[0]
    where = listing(sessions_words(one.sessions) for one in group[:_MOST_NAMED])
    more = f" and {len(group) - _MOST_NAMED} more" if group[_MOST_NAMED:] else ""
    if first.network is not None:
        differences = text(same_network.named(first.network))
        return f"The network was not the same: {where}{more} ({differences})."
    what = changes_words(first.changes)
    if first.kind == "busy" and first.activity is not None:
        return (
            f"The machine was busy while it was probed ({activity_words(first.activity)}), so it "
            f"is inconclusive whether it changed: {where}{more} ({what})."
        )
    if len(first.sessions) > 1:
        return f"The machine was not the same: {where}{more} ({what})."
    return (
        f"The machine changed during {where}{more} ({what}): levels mix both states, comparisons "
        "within blocks hold."
    )


def changes_words(changes: Sequence[Change]) -> str:
    """Write what changed: ``syscall.getpid 80.1 ns → 140 ns (+75 %)``."""
    some = [c for c in changes if c.verdict == "changed"]
    shown = [
        f"{c.metric} {quantity(c.before, c.unit)} → {quantity(c.after, c.unit)} ({change(c.ratio)})"
        for c in some[:_MOST_NAMED]
    ]
    more = len(some) - _MOST_NAMED
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def sessions_words(sessions: Sequence[int]) -> str:
    """Name what was compared: "session 1", "sessions 1 and 2"."""
    return f"session{'s' * (len(sessions) > 1)} {listing(map(str, sessions))}"


def activity_words(activity: Activity) -> str:
    """Write what others did to a machine: "others used 1.1 of 2 CPUs"."""
    of = "" if activity.cpus is None else f" of {activity.cpus}"
    used, stolen = activity.other_cpus or 0.0, activity.stolen_cpus or 0.0
    if stolen > used:
        return f"the hypervisor gave {stolen:.2g}{of} CPUs to others"
    return f"others used {used:.2g}{of} CPUs"
