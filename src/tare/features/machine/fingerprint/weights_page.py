"""The page of several platforms: the overhead of each vs. the first."""

from __future__ import annotations

from tare.features.machine.fingerprint import phrases, summary
from tare.features.machine.fingerprint.page import facts_table, strip
from tare.features.machine.fingerprint.weights import Weights
from tare.features.machine.fingerprint.weights_table import head, rows
from tare.render.words import sentence, text
from tare.results.finding import Column, Finding, Table
from tare.results.message import message
from tare.results.report import Origin, Report, Section


def make(found: Weights, command: str) -> Report:
    """Lay the page out."""
    first, *others = found.platforms
    besides = [summary.apart(one, first) for one in others]
    problems = [
        message("{platform}, {probe}: {why}", platform=one.platform, probe=p.probe, why=p.why)
        for one in found.platforms
        for p in one.problems
    ]
    problems += [
        message(phrases.PLATFORM_UNKNOWN, platform=one.platform, why=one.why)
        for one in found.platforms
        if one.why is not None
    ]
    figures = [
        figure
        for one in found.platforms
        if one.fingerprint
        for figure in one.fingerprint.metrics.values()
    ]
    platforms = [one.platform for one in found.platforms]
    return Report(
        name=text(message("overhead of {platforms | listing}", platforms=platforms)),
        question=message("What is the overhead of each platform?"),
        answers=(
            *(summary.versus(one, first.platform) for one in others),
            *(said for said in besides if said is not None),
        ),
        strip=strip(
            found, figures, ("platforms", f"{len(platforms)}"), ("reference", first.platform)
        ),
        sections=(_overhead(found),),
        doubts=tuple(problems),
        machine=() if first.fingerprint is None else (facts_table(first.fingerprint),),
        origin=Origin(
            commands=(command,), digests=(("agent", found.agent),), versions=(found.tare,)
        ),
        doubtful="Not measured here",
        calm=sentence(message(phrases.PAGE_COMPLETE)),
        rest=f"{command} --json -",
        badges=False,
        unfolded=60,
    )  # fmt: skip


def _overhead(found: Weights) -> Section:
    first, *others = found.platforms
    heads = (Column(key=one.platform, title=f"{head(one)} [95 %]", unit="1") for one in others)
    table = Table.of(
        "Every figure",
        ("figure", f"{first.platform} [95 %]", *heads),
        ((label, *cells) for label, cells in rows(found.platforms, every=True)),
    )
    return Section(
        Finding(
            name="costs",
            closed=False,
            question=message("How much does each platform take?"),
            answer=(
                message(
                    "multiples of the figures on {first}. Above 1 is slower, in time or in rate",
                    first=first.platform,
                ),
                message("▲ slower, ▽ faster, = equivalent, ? inconclusive, in brackets: emulated"),
                message(
                    "start: from the request for an instance to the agent's hello; the first "
                    "may have loaded what later ones found"
                ),
                message(
                    "around the agent: what the layers started for it, without engines; with "
                    "the agent where the host does not see it"
                ),
            ),
            verdict="none",
            basis=text(
                message(
                    "rounds of all platforms and later starts interleaved in random order; "
                    "Hodges–Lehmann ratio, 95 % interval; Holm over all figures and platforms. "
                    "Memory is proportional (PSS), after the rounds"
                )
            ),
            tables=(table,),
        )
    )
