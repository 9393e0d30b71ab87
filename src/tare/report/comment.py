"""Verdicts as a comment under a change, in GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tare
from tare.findings import caveats, sessions
from tare.findings.disturbance import disturbance, said
from tare.findings.failures import by_level
from tare.findings.judgement import Difference, GateAnswer, worst
from tare.frames import Results
from tare.render.markdown import text
from tare.render.words import sentences
from tare.render.words import text as written
from tare.results.message import Message
from tare.units import change, chosen, quantity

_SIGNS: dict[GateAnswer, str] = {
    "pass": "✅ passes",
    "fail": "❌ fails",
    "inconclusive": "❔ inconclusive",
}
_HEADS = ("verdict", "ratio", "median", "of")


def render(found: Sequence[Difference], results: Results, gate: float | None) -> str:
    """Write the comment: verdict, table, and the details folded away.

    Parameters
    ----------
    found : sequence of Difference
        A row each.
    results : Results
        What they came from.
    gate : float or None
        Answered in the first line where there is one.
    """
    return "\n".join(_parts(found, results, gate)) + "\n"


def _parts(found: Sequence[Difference], results: Results, gate: float | None) -> Iterator[str]:
    if gate is None:
        yield f"### {' '.join(_words(d.answer) + '.' for d in found)}\n"
    else:
        answers = [d.gate(gate) for d in found]
        d = found[answers.index(worst(answers))]
        yield f"### Gate {chosen(gate)} {_SIGNS[worst(answers)]}: {_words(d.gate_answer(gate))}\n"
    for weak in sentences(caveats.sentences(sessions.caveats(results), results.levels_of)):
        yield f"> {_words(weak)}\n"
    for failed in by_level(results):
        yield f"⚠️ **failed and left out: {_words(failed)}**\n"
    of = "pairs" if all(d.paired for d in found) else "sessions"
    yield f"| compared | with | {' | '.join(_HEADS)} | {of} |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: |"
    for d in found:
        yield _row(d)
    yield "\n<details><summary>What it rests on</summary>\n"
    for line in _details(found, results, gate):
        yield f"- {line}"
    yield "\n</details>"


def _row(d: Difference) -> str:
    first, second = d.medians
    unit = d.basis.unit
    cells = (
        _words(d.second),
        _words(d.first),
        d.words.of(d.comparison.verdict, chosen(d.margin)),
        f"**{d.ratio}**",
        quantity(second.estimate, unit),
        quantity(first.estimate, unit),
        str(d.comparison.n),
    )
    return f"| {' | '.join(cells)} |"


def _details(found: Sequence[Difference], results: Results, gate: float | None) -> Iterator[str]:
    for d in found:
        c = d.comparison
        yield (
            f"{_words(d.second)}: {_words(d.counted)}; Cliff's delta {c.cliffs_delta:+.2f}; "
            + (f"ratio of medians {change(c.median_ratio)}; {_words(d.steadiness)}")
        )
        if d.further and (gate is None or d.gate(gate) == "inconclusive"):
            yield _words(d.further)
    confidence = chosen(found[0].comparison.confidence)
    yield f"{text(str(found[0].basis))}; {text(found[0].method)}, {confidence}"
    yield f"equivalent: within {chosen(found[0].margin)}"
    yield written(said(disturbance(results)))
    for fact in ("cpu", "cpus", "kernel", "system"):
        if results.fact(fact) is not None:
            yield f"{fact}: {_words(str(results.fact(fact)))}"
    yield f"tare {tare.__version__}, seed {results.experiment.seed}"


def _words(words: str | Message) -> str:
    """Escape what people typed; nobody is to be notified by the name of a command."""
    return text(words if isinstance(words, str) else written(words)).replace("@", "@\u2060")
