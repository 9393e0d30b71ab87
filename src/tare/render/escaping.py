"""Names come from files and from strangers: nothing in them is obeyed where they are shown."""

from __future__ import annotations

import re
from typing import Any

#: What a terminal obeys, what turns the direction of a line, and what no encoding has.
ORDERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: What the runner of a CI obeys in the output of a program.
_COMMANDS = re.compile(r"(?m)^(\s*):(?=:)|#(?=#\[)")
_INDENT = "    "


def harmless(text: str) -> str:
    """Write what would be obeyed as an escape; tabs and line breaks stay."""
    return ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_one_item(text: str) -> str:
    """Do so, and indent each further line: what stands in a text begins no line of its own.

    What the runner of a CI would obey is written as an escape, too.
    """
    indented = re.sub(r"\n(?=\S)", f"\n{_INDENT}", harmless(text))
    return _COMMANDS.sub(lambda found: f"{found[1] or ''}\\x{ord(found[0][-1]):x}", indented)


def on_one_line(text: str) -> str:
    """Do so, and write line breaks and tabs as blanks."""
    return harmless(" ".join(text.split()))


def harmless_data(value: Any) -> Any:
    """Do so with every text in lists and mappings, as of a chart."""
    match value:
        case str():
            return harmless(value)
        case dict():
            return {harmless_data(key): harmless_data(one) for key, one in value.items()}
        case list() | tuple():
            return [harmless_data(one) for one in value]
    return value
