"""What ``tare net fingerprint`` prints: what shapes the network, its figures, both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tare.cli import console
from tare.experiment.fingerprints.network.document import Figure, NetworkFingerprint
from tare.experiment.fingerprints.network.messages import (
    doubts,
    figure_told,
    name_told,
    shaping_of,
    took,
)
from tare.render.terminal import aligned
from tare.render.words import sentence, sentences, text
from tare.results.message import message
from tare.units import chosen, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Of both ends, in this order, what decides; the file and the page have the rest.
_FACTS = (
    "instance_type", "kernel", "interface", "driver", "mtu", "qdisc", "tso", "gro", "congestion",
    "cpus",
)  # fmt: skip
_LONGEST = 60


def show(found: NetworkFingerprint) -> None:
    """Print a fingerprint for a person."""
    out = console.out
    out.print(sentence(shaping_of(found)), style="bold", soft_wrap=True)
    if found.shaping is not None and found.shaping.kind in ("bucket", "drop"):
        for reason in sentences(found.shaping.reasons):
            out.print(f"        {reason}", soft_wrap=True)
    if found.searched is not None:
        stopped = message("net.fingerprint.stopped", why=found.searched.ended)
        out.print(f"        {sentence(stopped)}", soft_wrap=True)
    out.print()
    _lines([("figure", "value [95 %]"), *_figures(found)])
    if found.writes:
        out.print()
        _lines(_writes(found))
    out.print()
    for line in _ends(found):
        out.print(line, soft_wrap=True)
    for problem in found.problems:
        out.print(f"Missing {problem.what}: {problem.why}", style="yellow", soft_wrap=True)
    for doubt in sentences(doubts(found)):
        out.print(f"Doubt   {doubt}", style="yellow", soft_wrap=True)
    out.print(f"Took    {text(took(found.seconds, found.spent_bits))}.")


def _lines(rows: Sequence[tuple[str, ...]]) -> None:
    for number, line in enumerate(aligned(rows, left=1)):
        console.out.print(Text(line, style="dim" if number == 0 else ""), soft_wrap=True)


def _figures(found: NetworkFingerprint) -> list[tuple[str, str]]:
    return [(name_told(name), figure_told(figure)) for name, figure in found.figures.items()]


def _writes(found: NetworkFingerprint) -> list[tuple[str, ...]]:
    def value(figure: Figure | None) -> str:
        return "–" if figure is None else quantity(figure.value, figure.unit)

    rows = [("writes of", "bandwidth [95 %]", "round trip", "retransmitted")]
    rows += [
        (
            f"{chosen(one.write_bytes, 'bytes')}{', throttled' if one.throttled else ''}",
            figure_told(one.bandwidth),
            value(one.round_trip),
            value(one.retransmitted),
        )
        for one in found.writes
    ]
    return list(rows)


def _ends(found: NetworkFingerprint) -> list[str]:
    told = []
    for label, facts in (("Here   ", found.here), ("There  ", found.there)):
        some = [f"{name} {facts[name][:_LONGEST]}" for name in _FACTS if name in facts]
        told.append(f"{label} {', '.join(some) or 'nothing was reported'}")
    return told
