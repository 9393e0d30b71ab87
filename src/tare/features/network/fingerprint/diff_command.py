"""``tare net fingerprint diff``: whether it is still the same network."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from tare.cli import console
from tare.experiment.fingerprints.network.difference import SETTINGS, waking_ns
from tare.experiment.fingerprints.network.messages import name_told
from tare.render.terminal import fitted
from tare.render.words import sentence, text
from tare.results.message import Amount, Chosen, Message, Ratio, message
from tare.units import chosen, quantity

if TYPE_CHECKING:
    from tare.experiment.fingerprints.network.difference import Change, Difference

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
    from tare.experiment.fingerprints.network import file
    from tare.experiment.fingerprints.network.difference import compare

    console.check_writable(json)
    found = compare(file.read(before), file.read(after))
    if json is not None:
        console.write_json(found, json)
    if json != "-":
        _show(found, json or "--json -")
    return _CODES[found.verdict]


def _show(found: Difference, where: str) -> None:
    out = console.out
    out.print(sentence(headline(found)), style="bold")
    for said in settle(found):
        out.print(f"Settle   {sentence(said)}")
    shown = [*found.differing, *found.undecided[:_MOST]]
    if shown:
        rows: list[tuple[str, ...]] = [("figure", "before", "after", "change", "margin", "")]
        rows += [_row(one) for one in shown]
        for line in fitted(rows, out.width):
            out.print(Text(line), soft_wrap=True)
    if len(found.undecided) > _MOST:
        out.print(
            text(
                message(
                    "… and {n} more inconclusive ({where} has all)",
                    n=len(found.undecided) - _MOST,
                    where=where,
                )
            )
        )
    same = sum(one.verdict == "same" for one in found.changes)
    if same:
        said = message(
            "{n} of {of | counted('figure')}, within their margins", n=same, of=len(found.changes)
        )
        out.print(f"Same     {sentence(said)}")
    for label, fact in facts(found, where):
        out.print(f"{label:<8} {text(fact)}")
    if found.throttled:
        sizes = [Chosen(size, "bytes") for size in found.throttled]
        without = message(
            "writes of {sizes | join(', ')}, which met an empty bucket in one of the two",
            sizes=sizes,
        )
        out.print(f"Without  {text(without)}")
    for what, only in of_one(found, where).items():
        out.print(f"{what}: {text(only)}")


def facts(found: Difference, where: str = "--json -") -> list[tuple[str, Message]]:
    """Return the facts that differ, each with its label: a setting is no fact of the network.

    Parameters
    ----------
    found : Difference
    where : str
        That has all of them.
    """
    both = [(name, was, now) for name, (was, now) in found.facts.items()
            if was is not None and now is not None]  # fmt: skip
    said = []
    for name, was, now in both[:_MOST_FACTS]:
        label = "Setting" if name in SETTINGS else "Fact"
        label = "Differs" if name in found.deciding else label
        fact = message("{name}: {before} → {after}", name=name, before=_fact(was), after=_fact(now))
        said.append((label, fact))
    if len(both) > _MOST_FACTS:
        more = message(
            "… and {n} more facts that differ ({where} has all)",
            n=len(both) - _MOST_FACTS,
            where=where,
        )
        said.append(("", more))
    return said


def of_one(found: Difference, where: str = "--json -") -> dict[str, Message]:
    """Return what only one of the two reports, by label: that is no change."""
    named = {
        "Facts of only one of the two": [n for n, values in found.facts.items() if None in values],
        "Figures of only the first": [*map(name_told, found.only_before)],
        "Figures of only the second": [*map(name_told, found.only_after)],
    }
    return {
        what: message(
            "{names | join(', ')}{% if more %}, … and {more} more ({where} has all){% endif %}",
            names=names[:_MOST_FACTS],
            more=len(names[_MOST_FACTS:]),
            where=where,
        )
        for what, names in named.items()
        if names
    }


def headline(found: Difference) -> Message:
    """Say in one sentence what came of it."""
    of = len(found.changes)
    if found.verdict == "differs":
        parts = []
        if found.differing:
            parts.append(
                message(
                    "{n} of {of | counted('figure')} differ by more than the margin",
                    n=len(found.differing),
                    of=of,
                )
            )
        if found.deciding:
            parts.append(
                message(
                    "{facts | listing} {% if facts | length == 1 %}differs{% else %}differ"
                    "{% endif %}",
                    facts=[*found.deciding],
                )
            )
        return message("another network, or a changed one: {parts | join('; ')}", parts=parts)
    if found.verdict == "same":
        return message("the same network, by {of | counted('figure')}", of=of)
    if not of:
        return message("inconclusive: the two have no figure in common")
    if not found.undecided:
        return message(
            "inconclusive: all figures are equivalent, but what shapes the networks may "
            "differ ({kinds | join(', ')})",
            kinds=found.facts["shaping"],
        )
    # The largest change, as in the table.
    first = found.undecided[0]
    return message(
        "inconclusive: {n} of {of | counted('figure')} may differ by more than the margin, "
        "most of all {first}{% if change %} ({change}){% endif %}",
        n=len(found.undecided),
        of=of,
        first=name_told(first.figure),
        change=None if first.change is None or first.unit == "1" else
        Ratio(first.change, first.low, first.high),
    )  # fmt: skip


def settle(found: Difference) -> list[Message]:
    """Say what would make an inconclusive comparison conclusive."""
    if found.verdict != "inconclusive":
        return []
    counts = Counter(one.cause for one in found.undecided)
    said = []
    if n := counts["cpu"]:
        said.append(
            message(
                "{n | counted('figure')}: an end had no CPU. Free CPUs on both ends and measure "
                "again",
                n=n,
            )
        )
    if n := counts["wide"]:
        said.append(
            message(
                "{n | counted('figure')}: the interval is too wide. Measure again without "
                "--quick, or when the network is quieter",
                n=n,
            )
        )
    if n := counts["waking"]:
        figures = [_slept(one) for one in found.undecided if one.cause == "waking"]
        said.append(
            message(
                "no measurement settles {figures | listing}: how deeply CPUs sleep may cause "
                "{% if n == 1 %}this change{% else %}these changes{% endif %}",
                n=n,
                figures=figures,
            )
        )
    if "shaping" in found.facts:
        said.append(
            message(
                "what shapes them: search for a bucket as far in both (--duration, --max-bytes)"
            )
        )
    return said


def _slept(one: Change) -> Message:
    return message(
        "{name} (by {by}, of at most {bound} that sleep causes)",
        name=name_told(one.figure),
        by=Amount(abs(one.after - one.before), "ns"),
        bound=Chosen(waking_ns(one.figure), "ns"),
    )


def _row(one: Change) -> tuple[str, ...]:
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
        text(_because(one)) if one.cause in ("cpu", "waking") else one.verdict,
    )


def _because(one: Change) -> Message:
    ends = [end for end in one.starved if end != "either"]
    waking = one.cause == "waking"
    return message(
        "{verdict} ({% if waking %}CPUs' sleep may cause it{% elif ends %}the "
        "{ends | listing} had no CPU{% else %}round trips waited for a CPU{% endif %})",
        verdict=one.verdict,
        waking=waking,
        ends=ends,
    )


def _fact(value: str) -> str:
    line = " ".join(value.splitlines())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
