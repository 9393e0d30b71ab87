"""The report as a Markdown document, with its charts as pictures beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from tare.render import words
from tare.render.escaping import harmless, on_one_line
from tare.render.tables import lay
from tare.results.finding import Table
from tare.results.report import Figure, Report, Section
from tare.version import __version__


def render(page: Report, charts: str) -> str:
    """Write the document.

    Parameters
    ----------
    page : Page
        What it says.
    charts : str
        Name of the folder beside it that holds the charts as SVG.
    """
    return "\n".join(_parts(page, quote(charts)))


def _parts(page: Report, charts: str) -> Iterator[str]:
    yield f"# {text(words.text(page.question))}\n"
    for caveat in page.caveats:
        yield f"> {text(words.sentence(caveat))}\n"
    ended = () if page.error is None else (page.error.message,)
    for missing in (*ended, *page.missing):
        yield f"**{text(words.sentence(missing))}**\n"
    if page.gate is not None:
        gate = text(words.text(page.gate.said))
        yield f"**Gate {gate}**\n"
    led = None if page.gate else page.led
    badge = f"**{text(led.finding.word)}** – " if led and led.finding.word else ""
    for i, said in enumerate(page.leading):
        yield f"{'' if i else badge}{text(words.sentence(said))}\n"
    for said in page.failed:
        yield f"{text(words.sentence(said))}\n"
    for entry in page.unanswered:
        yield f"- {text(entry.label)}: {text(words.text(entry.said))}"
        if entry.picture:
            yield f"\n{code(chr(10).join(entry.picture))}"
    yield ""
    for figure in page.top:
        yield _figure(figure, charts)
    if page.table:
        yield table(page.table)
    for below in page.below:
        yield table(below)
    for said in page.also:
        yield f"{text(words.sentence(said))}\n"
    yield "; ".join(f"{text(name)}: {text(value)}" for name, value in page.strip) + "\n"
    for section in page.sections:
        yield from _section(section, charts, page)
    yield from _behind(page)


def _section(section: Section, charts: str, page: Report) -> Iterator[str]:
    finding = section.finding
    yield f"## {text(words.text(finding.question))}\n"
    badge = f"**{text(finding.word)}** – " if page.badges and finding.word else ""
    yield f"{badge}{text(words.paragraph(finding.answer))}\n"
    if finding.settle:
        yield f"To settle it: {text(words.text(finding.settle))}.\n"
    if finding.basis:
        yield f"*{text(finding.basis)}*\n"
    if finding.session is not None:
        yield f"*session {text(str(finding.session))} alone*\n"
    for caveat in finding.caveats:
        yield f"- {text(words.sentence(caveat))}"
    if finding.caveats:
        yield ""
    for figure in section.figures:
        if figure not in page.top:
            yield _figure(figure, charts)
    for one in finding.tables:
        if one not in page.below:
            yield table(one)


def _behind(page: Report) -> Iterator[str]:
    if page.sections:
        yield "## What stands behind these answers?\n"
    if page.sections or page.doubts:
        yield f"### {text(page.doubtful)}\n"
    for doubt in page.doubts or ((page.calm,) if page.sections else ()):
        yield f"- {text(words.sentence(doubt))}"
    if page.stops:
        yield "\n### How far each cell got\n"
        yield table(page.stops)
    if page.machine:
        yield "### The machine\n"
    for one in page.machine:
        yield table(one)
    if page.origin.commands:
        yield f"### {text(page.origin.title)}\n"
        yield code("\n".join(page.origin.commands))
    yield f"- tare {text(', '.join(page.origin.versions))}"
    if page.origin.seed is not None:
        yield f"- seed: {page.origin.seed}"
    for name, digest in page.origin.digests:
        yield f"- SHA-256 of {text(name)}: {typed(digest)}"
    if page.origin.file:
        yield f"\n{code(page.origin.file)}"
    yield f"\nWritten by tare {__version__}.\n"


def _figure(figure: Figure, charts: str) -> str:
    alternative = text(figure.alternative)
    return (
        f"![{alternative}]({charts}/{figure.name}.svg)\n\n*{text(figure.title)}.* {alternative}\n"
    )


def table(of: Table) -> str:
    """Write a table with its title and notes."""
    laid = lay(of)
    heads = [text(h.title) + (f" [{text(h.unit)}]" if h.unit else "") for h in laid.heads]
    lines = [
        f"**{text(laid.title)}**\n",
        _row(heads),
        _row(["---:" if h.numeric else "---" for h in laid.heads]),
        *(_row([text(cell) for cell in row]) for row in laid.rows),
    ]
    if laid.note:
        lines.append(f"\n{text(laid.note)}")
    if laid.left_out:
        lines.append(f"\n{laid.left_out} further rows are in the exported findings.")
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(content: str) -> str:
    """Write a block of what is typed, or was printed."""
    content = harmless(content)
    longest = max((len(run) for run in re.findall("`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{content}\n{fence}\n"


def typed(content: str) -> str:
    """Write in a line what is typed, or was printed."""
    content = on_one_line(content)
    if "`" in content:
        # No fence of a line holds every run of them.
        return text(content)
    return f"`{content}`"


#: What is markup wherever it stands, and what is markup at the beginning of a line.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~]|^[-+=](?=[-+=\s]|$)|^\d+(?:(?=[.)](?:\s|$)))")


def text(plain: str) -> str:
    """Write text so that nothing in it is markup: names come from the experiment.

    Nobody is notified of a name, either.
    """
    escaped = _MARKUP.sub(_escaped, on_one_line(plain))
    return escaped.replace("&", "&amp;").replace("@", "@\u2060")


def _escaped(found: re.Match[str]) -> str:
    # A number at the beginning is that of a list by what stands behind it.
    return f"{found[0]}\\" if found[0].isdecimal() else f"\\{found[0]}"
