"""Divides a command line into options and arguments, and reads their values."""

from __future__ import annotations

import difflib
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tare.errors import Typed, UsageError
from tare.options.option import Option, Options, named
from tare.units import QuantityError

Given = TypeVar("Given", bound=Options)


class Piece(NamedTuple):
    """Words that belong together: an option with its values, or an argument."""

    #: As it is named; empty: an argument.
    name: str
    words: tuple[str, ...]
    #: None: an argument, or no option of the command.
    option: Option | None
    #: Of the option; None: no value follows.
    values: tuple[str, ...] | None = None


def pieces(words: Sequence[str], options: Mapping[str, Option]) -> Iterator[Piece]:
    """Divide words, up to ``--``; ``options`` are the command's by each of their names."""
    rest = iter(words)
    before: Option | None = None
    for word in rest:
        if word == "--":
            return
        if len(word) < 2 or not word.startswith("-"):
            if before is not None and before.more and re.fullmatch(before.more, word):
                yield Piece(before.long, (word,), before, (word,))
            else:
                before = None
                yield Piece("", (word,), None)
            continue
        # A value may stand in the same word: --budget=1s, -n6.
        if word.startswith("--"):
            name, is_attached, attached = word.partition("=")
        else:
            name, attached = word[:2], word[2:].removeprefix("=")
            is_attached = word[2:]
        option = before = options.get(name)
        if option is None or option.is_flag or name in option.spellings:
            yield Piece(name, (word,), option, (attached,) if is_attached else None)
        elif is_attached:
            more = tuple(itertools.islice(rest, option.words - 1))
            yield Piece(name, (word, *more), option, (attached, *more))
        elif option.bare is not None:
            yield Piece(name, (word,), option)
        else:
            values = tuple(itertools.islice(rest, option.words))
            yield Piece(name, (word, *values), option, values)


def divided(
    words: Sequence[str], options: Mapping[str, Option]
) -> tuple[list[Piece], tuple[str, ...] | None]:
    """Return the pieces of a command line, and what follows ``--``; None: there is none."""
    found = list(pieces(words, options))
    count = sum(len(piece.words) for piece in found)
    return found, tuple(words[count + 1 :]) if count < len(words) else None


def parse(path: str, options: type[Given], words: Sequence[str]) -> Given:
    """Return the values that a command was given.

    Parameters
    ----------
    path : str
        What was typed up to the command, for errors.
    options : type
    words : sequence of str
        What was typed after that.

    Raises
    ------
    UsageError
        If there is no such option, a value is missing or not of its kind, an argument is missing,
        or there are too many arguments.
    """
    known = named(options)
    found, rest = divided(words, known)
    values: dict[str, Any] = {}
    for piece in found:
        if not piece.name:
            continue
        option = piece.option
        if option is None:
            raise _unknown(path, piece, words, found, options)
        try:
            value = _value(option, piece, known)
        except UsageError as error:
            if option.otherwise in known and _is_word(piece):
                error.hint = _otherwise(path, piece, error.hint, found, rest)
            raise
        if option.repeatable:
            values.setdefault(option.name, []).append(value)
        elif option.name in values and not option.is_flag:
            raise _too_often(option, found)
        else:
            values[option.name] = value
    arguments = [piece.words[0] for piece in found if not piece.name]
    if arguments and rest and any(one.before_dashes for one in options.records.values()):
        raise _before_dashes(path, options, found, rest)
    return options(**values, **_arguments(path, options, arguments, rest))


def _unknown(
    path: str, wrong: Piece, words: Sequence[str], found: Sequence[Piece], options: type[Options]
) -> UsageError:
    name = wrong.name
    hint: str | None = options.foreign.get(name)
    if hint is None:
        # The contrary of what was typed is not meant.
        bare = {
            one.lstrip("-"): one
            for one in named(options)
            if one.startswith("--") and one.startswith("--no-") == name.startswith("--no-")
        }
        close = [one for one in bare if one.startswith(name[2:])] if len(name) > 3 else []
        close = close or difflib.get_close_matches(name.lstrip("-"), bare, n=1, cutoff=0.7)
        hint = f"did you mean {', or '.join(bare[one] for one in close[:3])}?"
        if len(close) < 2:
            hint = Typed(bare[close[0]] if close else f"{path} --help")
    if isinstance(hint, Typed) and hint.startswith("-"):
        # Another name of the same option, in its place; its value may follow in the same word.
        at = sum(len(piece.words) for piece in itertools.takewhile(lambda p: p is not wrong, found))
        meant = hint + words[at].removeprefix(name)
        hint = Typed(shlex.join([*path.split(), *words[:at], meant, *words[at + 1 :]]))
    return UsageError(f"{path} has no option {name}", hint)


def _too_often(option: Option, found: Sequence[Piece]) -> UsageError:
    count = sum(1 for one in found if one.option is option)
    if option.table == "factors" and not option.once:
        # As if it could be repeated, as --platform can.
        new = ["tare", "experiment", "new", "mine.toml"]
        for one in found:
            if one.option is not None and one.option.name == "application":
                new += [one.option.long, *(one.values or ())]
        hint: str = Typed(
            f"{shlex.join(new)}   (a list of {option.key} under [factors]; or give only one)"
        )
    else:
        last = [one for one in found if one.option is option][-1]
        hint = option.once or Typed(shlex.join(last.words))
    return UsageError(f"{option.long} is given {count} times, and takes one value", hint)


def _is_word(piece: Piece) -> bool:
    """Whether the value after a short option begins with a letter."""
    value = (piece.values or ("",))[0]
    return len(piece.name) == 2 and value[:1].isalpha()


