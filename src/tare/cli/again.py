"""The command that was typed, with a change: what to type next."""

from __future__ import annotations

import contextlib
import itertools
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tare import units
from tare.errors import TareError, Typed
from tare.options.option import Option
from tare.options.parsing import Piece, is_option, is_right, pieces

#: Options with a file that holds the answer: that of another question would replace it, or mix in.
FILES = ("--json", "--save", "--report", "--markdown", "--junit", "--export-json")


#: Budgets that are worth typing, above the default.
_BUDGETS_S = (20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
#: The options of the command that was typed last, by each of their names.
_known: dict[str, Option] = {}
#: Words that name the command that was typed last, and those after them.
_line: list[tuple[str, ...]] = [(), ()]


def remember(
    options: Mapping[str, Option], command: Sequence[str] = (), words: Sequence[str] = ()
) -> None:
    """Remember the typed command: its options, its name and the words after it."""
    _known.clear()
    _known.update(options)
    _line[:] = tuple(command), tuple(words)


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


@contextlib.contextmanager
def completing() -> Iterator[None]:
    """Complete the hints of errors that pass."""
    try:
        yield
    except TareError as error:
        error.hint = completed(error.hint)
        raise


def completed(hint: str | None) -> str | None:
    """Return the command line that was typed as a hint changes it, in its place in the line.

    Words, whole command lines, and options that the command does not have stay as they are.
    """
    command, words = _line
    if not isinstance(hint, Typed) or not command:
        return hint
    if hint.command == "sudo":
        # root's PATH may have no tare, or another one.
        program = Path(sys.argv[0])
        program = program.absolute() if program.name == "tare" else Path("tare")
        return hint.replaced(shlex.join(["sudo", str(program), *command[1:], *words]))
    if not hint.startswith("-"):
        return hint
    changes: dict[str, list[Piece]] = {}
    for piece in pieces(shlex.split(hint.command), _known):
        if piece.option is None:
            return hint
        changes.setdefault(piece.option.name, []).append(piece)
    found = _own(words)
    line = list(found)
    # What is new begins the line, in the order of the hint.
    for name, new in reversed(changes.items()):
        given = [piece for piece in found if piece.option and piece.option.name == name]
        at = next((i for i, piece in enumerate(line) if piece in given), 0)
        line = [piece for piece in line if piece not in given]
        line[at:at] = new
    rest = words[len(_words(found)) :]
    return hint.replaced(shlex.join([*command, *_words(line), *rest]))


def _own(words: Sequence[str]) -> list[Piece]:
    """Divide words up to ``--``; an option that stands in place of a value is none."""
    found: list[Piece] = []
    at = 0
    for piece in pieces(words, _known):
        # The first value may stand in the option's own word.
        first = len(piece.words) - len(piece.values or ())
        for place, word in enumerate(piece.words):
            if place and piece.option and is_option(word, place - first, piece.option, _known):
                bare = piece._replace(words=piece.words[:place], values=None)
                return [*found, bare, *_own(words[at + place :])]
        found.append(piece)
        at += len(piece.words)
    return found


def budget(needed_s: float) -> str:
    """Return the smallest usual budget of at least ``needed_s`` seconds, as it is typed."""
    return units.duration(round(next((s for s in _BUDGETS_S if s >= needed_s), needed_s)))


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
        return "write -- between tare's options and the command, whose own options follow it"
    return Typed(shlex.join(["tare", "run", *own, "--", *measured]))


def as_one_or_several(words: Sequence[str]) -> Typed:
    """Return what to type to have words measured as several commands, and as one."""
    from tare.options.measuring import SessionOptions
    from tare.options.option import named

    found, _ = _typed(2)
    own = _words([piece for piece in found if piece.name])
    shared = all(piece.name in named(SessionOptions) for piece in found if piece.name)
    several = ["tare", "compare"] if shared else ["tare", "run", "--shell", "none"]
    one = shlex.join(["tare", "run", *own, "--", *words])
    return Typed(
        f"{shlex.join([*several, *own, *map(shlex.quote, words)])}   "
        f"(several commands; one and its arguments: {one})"
    )


def measures_options() -> bool:
    """Whether an option follows a program that is measured, so that it may be the program's.

    No, where one before the program is wrong itself, or where only the last of several behind
    it may be wrong, and tare has that one.
    """
    if sys.argv[1:2] != ["run"]:
        return False
    found, rest = _typed(2)
    own = list(itertools.takewhile(lambda piece: bool(piece.name), found))
    arguments = found[len(own) :]
    if rest or not arguments or not shutil.which(arguments[0].words[0]):
        return False
    behind = [piece for piece in arguments if piece.name]
    if len(behind) > 1 and all(map(is_right, behind[:-1])) and behind[-1].option is not None:
        return False
    return all(map(is_right, own)) and bool(behind)


def _words(pieces: Sequence[Piece]) -> list[str]:
    return [word for piece in pieces for word in piece.words]


def _typed(first: int) -> tuple[list[Piece], list[str]]:
    """Divide what was typed from a word on into what is tare's own, and from -- on the rest."""
    words = sys.argv[first:]
    found = list(pieces(words, _known))
    return found, words[len(_words(found)) :]
