"""``tare net fingerprint diff``: whether it is still the same network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tare.experiment.fingerprints.network.difference import SETTINGS, waking_ns
from tare.experiment.fingerprints.network.messages import name_told
from tare.render.screen import MOST_ROWS
from tare.results.finding import Cell, Column, Table
from tare.results.message import Amount, Chosen, Deviation, Message, Ratio, message
from tare.results.message import Change as ChangeValue
from tare.results.report import Entry, Report

if TYPE_CHECKING:
    from tare.experiment.fingerprints.network.difference import Change, Difference

#: Exit codes: of what is known, and of what is not.
SAME, DIFFERS, UNDECIDED = 0, 1, 2
_CODES = {"same": SAME, "differs": DIFFERS, "inconclusive": UNDECIDED}
#: Facts that are shown.
_MOST_FACTS = 6
_LONGEST = 80


def diff(before: Path, after: Path) -> Report:
    """Compare two fingerprints, and return the report with the exit code.

    Raises
    ------
    StoreError
        If one of the files is no fingerprint of a network.
    """
    from tare.experiment.fingerprints.network import file
    from tare.experiment.fingerprints.network.difference import compare

    found = compare(file.read(before), file.read(after))
    shown = [*found.differing, *found.undecided][:MOST_ROWS]
    return Report(
        command="net fingerprint diff",
        exit_code=_CODES[found.verdict],
        # The version is that of the report.
        figures={k: v for k, v in msgspec.structs.asdict(found).items() if k != "version"},
        name=f"{before.name} and {after.name}",
        question=message("Is it still the same network?"),
        entries=tuple(_entries(found, len(shown))),
        further=(_table(shown),) if shown else (),
    )


def _entries(found: Difference, shown: int) -> Iterator[Entry]:
    """State the answer, then what the table does not have; ``shown``: its rows."""
    yield Entry.of("Answer", headline(found), "strong")
    more = len(found.differing) + len(found.undecided) - shown
    if more > 0:
        yield Entry("", message("… and {n} more figures (--json has all)", n=more))
    yield from (Entry.of("Settle", said) for said in settle(found))
    same = sum(one.verdict == "same" for one in found.changes)
    if same:
        said = message(
            "{n} of {of | counted('figure')}, within their margins", n=same, of=len(found.changes)
        )
        yield Entry.of("Same", said)
    yield from (Entry(label, fact) for label, fact in facts(found))
    if found.throttled:
        sizes = [Chosen(size, "bytes") for size in found.throttled]
        without = message(
            "writes of {sizes | join(', ')}, which met an empty bucket in one of the two",
            sizes=sizes,
        )
        yield Entry("Without", without)
    yield from (Entry(label, only) for label, only in of_one(found).items())


def facts(found: Difference) -> list[tuple[str, Message]]:
    """Return the facts that differ, each labelled as a fact of the network or a setting."""
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
            "… and {n} more facts that differ (--json has all)", n=len(both) - _MOST_FACTS
        )
        said.append(("", more))
    return said


def of_one(found: Difference) -> dict[str, Message]:
    """Return what only one of the two reports, by label: that is no change."""
    named = {
        "One only": [n for n, values in found.facts.items() if None in values],
        "A only": [*map(name_told, found.only_before)],
        "B only": [*map(name_told, found.only_after)],
    }
    return {
        what: message(
            "{% if facts %}facts{% else %}figures{% endif %}: {names | join(', ')}{% if more %}, "
            "… and {more} more (--json has all){% endif %}",
            facts=what == "One only",
            names=names[:_MOST_FACTS],
            more=len(names[_MOST_FACTS:]),
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


def _table(some: Sequence[Change]) -> Table:
    return Table.of(
        message("Figures that differ, or may"),
        ("figure", "before", "after", "change", "margin", Column(key="verdict", title="")),
        map(_row, some),
    )


def _row(one: Change) -> tuple[Cell, ...]:
    is_share = one.unit == "1"
    change: Cell = None
    if one.change is not None and is_share:
        change = Deviation(one.change, "share")
    elif one.change is not None and one.low is None:
        change = ChangeValue(one.change)
    elif one.change is not None:
        change = Ratio(one.change, one.low, one.high)
    # As a ratio it is as far up as down, which in per cent it is not.
    down = one.margin if is_share else 1 - 1 / (1 + one.margin)
    return (
        name_told(one.figure),
        Amount(one.before, one.unit),
        Amount(one.after, one.unit),
        change,
        message("−{down} to +{up}", down=Amount(down, "share"), up=Chosen(one.margin)),
        _because(one) if one.cause in ("cpu", "waking") else one.verdict,
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