def _otherwise(
    path: str,
    wrong: Piece,
    usual: str | None,
    found: Sequence[Piece],
    rest: tuple[str, ...] | None,
) -> Typed:
    """Return what to type where words stand in place of a number: another option takes them."""
    other = wrong.option.otherwise if wrong.option else ""
    words = [piece for piece in found if piece.option is wrong.option and _is_word(piece)]
    if len(words) == 1:
        return Typed(f"{usual}   (for a name: {shlex.join([other, *(wrong.values or ())])})")
    line = path.split()
    for piece in found:
        line += (other, *(piece.values or ())) if piece in words else piece.words
    return Typed(shlex.join([*line, *([] if rest is None else ["--", *rest])]))


def _before_dashes(
    path: str, options: type[Options], found: Sequence[Piece], rest: Sequence[str]
) -> UsageError:
    words = [piece.words[0] for piece in found if not piece.name]
    own = [word for piece in found if piece.name for word in piece.words]
    meant = next(one.before_dashes for one in options.records.values() if one.before_dashes)
    given = any(piece.option is not None and piece.option.long == meant for piece in found)
    as_option = [] if given else [meant, words[0] if len(words) == 1 else shlex.join(words)]
    line = shlex.join([*path.split(), *own, *as_option, "--", *rest])
    whole = shlex.join([*path.split(), *own, "--", *words, "--", *rest])
    return UsageError(
        f"{path} measures the command after --, and {shlex.join(words)!r} stands before it",
        Typed(f"{line}   (where that is one command: {whole})"),
    )


def is_right(piece: Piece) -> bool:
    """Whether there is such an option, and its value is one."""
    try:
        return piece.option is not None and bool([_value(piece.option, piece, {})])
    except UsageError:
        return False


def _value(option: Option, piece: Piece, known: Mapping[str, Option]) -> Any:
    values = piece.values
    if option.is_flag:
        if values is not None:
            raise UsageError(f"{piece.name} takes no value", Typed(piece.name))
        return piece.name != option.negative
    if piece.name in option.spellings:
        if values is not None:
            raise UsageError(f"{piece.name} takes no value", Typed(piece.name))
        return read(option, option.spellings[piece.name])
    if values is None:
        return read(option, option.bare or "")
    # What is attached to the option is meant as its value: --name=-n.
    apart = values if len(piece.words) > 1 else ()
    numbered = enumerate(apart)
    other = next((value for at, value in numbered if is_option(value, at, option, known)), None)
    if len(values) < option.words or other is not None:
        wants = "has no value" if option.words == 1 else f"takes {option.placeholder}"
        if other is None or other == "--":
            raise UsageError(f"{option.long} {wants}", example_of(option))
        raise UsageError(
            f"{option.long} {wants}: {other} is an option", _attached(option, values, other)
        )
    return read(option, *values)


def is_option(value: str, at: int, option: Option, known: Mapping[str, Option]) -> bool:
    """Whether the value of an option is another option; of several, the first may be ``-n``."""
    is_name = at == 0 and option.words > 1
    return value == "--" or (value in known and (value.startswith("--") or not is_name))


def _attached(option: Option, values: Sequence[str], other: str) -> str:
    """Return what to type where a value of an option looks like another option."""
    try:
        option.kind.typed(other)
    except ValueError:
        return example_of(option)
    if option.words > 1:
        return example_of(option)
    written = f"{option.long} {option.placeholder}"
    return f"write {written}, or {option.long}={other} if that is its value"


def example_of(option: Option, example: str = "") -> str:
    """Return an option with a value, as it is typed; empty: what is usual for its kind."""
    sign = " " if option.bare is None else "="
    value = example or option.kind.example
    if not value:
        return f"write {option.long}{sign}{option.placeholder}"
    return Typed(f"{option.long}{sign}{shlex.quote(value) if option.words == 1 else value}")


def read(option: Option, *texts: str) -> Any:
    """Return the value of what was typed after an option, or as an argument.

    Raises
    ------
    UsageError
        If it is none of its kind.
    """
    found = []
    name = option.placeholder if option.is_argument else option.long
    for text in texts:
        # Python represents bytes of an argument that are not UTF-8 as lone surrogates.
        if not option.is_argument and text.encode(errors="replace").decode() != text:
            raise UsageError(
                f"{name} {text!r} is not UTF-8, and results are kept as text",
                "name a link to it: ln -s FILE /tmp/name",
            )
        try:
            found.append(option.kind.typed(text))
        except ValueError as error:
            expected = option.kind.typing or option.kind.expected
            why, example = f"is not possible; expected {expected}", option.kind.example
            if isinstance(error, QuantityError):
                why, example = error.why, error.example
            hint = None if option.is_argument else example_of(option, example)
            raise UsageError(f"{name} {text!r} {why}", hint) from None
    return found[0] if option.words == 1 else tuple(found)


def _arguments(
    path: str, options: type[Options], words: list[str], rest: tuple[str, ...] | None
) -> dict[str, Any]:
    """Return the values of arguments; what follows ``--`` is one of them, or is like the others."""
    records = [one for one in options.records.values() if one.is_argument]
    separate = next((one for one in records if one.after_dashes), None)
    left = words if separate is not None else [*words, *(rest or ())]
    values: dict[str, Any] = {}
    if separate is not None and rest is not None:
        values[separate.name] = [read(separate, word) for word in rest]
    for record in records:
        if record is separate:
            continue
        count = len(left) if record.repeatable else 1
        taken, left = left[:count], left[count:]
        if taken:
            some = [read(record, word) for word in taken]
            values[record.name] = some if record.repeatable else some[0]
        elif record.is_required:
            raise UsageError(f"{path} needs {record.placeholder}", Typed(f"{path} --help"))
    if left:
        raise UsageError(f"{path} takes no {left[0]!r} there", Typed(f"{path} --help"))
    return values
