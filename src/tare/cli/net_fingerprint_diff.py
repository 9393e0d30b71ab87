"""``tare net fingerprint diff``: whether it is still the same network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tare.cli import output
from tare.render.terminal import fitted
from tare.units import chosen, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.network_fingerprint.difference import Change, Difference, Lacking

#: Exit codes: of what is known, and of what is not.
SAME, DIFFERS, UNDECIDED = 0, 1, 2
_CODES = {"same": SAME, "differs": DIFFERS, "inconclusive": UNDECIDED}
#: Inconclusive figures, and facts, that are shown.
_MOST = 16
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
    out.print(headline(found), style="bold")
    shown = [*found.differing, *found.undecided[:_MOST]]
    if shown:
        rows: list[tuple[str, ...]] = [("figure", "before", "after", "change", "margin", "")]
        rows += [_row(one) for one in shown]
        for line in fitted(rows, out.width):
            out.print(Text(line), soft_wrap=True)
    if len(found.undecided) > _MOST:
        out.print(
            f"… and {len(found.undecided) - _MOST} more that are inconclusive (--json - has all)"
        )
    same = sum(one.verdict == "same" for one in found.changes)
    if same:
        out.print(f"Same     {same} of {len(found.changes)} figures, within what matters.")
    both = [(name, was, now) for name, (was, now) in found.facts.items()
            if was is not None and now is not None]  # fmt: skip
    for name, was, now in both[:_MOST]:
        word = "Setting" if name in SETTINGS else "Fact"
        word = "Differs" if name in found.deciding else word
        out.print(f"{word:<8} {name}: {_fact(was)} → {_fact(now)}")
    if len(both) > _MOST:
        out.print(f"… and {len(both) - _MOST} more facts that differ (--json - has all)")
    # What one of the two does not tell is no change.
    of_one = [name for name, told in found.facts.items() if None in told]
    if found.throttled:
        sizes = ", ".join(chosen(size, "bytes") for size in found.throttled)
        out.print(f"Without  writes of {sizes}: they met an empty bucket in one of the two")
    for what, names in (
        ("Facts of one of the two only", of_one),
        ("Only in the first", [*map(name_told, found.only_before)]),
        ("Only in the second", [*map(name_told, found.only_after)]),
    ):
        if names:
            told = names[:_MOST]
            if len(names) > _MOST:
                told.append(f"… and {len(names) - _MOST} more (--json - has all)")
            out.print(f"{what}: {', '.join(told)}")


def headline(found: Difference) -> str:
    """Say in one sentence what came of it."""
    of = len(found.changes)
    parts = []
    if found.differing:
        parts.append(f"{len(found.differing)} of {of} figures differ by more than matters")
    if found.deciding:
        parts.append(f"{', '.join(found.deciding)} {'is' if len(found.deciding) == 1 else 'are'} "
                     "another")  # fmt: skip
    if found.verdict == "differs":
        return f"Another network, or one that has changed: {'; '.join(parts)}."
    without_cpu = sum(bool(one.starved) for one in found.undecided)
    if found.verdict == "inconclusive" and without_cpu:
        return (
            f"Inconclusive: {without_cpu} of {of} figures differ by more than matters, but an end "
            "had no CPU when they were measured."
        )
    if found.verdict == "inconclusive":
        return (
            f"Inconclusive: no figure of {of} surely differs by more than matters, but "
            f"{len(found.undecided)} may."
        )
    return f"The same network, as far as {of} figures tell."


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
        f"{one.verdict} ({_without_cpu(one.starved)})" if one.starved else one.verdict,
    )


def _without_cpu(ends: Sequence[Lacking]) -> str:
    named = [end for end in ends if end != "either"]
    return f"the {' and the '.join(named)} had no CPU" if named else "round trips waited for a CPU"


def _fact(value: str) -> str:
    text = " ".join(value.splitlines())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
