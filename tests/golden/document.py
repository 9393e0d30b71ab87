"""Outputs of commands as short texts that are read, stored, and compared by value."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import math
import re
import zlib
from collections.abc import Iterator
from typing import Any

#: Longest line on which a list or an object is written whole.
_WIDTH = 110
#: Longest list of objects and of single values that is kept whole.
_MAX_ROWS, _MAX_VALUES = 6, 12
#: Items kept at the start of a longer list; its last one is kept as well.
_FIRST = 2
#: Lists with one entry per question or check: each entry is a separate result.
_WHOLE = {"sections", "tables", "columns", "checks", "charts", "comparisons"}
#: Drawn from the values of tables, which are kept.
_CHART = "spec"
#: Key of what replaces the items between.
_OMITTED = "…"
#: Significant digits of stored numbers, more than the comparison uses.
_DIGITS = 9
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


class _Page(html.parser.HTMLParser):
    """The text of a page: a line for each row of a table, and for each other piece of text."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._row: list[str] | None = None
        self._invisible = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._invisible += tag in ("script", "style", "svg")
        if tag == "tr":
            self._row = []

    def handle_endtag(self, tag: str) -> None:
        self._invisible -= tag in ("script", "style", "svg")
        if tag == "tr" and self._row is not None:
            self.lines.append(" | ".join(self._row))
            self._row = None

    def handle_data(self, data: str) -> None:
        if not self._invisible and data.strip():
            lines = self.lines if self._row is None else self._row
            lines.append(" ".join(data.split()))


def page_text(text: str) -> str:
    """Return the visible text of a page."""
    page = _Page()
    page.feed(text)
    return "\n".join(page.lines) + "\n"


def csv_rows(text: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV file, numbers as such."""
    return [
        {key: _value(field) for key, field in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _value(field: str) -> Any:
    try:
        return int(field)
    except ValueError:
        pass
    try:
        return float(field)
    except ValueError:
        return field


def shortened(value: Any, key: str = "") -> Any:
    """Return a JSON value with rounded numbers, and without the middle of long lists.

    The omitted items are replaced by their number and a digest of each of their fields, in which
    a changed value shows.
    """
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{_DIGITS}g}")
    if key == _CHART:
        return _digest([leaf for _, leaf in _leaves(value)])
    if isinstance(value, dict):
        return {name: shortened(one, name) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    has_containers = any(isinstance(one, dict | list) for one in value)
    most = _MAX_ROWS if has_containers else _MAX_VALUES
    if len(value) <= most or key in _WHOLE:
        return [shortened(one) for one in value]
    omitted = value[_FIRST:-1]
    shown = [shortened(one) for one in (*value[:_FIRST], value[-1])]
    return [*shown[:-1], {_OMITTED: len(omitted), **_digests(omitted)}, shown[-1]]


def _digests(items: list[Any]) -> dict[str, Any]:
    fields: dict[str, list[Any]] = {}
    for item in items:
        for path, value in _leaves(item):
            fields.setdefault(path, []).append(value)
    return {path: _digest(values) for path, values in fields.items()}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for one in value:
            yield from _leaves(one, f"{path}[]")
    else:
        yield path or "value", value


def _digest(values: list[Any]) -> Any:
    """Return one value that changes with each of some values.

    Of numbers it is a sum with weights. It only has positive terms, so that rounding changes it
    as little as it changes the numbers, and is continuous. Of others it is their only value, or a
    checksum.
    """
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    others = [one for one in values if isinstance(one, bool) or not isinstance(one, int | float)]
    parts: list[Any] = []
    if numbers:
        # Places that are near each other, and signs, have different weights.
        terms = [
            (7 + i % 7) * (3 * x if x > 0 else -2 * x) for i, x in enumerate(numbers) if x == x
        ]
        total = sum(terms) if all(isinstance(one, int) for one in terms) else math.fsum(terms)
        parts.append(shortened(total))
    if others:
        texts = [json.dumps(one, ensure_ascii=False) for one in others]
        only = others[0] if len(set(texts)) == 1 else None
        if only is not None and len(texts[0]) < 40:
            parts.append(only)
        elif any(one != "null" for one in texts):
            parts.append(f"crc {zlib.crc32(chr(10).join(texts).encode()):08x}")
        if numbers:
            parts.append(len(numbers))
    return parts[0] if len(parts) == 1 else parts or None


def written(value: Any, indent: str = "", key: str = "") -> str:
    """Write a JSON value: whatever fits on a line, on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(key) + len(flat) <= _WIDTH or not isinstance(value, dict | list):
        return flat
    inner = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + written(one, inner) for one in value) + f"\n{indent}]"
    items = [(json.dumps(name, ensure_ascii=False) + ": ", one) for name, one in value.items()]
    if _OMITTED in value:
        return "{\n" + _filled([k + written(one) for k, one in items], inner) + f"\n{indent}}}"
    lines = [f"{inner}{name}{written(one, inner, name)}" for name, one in items]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _filled(words: list[str], indent: str) -> str:
    lines = [indent + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 2 <= _WIDTH:
            lines[-1] += f", {word}"
        else:
            lines[-1] += ","
            lines.append(indent + word)
    return "\n".join(lines)


def settled(before: Any, after: Any) -> Any:
    """Return ``after``, with the values of ``before`` where they differ by rounding only.

    Processors and versions of libraries sum in different orders.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return {k: settled(before[k], v) if k in before else v for k, v in after.items()}
    if isinstance(before, list) and isinstance(after, list):
        both = [settled(x, y) for x, y in zip(before, after, strict=False)]
        return both + after[len(both) :]
    if isinstance(before, float) and isinstance(after, float):
        return before if _close(before, after) else after
    if isinstance(before, str) and isinstance(after, str):
        return settled_text(before, after)
    return after


def settled_text(before: str, after: str) -> str:
    """Return the text ``after``, or ``before`` if only numbers differ, by rounding."""
    if before == after or _NUMBER.sub("#", before) != _NUMBER.sub("#", after):
        return after
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=True)
    return before if all(_close(float(x), float(y)) for x, y in pairs) else after


def _close(x: float, y: float) -> bool:
    return math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-12)
