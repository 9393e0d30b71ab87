"""What shapes measured networks, as a section of their page."""

from __future__ import annotations

from collections.abc import Sequence

from tare.identification.identifying import identify
from tare.identification.reading import Reading, of_measured
from tare.identification.telling import WORDS
from tare.network.folder import Measured
from tare.report.network_charts import identified
from tare.report.page import Figure, Section
from tare.results.finding import Finding


def section(some: Sequence[Measured]) -> Section | None:
    """Lay out what was found of each measurement and direction; None: nothing was carried."""
    answers: list[str] = []
    figures: list[Figure] = []
    for reading in (reading for one in some if one.courses for reading in of_measured(one)):
        found = identify(reading.trace, reading.key, reading.interface_bps)
        if not found.is_known:
            continue
        before = f"{_named(reading)}: " if len(some) > 1 or "direction" in reading.key else ""
        words = WORDS[found.kind]
        answers.append(f"{before}{words[0].upper()}{words[1:]}. {' '.join(found.reasons)}")
        spec = identified.draw(reading.trace, found)
        if spec is not None:
            name = f"shape-{len(figures) + 1}"
            title = f"{before}{identified.TITLE}" if before else identified.TITLE
            figures.append(Figure(name, title, spec, identified.tell(reading.trace, found)))
    if not answers:
        return None
    return Section(
        anchor="shape",
        finding=Finding(
            name="shape",
            closed=False,
            question="What shapes it?",
            answer=" ".join(answers),
            verdict="none",
        ),
        figures=tuple(figures),
        tables=(),
    )


def _named(reading: Reading) -> str:
    return " ".join(reading.key.values())
