"""Commands and groups of them, which are loaded when they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, TypeAlias

from tare.errors import Typed, UsageError
from tare.options.option import Option, Options, named

#: Function of a command: takes its options and the call.
Work: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes
    ----------
    work : callable
        Does what the command is for; its docstring is the command's help.
    options : type
    is_small : bool
        Whether it needs little address space.
    needs_numpy : bool
    """

    work: Work
    options: type[Options]
    is_small: bool = False
    needs_numpy: bool = True

    @property
    def help(self) -> str:
        """What it is for."""
        return self.work.__doc__ or ""

    @cached_property
    def names(self) -> Mapping[str, Option]:
        """Its options by each of their names."""
        return named(self.options)


def command(options: type[Options], **settings: bool) -> Callable[[Work], Command]:
    """Make a command of the function that does its work."""
    return lambda work: Command(work, options, **settings)


@dataclass(frozen=True)
class Entry:
    """A command or group in a group.

    Attributes
    ----------
    place : str
        Where it is: ``tare.features.measure.run.command:run``.
    heading : str
        Above it in the help of the group.
    is_hidden : bool
        Whether no help lists it.
    """

    place: str
    heading: str = "Commands"
    is_hidden: bool = False

    def load(self) -> Command | Group:
        """Return it."""
        module, _, attribute = self.place.partition(":")
        found: Command | Group = getattr(import_module(module), attribute)
        return found


@dataclass(frozen=True)
class Group:
    """Commands that are typed after one name.

    Attributes
    ----------
    help : str
    commands : mapping
        By name.
    standard : str or None
        The command that words which name none are options and arguments of.
    options : type
        Options without a command.
    """

    help: str
    commands: Mapping[str, Entry]
    standard: str | None = None
    options: type[Options] = field(default=Options)


def find(root: Group, words: Sequence[str], name: str = "tare") -> tuple[str, Command | Group, int]:
    """Return what words name.

    Returns
    -------
    (str, Command or Group, int)
        As it is typed; what it is; and how many words name it. A group, if they name none of its
        commands and it has no standard one.

    Raises
    ------
    UsageError
        If a group has no command of that name.
    """
    found: Command | Group = root
    path, used = name, 0
    while isinstance(found, Group):
        word = words[used] if used < len(words) else None
        if word is not None and word in found.commands:
            path, used = f"{path} {word}", used + 1
            found = found.commands[word].load()
        elif found.standard is not None and word not in ("-h", "--help"):
            found = found.commands[found.standard].load()
        elif word is None or word.startswith("-"):
            break
        else:
            raise _unknown(path, words[used:], found)
    return path, found, used


def _unknown(path: str, words: Sequence[str], group: Group) -> UsageError:
    import difflib
    import shlex

    word, *rest = words
    close = difflib.get_close_matches(word, group.commands, n=1)
    meant = [close[0], *rest] if close else ["--help"]
    hint = Typed(shlex.join([*path.split(), *meant]))
    return UsageError(f"{path} has no command {word!r}", hint)


def leaves(group: Group, path: str = "tare") -> Iterator[tuple[str, Command]]:
    """Return every command below a group, and how it is typed: a standard one without a name."""
    for name, entry in group.commands.items():
        if entry.is_hidden:
            continue
        one = entry.load()
        below = path if name == group.standard else f"{path} {name}"
        if isinstance(one, Group):
            yield from leaves(one, below)
        else:
            yield below, one
