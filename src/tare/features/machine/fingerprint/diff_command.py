"""``tare fingerprint diff``: what changed between two fingerprints, and whether it matters."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import console
from tare.errors import ExperimentError
from tare.features.machine.fingerprint.request import AGAIN
from tare.render.terminal import fitted
from tare.render.vocabulary import RATES, TIMES, VALUES
from tare.render.words import sentence, text
from tare.results.message import Message, message
from tare.units import duration

if TYPE_CHECKING:
    from tare.experiment.fingerprints.machine.difference import Change, Difference, Verdict
    from tare.experiment.fingerprints.machine.document import Fingerprint
    from tare.features.machine.fingerprint.weights import Weights

_DIFF_TEXTS = {
    "facts_of_one": "in one of the two only, facts: {names}",
    "only_before": "in the first only: {names}",
    "only_after": "in the second only: {names}",
    "without_ratio": "not compared, because a value is 0: {names}",
}

#: Exit codes, of the platform that has the worst; as of ``diff``, and 2 for what is not known.
SAME, CHANGED, UNDECIDED = 0, 1, 2
_CODES: dict[Verdict, int] = {"same": SAME, "inconclusive": UNDECIDED, "changed": CHANGED}
#: Characters of a name or a fact that are shown.
_LONGEST = 120
#: Metrics that are shown: those that changed, otherwise those that are inconclusive.
_MOST_ROWS = 12
#: Facts, settings and names of what only one of the two has that are shown, of each.
_MOST = 3


def diff(before: Path, after: Path, json: str | None) -> int:
    """Print what changed between two fingerprints, and return the exit code.

    Raises
    ------
    StoreError
        If one of the files is no fingerprint.
    ExperimentError
        If they have nothing in common.
    """
    from tare.experiment.catalogue import catalogue
    from tare.experiment.fingerprints.machine.difference import compare
    from tare.features.machine.fingerprint import file

    console.check_writable(json)
    pairs = _pairs(file.read(before), file.read(after))
    budget_s = AGAIN * max(one.seconds for both in pairs.values() for one in both)
    found = {name: compare(a, b, catalogue().probes) for name, (a, b) in pairs.items()}
    single = next(iter(found.values())) if len(found) == 1 else None
    if json is not None:
        console.write_json(single or {"version": 1, "platforms": found}, json)
    if json != "-":
        for name, one in found.items():
            if single is None:
                console.out.print(f"{_label(name)}:", style="bold")
            _show(one, json or "--json -", budget_s)
    if not any(one.changes for one in found.values()):
        # That nothing changed would be more than is known.
        raise ExperimentError(
            "the two have no metric in common with rounds to compare",
            f"tare fingerprint --json {shlex.quote(str(after))}   (everything, as the other)",
        )
    verdicts = [one.verdict for one in found.values() if one.changes]
    return _CODES[max(verdicts, key=list(_CODES).index)]


def _pairs(
    before: Fingerprint | Weights, after: Fingerprint | Weights
) -> dict[str, tuple[Fingerprint, Fingerprint]]:
    """Pair what is of the same platform; of two files of one platform each, these."""
    from tare.features.machine.fingerprint import file

    first, second = file.by_platform(before), file.by_platform(after)
    if len(first) == len(second) == 1:
        (name, one), (_, other) = *first.items(), *second.items()
        return {name: (one, other)}
    common = {name: (first[name], second[name]) for name in first if name in second}
    if not common:
        named = " and ".join(", ".join(map(_label, some)) or "none" for some in (first, second))
        raise ExperimentError(
            f"the two have no platform in common: {named}",
            "tare fingerprint -p A -p B   (measures two of them, interleaved)",
        )
    return common


def _show(found: Difference, where: str, budget_s: float) -> None:
    """Print it; ``where`` has all of it, and ``budget_s`` settles more."""
    if found.changes:
        console.out.print(sentence(headline(found)), style="bold", soft_wrap=True)
    for line in _lines(found, where, budget_s):
        console.out.print(line, soft_wrap=True)


def _lines(found: Difference, where: str, budget_s: float) -> Iterator[str]:
    some = found.changed or tuple(c for c in found.changes if c.verdict == "inconclusive")
    if some:
        yield from _table(some[:_MOST_ROWS], changed=bool(found.changed))
    if len(some) > _MOST_ROWS:
        yield text(
            message(
                "… and {n} more {% if changed %}changed{% else %}inconclusive{% endif %} ("
                "{where} has all)",
                n=len(some) - _MOST_ROWS,
                changed=bool(found.changed),
                where=where,
            )
        )
    if some:
        marked = any(map(_unlike_medians, some[:_MOST_ROWS]))
        yield text(
            message(
                "in pairs: the median ratio over all pairs of rounds{% if marked %}. *: it "
                "differs from the ratio of the two medians by more than the margin, as where "
                "rounds vary widely or are of two kinds{% endif %}",
                marked=marked,
            )
        )
    for label, facts in (("Fact    ", found.facts), ("Setting ", found.settings)):
        for name, (was, now) in [*facts.items()][:_MOST]:
            was_told, now_told = _fact(name, was), _fact(name, now)
            told = message("{name}: {was} → {now}", name=_label(name), was=was_told, now=now_told)
            yield f"{label} {text(told)}"
        if len(facts) > _MOST:
            more = message("{n} more ({where} has all)", n=len(facts) - _MOST, where=where)
            yield f"{label} {text(more)}"
    for what in ("facts_of_one", "only_before", "only_after", "without_ratio"):
        names = getattr(found, what)
        if names:
            yield sentence(message(_DIFF_TEXTS[what], names=_named(names)))
    if some and not found.changed:
        settle = message(
            "tare fingerprint --budget '{budget}' --json FILE   (both again, for longer and "
            "on a quiet machine: settles what is inconclusive)",
            budget=duration(budget_s),
        )
        yield f"Next     {text(settle)}"


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


def _table(changes: Sequence[Change], *, changed: bool) -> list[str]:
    """Return lines, which no terminal breaks within: its columns are to stand below each other."""
    first, last = ("changed", "verdict") if changed else ("inconclusive", "margin")
    heads = (first, "before", "after", "change, in pairs", last)
    rows = [heads, *(_row(c) for c in changes)]
    return fitted(rows, console.out.width)


def _row(c: Change) -> tuple[str, ...]:
    from tare.units import change_interval, chosen, quantity

    return (
        _label(c.metric),
        quantity(c.before, c.unit),
        quantity(c.after, c.unit),
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
    from tare.experiment.findings.level_names import fact

    return _label(value[:12] if name == "agent" and isinstance(value, str) else fact(name, value))


def _label(name: str) -> str:
    """Keep a text from strangers in its line, and short."""
    name = " ".join(name.splitlines())
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
