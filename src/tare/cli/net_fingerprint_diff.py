"""``tare net fingerprint diff``: whether it is still the same network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tare.cli import output
from tare.render.terminal import fitted
from tare.render.words import sentence, text
from tare.results.message import Chosen, Message, message
from tare.units import chosen, quantity

if TYPE_CHECKING:
    from tare.network_fingerprint.difference import Change, Difference

#: Exit codes: of what is known, and of what is not.
SAME, DIFFERS, UNDECIDED = 0, 1, 2
_CODES = {"same": SAME, "differs": DIFFERS, "inconclusive": UNDECIDED}
#: Inconclusive figures that are shown, and facts.
_MOST, _MOST_FACTS = 12, 6
_LONGEST = 80


def diff(before: Path, after: Path, json: str | None) -> int:
    """Tell what differs between two fingerprints, and return the exit code.

    Raises
    ------
    StoreError
        If one of the files is no fingerprint of a network.
    """
    from tare.network_fingerprint import file
    from tare.network_fingerprint.difference import compare

    output.check_writable(json)
    found = compare(file.read(before), file.read(after))
    if json is not None:
        output.write_json(found, json)
    if json != "-":
        _show(found)
    return _CODES[found.verdict]


def _show(found: Difference) -> None:
    from tare.network_fingerprint.difference import SETTINGS
    from tare.network_fingerprint.telling import name_told

    out = output.out
    out.print(sentence(headline(found)), style="bold")
    shown = [*found.differing, *found.undecided[:_MOST]]
    if shown:
        rows: list[tuple[str, ...]] = [("figure", "before", "after", "change", "margin", "")]
        rows += [_row(one) for one in shown]
        for line in fitted(rows, out.width):
            out.print(Text(line), soft_wrap=True)
    if len(found.undecided) > _MOST:
        out.print(text(message("net.diff.rows_more", n=len(found.undecided) - _MOST)))
    same = sum(one.verdict == "same" for one in found.changes)
    if same:
        said = message("net.diff.equivalent", n=same, of=len(found.changes))
        out.print(f"Same     {sentence(said)}")
    both = [(name, was, now) for name, (was, now) in found.facts.items()
            if was is not None and now is not None]  # fmt: skip
    for name, was, now in both[:_MOST_FACTS]:
        word = "Setting" if name in SETTINGS else "Fact"
        word = "Differs" if name in found.deciding else word
        fact = message("net.diff.fact", name=name, before=_fact(was), after=_fact(now))
        out.print(f"{word:<8} {text(fact)}")
    if len(both) > _MOST_FACTS:
        out.print(text(message("net.diff.facts_more", n=len(both) - _MOST_FACTS)))
    if found.throttled:
        sizes = [Chosen(size, "bytes") for size in found.throttled]
        out.print(f"Without  {text(message('net.diff.without', sizes=sizes))}")
    # What one of the two does not report is no change.
    of_one = [name for name, values in found.facts.items() if None in values]
    for what, names in (
        ("Facts of one of the two only", of_one),
        ("Only in the first", [*map(name_told, found.only_before)]),
        ("Only in the second", [*map(name_told, found.only_after)]),
    ):
        if names:
            listed = names[:_MOST_FACTS]
            only = message("net.diff.only", names=listed, more=len(names) - len(listed))
            out.print(f"{what}: {text(only)}")


def headline(found: Difference) -> Message:
    """Say in one sentence what came of it."""
    of = len(found.changes)
    if found.verdict == "differs":
        parts = []
        if found.differing:
            parts.append(message("net.diff.figures", n=len(found.differing), of=of))
        if found.deciding:
            parts.append(message("net.diff.facts", facts=[*found.deciding]))
        return message("net.diff.differs", parts=parts)
    if found.verdict == "same":
        return message("net.diff.same", of=of)
    without_cpu = sum(bool(one.starved) for one in found.undecided)
    if without_cpu:
        return message("net.diff.no_cpu", n=without_cpu, of=of)
    return message("net.diff.inconclusive", n=len(found.undecided), of=of)


def _row(one: Change) -> tuple[str, ...]:
    from tare.network_fingerprint.telling import name_told
    from tare.units import change, change_interval, percent

    if one.change is None:
        told = "–"
    elif one.unit == "1":
        told = f"{100 * one.change:+.3g} %"
    elif one.low is None:
        told = change(one.change)
    else:
        told = change_interval(one.change, one.low, one.high)
    # As a ratio it is as far up as down, which in per cent it is not.
    down = one.margin if one.unit == "1" else 1 - 1 / (1 + one.margin)
    margin = f"−{percent(down)} to +{chosen(one.margin)}"
    return (
        name_told(one.figure),
        quantity(one.before, one.unit),
        quantity(one.after, one.unit),
        told,
        margin,
        text(_without_cpu(one)) if one.starved else one.verdict,
    )


def _without_cpu(one: Change) -> Message:
    ends = [end for end in one.starved if end != "either"]
    return message("net.diff.verdict", verdict=one.verdict, ends=ends)


def _fact(value: str) -> str:
    line = " ".join(value.splitlines())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
