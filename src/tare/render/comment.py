"""A result as a comment under a change, or a table for a README, in GitHub's Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from tare.errors import BuildError, advice
from tare.render.markdown import code, table, text
from tare.render.words import sentences, shown
from tare.render.words import text as written
from tare.results.message import Chosen, Said
from tare.results.report import Compared, Envelope, Report
from tare.results.verdict import GateAnswer

_SIGNS: Mapping[GateAnswer, str] = {
    "pass": "✅ passes",
    "fail": "❌ fails",
    "inconclusive": "❔ inconclusive",
}
#: Headings for the exit codes of a gate that failed trials decide, and of a build.
_ENDED = {
    1: "❌ gate fails",
    2: "❔ gate is inconclusive",
    BuildError.exit_code: "❌ does not build",
    BuildError.base_exit_code: "❔ the base does not build",
}
#: GitHub takes comments of 65,536 characters.
MAX_CHARS = 60_000
#: Of its heading, which has the verdict of each comparison where there is no gate.
_MAX_HEADING = 10_000


def render(report: Report) -> str:
    """Write what a report compares: the gate or verdict, a table, and the details folded away.

    Of several commands without a gate the table is the answer.

    What does not fit a comment is left out at the end, and its lines are counted.
    """
    parts = list(_parts(report))
    if len(parts[0]) > _MAX_HEADING:
        # Nothing is escaped by the last character that is kept.
        parts[0] = parts[0][:_MAX_HEADING].rstrip("\\") + " …\n"
    lengths = accumulate(len(part) + 1 for part in parts)
    fitting = sum(length <= MAX_CHARS for length in lengths)
    kept = parts[:fitting]
    if fitting < len(parts):
        kept.append(f"\n… and {len(parts) - fitting} more lines: --json has all comparisons")
        kept += ["\n</details>"] if any("<details>" in part for part in kept) else []
    return "\n".join(kept) + "\n"


def failed(envelope: Envelope, format: str) -> str:
    """Write the error that ended a command, as Markdown or as a page."""
    error = envelope.error
    assert error is not None
    lines = [error.message, *([advice(error.hint)] if error.hint else [])]
    answer = _ENDED.get(error.exit_code, "tare failed")
    body = f"### {answer} (exit code {error.exit_code})\n\n{code(chr(10).join(lines))}"
    if format == "markdown":
        return body
    return (
        "<!doctype html><meta charset=utf-8><title>tare failed</title>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<pre style='white-space: pre-wrap; overflow-wrap: anywhere'>{html.escape(body)}</pre>\n"
    )


def _parts(report: Report) -> Iterator[str]:
    compared, gate = report.comparisons, report.gate
    cells = report.cells if report.shows_cells else None
    if gate is not None:
        margin = shown(Chosen(gate.margin))
        yield f"### Gate {margin} {_SIGNS[gate.answer]}: {_words(gate.evidence)}\n"
        # Where one candidate fails, nothing is left to settle.
        for one in compared if gate.answer == "inconclusive" else ():
            if one.outcome == "inconclusive" and one.settle is not None:
                name = f"{_words(one.b)}: " if len(compared) > 1 else ""
                yield f"{name}{_words(one.settle) if name else _sentence(one.settle)}\n"
    elif compared and cells is None:
        yield f"### {' '.join(_words(one.answer) + '.' for one in compared)}\n"
    elif cells is None:
        yield f"### {' '.join(map(_sentence, report.leading[:1]))}\n"
    for caveat in sentences(report.caveats):
        yield f"> {_words(caveat)}\n"
    for failed in report.failed:
        yield f"⚠️ **failed and left out: {_words(failed)}**\n"
    if compared and (gate is not None or cells is None):
        yield from _compared(compared)
        yield ""
    if cells is not None or not compared:
        yield from map(table, report.tables)
    yield "\n<details><summary>What it rests on</summary>\n"
    for line in _details(report):
        yield f"- {line}"
    yield "\n</details>"


def _compared(compared: Sequence[Compared]) -> Iterator[str]:
    """Lay out comparisons, a row each."""
    of = "pairs" if all(one.paired for one in compared) else "sessions"
    first = compared[0]
    gate = [] if first.gate is None else ["gate"]
    # The ratio that the gate judges stands next to its answer.
    gate += [] if first.gated is None else [_words(f"ratio of the {first.gate_on}")]
    ratio = "ratio" if first.gated is None else "ratio of pairs"
    heads = ("compared", "with", *gate, "verdict", ratio, "median", "of", of)
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * (len(heads) - 3)}{' ---: |' * 3}"
    for one in compared:
        yield _row(one)


def _row(one: Compared) -> str:
    first, second = map(shown, one.amounts)
    cells = (
        _words(one.b),
        _words(one.a),
        *([] if one.gate is None else [_SIGNS[one.gate]]),
        *([] if one.gated is None else [f"**{shown(one.gated)}**"]),
        _words(one.word),
        f"**{shown(one.estimate)}**",
        _words(second),
        _words(first),
        str(one.n),
    )
    return f"| {' | '.join(cells)} |"


def _details(report: Report) -> Iterator[str]:
    # The entries of one comparison are its evidence.
    for one in report.comparisons if report.shows_cells or not report.entries else ():
        yield f"{_words(one.b)}: {'; '.join(map(_words, (one.counted, *one.evidence)))}"
        if one.settle is not None and report.gate is None:
            yield _words(one.settle)
    # The verdict of one comparison stands in the heading.
    for entry in report.entries:
        if entry.label == "Verdict":
            continue
        label = f"{_words(entry.label)}: " if entry.label else ""
        yield f"{label}{_words(entry.said)}"
    yield from dict.fromkeys(
        f"{_words(f'{one.metric} ({one.source})')}; {_words(one.method)}, "
        f"{shown(Chosen(one.confidence))}; equivalent: within {shown(Chosen(one.margin))}"
        for one in report.comparisons
    )
    if not report.entries:
        yield from map(_words, report.notes)
    for name, value in report.strip:
        yield _words(f"{name}: {value}")
    seed = "" if report.origin.seed is None else f", seed {report.origin.seed}"
    yield _words(f"tare {', '.join(report.origin.versions)}{seed}")


def _sentence(words: Said) -> str:
    (one,) = sentences((words,))
    return _words(one)


def _words(words: Said) -> str:
    return text(written(words))
