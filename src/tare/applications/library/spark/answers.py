"""Answers to queries of TPC-DS: made by DuckDB, and compared with those of another engine.

Rows are compared as a multiset, and the sort keys in their order. Where LIMIT cuts through rows
with the same sort keys, any of these rows may be there. What both engines have as integers or
decimals is compared exactly; what one has as a floating-point number, within a tolerance.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

#: Spark rounds the mean of decimals with two digits to six; DuckDB has it as a floating-point
#: number.
ABSOLUTE, RELATIVE = 1e-6, 1e-9
#: As both sort nulls; DuckDB would have them last.
NULLS = "set default_null_order = 'nulls_first_on_asc_last_on_desc'"
#: Of rows with the last sort keys, more than any query has at scale 10.
MOST_TIED = 1_000_000

_EXACT = ("decimal", "hugeint", "bigint", "integer", "int", "smallint", "tinyint")
_DOUBLE = ("double", "float")
_LIMIT = re.compile(r"\blimit\s+(\d+)\s*;?\s*$", re.IGNORECASE)
_DIRECTION = re.compile(r"( asc| desc)?( nulls (first|last))?$", re.IGNORECASE)


def kind(type_name: str) -> str:
    """Return how values of an SQL type are compared: exact, double, or text."""
    name = type_name.lower().partition("(")[0]
    return "exact" if name in _EXACT else "double" if name in _DOUBLE else "text"


def plain(values) -> list:
    """Return a row as JSON has it; decimals are texts."""
    return [
        value.isoformat() if isinstance(value, date)
        else value if value is None or isinstance(value, int | float | str)
        else str(value)
        for value in values
    ]  # fmt: skip


#: A sort key: a column, or two columns and what is made of them.
Key = int | list


def sort_keys(query: str, columns: list[str]) -> list[Key]:
    """Return by what of its columns the result is sorted, up to the first key that is none."""
    query = _LIMIT.sub("", query.strip().rstrip(";"))
    depth, begins = 0, None
    for found in re.finditer(r"[()]|\border\s+by\b", query, re.IGNORECASE):
        if found[0] in "()":
            depth += 1 if found[0] == "(" else -1
        elif depth == 0:
            begins = found.end()
    keys: list[Key] = []
    if begins is None:
        return keys
    names = [_bare(name) for name in columns]
    for item in _split(query[begins:]):
        key = _key(_DIRECTION.sub("", " ".join(item.split())), names)
        if key is None:
            break
        keys.append(key)
    return keys


def _bare(name: str) -> str:
    return re.sub(r'main\.|["`\s]', "", name.lower())


def _key(item: str, names: list[str]) -> Key | None:
    if item.isdigit():
        return int(item) - 1
    if found := re.fullmatch(r"(\w+) - (\w+)", item):
        how, parts = "difference", [found[1], found[2]]
    elif found := re.fullmatch(r"case when .+ = 0 then (\w+) end", item, re.IGNORECASE):
        # The condition is what the query calls lochierarchy, in all queries that sort so.
        how, parts = "if zero", ["lochierarchy", found[1]]
    else:
        name = _bare(item)
        name = name.rpartition(".")[2] if re.fullmatch(r"\w+\.\w+", name) else name
        return names.index(name) if names.count(name) == 1 else None
    if any(names.count(part.lower()) != 1 for part in parts):
        return None
    return [how, *(names.index(part.lower()) for part in parts)]


def _value(row: list, key: Key):
    if isinstance(key, int):
        return row[key]
    how, one, other = key
    if how == "if zero":
        return row[other] if row[one] == 0 else None
    if row[one] is None or row[other] is None:
        return None
    return float(row[one]) - float(row[other])


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def answer(connection, query: str) -> dict:
    """Return DuckDB's answer: columns, rows, sort keys, and the rows that LIMIT may cut off."""
    connection.execute(NULLS)
    done = connection.sql(query.strip().rstrip(";"))
    names, kinds = done.columns, [kind(str(one)) for one in done.types]
    rows = [plain(row) for row in done.fetchall()]
    keys = sort_keys(query, names)
    limit = _LIMIT.search(query)
    head, rest = len(rows), []
    if limit is not None and len(rows) == int(limit[1]):
        last = [_value(rows[-1], key) for key in keys]
        tied = [[_value(row, key) for key in keys] == last for row in rows]
        head = tied.index(True)
        done = connection.execute(_LIMIT.sub("", query))
        every = (plain(row) for row in done.fetchall())
        rest = [row for row in every if [_value(row, key) for key in keys] == last]
        if len(rest) > MOST_TIED:
            raise ValueError(f"{len(rest)} rows with the same sort keys")
        rows[head:], rest = rest[: len(rows) - head], rest[len(rows) - head :]
    return {"kinds": kinds, "rows": rows, "keys": keys, "head": head, "rest": rest}


def difference(expected: dict, kinds: list[str], rows: list[list]) -> str | None:
    """Return why rows are not DuckDB's answer; None: they are.

    Parameters
    ----------
    expected : dict
        What :func:`answer` returned.
    kinds : list of str
        Of the columns, by :func:`kind`.
    rows : list of list
        As :func:`plain` has them, in their order.
    """
    wanted, head = expected["rows"], expected["head"]
    if len(kinds) != len(expected["kinds"]):
        return f"{len(kinds)} columns, not {len(expected['kinds'])}"
    if len(rows) != len(wanted):
        return f"{len(rows)} rows, not {len(wanted)}"
    compared = [_comparison(*both) for both in zip(kinds, expected["kinds"], strict=True)]
    for number, (row, other) in enumerate(zip(rows, wanted, strict=True), 1):
        for key in expected["keys"]:
            one, two = _value(row, key), _value(other, key)
            how = compared[key if isinstance(key, int) else key[2]]
            if not _equal(one, two, "double" if isinstance(one, float) else how):
                return f"row {number} is sorted by {one}, not {two}"
    missing = _unmatched(rows[:head], wanted[:head], compared)
    if missing is None:
        missing = _unmatched(rows[head:], wanted[head:] + expected["rest"], compared)
    return None if missing is None else f"a row of another answer: {missing}"


def _comparison(one: str, other: str) -> str:
    if "text" in (one, other):
        return "text"
    return "double" if "double" in (one, other) else "exact"


def _equal(one, other, how: str) -> bool:
    if one is None or other is None:
        return one is other
    if how == "text":
        return one == other
    if how == "exact":
        return Decimal(one) == Decimal(other)
    one, other = float(one), float(other)
    return one == other or abs(one - other) <= ABSOLUTE + RELATIVE * max(abs(one), abs(other))


def _unmatched(rows: list[list], wanted: list[list], compared: list[str]) -> list | None:
    """Return a row that is not among those that are wanted, each of which counts once."""
    exact = [n for n, how in enumerate(compared) if how != "double"]
    double = [n for n, how in enumerate(compared) if how == "double"]

    def known(row: list) -> tuple:
        return tuple(
            row[n] if row[n] is None or compared[n] == "text" else Decimal(row[n]) for n in exact
        )

    left: dict[tuple, list[list]] = {}
    for row in wanted:
        left.setdefault(known(row), []).append(row)
    for row in rows:
        among = left.get(known(row), [])
        for other in among:
            if all(_equal(row[n], other[n], "double") for n in double):
                among.remove(other)
                break
        else:
            return row
    return None
