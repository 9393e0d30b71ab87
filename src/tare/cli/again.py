"""The command that was typed, with a change: what to type next."""

from __future__ import annotations

import itertools
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tare.results.message import Message, Said, message

#: Options with a file that holds the answer: that of another question would replace it, or mix in.
FILES = ("--json", "--save", "--report", "--markdown", "--junit", "--export-json")


@dataclass(frozen=True)
class Options:
    """Options of a command.

    Attributes
    ----------
    values : mapping
        How many words follow each name as its values.
    names : mapping
        Each name to all names of its option.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)


class _Piece(NamedTuple):
    """Words that belong together: an option with its values, or an argument."""

    #: None: it is no option.
    option: str | None
    words: tuple[str, ...]


#: The command that was typed last has these.
_typed_options = [Options()]


def remember(options: Options) -> None:
    """Remember which options the command has that was typed."""
    _typed_options[0] = options


def offers(option: str) -> bool:
    """Return whether the command that was typed has an option.

    A call from Python, before which no command was typed, has them as keyword arguments.
    """
    names = _typed_options[0].names
    return not names or option in names


def next_command(command: Said, brings: Said | None = None) -> Message:
    """Return a command that is worth typing, and what it brings."""
    return message(
        "{command}{% if brings %}   ({brings}){% endif %}", command=command, brings=brings
    )


def again(command: str, changes: Mapping[str, str | None], without: Sequence[str] = ()) -> str:
    """Return the command line that was typed, with other values of some options.

    Parameters
    ----------
    command : str
        That was typed: ``run``, ``experiment run``.
    changes : mapping
        Long options to their values; None: it has none.
    without : sequence of str
        Long options that are left out, with their values.
    """
    words = command.split()
    pieces, rest = _typed(len(words) + 1)
    gone = {
        name for one in (*changes, *without) for name in _typed_options[0].names.get(one, {one})
    }
    kept = _words([piece for piece in pieces if piece.option not in gone])
    added = [one for change in changes.items() for one in change if one is not None]
    return shlex.join(["tare", *words, *kept, *added, *rest])


def separated() -> str | None:
    """Return what to type where options of a measured command may be taken for tare's own.

    None: nothing is measured, or a -- separates it already.
    """
    if sys.argv[1:2] != ["run"]:
        return None
    pieces, rest = _typed(2)
    if rest or any(piece.option == "--application" for piece in pieces):
        return None
    at = next((i for i, piece in enumerate(pieces) if piece.option is None), len(pieces))
    own, measured = (_words(some) for some in (pieces[:at], pieces[at:]))
    if not measured or not shutil.which(measured[0]):
        return "tare run [options] -- command   (what follows -- is the command's own)"
    return shlex.join(["tare", "run", *own, "--", *measured])


def measures_options() -> bool:
    """Whether an option follows a program that is measured, so that it may be the program's."""
    if sys.argv[1:2] != ["run"]:
        return False
    pieces, rest = _typed(2)
    arguments = list(itertools.dropwhile(lambda piece: piece.option is not None, pieces))
    if rest or not arguments or not shutil.which(arguments[0].words[0]):
        return False
    return any(piece.option is not None for piece in arguments)


def _words(pieces: Sequence[_Piece]) -> list[str]:
    return [word for piece in pieces for word in piece.words]


def _typed(first: int) -> tuple[list[_Piece], list[str]]:
    """Divide what was typed from a word on into what is tare's own, and from -- on the rest."""
    words = sys.argv[first:]
    pieces = list(_pieces(iter(words)))
    return pieces, words[len(_words(pieces)) :]


def _pieces(rest: Iterator[str]) -> Iterator[_Piece]:
    for word in rest:
        if word == "--":
            return
        if len(word) < 2 or not word.startswith("-"):
            yield _Piece(None, (word,))
            continue
        # A value may stand in the same word: --budget=1s, -n6.
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        count = _typed_options[0].values.get(name, 0) if word == name else 0
        yield _Piece(name, (word, *itertools.islice(rest, count)))
