"""What ``tare compare`` prints: verdicts, their evidence, a picture, and what to type next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare import units
from tare.cli import console
from tare.cli.again import again
from tare.experiment.findings.disturbance import switch_records
from tare.experiment.findings.judgement import Difference, gate_answer, lost
from tare.experiment.findings.known import FEWEST_FOR_QUANTILES, figure_of
from tare.experiment.results import Results
from tare.measure.comparison import network_use as network
from tare.measure.comparison.session import Wanted, by_cpu_time, by_hand, gate_line, page
from tare.measure.comparison.trust import trust
from tare.render.words import sentence, text
from tare.results.message import Chosen, Message, message
from tare.statistics.intervals import Interval, extremes_interval
from tare.statistics.sequential import FIRST_LOOK
from tare.statistics.statistic import FloatArray
from tare.units import chosen

#: Characters of the picture, and of what stands before every line.
_WIDTH, _INDENT = 61, 9


def show(found: Sequence[Difference], results: Results, gate: float | None = None) -> None:
    """Print every verdict with its evidence."""
    for d in found:
        c = d.comparison
        further = d.settle(gate)
        # What begins with a command's name stays as the command is written.
        _say("Verdict", text(d.answer) if c.verdict.conclusive else sentence(d.answer))
        rests = message(
            "compare.rests",
            confidence=None if d.extremes else Chosen(c.confidence),
            sequential=bool(d.looks),
            counted=d.counted,
        )
        _say("", text(rests), style="dim")
        if d.each_pair:
            _say("", sentence(d.each_pair))
        if further:
            _say("", sentence(further))
        for line in picture(d):
            console.out.print(line, no_wrap=True, crop=False)
        name = max(len(d.first), len(d.second))
        of_sides = zip((d.first, d.second), d.medians, d.level_values, strict=True)
        for label, known, values in of_sides:
            _say("Median", f"{label:<{name}}  {_interval(known, d, values)}")
        if d.of_pairs:
            _say("", sentence(d.of_pairs), style="dim")
        for label, said in _figures(d):
            _say(label, text(said))
    for number, one in enumerate(network.of_commands(results)):
        _say("" if number else "Network", text(one))
    if results.steady is not None:
        _say("Note", sentence(results.steady))
    _say(*trust(results, found))
    if (recording := switch_records(results)) is not None:
        _say("Note", text(recording))


def _figures(d: Difference) -> Iterator[tuple[str, Message]]:
    """Yield effect size, spread, runs above the limit, and ratios of medians and means."""
    if d.comparison.n >= FEWEST_FOR_QUANTILES:
        # Which of two killed runs would have taken longer is not known.
        if not all(d.comparison.killed):
            yield "Effect", _effect(d)
        yield "Spread", d.steadiness
    exceeded = None if d.failures is None else d.failures.two_sided
    for label, said in (("Limit", exceeded), ("Modes", d.medians_apart), ("Mean", d.means_apart)):
        if said is not None:
            yield label, said


def _say(label: str, said: str, style: str | None = None) -> None:
    console.labelled(label, said, _INDENT - 1, style)


def _interval(known: Interval, d: Difference, values: FloatArray) -> str:
    written = figure_of(d.basis.unit, known, values)
    is_bounded = known.low is not None or extremes_interval(values) is not None
    return written if is_bounded else f"{written}  (no interval)"


def _effect(d: Difference) -> Message:
    """Return Cliff's delta, also as a chance: of two random values, which is the larger."""
    delta = d.comparison.cliffs_delta
    return message(
        "compare.effect",
        delta=f"{round(delta, 2) + 0.0:+.2f}".replace("-", "−"),
        second=d.second,
        time=d.basis.unit == "ns",
        chance=f"{100 * (1 + delta) / 2:.0f}",
    )


