"""Regular expressions on what programs print: RE2's, whose time is linear in any text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

#: A line is what ``^`` and ``$`` are about.
_LINES = "(?m)"


@cache
def groups(pattern: str) -> int:
    """Return how many groups an expression has.

    Raises
    ------
    ValueError
        If it is none, or none of RE2's: those have no look-around and no back references.
    """
    import duckdb

    try:
        _connection().execute("select regexp_matches('', ?)", [_LINES + pattern])
        return re.compile(pattern).groups
    except (duckdb.Error, re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern} is no regular expression: {error}") from error


def first(pattern: str, text: str) -> str | None:
    """Return the first match; None: there is none."""
    return _one("regexp_extract_all(?, ?, 0)[1]", pattern, text)


def last(pattern: str, text: str) -> str | None:
    """Return the group of the last match, or all of it where there is no group."""
    group = 1 if groups(pattern) else 0
    return _one(f"regexp_extract_all(?, ?, {group})[-1]", pattern, text)


def _one(what: str, pattern: str, text: str) -> str | None:
    # What it compares are texts of C.
    given = [text.replace("\0", "\ufffd"), _LINES + pattern]
    (found,) = _connection().execute(f"select {what}", given).fetchone() or (None,)
    return None if found is None else str(found)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})
