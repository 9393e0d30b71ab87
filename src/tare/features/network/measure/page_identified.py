"""What shapes measured networks, as a section of their page."""

from __future__ import annotations

from collections.abc import Sequence

from tare.experiment.fingerprints.network.identified import kind_of
from tare.features.network.charts import identified
from tare.features.network.identify.identifying import identify
from tare.features.network.identify.reading import Reading, of_measured
from tare.networks.recording.folder import Measured
from tare.render.words import paragraph
from tare.results.finding import Finding
from tare.results.message import Said, message
from tare.results.report import Figure, Section


def section(some: Sequence[Measured]) -> Section | None:
    """Lay out what was found of each measurement and direction; None: nothing was carried."""
    answers: list[Said] = []
    figures: list[Figure] = []
    for reading in (reading for one in some if one.courses for reading in of_measured(one)):
        found = identify(reading.trace, reading.key, reading.interface_bps)
        if not found.is_known:
            continue
        named = _named(reading) if len(some) > 1 or "direction" in reading.key else None
        kind = kind_of(found)
        answers.append(message("net.named", name=named, said=kind) if named else kind)
        answers += found.reasons
        spec = identified.draw(reading.trace, found)
        if spec is not None:
            name = f"shape-{len(figures) + 1}"
            title = f"{named}: {identified.TITLE}" if named else identified.TITLE
            figures.append(Figure(name, title, spec, paragraph(identified.caption(found))))
    if not answers:
        return None
    return Section(
        Finding(
            name="shape",
            closed=False,
            question="What shapes it?",
            answer=tuple(answers),
            verdict="none",
        ),
        tuple(figures),
    )


def _named(reading: Reading) -> str:
    return " ".join(reading.key.values())
