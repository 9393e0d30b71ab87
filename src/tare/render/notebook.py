"""The answer of a report as a fragment of HTML without scripts, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from tare.render import html
from tare.render.words import shown
from tare.results.message import Said
from tare.results.report import Report


def render(page: Report, verdict: str | None = None, reasons: Sequence[Said] = ()) -> str:
    """Write the answers and the tables of a report; everything from the experiment is escaped.

    Parameters
    ----------
    page : Report
    verdict : str, optional
        Whether the values can be trusted, where no answer of the report states it.
    reasons : sequence of Said
        Reasons for that verdict.
    """
    environment = html.templates()
    environment.filters["figure"] = shown
    return environment.get_template("notebook.html").render(
        page=page, verdict=verdict, reasons=reasons
    )
