"""Help that fits a terminal: options in groups, one line each where possible."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterator, Mapping

from tare.options.command import Command, Group
from tare.options.option import GROUPS

#: Default and largest width of the help, in columns.
WIDTH, WIDEST = 80, 100
#: Largest column at which descriptions begin; a longer option gets a separate line.
INDENT = 26
#: Heading of the options that are listed by name alone.
_MORE = "More options (docs/reference/reference.md)"


def of_command(path: str, command: Command, others: Mapping[str, Command] | None = None) -> str:
    """Return the help of a command.

    Parameters
    ----------
    path : str
        How it is typed.
    command : Command
    others : mapping, optional
        Commands that are typed after this one's name.
    """
    records = command.options.records.values()
    options = [one for one in records if not one.is_argument]
    arguments = [(one.placeholder, one.explanation) for one in records if one.is_argument]
    sections = {
        heading: [(o.head, o.explanation) for o in options if o.group == heading and not o.rare]
        for heading in GROUPS
    }
    sections["Commands"] = [(name, summary(other.help)) for name, other in (others or {}).items()]
    width = _width()
    parts = [
        usage(path, command),
        "",
        *_paragraphs(command.help, width),
        *_sections({"Arguments": [row for row in arguments if row[1]]}, width),
        *_sections(sections, width),
    ]
    more = ", ".join(option.names[-1] for option in options if option.rare)
    if more:
        lines = textwrap.wrap(more, width - 2, break_on_hyphens=False)
        parts += [f"{_MORE}:", *(f"  {line}" for line in lines)]
    return "\n".join(parts).rstrip() + "\n"


def of_group(path: str, group: Group) -> str:
    """Return the help of a group of commands, which are listed under their headings."""
    if group.standard is not None:
        commands = {n: c for n, e in group.commands.items() if isinstance(c := e.load(), Command)}
        return of_command(path, commands.pop(group.standard), commands)
    sections: dict[str, list[tuple[str, str]]] = {}
    for name, entry in group.commands.items():
        if not entry.is_hidden:
            row = name, summary(entry.load().help)
            sections.setdefault(entry.heading, []).append(row)
    options = [(one.head, one.explanation) for one in group.options.records.values()]
    width = _width()
    parts = [
        f"Usage: {path} COMMAND …",
        "",
        *_paragraphs(group.help, width),
        *_sections(sections, width),
        *_sections({"Options": options}, width),
    ]
    return "\n".join(parts).rstrip() + "\n"


def summary(help: str) -> str:
    """Return what a command does in one line."""
    return " ".join(help.split("\n\n", maxsplit=1)[0].split()).removesuffix(".")


def _width() -> int:
    return min(WIDEST, max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def usage(path: str, command: Command) -> str:
    """Return how a command is typed."""
    arguments = [one.placeholder for one in command.options.records.values() if one.is_argument]
    text = " ".join(["Usage:", path, "[OPTIONS]", *arguments])
    return textwrap.fill(text, _width(), subsequent_indent=" " * 9)


def _paragraphs(text: str | None, width: int) -> Iterator[str]:
    for paragraph in paragraphs(text):
        if is_example(paragraph):
            yield textwrap.indent(paragraph, "    ")
        else:
            yield textwrap.fill(paragraph, width, break_on_hyphens=False)
        yield ""


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a docstring."""
    clean = inspect.cleandoc(text or "").replace("\f", "")
    return [textwrap.dedent(paragraph) for paragraph in clean.split("\n\n")]


def is_example(paragraph: str) -> bool:
    """Return whether a paragraph of a docstring is commands to be pasted."""
    return all(line.startswith("tare ") for line in paragraph.splitlines())


def _sections(sections: Mapping[str, list[tuple[str, str]]], width: int) -> Iterator[str]:
    heads = [len(head) for rows in sections.values() for head, _ in rows]
    indent = min(INDENT, max(heads, default=0) + 4)
    for heading, rows in sections.items():
        if rows:
            yield f"{heading}:"
            for row in rows:
                yield from _row(*row, indent, width)
            yield ""


def _row(head: str, text: str, indent: int, width: int) -> Iterator[str]:
    lines = textwrap.wrap(text, width - indent, break_on_hyphens=False) or [""]
    if len(head) > indent - 4:
        yield f"  {head}"
    else:
        yield f"  {head:<{indent - 2}}{lines.pop(0)}".rstrip()
    yield from (" " * indent + line for line in lines)
