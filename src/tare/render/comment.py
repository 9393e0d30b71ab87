"""A result as a comment under a change, or a table for a README, in GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from tare.render.markdown import table, text
from tare.render.words import sentences, shown
from tare.render.words import text as written
from tare.results.message import Chosen, Said
from tare.results.report import Compared, Report
from tare.results.verdict import GateAnswer

_SIGNS: Mapping[GateAnswer, str] = {
    "pass": "✅ passes",
    "fail": "❌ fails",
    "inconclusive": "❔ inconclusive",
}
#: GitHub takes comments of 65,536 characters.
MAX_CHARS = 60_000
_HEADS = ("verdict", "ratio", "median", "of")


def render(report: Report) -> str:
    """Write what a report compares: the gate or verdict, a table, and the details folded away.

    Of several commands without a gate the table is the answer.

    What does not fit a comment is left out at the end, and its lines are counted.
    """
    parts = list(_parts(report))
    lengths = accumulate(len(part) + 1 for part in parts)
    fitting = sum(length <= MAX_CHARS for length in lengths)
    kept = parts[:fitting]
    if fitting < len(parts):
        kept.append(f"\n… and {len(parts) - fitting} more lines: --json has all comparisons")
        kept += ["\n</details>"] if any("<details>" in part for part in kept) else []
    return "\n".join(kept) + "\n"


def _parts(report: Report) -> Iterator[str]:
    compared, gate, cells = report.comparisons, report.gate, report.cells
    if gate is not None:
        margin = shown(Chosen(gate.margin))
        yield f"### Gate {margin} {_SIGNS[gate.answer]}: {_words(gate.reason)}\n"
        for one in compared:
            if one.outcome == "inconclusive" and one.settle is not None:
                yield f"{_sentence(one.settle)}\n"
    elif cells is None:
        yield f"### {' '.join(_words(one.answer) + '.' for one in compared)}\n"
    for caveat in sentences(report.caveats):
        yield f"> {_words(caveat)}\n"
    for failed in report.failed:
        yield f"⚠️ **failed and left out: {_words(failed)}**\n"
    if gate is None and cells is not None:
        yield table(cells)
        return
    of = "pairs" if all(one.paired for one in compared) else "sessions"
    heads = ("compared", "with", *(["gate"] if gate else []), *_HEADS, of)
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * (len(heads) - 3)}{' ---: |' * 3}"
    for one in compared:
        yield _row(one)
    yield "\n<details><summary>What it rests on</summary>\n"
    for line in _details(report):
        yield f"- {line}"
    yield "\n</details>"


def _row(one: Compared) -> str:
    first, second = map(shown, one.amounts)
    cells = (
        _words(one.b),
        _words(one.a),
        *([] if one.gate is None else [_SIGNS[one.gate]]),
        _words(one.word),
        f"**{shown(one.estimate)}**",
        second,
        first,
        str(one.n),
    )
    return f"| {' | '.join(cells)} |"


def _details(report: Report) -> Iterator[str]:
    for one in report.comparisons:
        yield f"{_words(one.b)}: {'; '.join(map(_words, (one.counted, *one.evidence)))}"
        if one.settle is not None and report.gate is None:
            yield _words(one.settle)
    yield from dict.fromkeys(
        f"{_words(f'{one.metric} ({one.source})')}; {_words(one.method)}, "
        f"{shown(Chosen(one.confidence))}; equivalent: within {shown(Chosen(one.margin))}"
        for one in report.comparisons
    )
    for note in report.notes:
        yield _words(note)
    for name, value in report.strip:
        yield _words(f"{name}: {value}")
    yield _words(f"tare {', '.join(report.origin.versions)}, seed {report.origin.seed}")


def _sentence(words: Said) -> str:
    (one,) = sentences((words,))
    return _words(one)


def _words(words: Said) -> str:
    """Escape what people typed; nobody is to be notified by the name of a command."""
    return text(written(words)).replace("@", "@\u2060")
