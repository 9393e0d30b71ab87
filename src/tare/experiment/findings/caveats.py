"""Caveats of several sessions as messages: what changed, and which results hold all the same."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.findings import same_network
from tare.experiment.findings.sessions import Caveat
from tare.experiment.fingerprints.machine.difference import Change
from tare.experiment.journal import Activity
from tare.results.message import Amount, Message, Ratio, message

#: Changes, and comparisons, that one message names.
_MOST_NAMED = 2


def sentences(some: Sequence[Caveat], levels_of: int | None) -> list[Message]:
    """Return what stands above everything that is concluded: what changed, and what that leaves.

    Parameters
    ----------
    some : sequence of Caveat
    levels_of : int or None
        Session that levels are taken from; None: from all.
    """
    found = _grouped([one for one in some if one.kind == "changed"])
    if levels_of is not None:
        found.append(
            message(
                "levels are those of session {session} only; comparisons within blocks use all "
                "sessions",
                session=levels_of,
            )
        )
    return found


def notes(some: Sequence[Caveat]) -> list[Message]:
    """Return what stands below the answers: where a busy machine leaves open whether it changed."""
    return _grouped([one for one in some if one.kind == "busy"])


def _grouped(some: Sequence[Caveat]) -> list[Message]:
    """Return one message for all caveats of a kind."""
    found: dict[tuple[str, int], list[Caveat]] = {}
    for one in some:
        found.setdefault((one.of, len(one.sessions)), []).append(one)
    return [_caveat(group) for group in found.values()]


def _caveat(group: Sequence[Caveat]) -> Message:
    first = group[0]
    where = message(
        "{sessions | join(', ')}{% if others %} and {others} more{% endif %}",
        sessions=[named(one.sessions) for one in group[:_MOST_NAMED]],
        others=len(group[_MOST_NAMED:]),
    )
    if first.network is not None:
        differences = same_network.named(first.network)
        return message(
            "the network changed between {where} ({differences})",
            where=where,
            differences=differences,
        )
    what = changes(first.changes)
    if first.kind == "busy" and first.activity is not None:
        return message(
            "inconclusive whether the machine changed: {activity} during the probes of "
            "{where} ({changes})",
            where=where,
            activity=activity(first.activity),
            changes=what,
        )
    return message(
        "the machine changed between {where} ({changes})"
        if len(first.sessions) > 1
        else (
            "the machine changed during {where} ({changes}). Levels mix both states; comparisons "
            "within blocks hold"
        ),
        where=where,
        changes=what,
    )


def changes(some: Sequence[Change]) -> Message:
    """Say what changed: ``syscall.getpid 80.1 ns → 140 ns (+75 % [+71, +79])``."""
    changed = [c for c in some if c.verdict == "changed"]
    return message(
        "{changes | join(', ')}{% if others %} and {others} more{% endif %}",
        changes=[
            message(
                "{metric} {before} → {after} ({change})",
                metric=c.metric,
                before=Amount(c.before, c.unit),
                after=Amount(c.after, c.unit),
                change=Ratio(c.ratio, c.low, c.high),
            )
            for c in changed[:_MOST_NAMED]
        ],
        others=len(changed[_MOST_NAMED:]),
    )


def named(sessions: Sequence[int]) -> Message:
    """Name what was compared: "session 1", "sessions 1 and 2"."""
    return message(
        "session{% if sessions | length > 1 %}s{% endif %} {sessions | listing}",
        sessions=[*sessions],
    )


def activity(of: Activity) -> Message:
    """Say what others did to a machine: "others used 1.1 of 2 CPUs"."""
    used, stolen = of.other_cpus or 0.0, of.stolen_cpus or 0.0
    if stolen > used:
        return message(
            "the hypervisor gave {stolen}{% if cpus %} of {cpus}{% endif %} CPUs to others",
            stolen=stolen,
            cpus=of.cpus,
        )
    return message(
        "others used {used}{% if cpus %} of {cpus}{% endif %} CPUs", used=used, cpus=of.cpus
    )
