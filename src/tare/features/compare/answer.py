"""Tells what a comparison came out with, wherever it was wanted, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tare.cli import console
from tare.cli.again import again
from tare.measure.comparison.session import by_cpu_time, by_hand, page

if TYPE_CHECKING:
    from tare.experiment.findings.judgement import Difference
    from tare.experiment.results import Results
    from tare.measure.comparison.session import Wanted


def tell(
    found: tuple[Difference, ...], results: Results, ended: str, folder: Path, wanted: Wanted
) -> int:
    """Print, write what was asked for, and return the exit code."""
    from tare.experiment import pipeline
    from tare.experiment.findings import caveats, sessions
    from tare.experiment.findings.failures import by_level
    from tare.experiment.report import compared
    from tare.features.compare import screen
    from tare.measure.comparison import document
    from tare.render import comment, junit
    from tare.render.words import sentences, text
    from tare.results.verdict import GATE_CODES, worst

    spoken = "-" not in (wanted.json, wanted.markdown)
    weak = caveats.sentences(sessions.caveats(results), results.levels_of)
    if spoken:
        for caveat in sentences(weak):
            console.out.print(f"Caveat   {caveat}")
        if wanted.gate is not None:
            gate = text(screen.gate_line(found, wanted.gate))
            console.out.print(f"Gate     {gate}", style="bold")
        screen.show(found, results, wanted.gate)
        if ended == "interrupted":
            console.out.print(f"Note     {text(by_hand(results, kept=wanted.out is not None))}")
        for note in sentences(caveats.notes(sessions.caveats(results))):
            console.out.print(f"Note     {note}")
        for failed in by_level(results):
            console.out.print(f"Failed   {text(failed)}")
    if wanted.json is not None:
        console.write_json(document.as_json(found, results, ended, wanted.gate), wanted.json)
    if wanted.junit is not None or wanted.markdown is not None:
        told = compared.document(results, found, wanted.gate)
        if wanted.junit is not None:
            console.write_text(junit.render(told), str(wanted.junit), "--junit")
        if wanted.markdown is not None:
            console.write_text(comment.render(told), wanted.markdown, "--markdown")
    page_file = page(folder, results, found, wanted)
    if spoken:
        console.out.print(_next(found, results, page_file, wanted), style="dim", soft_wrap=True)
    if wanted.gate is None:
        pipeline.check_same(sessions.caveats(results), results.levels_of, wanted.out)
        return 0
    # What a gate judges is protected by blocks.
    return GATE_CODES[worst([d.gate(wanted.gate) for d in found])]


def _next(found: Sequence[Difference], results: Results, page: Path | None, wanted: Wanted) -> str:
    from tare.render.words import text

    waiting = [
        d
        for d in found
        if d.comparison.more_pairs
        and (wanted.gate is None or d.gate(wanted.gate) == "inconclusive")
    ]
    if wanted.gate is not None and found and found[0].gated is not None:
        # What a mean or a quantile needs is told with the gate; verdicts do not answer it.
        waiting = []
    # A baseline has one metric, and is compared with one session, whatever is kept of it.
    paired = all(d.paired for d in found)
    if waiting and paired and (instead := by_cpu_time(results, "compare")):
        return f"Next     {text(instead)}"
    if waiting:
        more = sum((d.comparison.more_pairs or 0) * d.seconds for d in waiting)
        resumes = wanted.out is not None and paired
        if not resumes:  # what was measured is not gone on with, so it begins anew
            more += sum(d.comparison.n * d.seconds for d in found)
        changes: dict[str, str | None] = {"--budget": console.seconds(max(1.0, 1.5 * more))}
        without = ["--trials"]
        if resumes:
            changes["--resume"] = None
        elif wanted.out:
            # Its folder is full.
            without.append("--out")
        return f"Next     {again('compare', changes, without)}"
    if page is not None:
        return f"Report   {page}"
    keeping = again("compare", {"--out": "DIR"})
    return f"Next     {keeping}   (keeps the trials, draws the page)"
