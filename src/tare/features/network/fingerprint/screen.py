"""What ``tare net fingerprint`` prints: what shapes the network, its figures, both ends."""

from __future__ import annotations

from rich.text import Text

from tare.cli import console
from tare.experiment.fingerprints.network.document import NetworkFingerprint
from tare.experiment.fingerprints.network.messages import doubts, shaping_of, took
from tare.features.network.fingerprint import page, phrases
from tare.render.tables import lay
from tare.render.terminal import aligned
from tare.render.words import sentence, sentences, text
from tare.results.finding import Table
from tare.results.message import message

#: Facts of both ends that the terminal prints, in order; the file and the page have all.
_FACTS = (
    "instance_type", "region", "zone", "kernel", "interface", "driver", "mtu", "qdisc", "tso",
    "gro", "congestion", "cpus",
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
        stopped = message(phrases.FINGERPRINT_STOPPED, why=found.searched.ended)
        out.print(f"        {sentence(stopped)}", soft_wrap=True)
    out.print()
    _print(page.figures(found))
    if found.writes:
        out.print()
        _print(page.writes(found))
    out.print()
    for line in _ends(found):
        out.print(line, soft_wrap=True)
    for problem in found.problems:
        out.print(f"Missing {problem.what}: {problem.why}", style="yellow", soft_wrap=True)
    for doubt in sentences(doubts(found)):
        out.print(f"Doubt   {doubt}", style="yellow", soft_wrap=True)
    out.print(f"Took    {text(took(found.seconds, found.spent_bits))}.")


def _print(table: Table) -> None:
    laid = lay(table, each_unit=True)
    heads = tuple(head.title for head in laid.heads)
    for number, line in enumerate(aligned([heads, *laid.rows], left=1)):
        console.out.print(Text(line, style="dim" if number == 0 else ""), soft_wrap=True)


def _ends(found: NetworkFingerprint) -> list[str]:
    told = []
    for label, facts in (("Here   ", found.here), ("There  ", found.there)):
        some = [f"{name} {facts[name][:_LONGEST]}" for name in _FACTS if name in facts]
        told.append(f"{label} {', '.join(some) or 'nothing was reported'}")
    return told
