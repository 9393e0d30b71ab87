"""``tare fingerprint diff``: what changed between two fingerprints, and whether it matters."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tare.cli.delivery import reporting
from tare.errors import ExperimentError, Typed
from tare.experiment.catalogue import catalogue
from tare.experiment.findings.level_names import fact
from tare.experiment.fingerprints.machine.difference import Change, Difference, Verdict, compare
from tare.experiment.fingerprints.machine.document import Fingerprint
from tare.features.machine.fingerprint import file
from tare.features.machine.fingerprint.request import AGAIN
from tare.features.machine.fingerprint.weights import Weights
from tare.render.vocabulary import RATES, TIMES, VALUES
from tare.results.finding import Table
from tare.results.message import Amount, Message, message
from tare.results.report import Entry, NextStep, Report
from tare.units import change_interval, chosen, duration

_DIFF_TEXTS = {
    "facts_of_one": "in one of the two only, facts: {names}",
    "only_before": "in the first only: {names}",
    "only_after": "in the second only: {names}",
    "without_ratio": "not compared, because a value is 0: {names}",
}

#: File of the fingerprint that is suggested where nothing is conclusive.
_LONGER = "longer.json"
#: Exit codes, of the platform that has the worst; as of ``diff``, and 2 for what is not known.
SAME, CHANGED, UNDECIDED = 0, 1, 2
_CODES: dict[Verdict, int] = {"same": SAME, "inconclusive": UNDECIDED, "changed": CHANGED}
#: From good to bad.
_BADNESS = tuple(_CODES.values())
#: Characters of a name or a fact that are shown.
_LONGEST = 120
#: Metrics that are shown: those that changed, otherwise those that are inconclusive.
_MOST_ROWS = 12
#: Facts, settings and names of what only one of the two has that are shown, of each.
_MOST = 3


def diff(before: Path, after: Path) -> Report:
    """Compare two fingerprints, and return the report with the exit code.

    Raises
    ------
    StoreError
        If one of the files is no fingerprint.
    ExperimentError
        If they have nothing in common.
    """
    pairs = _pairs(file.read(before), file.read(after))
    budget_s = AGAIN * max(one.seconds for both in pairs.values() for one in both)
    found = {name: compare(a, b, catalogue().probes) for name, (a, b) in pairs.items()}
    compared = [one for one in found.values() if one.changes]
    single = len(found) == 1
    take = shlex.join(["tare", "fingerprint", "--budget", duration(budget_s), "--json", _LONGER])
    settle = NextStep(
        f"{take} && {shlex.join(['tare', 'fingerprint', 'diff', str(before), _LONGER])}",
        message("for longer, on a quiet machine: settles what is inconclusive"),
    )
    tables = [_table("" if single else name, one) for name, one in found.items() if _shown(one)]
    report = Report(
        command="fingerprint diff",
        exit_code=max((_CODES[one.verdict] for one in compared), key=_BADNESS.index, default=SAME),
        figures=msgspec.structs.asdict(next(iter(found.values())))
        if single
        else {"platforms": found},
        name=f"{before.name} and {after.name}",
        question=message("Is it still the same machine?"),
        entries=tuple(
            entry
            for name, one in found.items()
            for entry in _entries("" if single else _label(name), one)
        ),
        next_steps=(settle,) if any(_shown(one) and not one.changed for one in compared) else (),
        further=tuple(tables),
    )
    if not compared:
        # That nothing changed would be more than is known.
        with reporting(report):
            raise ExperimentError(
                "the two have no metric in common with rounds to compare",
                Typed(
                    f"tare fingerprint --json {shlex.quote(str(after))}   "
                    "(everything, as the other)"
                ),
            )
    return report


def _pairs(
    before: Fingerprint | Weights, after: Fingerprint | Weights
) -> dict[str, tuple[Fingerprint, Fingerprint]]:
    """Pair what is of the same platform; of two files of one platform each, these."""
    first, second = file.by_platform(before), file.by_platform(after)
    if len(first) == len(second) == 1:
        (name, one), (_, other) = *first.items(), *second.items()
        return {name: (one, other)}
    common = {name: (first[name], second[name]) for name in first if name in second}
    if not common:
        named = " and ".join(", ".join(map(_label, some)) or "none" for some in (first, second))
        raise ExperimentError(
            f"the two have no platform in common: {named}",
            "measure two of them interleaved, with -p A -p B of tare fingerprint",
        )
    return common


def _shown(found: Difference) -> tuple[Change, ...]:
    """Return what changed, otherwise what is inconclusive."""
    return found.changed or tuple(c for c in found.changes if c.verdict == "inconclusive")


def _entries(platform: str, found: Difference) -> Iterator[Entry]:
    if found.changes:
        yield Entry(platform or "Machine", headline(found), "strong")
    some = _shown(found)
    if len(some) > _MOST_ROWS:
        more = len(some) - _MOST_ROWS
        yield Entry(
            "",
            message(
                "… and {n} more {% if changed %}changed{% else %}inconclusive{% endif %} (--json "
                "has all)",
                n=more,
                changed=bool(found.changed),
            ),
        )
    if some:
        marked = any(map(_unlike_medians, some[:_MOST_ROWS]))
        yield Entry(
            "",
            message(
                "in pairs: the median ratio over all pairs of rounds{% if marked %}. *: it "
                "differs from the ratio of the two medians by more than the margin, as where "
                "rounds vary widely or are of two kinds{% endif %}",
                marked=marked,
            ),
        )
    for label, facts in (("Fact", found.facts), ("Setting", found.settings)):
        for name, (was, now) in [*facts.items()][:_MOST]:
            both = {"was": _fact(name, was), "now": _fact(name, now)}
            yield Entry(label, message("{name}: {was} → {now}", name=_label(name), **both))
        if len(facts) > _MOST:
            yield Entry(label, message("{n} more (--json has all)", n=len(facts) - _MOST))
    for what in ("facts_of_one", "only_before", "only_after", "without_ratio"):
        names = getattr(found, what)
        if names:
            yield Entry("Note", message(_DIFF_TEXTS[what], names=_named(names)))


def headline(found: Difference) -> Message:
    """Say whether it is the same machine: nothing shown is not shown to be the same."""
    counts = Counter(c.verdict for c in found.changes)
    same, inconclusive = counts["same"], counts["inconclusive"]
    n = len(found.changes)
    if found.verdict == "changed":
        directions = Counter(c.direction for c in found.changed)
        return message(
            "changed: {changed} of {metrics | counted('metric')}{% if worse and better %} ("
            "{worse} worse, {better} better){% elif worse %} ({worse} worse)"
            "{% elif better %} ({better} better){% endif %}{rest}",
            changed=len(found.changed),
            metrics=n,
            worse=directions["worse"],
            better=directions["better"],
            rest=_rest(same, inconclusive),
        )
    if found.verdict == "same":
        return message(
            "no significant change. Equivalent: {same} of {metrics | counted('metric')}{rest}",
            same=same,
            metrics=n,
            rest=_rest(0, inconclusive),
        )
    return message(
        "no significant change. Inconclusive: {inconclusive} of {metrics | counted('metric')}"
        "{rest}",
        inconclusive=inconclusive,
        metrics=n,
        rest=_rest(same, 0),
    )


def _rest(same: int, inconclusive: int) -> Message:
    return message(
        "{% if same %}; {same} equivalent{% endif %}{% if inconclusive %}; {inconclusive} "
        "inconclusive{% endif %}",
        same=same,
        inconclusive=inconclusive,
    )


def _named(names: Sequence[str]) -> Message:
    return message(
        "{names | join(', ')}{% if more %} and {more} more{% endif %}",
        names=[*map(_label, names[:_MOST])],
        more=max(0, len(names) - _MOST),
    )


def _table(platform: str, found: Difference) -> Table:
    first, last = ("changed", "verdict") if found.changed else ("inconclusive", "margin")
    return Table.of(
        message("metrics{% if platform %} of {platform}{% endif %}", platform=platform or None),
        (first, "before", "after", "change, in pairs", last),
        map(_row, _shown(found)[:_MOST_ROWS]),
    )


def _row(c: Change) -> tuple[str | Amount, ...]:
    return (
        _label(c.metric),
        Amount(c.before, c.unit),
        Amount(c.after, c.unit),
        "* " * _unlike_medians(c) + change_interval(c.ratio, c.low, c.high),
        _word(c) if c.verdict == "changed" else chosen(c.margin),
    )


def _unlike_medians(c: Change) -> bool:
    """Say whether the two medians beside a change make another one of it, by more than matters."""
    return abs(math.log(c.after / c.before / c.ratio)) > math.log1p(c.margin)


def _word(c: Change) -> str:
    """Name a change as every comparison does."""
    words = TIMES if c.unit == "ns" else RATES if c.unit.endswith("/s") else VALUES
    return words.higher if c.ratio > 1 else words.lower


def _fact(name: str, value: bool | int | float | str) -> str:
    return _label(value[:12] if name == "agent" and isinstance(value, str) else fact(name, value))


def _label(name: str) -> str:
    """Keep a text from strangers in its line, and short."""
    name = " ".join(name.splitlines())
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
