"""The documents as tests read them: pages, their fenced blocks, links, and commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Written by ``tools/generate_docs.py`` from the command line itself.
GENERATED = ROOT / "docs" / "reference" / "reference.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN = [page for page in PAGES if page != GENERATED]
#: For who works on tare, and what changed, with commands that are no more.
INSTRUCTIONS = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "RELEASING.md")]
OTHERS = [*INSTRUCTIONS, ROOT / "CHANGELOG.md"]
#: Pages whose blocks are executed one after the other in a folder of their own.
EXECUTED = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]
#: Languages of blocks that hold commands.
SHELLS = ("sh", "console")
NOT_RUN = "not-run:"

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PROMPT = re.compile(r"^\w*\$ +")
#: A variable of the shell, or the output of a command: a number, as far as options are concerned.
_VARIABLE = re.compile(r"\$\([^)]*\)|\$\{[^}]*\}|\$\w+")
_ENDS = {";", "|", "||", "&", "&&", "(", ")"}
#: What may stand before the name of a program.
_BEFORE = {"sudo", "time", "@reboot"}


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    page : Path
        Where it stands.
    line : int
        Its first line in the page, from 1.
    language : str
        First word after the fence.
    not_run : str or None
        Why it cannot be executed anywhere; None: it can.
    text : str
        What is between the fences.
    """

    page: Path
    line: int
    language: str
    not_run: str | None
    text: str

    @property
    def script(self) -> str:
        """What a shell would be given: of a console, the lines that were typed."""
        if self.language != "console":
            return self.text
        typed, going_on = [], False
        for line in self.text.splitlines():
            prompted = _PROMPT.match(line)
            if prompted or going_on:
                typed.append(line[prompted.end() :] if prompted else line)
                going_on = line.endswith("\\") or not _whole("\n".join(typed))
        return "\n".join(typed) + "\n"

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        language, _, rest = match[1].strip().partition(" ")
        reason = rest.removeprefix(NOT_RUN).strip() if rest.startswith(NOT_RUN) else None
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, language, reason, match[2]))
    return found


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def links(page: Path) -> Iterator[str]:
    """Return the targets of a page's links and pictures, those to other sites apart."""
    for target in _LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """Return what a link to a page may name after ``#``."""
    text = prose(page)
    named = set(re.findall(r'<a (?:name|id)="([^"]+)"', text))
    return named | {_slug(title) for title in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)}


def invocations(script: str) -> Iterator[list[str]]:
    """Return the words of every call of tare in a script, that in another's words included."""
    for line in _lines(_VARIABLE.sub("3", script)):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word not in _ENDS:
                words.append(word)
                continue
            yield from _of_tare(words)
            words = []


def inline(page: Path) -> Iterator[list[str]]:
    """Return the words of calls of tare that stand in the text, in backquotes."""
    for code in re.findall(r"`([^`\n]+)`", prose(page).replace("\\|", "|")):
        if re.match(r"(sudo )?tare ", code) and _whole(code):
            yield from invocations(code.replace("…", "").replace("[", "").replace("]", ""))


def _of_tare(words: list[str]) -> Iterator[list[str]]:
    while words and (words[0] in _BEFORE or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words or words[0] not in ("tare", ".venv/bin/tare"):
        return
    words = _without_redirections(words[1:])
    yield words
    if "--" in words:
        yield from _of_tare(words[words.index("--") + 1 :])
    for option, value in pairwise(words):
        if option == "--serve" and value.startswith("tare "):
            yield from invocations(value)


def _without_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word and set(word) <= set("<>&"):
            skip = True
            if kept and kept[-1].isdigit():
                kept.pop()
        else:
            kept.append(word)
    return kept


def _lines(script: str) -> Iterator[str]:
    """Return the commands of a script, without comments and here-documents."""
    waiting, end = "", None
    for line in script.splitlines():
        if end is not None:
            end = None if line.strip() == end else end
            continue
        if not waiting and line.lstrip().startswith("#"):
            continue
        waiting = f"{waiting}\n{line}" if waiting else line
        if waiting.endswith("\\"):
            waiting = waiting[:-1] + " "
        elif _whole(waiting):
            if here := re.search(r"<<-?\s*'?(\w+)'?", waiting):
                end, waiting = here[1], waiting[: here.start()]
            yield re.sub(r"(?:^|\s)#\s.*$", "", waiting)
            waiting = ""
    assert not waiting, waiting


def _whole(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def _slug(title: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    title = re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