def picture(d: Difference, width: int = _WIDTH) -> list[str]:
    """Draw the interval beside no change and the margin; empty where there is none.

    An open bound is an arrow at the end of the picture; where both are, there is no picture.

    Returns
    -------
    list of str
        Labels, the axis with the margin, the interval.
    """
    c = d.comparison
    if c.low is None or c.high is None:
        return []
    edge = math.log1p(d.margin)
    ends = (math.log(c.low) if c.low else -math.inf), math.log(c.high)
    known = [abs(end) for end in ends if math.isfinite(end)]
    if not known:
        return []
    reach = 1.15 * max(*known, 1.5 * edge)

    def at(log: float) -> int:
        return round((width - 1) * (min(max(log, -reach), reach) + reach) / (2 * reach))

    left, none, right = at(-edge), at(0), at(edge)
    axis = ["┈"] * width
    axis[left : right + 1] = ["─"] * (right + 1 - left)
    for place, mark in ((left, "├"), (right, "┤"), (none, "┼")):
        axis[place] = mark
    labels = [" "] * (width + 8)
    x = chosen(d.margin)
    texts = [(none, "0")]
    if right - none > len(x) + 2:
        texts += [(left, f"−{x}"), (right, f"+{x}")]
    for place, label in texts:
        begin = max(0, place - len(label) // 2)
        labels[begin : begin + len(label)] = label
    bar = [" "] * width
    low, high = map(at, ends)
    bar[low : high + 1] = ["━"] * (high + 1 - low)
    bar[low], bar[high] = "┣" if c.low else "◀", "┫" if math.isfinite(c.high) else "▶"
    if abs(math.log(c.ratio)) <= reach:
        bar[at(math.log(c.ratio))] = "●"
    return [" " * _INDENT + "".join(row).rstrip() for row in (labels, axis, bar)]


def tell(
    found: tuple[Difference, ...], results: Results, ended: str, folder: Path, wanted: Wanted
) -> int:
    """Print, write what was asked for, and return the exit code."""
    from tare.experiment import pipeline
    from tare.experiment.findings import caveats, sessions
    from tare.experiment.findings.failures import by_level
    from tare.experiment.report import compared
    from tare.measure.comparison import document
    from tare.render import comment, junit
    from tare.render.words import sentences, text
    from tare.results.verdict import GATE_CODES

    spoken = "-" not in (wanted.json, wanted.markdown)
    weak = compared.caveats_of(results, found)
    if spoken:
        if wanted.gate is not None:
            gate = text(gate_line(found, wanted.gate, lost(results)))
            _say("Gate", gate, "bold")
        for caveat in sentences(weak):
            _say("Caveat", caveat)
        show(found, results, wanted.gate)
        if ended == "interrupted":
            _say("Note", text(by_hand(results, kept=wanted.out is not None)))
        for note in sentences(caveats.notes(sessions.caveats(results))):
            _say("Note", note)
        for failed in by_level(results):
            _say("Failed", text(failed))
    if wanted.json is not None:
        console.write_json(document.as_json(found, results, ended, wanted.gate), wanted.json)
    if wanted.junit is not None or wanted.markdown is not None:
        told = compared.document(results, found, wanted.gate)
        if wanted.junit is not None:
            console.write_text(
                junit.render(told, is_ci=wanted.command == "ci"), str(wanted.junit), "--junit"
            )
        if wanted.markdown is not None:
            console.write_text(comment.render(told), wanted.markdown, "--markdown")
    page_file = page(folder, results, found, wanted)
    if spoken:
        console.out.print(_next(found, results, page_file, wanted), style="dim", soft_wrap=True)
    some = sessions.caveats(results)
    pipeline.check_same(some, results.levels_of, wanted.out, strict=wanted.strict)
    if wanted.gate is None:
        return 0
    # What a gate judges is protected by blocks.
    return GATE_CODES[gate_answer(found, lost(results), wanted.gate)[0]]


def _longer_limit(found: Sequence[Difference], results: Results, gate: float | None) -> str | None:
    """Return twice the time limit where kills at it are what leaves an answer inconclusive."""
    if not any(d.needs_longer_limit(gate) for d in found):
        return None
    limits = [w.timeout_s for w in results.experiment.workloads if w.timeout_s is not None]
    return None if not limits else units.duration(2 * max(limits))


def _needs_median(d: Difference, gate: float | None) -> bool:
    """Whether no known number of pairs settles a gate on the mean, as with killed runs."""
    if gate is None or d.gated is None or d.gate(gate) != "inconclusive" or d.remedy is None:
        return False
    return d.remedy.id == "difference.mean_refused" and d.more_pairs(gate) is None


def _missing_pairs(d: Difference, gate: float | None) -> int:
    """Return how many more pairs would settle it, or would say how many; 0: not known, or none."""
    c = d.comparison
    more = c.more_pairs if gate is None else d.more_pairs(gate)
    if more is not None or not d.paired or d.few is not None or d.gated is not None:
        return more or 0
    return max(0, FIRST_LOOK - c.n)


def _next(found: Sequence[Difference], results: Results, page: Path | None, wanted: Wanted) -> str:
    from tare.render.words import text

    killed = [
        d for d in found if wanted.gate is not None and d.failures is not None and d.failures.gate
    ]
    if limit := _longer_limit(found, results, wanted.gate):
        return f"Next     {again(wanted.command, {'--timeout': limit}, ['--out'])}"
    if any(_needs_median(d, wanted.gate) for d in found):
        return f"Next     {again(wanted.command, {'--gate-on': 'median'}, ['--out'])}"
    waiting = [
        d
        for d in found
        if _missing_pairs(d, wanted.gate)
        and d not in killed
        and (wanted.gate is None or d.gate(wanted.gate) == "inconclusive")
    ]
    # A baseline has one metric, and is compared with one session, whatever is kept of it.
    paired = all(d.paired for d in found)
    if waiting and paired and (instead := by_cpu_time(results, wanted.command)):
        return f"Next     {text(instead)}"
    if waiting:
        more = sum(_missing_pairs(d, wanted.gate) * d.seconds for d in waiting)
        resumes = wanted.out is not None and paired
        if not resumes:  # what was measured is not gone on with, so it begins anew
            more += sum(d.comparison.n * d.seconds for d in found)
        budget = max(1.0, 1.5 * more)
        if not resumes and results.ended == "budget":
            # A budget that ran out was too short, whatever trials alone take.
            budget = max(budget, 2 * (results.experiment.stopping.budget_s or 0.0))
        changes: dict[str, str | None] = {"--budget": console.seconds(budget)}
        without = ["--trials"]
        if resumes:
            changes["--resume"] = None
        elif wanted.out:
            # Its folder is full.
            without.append("--out")
        return f"Next     {again(wanted.command, changes, without)}"
    if page is not None:
        return f"Report   {page}"
    drawing = again(wanted.command, {"--report": "report.html"})
    return f"Next     {drawing}   (draws the page)"
