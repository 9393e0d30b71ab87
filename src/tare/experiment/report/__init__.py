"""The report of an experiment: what its folder says, as a document and as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.experiment.results import Results
    from tare.experiment.supplies import Supplies
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
    """Write the report of an experiment, finished or running.

    Parameters
    ----------
    folder : Path
        The experiment's folder.
    supplies : Supplies
        What it is worked out and drawn with.
    destination : Path, optional
        File whose ending tells the format; by default ``report.html`` in the folder.
    findings, sessions, results
        As for :func:`document`.

    Returns
    -------
    list of Path
        What was written, the report itself first.

    Raises
    ------
    StoreError
        If the folder holds no experiment, the file has no such ending, or cannot be written.
    """
    from tare.render import files

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
    """Lay the report of an experiment out.

    Parameters
    ----------
    folder : Path
        The experiment's folder.
    supplies : Supplies
        What it is worked out and drawn with.
    findings : sequence of Finding, optional
        The answers, where they are worked out already.
    sessions : sequence of int, optional
        Report on these only; by default on all. Where the machine was not the same in them, levels
        are those of one session, and the page says so on top.
    results : Results, optional
        Of these sessions, where they are loaded already.

    Raises
    ------
    StoreError
        If the folder holds no experiment.
    """
    from tare.experiment import store
    from tare.experiment.findings.answers import all_findings
    from tare.experiment.findings.sessions import judged
    from tare.experiment.report import page
    from tare.experiment.report.origin import origin

    if results is None:
        results = judged(store.load(folder), sessions, folder)
    if findings is None:
        findings = all_findings(results, supplies.findings())
    return page.make(results, findings, origin(folder, results), supplies.charts())
