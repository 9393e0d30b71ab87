"""Help that fits a terminal: options in groups, in the order of their declaration."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

#: Columns of a terminal that nobody has made wider, and beyond which lines are hard to read.
WIDTH, WIDEST = 80, 100
#: Where the explanation of an option begins.
_INDENT = 30


def helped(ctx: Any, command: Any, headings: Mapping[str, tuple[str, ...]]) -> str:
    """Return the help of a command.

    Parameters
    ----------
    ctx, command
        Of typer.
    headings : mapping
        Headings to the options below them; what has none stands below the last.
    """
    width = min(WIDEST, max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))
    groups: dict[str, list[str]] = {heading: [] for heading in headings}
    last = next(reversed(groups))
    named = {name: heading for heading, names in headings.items() for name in names}
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            groups[named.get(parameter.name, last)].extend(_lines(parameter, width))
    usage = f"Usage: {ctx.command_path} [OPTIONS] {_argument(command)}"
    text = inspect.cleandoc(command.help or "").replace("\f", "")
    parts = [usage, "", *_paragraphs(text, width)]
    for heading, lines in groups.items():
        parts += [f"{heading}:", *lines, ""]
    return "\n".join(parts).rstrip()


def _argument(command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    return " ".join(str(p.metavar or p.name) for p in arguments)


def _paragraphs(text: str, width: int) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(" "):
            yield paragraph
        else:
            yield textwrap.fill(paragraph, width)
        yield ""


def _lines(option: Any, width: int) -> Iterator[str]:
    names = sorted(
        [*option.opts, *option.secondary_opts], key=lambda name: (name.startswith("--"), name)
    )
    metavar = "" if option.is_flag else f" {_metavar(option)}"
    head = f"  {', '.join(names)}{metavar}"
    default = _default(option)
    told = f"{option.help or ''}{default}"
    lines = textwrap.wrap(told, width - _INDENT) or [""]
    if len(head) >= _INDENT - 1:
        yield head
        head = ""
    yield f"{head:<{_INDENT}}{lines[0]}".rstrip()
    for line in lines[1:]:
        yield f"{'':<{_INDENT}}{line}"


def _metavar(option: Any) -> str:
    if option.metavar:
        return str(option.metavar)
    return str(option.name).replace("_", "-").upper()


def _default(option: Any) -> str:
    default = option.default
    if option.is_flag or default in (None, (), [], "") or callable(default):
        return ""
    return f"  [default: {default}]"
