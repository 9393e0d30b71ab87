"""The report of an experiment's folder, as `tare experiment report` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tare.experiment import store
from tare.experiment.findings.sessions import judged
from tare.experiment.report import page
from tare.experiment.results import Results
from tare.experiment.supplies import Supplies
from tare.render import files
from tare.results.finding import Finding
from tare.results.report import Report


def write(
    folder: Path,
    supplies: Supplies,
    destination: Path | None = None,
    findings: Sequence[Finding] | None = None,
    sessions: Sequence[int] = (),
    results: Results | None = None,
) -> list[Path]:
    """Write the report, into the folder where no other file is named."""
    destination = destination or folder / "report.html"
    files.format_of(destination)
    return files.write(document(folder, supplies, findings, sessions, results), destination)


def document(
    folder: Path,
    supplies: Supplies,
    findings: Sequence[Finding] | None = None,
    sessions: Sequence[int] = (),
    results: Results | None = None,
) -> Report:
    """Lay the report out, of all sessions or of some."""
    results = results or judged(store.load(folder), sessions, folder)
    return page.document(folder, supplies, findings, results=results)
