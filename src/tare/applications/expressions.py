"""Regular expressions on what programs print: RE2's, whose time is linear in any text."""

from __future__ import annotations

import re
from functools import cache

#: ``^`` and ``$`` match at every line.
_LINES = "(?m)"
#: Marks what was matched; texts have it replaced.
_MARK = b"\0"


@cache
def groups(pattern: str) -> int:
    """Return how many groups an expression has.

    Raises
    ------
    ValueError
        If the expression is not valid in Python or in RE2, which has no look-around and no back
        references.
    """
    import pyarrow as pa

    try:
        _matches(pattern, 0, "")
        return re.compile(pattern).groups
    except (pa.ArrowInvalid, re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern} is no regular expression: {error}") from error


def first(pattern: str, text: str) -> str | None:
    """Return the first match; None: there is none."""
    return next(iter(_matches(pattern, 0, text)), None)


def last(pattern: str, text: str) -> str | None:
    """Return the first group of the last match; the whole match if the pattern has no group.

    Matches do not overlap, and none is empty right behind another one. A group that is not a part
    of the match is empty.

    Returns
    -------
    str or None
        None: there is no match.
    """
    found = _matches(pattern, 1 if groups(pattern) else 0, text)
    return found[-1] if found else None


def _matches(pattern: str, group: int, text: str) -> list[str]:
    """Return a group of every match, the whole match for 0, in the order of the text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mark = _MARK.decode()
    marked = pc.replace_substring_regex(
        pa.scalar(text.replace(mark, "\ufffd"), pa.large_string()),
        pattern=_LINES + pattern,
        replacement=rf"{mark}\{group}{mark}",
    )
    # An expression can match a part of a character.
    parts = marked.cast(pa.large_binary()).as_py().split(_MARK)
    return [part.decode(errors="replace") for part in parts[1::2]]
