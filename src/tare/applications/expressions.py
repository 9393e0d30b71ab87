"""Regular expressions on what programs print: RE2's, whose time is linear in any text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

#: ``^`` and ``$`` match at every line.
_LINES = "(?m)"


@cache
def groups(pattern: str) -> int:
    """Return how many groups an expression has.

    Raises
    ------
    ValueError
        If the expression is not valid in Python or in RE2, which has no look-around and no back
        references.
    """
    import re2

    try:
        _compiled(pattern)
        return re.compile(pattern).groups
    except (re2.error, re.error, RecursionError, OverflowError, UnicodeError) as error:
        raise ValueError(f"{pattern} is no regular expression: {error}") from error


def first(pattern: str, text: str) -> str | None:
    """Return the first match; None: there is none."""
    found = _compiled(pattern).search(_encoded(text))
    return None if found is None else found.group().decode(errors="replace")


def last(pattern: str, text: str) -> str | None:
    """Return the first group of the last match; the whole match if the pattern has no group.

    Matches do not overlap, and none is empty right behind another one. A group that is not a part
    of the match is empty.

    Returns
    -------
    str or None
        None if the pattern does not match.
    """
    group = 1 if groups(pattern) else 0
    found, end = None, -1
    for match in _compiled(pattern).finditer(_encoded(text)):
        begin, last_end = match.span()
        # Python's rule, not RE2's, lets an empty match follow another one directly.
        if last_end > begin or begin != end:
            found = match
        end = last_end
    return None if found is None else (found.group(group) or b"").decode(errors="replace")


def _encoded(text: str) -> bytes:
    """Return a text in UTF-8, in which matches are found without counting characters."""
    return text.encode(errors="replace")


@cache
def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile((_LINES + pattern).encode(), options)
