"""Do two raters agree? Their files, item by item, as CLOUDNET's survey was checked."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from tare import readers
from tare.errors import InputError
from tare.features.audit.figures import plain
from tare.render.words import sentence
from tare.results.message import Amount, Message, Value, message
from tare.results.report import Entry, Origin, Report
from tare.statistics.kappa import Kappa, cohens_kappa

#: Most ratings and bytes of a file of ratings; a larger file is refused.
_MOST_ITEMS = 1_000_000
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Agreement:
    """How far two raters agree on one column.

    Attributes
    ----------
    column : str
        What was rated.
    kappa : Kappa
    left_out : int
        Items that only one of them has.
    """

    column: str
    kappa: Kappa
    left_out: int

    @property
    def said(self) -> Message:
        """What it means."""
        k = self.kappa
        of: dict[str, Value] = {"column": self.column, "n": k.n, "left_out": self.left_out}
        if k.kappa is None:
            return message(
                "{column}: no kappa, {why} (n = {n}){% if left_out %}. Left out: {left_out} "
                "items that only one has{% endif %}",
                why=k.refusal,
                **of,
            )
        return message(
            "{column}: {word} agreement, kappa {kappa}{% if not interval %} (no interval)"
            "{% endif %}. They agree on {observed} of {n} items; by chance it would be "
            "{expected}{% if left_out %}. Left out: {left_out} items that only one has"
            "{% endif %}",
            kappa=Amount(k.kappa, "1", k.low, k.high),
            interval=k.low is not None,
            word=k.word,
            observed=Amount(k.observed, "share"),
            expected=Amount(k.expected, "share"),
            **of,
        )


def agreements(first: Path, second: Path, confidence: float = 0.95) -> list[Agreement]:
    """Compare the ratings of two raters.

    Parameters
    ----------
    first, second : Path
        Tables with the same header. With one column, each row rates the item of that row; with
        several, the first names the item and each other is rated by itself.
    confidence : float
        Of the interval.

    Raises
    ------
    InputError
        If a file cannot be read, an item is rated twice, or no item or column is common.
    """
    (heads, one), (others, two) = _read(first), _read(second)
    if len(heads) == 1 and len(others) == 1:
        ratings = [[row[0] for row in rows] for rows in (one, two)]
        return [Agreement(heads[0], cohens_kappa(ratings[0], ratings[1], confidence), 0)]
    columns = [c for c in heads[1:] if c in others[1:]]
    if not columns:
        raise InputError(
            f"{first} and {second} have no column of ratings in common",
            f"{first} has {', '.join(heads[1:])}; {second} has {', '.join(others[1:])}",
        )
    a, b = _by_item(first, one), _by_item(second, two)
    common = [item for item in a if item in b]
    if not common:
        raise InputError(
            f"{first} and {second} have no item in common in their first columns",
            "name the items alike in both",
        )
    found = []
    for column in columns:
        i, j = heads.index(column), others.index(column)
        kappa = cohens_kappa(
            [a[item][i] for item in common], [b[item][j] for item in common], confidence
        )
        found.append(Agreement(column, kappa, len(a.keys() | b.keys()) - len(common)))
    return found


def report(found: list[Agreement]) -> Report:
    """Lay out how far two raters agree."""
    kappa = [
        {"column": a.column, **plain(a.kappa), "left_out": a.left_out, "sentence": sentence(a.said)}
        for a in found
    ]
    return Report(
        command="audit",
        figures={"kappa": kappa},
        name="agreement of two raters",
        question=message("Do two raters agree?"),
        entries=tuple(Entry("Kappa", sentence(a.said)) for a in found),
        strip=(),
        sections=(),
        origin=Origin(),
    )


def _read(file: Path) -> tuple[list[str], list[list[str]]]:
    """Read a header and rows; blank lines do not count."""
    readers.check_regular(file)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise InputError(f"{file} is too large for a file of ratings", "one row an item")
        with file.open(encoding="utf-8-sig", newline="") as source:
            rows = [[c.strip() for c in row] for row in csv.reader(source) if any(row)]
    except OSError as error:
        raise InputError(
            f"cannot read {file}: {error.strerror}", "name two files of ratings"
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} is no CSV: {error}", "write it as CSV in UTF-8") from error
    if len(rows) < 2 or len(rows) > _MOST_ITEMS:
        raise InputError(
            f"{file} has {'no' if len(rows) < 2 else 'too many'} ratings below its header",
            "the first line names the columns, each other rates an item",
        )
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{file}, row {number} has {len(row)} columns, the header has {len(rows[0])}",
                "give every item its ratings",
            )
    return rows[0], rows[1:]


def _by_item(file: Path, rows: list[list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row[0] in found:
            raise InputError(f"{file} rates {row[0]!r} twice", "keep one row of each item")
        found[row[0]] = row
    return found
