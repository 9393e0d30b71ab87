"""Placeholders in commands: ``{name}`` stands for the level of a factor, ``{{`` for a brace."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence

#: Not a factor: the seed of the trial's input, the same for all cells of a block.
SEED = "seed"
#: Of applications: the CPUs that a size gives, and its memory; the machine's where it gives none.
CORES, MEMORY = "cores", "memory_bytes"
GIVEN = (CORES, MEMORY)
#: Not factors either: the addresses of a network's hosts, and a file with one a line.
HOSTS, HOST_FILE = "hosts", "host_file"
#: Of the file in which output is kept: numbers of trial, worker and iteration.
OF_TRIAL = ("trial", "worker", "iteration")
#: Address of the host on which a command or a service itself is.
HOST = "host"


def of_hosts(addresses: Sequence[str], file: str) -> dict[str, str]:
    """Return what the hosts of a network stand for: all of them, a file, and each by its number."""
    each = {f"{HOST}{number}": address for number, address in enumerate(addresses, 1)}
    return {HOSTS: ",".join(addresses), HOST_FILE: file, **each}


def is_of_hosts(name: str) -> bool:
    """Tell whether a placeholder is one that the hosts of a network would stand for."""
    return name in (HOSTS, HOST_FILE) or re.fullmatch(rf"{HOST}[0-9]*", name) is not None


def names(text: str) -> set[str]:
    """Return the placeholders that a text holds.

    Raises
    ------
    ValueError
        If a brace stands alone, or encloses what is no name.
    """
    found = set()
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        raise ValueError("a brace stands alone") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            inside = f"{name}{'!' + conversion if conversion else ''}{':' + form if form else ''}"
            raise ValueError(f"{{{inside}}} is no placeholder")
        found.add(name)
    return found


def literal(text: str) -> str:
    """Return a text in which no brace is a placeholder's."""
    return text.replace("{", "{{").replace("}", "}}")


def literal_but_hosts(text: str) -> str:
    """Return a text in which no brace is a placeholder's but those around a network's hosts."""
    named = rf"({HOSTS}|{HOST_FILE}|{HOST}[0-9]*)"
    return re.sub(rf"\{{\{{{named}\}}\}}", r"{\1}", literal(text))


def fill(text: str, levels: Mapping[str, str]) -> str:
    """Put levels in the place of placeholders, and single braces in that of double ones.

    Raises
    ------
    KeyError
        If a placeholder has no level.
    """
    parts = []
    for literal, name, _, _ in string.Formatter().parse(text):
        parts.append(literal)
        if name is not None:
            parts.append(levels[name])
    return "".join(parts)


def fill_name(name: str, levels: Mapping[str, str]) -> str:
    """Put levels in a file's name, each with ``_`` for ``/``, since a level may be a path."""
    return fill(name, {key: level.replace("/", "_") for key, level in levels.items()})
