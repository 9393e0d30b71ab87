"""Names come from files and from strangers: nothing in them is obeyed where they are shown."""

from __future__ import annotations

import re
from typing import Any

#: What a terminal obeys, what turns the direction of a line, and what no encoding has.
ORDERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def harmless(text: str) -> str:
    """Write what would be obeyed as an escape; tabs and line breaks stay."""
    return ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


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
