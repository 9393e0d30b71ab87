"""What a shell may complete a command line with: commands, options, and values of options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tare.errors import UsageError
from tare.options.command import Command, Entry, Group, find
from tare.options.help import summary
from tare.options.option import Option, named
from tare.options.parsing import Piece, divided

#: Shell to its completion script; the shell completes file names where tare proposes nothing.
SCRIPTS = {
    "bash": """_tare() {
    local IFS=$'\\n'
    COMPREPLY=($("${COMP_WORDS[0]}" --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _tare tare tare-bench
""",
    "zsh": """#compdef tare tare-bench
_tare() {
    local -a found
    found=("${(@f)$(${words[1]} --complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then _describe tare found; else _files; fi
}
compdef _tare tare tare-bench
""",
    "fish": """function __tare
    tare --complete fish (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c tare -a '(__tare)'
complete -c tare-bench -a '(__tare)'
""",
}
#: What may be typed, and what it means: of a command, where its summary is.
Candidate: TypeAlias = tuple[str, str | Entry]
#: Separator between a candidate and its description.
_SEPARATORS = {"bash": "", "zsh": ":", "fish": "\t"}


def answer(root: Group, shell: str, words: Sequence[str]) -> str:
    """Return the lines that a shell's script reads; the last of ``words`` is to be completed."""
    separator = _SEPARATORS.get(shell, "")
    lines = []
    whole = _joined(words)
    # bash replaces its own last word alone, which begins after = or :.
    own = "" if not words or words[-1] in ("=", ":") else words[-1]
    known = whole[-1].removesuffix(own)
    for candidate, meaning in candidates(root, whole):
        text = candidate.removeprefix(known)
        text = text.replace(":", "\\:") if shell == "zsh" else text
        if separator:
            told = summary(meaning.load().help) if isinstance(meaning, Entry) else meaning
            text = f"{text}{separator}{told}"
        lines.append(text)
    return "".join(f"{line}\n" for line in lines)


def _joined(words: Sequence[str]) -> list[str]:
    """Undo what bash does: it takes ``--size=2c`` and ``ssh:box`` for three words."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        if found and (word == ":" or (word == "=" and found[-1].startswith("--"))):
            found[-1] += word + next(rest, "")
        else:
            found.append(word)
    return found or [""]


def candidates(root: Group, words: Sequence[str]) -> Iterator[Candidate]:
    """Return what may stand in the place of the last word, and what each means."""
    *before, begun = words
    try:
        _, found, used = find(root, before)
    except UsageError:
        return
    if isinstance(found, Group):
        yield from _of_group(found, begun)
        return
    pieces, rest = divided(before[used:], named(found.options))
    if rest is not None:
        return
    name, is_attached, value = begun.partition("=")
    if (waiting := _without_value(pieces)) is not None:
        yield from _values(waiting, begun)
    elif is_attached and (option := found.names.get(name)) is not None:
        yield from ((f"{name}={one}", meaning) for one, meaning in _values(option, value))
    elif begun.startswith("-"):
        yield from _options(found, pieces, begun)
    else:
        yield from _others(root, before[:used], found, begun)
        yield from _values(_argument(found, pieces), begun)


def _without_value(pieces: Sequence[Piece]) -> Option | None:
    """Return the option whose value is to follow, if the last piece is one."""
    if not pieces or pieces[-1].option is None or pieces[-1].values is None:
        return None
    option = pieces[-1].option
    return option if len(pieces[-1].values) < option.words else None


def _argument(command: Command, pieces: Sequence[Piece]) -> Option | None:
    """Return the argument that is to follow, if there is one."""
    records = [one for one in command.options.records.values() if one.is_argument]
    given = sum(not piece.name for piece in pieces)
    if given < len(records):
        return records[given]
    return records[-1] if records and records[-1].repeatable else None


def _options(command: Command, pieces: Sequence[Piece], begun: str) -> Iterator[Candidate]:
    given = {piece.option.name for piece in pieces if piece.option is not None}
    for option in command.options.records.values():
        if not option.is_argument and (option.repeatable or option.name not in given):
            name = option.names[-1]
            if name.startswith(begun):
                yield name, option.help
    if "--help".startswith(begun):
        yield "--help", "Print what the command is for."


def _others(root: Group, words: Sequence[str], command: Command, begun: str) -> Iterator[Candidate]:
    """Return the other commands of a group whose standard command this is."""
    group: Command | Group = root
    for word in words:
        group = group.commands[word].load() if isinstance(group, Group) else group
    if isinstance(group, Group):
        for name, meaning in _of_group(group, begun):
            if group.commands[name].load() is not command:
                yield name, meaning


def _of_group(group: Group, begun: str) -> Iterator[Candidate]:
    if begun.startswith("-"):
        for option in group.options.records.values():
            if option.long.startswith(begun):
                yield option.long, option.help
        return
    for name, entry in group.commands.items():
        if name.startswith(begun) and not entry.is_hidden:
            yield name, entry


def _values(option: Option | None, begun: str) -> Iterator[Candidate]:
    """Return values of an option; those with blanks would have to be quoted."""
    for value in () if option is None else option.kind.values():
        if value.startswith(begun) and " " not in value:
            yield value, ""
