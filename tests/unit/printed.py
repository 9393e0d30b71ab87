"""What a terminal shows of a report."""

from __future__ import annotations

from tare.render import screen
from tare.results.report import Report


def lines(report: Report, width: int = 500) -> list[str]:
    return [line.text for line in screen.lines(report, width)]


def text(report: Report) -> str:
    return "\n".join(lines(report))
