"""The answer of a report as a fragment of HTML without scripts, for notebooks."""

from __future__ import annotations

from tare.render import html
from tare.render.words import shown
from tare.results.report import Report


def render(page: Report) -> str:
    """Write the answers and the tables of a report; everything from the experiment is escaped."""
    environment = html.templates()
    environment.filters["figure"] = shown
    return environment.get_template("notebook.html").render(page=page)
