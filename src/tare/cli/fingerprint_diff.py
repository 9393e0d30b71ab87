"""``tare fingerprint diff``: what changed between two fingerprints, and whether it matters."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import output
from tare.errors import ExperimentError
from tare.render.terminal import fitted

if TYPE_CHECKING:
    from tare.fingerprint.difference import Change, Difference, Verdict
    from tare.fingerprint.document import Fingerprint
    from tare.fingerprint.weights import Weights

#: Exit codes, of the platform that has the worst; as of ``diff``, and 2 for what is not known.
SAME, CHANGED, UNDECIDED = 0, 1, 2
_CODES: dict[Verdict, int] = {"same": SAME, "inconclusive": UNDECIDED, "changed": CHANGED}
#: Characters of a name or a fact that are shown.
_LONGEST = 120
#: Inconclusive metrics, and names of what only one of the two has, that are shown.
_MOST = 12


def diff(before: Path, after: Path, json: str | None) -> int:
    """Tell what changed between two fingerprints, and return the exit code.

    Raises
    ------
    StoreError
        If one of the files is no fingerprint.
    ExperimentError
        If they have nothing in common.
    """
    from tare.catalogue import catalogue
    from tare.fingerprint import file
    from tare.fingerprint.difference import compare

    output.check_writable(json)
    pairs = _pairs(file.read(before), file.read(after))
    found = {name: compare(a, b, catalogue().probes) for name, (a, b) in pairs.items()}
    single = next(iter(found.values())) if len(found) == 1 else None
    if json is not None:
        output.write_json(single or {"version": 1, "platforms": found}, json)
    if json != "-":
        for name, one in found.items():
            if single is None:
                output.out.print(f"{_label(name)}:", style="bold")
            _show(one)
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
    """Put beside each other what is of the same platform; of two files of one, these."""
    from tare.fingerprint import file

    first, second = file.by_platform(before), file.by_platform(after)
    if len(first) == len(second) == 1:
        (name, one), (_, other) = *first.items(), *second.items()
        return {name: (one, other)}
    common = {name: (first[name], second[name]) for name in first if name in second}
    if not common:
        named = " and ".join(", ".join(map(_label, some)) or "none" for some in (first, second))
        raise ExperimentError(
            f"the two have no platform in common: {named}",
            "tare fingerprint -p A -p B   (measures two of them beside each other)",
        )
    return common


def _show(found: Difference) -> None:
    if found.changes:
        output.out.print(_headline(found), style="bold", soft_wrap=True)
    undecided = [c for c in found.changes if c.verdict == "inconclusive"]
    shown = [*found.changed, *undecided[:_MOST]]
    if shown:
        for line in _table(shown):
            output.out.print(line, soft_wrap=True)
    if len(undecided) > _MOST:
        output.out.print(
            f"… and {len(undecided) - _MOST} more that are inconclusive (--json - has all)"
        )
    same = sum(c.verdict == "same" for c in found.changes)
    if same:
        output.out.print(f"Same     {same} of {len(found.changes)} metrics, within what matters.")
    for what, some in (("Fact    ", found.facts), ("Setting ", found.settings)):
        for name, (was, now) in some.items():
            output.out.print(
                f"{what} {_label(name)}: {_fact(name, was)} → {_fact(name, now)}", soft_wrap=True
            )
    for what, names in (
        ("Facts of one of the two only", found.facts_of_one),
        ("Only in the first", found.only_before),
        ("Only in the second", found.only_after),
        ("Not compared, for want of a ratio", found.without_ratio),
    ):
        if names:
            told = [*map(_label, names[:_MOST])]
            if len(names) > _MOST:
                told.append(f"… and {len(names) - _MOST} more (--json - has all)")
            output.out.print(f"{what}: {', '.join(told)}")


def _headline(found: Difference) -> str:
    if not found.changed:
        undecided = sum(c.verdict == "inconclusive" for c in found.changes)
        if undecided:
            # Nothing shown is not the same as shown to be the same.
            inconclusive = "Inconclusive: no" if found.verdict == "inconclusive" else "No"
            return (
                f"{inconclusive} change that matters is certain; of {len(found.changes)} metrics, "
                f"{undecided} {'is' if undecided == 1 else 'are'} inconclusive."
            )
        return f"No change that matters in {len(found.changes)} metrics."
    worse = sum(c.direction == "worse" for c in found.changed)
    better = sum(c.direction == "better" for c in found.changed)
    parts = [f"{n} {word}" for n, word in ((worse, "worse"), (better, "better")) if n]
    n = len(found.changed)
    return f"{n} of {len(found.changes)} metrics changed by more than matters" + (
        f": {', '.join(parts)}." if parts else "."
    )


def _table(changes: list[Change]) -> list[str]:
    """Return lines, which no terminal breaks within: its columns are to stand below each other."""
    rows = [("metric", "before", "after", "change", "margin", ""), *map(_row, changes)]
    return fitted(rows, output.out.width)


def _row(c: Change) -> tuple[str, ...]:
    from tare.units import change_interval, chosen, quantity

    return (
        _label(c.metric),
        quantity(c.before, c.unit),
        quantity(c.after, c.unit),
        change_interval(c.ratio, c.low, c.high),
        chosen(c.margin),
        c.direction or c.verdict,
    )


def _fact(name: str, value: bool | int | float | str) -> str:
    from tare.findings.phrasing import fact

    return _label(value[:12] if name == "agent" and isinstance(value, str) else fact(name, value))


def _label(text: str) -> str:
    """Keep a text from strangers in its line, and short."""
    text = " ".join(text.splitlines())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
