"""The report: one page that needs nothing else, a document, or the charts by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tare import whole_file
from tare.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tare.frames import Results
    from tare.report.page import Page
    from tare.results.finding import Finding

FORMATS = ("html", "markdown", "svg", "png")
_ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown"}


def write(
    folder: Path,
    format: str | None = None,
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
    format : str, optional
        ``html``: one page; ``markdown``: a document with its charts beside it; ``svg`` and
        ``png``: the charts alone. By default as the file's name ends.
    destination : Path, optional
        File for ``html`` and ``markdown``, folder for charts; by default ``report.html``,
        ``report.md`` and ``charts`` in the experiment's folder.
    findings : sequence of Finding, optional
        The answers, where they are worked out already.
    sessions : sequence of int, optional
        Report on these only; by default on all. Where the machine was not the same in them, levels
        are those of one session, and the page says so on top.
    results : Results, optional
        Of these sessions, where they are loaded already.

    Returns
    -------
    list of Path
        What was written, the report itself first.

    Raises
    ------
    StoreError
        If the folder holds no experiment, the file's name ends otherwise than the format asks, or
        the report cannot be written.
    """
    format = chosen(format, destination)
    default = {"html": "report.html", "markdown": "report.md"}.get(format, "charts")
    if results is None:
        from tare import store
        from tare.findings.sessions import judged

        results = judged(store.load(folder), sessions, folder)
    return put(_page(folder, findings, results), format, destination or folder / default)


def _page(folder: Path, findings: Sequence[Finding] | None, results: Results) -> Page:
    from tare.findings.answers import all_findings
    from tare.report import page
    from tare.report.origin import origin

    if findings is None:
        findings = all_findings(results)
    return page.make(results, findings, origin(folder, results))


def chosen(format: str | None, destination: Path | None) -> str:
    """Return the format of a report: as the name of its file ends, or as was asked.

    Raises
    ------
    StoreError
        If there is no such format, or the name ends as of another.
    """
    if format is not None and format not in FORMATS:
        raise StoreError(f"there is no format {format!r}", f"choose one of {', '.join(FORMATS)}")
    if destination is None:
        return format or "html"
    if format in ("svg", "png"):
        return format
    ending = format_of(
        destination, "--report report.html, or --report report.md; charts alone: --charts svg"
    )
    if format not in (None, ending):
        raise StoreError(
            f"the format {format} does not go with {destination}, whose ending says {ending}",
            "leave the format out",
        )
    return ending


def format_of(destination: Path, option: str) -> str:
    """Return the format that a file's name asks for.

    Parameters
    ----------
    destination : Path
    option : str
        With which it was named, to say what to type instead.

    Raises
    ------
    StoreError
        If there is none.
    """
    found = _ENDINGS.get(destination.suffix.lower())
    if found is None:
        raise StoreError(f"{destination} ends neither in .html nor in .md", option)
    return found


def put(page: Page, format: str, destination: Path) -> list[Path]:
    """Write a page that is laid out already; as for :func:`write`."""
    try:
        return _put(page, format, destination)
    except OSError as error:
        raise StoreError(
            f"cannot write the report to {error.filename or destination}: {error.strerror}",
            "choose another place",
        ) from error


def _put(page: Page, format: str, destination: Path) -> list[Path]:
    from tare.report import html, markdown, pictures

    if format == "html":
        return [_whole(destination, html.render(page))]
    if format == "markdown":
        charts = destination.with_name(f"{destination.stem}-charts")
        drawn = pictures.write(page, "svg", charts)
        return [_whole(destination, markdown.render(page, charts.name)), *drawn]
    return pictures.write(page, format, destination)


def _whole(path: Path, text: str) -> Path:
    # A word of the command line may be bytes that are no character.
    whole_file.write(path, text.encode(errors="backslashreplace"), "choose another place")
    return path
