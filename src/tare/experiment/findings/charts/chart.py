"""What a chart of an experiment's results is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tare.registry import Description
from tare.render.drawing import Chart

if TYPE_CHECKING:
    from tare.experiment.results import Results
    from tare.results.finding import Finding
    from tare.results.message import Message


Draw = Callable[["Results", Sequence["Finding"]], Chart | None]
Alternative = Callable[["Results", Sequence["Finding"]], tuple["Message", ...]]


@dataclass(frozen=True)
class ChartUnit:
    """The unit of this package: one picture of an experiment's results.

    Attributes
    ----------
    description : Description
        Name, title and the question that it shows the answer of.
    draw : callable
        Results and findings to a chart; None where there is nothing to draw.
    alternative : callable
        What it shows, with the numbers that matter, for readers who cannot see it.
    of_levels : bool
        Whether it draws levels, which are those of one session where the machine changed between
        sessions, even if the finding that it belongs to compares within blocks.
    takes_killed : bool
        Whether it draws trials that were killed at their time limit, or values that the findings
        have of them. All others are drawn without these trials, and say so.
    """

    description: Description
    draw: Draw
    alternative: Alternative
    of_levels: bool = False
    takes_killed: bool = False


def chart_of(
    finding: Description,
    title: str,
    draw: Draw,
    alternative: Alternative,
    *,
    name: str | None = None,
    source: str | None = None,
    of_levels: bool = False,
    takes_killed: bool = False,
) -> ChartUnit:
    """Make the unit of a chart that shows the answer of a finding.

    Its name and the source of its design are those of the finding, unless others are given.
    """
    description = msgspec.structs.replace(
        finding, name=name or finding.name, title=title, source=source or finding.source
    )
    return ChartUnit(description, draw, alternative, of_levels, takes_killed)
