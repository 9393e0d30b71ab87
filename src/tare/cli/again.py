"""The command that was typed, with a change: what to type next."""

from __future__ import annotations

import itertools
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence

from tare.options.option import Option
from tare.options.parsing import Piece, pieces

#: Options with a file that holds the answer: that of another question would replace it, or mix in.
FILES = ("--json", "--save", "--report", "--markdown", "--junit", "--export-json")


#: The options of the command that was typed last, by each of their names.
_known: dict[str, Option] = {}


def remember(options: Mapping[str, Option]) -> None:
    """Remember which options the command has that was typed."""
    _known.clear()
    _known.update(options)


def offers(option: str) -> bool:
    """Return whether the command that was typed has an option.

    A call from Python, before which no command was typed, has them as keyword arguments.
    """
    return not _known or option in _known


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
    found, rest = _typed(len(words) + 1)
    gone: set[str] = set()
    for one in (*changes, *without):
        gone.update(_known[one].all_names if one in _known else (one,))
    kept = _words([piece for piece in found if piece.name not in gone])
    added = [one for change in changes.items() for one in change if one is not None]
    return shlex.join(["tare", *words, *kept, *added, *rest])


def separated() -> str | None:
    """Return what to type where options of a measured command may be taken for tare's own.

    None: nothing is measured, or a -- separates it already.
    """
    if sys.argv[1:2] != ["run"]:
        return None
    found, rest = _typed(2)
    if rest or any(piece.name == "--application" for piece in found):
        return None
    at = next((i for i, piece in enumerate(found) if not piece.name), len(found))
    own, measured = (_words(some) for some in (found[:at], found[at:]))
    if not measured or not shutil.which(measured[0]):
        return "tare run [options] -- command   (what follows -- is the command's own)"
    return shlex.join(["tare", "run", *own, "--", *measured])


def as_one_or_several(words: Sequence[str]) -> str:
    """Return what to type to have words measured as several commands, and as one, in two lines."""
    from tare.options.measuring import SessionOptions
    from tare.options.option import named

    found, _ = _typed(2)
    own = _words([piece for piece in found if piece.name])
    shared = all(piece.name in named(SessionOptions) for piece in found if piece.name)
    several = ["tare", "compare"] if shared else ["tare", "run", "--shell", "none"]
    return (
        f"{shlex.join([*several, *own, *map(shlex.quote, words)])}   (several commands)\n"
        f"{shlex.join(['tare', 'run', *own, '--', *words])}   (one command and its arguments)"
    )


def measures_options() -> bool:
    """Whether an option follows a program that is measured, so that it may be the program's."""
    if sys.argv[1:2] != ["run"]:
        return False
    found, rest = _typed(2)
    arguments = list(itertools.dropwhile(lambda piece: bool(piece.name), found))
    if rest or not arguments or not shutil.which(arguments[0].words[0]):
        return False
    return any(piece.name for piece in arguments)


def _words(pieces: Sequence[Piece]) -> list[str]:
    return [word for piece in pieces for word in piece.words]


def _typed(first: int) -> tuple[list[Piece], list[str]]:
    """Divide what was typed from a word on into what is tare's own, and from -- on the rest."""
    words = sys.argv[first:]
    found = list(pieces(words, _known))
    return found, words[len(_words(found)) :]
