"""Help that fits a terminal: options in groups, one line each where possible."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Columns of a terminal that nobody has made wider, and beyond which lines are hard to read.
WIDTH, WIDEST = 80, 100
#: Where explanations begin at most; a longer head has a line of its own.
INDENT = 26
#: Headings to the options below them, in any command: an option of one name means the same in all.
GROUPS = {
    "What": (
        "application", "name", "build", "base", "head", "metric", "quantile", "steady", "margin",
        "gate", "baseline", "inputs", "by", "kernel", "settings", "fix", "purpose", "false_alarms",
        "pattern", "sweep", "identify", "spend", "kappa", "finding", "table", "cpus", "session",
        "limit", "direction", "streams", "memory", "workload", "slope", "intercept", "range",
        "r_squared", "maximum", "predictions",
    ),
    "Columns": (
        "format", "value", "group", "compare", "order", "trial", "block", "drop_missing", "time",
        "time_unit", "unit", "cores", "pinning_column", "reference", "quota",
    ),
    "How many": (
        "trials", "parallel", "precision", "confidence", "budget", "duration", "timeout", "quick",
        "full", "step", "quotas", "threads", "period", "windows", "interval",
        "noise_window", "max_bytes", "max_duration", "max_streams", "max_total_bytes",
        "max_memory", "max_file_size", "file_cache", "seed",
    ),
    "Where": (
        "platform", "image", "size", "workers", "pinning", "network", "hosts", "host", "on",
        "serve", "interface", "fleet", "as_root", "skip_missing", "directory", "remote", "peer",
        "bind", "key", "new_key", "line_rate", "host_cores", "check",
    ),
    "Output": (
        "out", "resume", "capture", "fingerprint", "store", "save", "file",
        "benchexec", "charts", "log", "report", "markdown", "junit", "json", "all", "sources",
    ),
}  # fmt: skip
#: Where the help of a command ends: what it has besides.
_MORE = "More options (docs/reference/reference.md)"


def help_of_command(ctx: Any, command: Any, others: Iterable[Any] = ()) -> str:
    """Return the help of a command.

    Parameters
    ----------
    ctx, command
        Of typer.
    others : iterable
        Commands that are typed after this one's name.
    """
    options = [p for p in command.params if p.param_type_name == "option"]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    about = [(str(p.metavar), explanation(p)) for p in arguments if p.help]
    sections = {heading: _rows(options, names) for heading, names in GROUPS.items()}
    sections["Commands"] = [(str(other.name), summary(other)) for other in others]
    width = _width()
    parts = [
        usage(ctx, command),
        "",
        *_paragraphs(command.help, width),
        *_sections({"Arguments": about}, width),
        *_sections(sections, width),
    ]
    more = ", ".join(names_of(option)[-1] for option in options if option.hidden)
    if more:
        lines = textwrap.wrap(more, width - 2, break_on_hyphens=False)
        parts += [f"{_MORE}:", *(f"  {line}" for line in lines)]
    return "\n".join(parts).rstrip() + "\n"


def help_of_group(ctx: Any, group: Any) -> str:
    """Return the help of a group of commands, which are listed under their headings."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for command in group.commands.values():
        if command.hidden:
            continue
        panel = command.rich_help_panel
        heading = panel if isinstance(panel, str) else "Commands"
        sections.setdefault(heading, []).append((str(command.name), summary(command)))
    options = [(head(option), explanation(option)) for option in group.params]
    width = _width()
    parts = [
        f"Usage: {ctx.command_path} COMMAND …",
        "",
        *_paragraphs(group.help, width),
        *_sections(sections, width),
        *_sections({"Options": options}, width),
    ]
    return "\n".join(parts).rstrip() + "\n"


def summary(command: Any) -> str:
    """Return what a command does in one line."""
    return " ".join(str(command.help or "").split("\n\n")[0].split()).removesuffix(".")


def _width() -> int:
    return min(WIDEST, max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def _rows(options: Iterable[Any], names: tuple[str, ...]) -> list[tuple[str, str]]:
    there = [option for option in options if option.name in names and not option.hidden]
    there.sort(key=lambda option: names.index(option.name))
    return [(head(option), explanation(option)) for option in there]


def usage(ctx: Any, command: Any) -> str:
    """Return how a command is typed."""
    arguments = [str(p.metavar) for p in command.params if p.param_type_name == "argument"]
    text = " ".join(["Usage:", ctx.command_path, "[OPTIONS]", *arguments])
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


def names_of(option: Any) -> list[str]:
    """Return what an option is called, short names first; of a switch the one that changes it."""
    names = option.secondary_opts if option.default is True else option.opts
    return sorted(names or option.opts, key=lambda name: name.startswith("--"))


def head(option: Any) -> str:
    """Return an option as it is typed."""
    names = ", ".join(names_of(option))
    return names if option.is_flag else f"{names} {option.metavar}"


def explanation(parameter: Any) -> str:
    """Return what an option or argument means, with its default."""
    default = parameter.default
    told = str(parameter.help or "")
    is_flag = getattr(parameter, "is_flag", False)
    if is_flag or default in (None, (), [], "") or callable(default):
        return told
    return f"{told} [default: {default}]"
