"""Tables of many thousand rows in a page: filtered and sorted there, by a script inside it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tare.render.tables import ABSENT, NumberFormat
from tare.render.words import listing, paragraph, text
from tare.results.message import Said
from tare.units import BYTES, LADDERS, TIMES

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["text", "choice", "number"]
#: How a choice looks: its colour and its sign.
Look = Literal["good", "wrong", "limit", "crash", "unknown"]

#: Rows that are shown without scripts, and on paper.
FEW = 100
#: Ids stand in the address of the page.
_ID = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Width of a column in characters: room for a filter at least, and what is cut at most.
_LEAST = {"text": 12, "choice": 13, "number": 9}
_MOST_CHARACTERS = 48
#: Longer headings are broken into lines.
_MOST_OF_HEADING = 14
#: Characters that the space between columns is wide, that before a group, the sign of a choice.
_GAP, _INDENT, _SIGN = 4, 2, 3


# Compared and hashed by identity, as arrays are.
@dataclass(frozen=True, eq=False)
class LargeColumn:
    """A column with its values, one a row.

    Attributes
    ----------
    id : str
        Names the column in the page's address: small letters, digits and "_".
    heading : Said
    kind : str
        ``text``; ``choice``: text of few distinct values; ``number``.
    values : sequence
        As the kind says. None and NaN are unknown values.
    unit : str
        Of numbers as stored: ``ns``, ``bytes``, ``share`` …, ``1`` for none.
    group : Said or None
        Heading above this column and its neighbours of the same group.
    looks : mapping
        How choices look. They are listed in its order, others after them.
    """

    id: str
    heading: Said
    kind: Kind
    values: Sequence[Any] | np.ndarray[Any, Any]
    unit: str = "1"
    group: Said | None = None
    looks: Mapping[str, Look] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LargeTable:
    """A table that a page has once, as data.

    It belongs to pages alone: a saved report is read by machines, which have the export.

    Attributes
    ----------
    id : str
        Names the table in the page's address, like those of the columns.
    title : Said
    columns : tuple of LargeColumn
    differing : tuple of tuple of str
        Ids of columns of choices that are compared with each other. Rows where the known values of
        some of these differ stand first, and a filter shows only these.
    only_differing : bool
        Whether that filter is on when the page is opened.
    note : Said or None
    """

    id: str
    title: Said
    columns: tuple[LargeColumn, ...]
    differing: tuple[tuple[str, ...], ...] = ()
    only_differing: bool = False
    note: Said | None = None

    @property
    def compared(self) -> set[str]:
        """Ids of all columns that are compared with others."""
        return {*itertools.chain(*self.differing)}

    def __post_init__(self) -> None:
        ids = [column.id for column in self.columns]
        for id_ in (self.id, *ids):
            if not _ID.fullmatch(id_):
                raise ValueError(f"{id_!r} is no id of a table or column")
        if len(set(ids)) < len(ids):
            raise ValueError(f"columns of {self.id} have the same id")
        if len({len(column.values) for column in self.columns}) != 1:
            raise ValueError(f"columns of {self.id} are not of one length")
        choices = {column.id for column in self.columns if column.kind == "choice"}
        if not choices.issuperset(self.compared):
            raise ValueError(f"{self.differing} are not all columns of choices")


@dataclass(frozen=True)
class LargeHead:
    """Head of a column, with what its filter needs."""

    id: str
    title: str
    kind: Kind
    unit: str
    width: int
    #: Whether a group of columns begins with it.
    first: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LaidLarge:
    """A large table ready to be written.

    Attributes
    ----------
    groups : list of (str, int)
        Headings of groups with their number of columns; empty where there are none.
    rows : list
        The first of them: of each cell its text, and its look or "".
    count, differing : int
        Rows, and those of them that differ.
    differs : str
        In which columns.
    data : dict
        All values, for the script.
    """

    id: str
    title: str
    note: str | None
    groups: list[tuple[str, int]]
    heads: list[LargeHead]
    rows: list[tuple[tuple[str, str], ...]]
    count: int
    differing: int
    differs: str
    data: dict[str, Any]

    @property
    def rest(self) -> int:
        """Width of all columns but the first."""
        return sum(head.width for head in self.heads[1:])


def lay(table: LargeTable) -> LaidLarge:
    """Write what is shown without scripts, and the data of all rows."""
    import numpy as np

    differ = _differ(table)
    order = np.argsort(~differ, kind="stable")
    numbers = _numbers(table.columns)
    parts = [_part(column, order, numbers.get(column.id)) for column in table.columns]
    groups = _groups(table.columns)
    starts = {*itertools.accumulate(size for _, size in groups)}
    heads = [
        LargeHead(
            column.id, text(column.heading), column.kind, part.unit,
            part.width + (_INDENT if place in starts else 0), first=place in starts,
            choices=tuple(part.data.get("choices", ())),
        )
        for place, (column, part) in enumerate(zip(table.columns, parts, strict=True))
    ]  # fmt: skip
    own = table.compared
    compared = (text(one.heading) for one in table.columns if one.id in own)
    differing = int(differ.sum())
    data = {
        "rows": len(order),
        "few": FEW,
        "differing": differing,
        "onlyDiffering": table.only_differing,
        "columns": [
            {"id": column.id, "kind": column.kind, "name": _name(column, part.unit), **part.data}
            for column, part in zip(table.columns, parts, strict=True)
        ],
    }
    return LaidLarge(
        id=table.id,
        title=text(table.title),
        note=paragraph(table.note) or None,
        groups=groups,
        heads=heads,
        rows=list(zip(*(part.first for part in parts), strict=True)),
        count=len(order),
        differing=differing,
        differs=listing(dict.fromkeys(compared)),
        data=data,
    )


@dataclass(frozen=True)
class _Part:
    """A column in a page: its data, its first cells with their looks, its unit and width."""

    data: dict[str, Any]
    first: list[tuple[str, str]]
    width: int
    unit: str = ""


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Values of a column, NaN where not known, and how they are written."""

    values: np.ndarray[Any, Any]
    form: NumberFormat


def _part(column: LargeColumn, order: np.ndarray[Any, Any], numbers: _Numbers | None) -> _Part:
    if numbers is not None:
        return _written(column, order, numbers)
    return (_texts if column.kind == "text" else _choices)(column, order)


def _numbers(columns: Iterable[LargeColumn]) -> dict[str, _Numbers]:
    """Return columns of numbers by id: those of one heading are written alike, to be compared."""
    import numpy as np

    alike: dict[tuple[str, str], dict[str, np.ndarray[Any, Any]]] = {}
    for column in columns:
        if column.kind == "number":
            known = [np.nan if one is None else one for one in column.values]
            values = np.array(known, dtype=float)
            alike.setdefault((text(column.heading), column.unit), {})[column.id] = values
    found: dict[str, _Numbers] = {}
    for (_, unit), some in alike.items():
        together = np.concatenate([*some.values()])
        known = together[np.isfinite(together)]
        whole = unit == "1" and bool((known == np.floor(known)).all())
        form = NumberFormat(1.0, "", 0) if whole else NumberFormat.of(known.tolist(), unit)
        found |= {id_: _Numbers(values, form) for id_, values in some.items()}
    return found


def _texts(column: LargeColumn, order: np.ndarray[Any, Any]) -> _Part:
    values = _plain(column)
    texts = [values[place] for place in order]
    first = [(ABSENT if one is None else one, "") for one in texts[:FEW]]
    return _Part({"values": texts}, first, _width(column, (one or "" for one in texts)))


def _choices(column: LargeColumn, order: np.ndarray[Any, Any]) -> _Part:
    values = _plain(column)
    present = {one for one in values if one is not None}
    choices = [one for one in column.looks if one in present]
    choices += sorted(present - set(choices))
    places = {one: place for place, one in enumerate(choices)} | {None: -1}
    codes = [places[values[place]] for place in order]
    looks = [column.looks.get(one, "") for one in choices]
    cells = [*zip(choices, looks, strict=True), (ABSENT, "")]
    data = {"choices": choices, "codes": codes, "looks": looks}
    width = _width(column, choices) + (_SIGN if any(looks) else 0)
    return _Part(data, [cells[code] for code in codes[:FEW]], width)


def _written(column: LargeColumn, order: np.ndarray[Any, Any], numbers: _Numbers) -> _Part:
    import numpy as np

    values, form = numbers.values[order], numbers.form
    is_known = np.isfinite(values)
    known = values[is_known].tolist()
    stored = [
        None if not fine else int(one) if one.is_integer() and abs(one) < 2**53 else one
        for one, fine in zip(values.tolist(), is_known, strict=True)
    ]
    longest = (form.text(one) for one in (min(known), max(known))) if known else ()
    data = {
        "values": stored, "scale": form.scale, "places": form.places, "unit": form.unit,
        "units": _units(column.unit),
    }  # fmt: skip
    width = max(_width(column, longest), len(form.unit) + _LEAST["number"])
    return _Part(data, [(form.text(one), "") for one in stored[:FEW]], width, form.unit)


def _plain(column: LargeColumn) -> list[str | None]:
    """Return texts, None for what is not known."""
    # NaN differs from itself.
    return [None if one is None or one != one else str(one) for one in column.values]  # noqa: PLR0124


def _differ(table: LargeTable) -> np.ndarray[Any, Any]:
    """Find the rows whose known values are not all the same among columns that are compared."""
    import numpy as np

    own = table.compared
    texts = {column.id: _plain(column) for column in table.columns if column.id in own}
    differ = np.zeros(len(table.columns[0].values), bool)
    for some in table.differing:
        rows = zip(*(texts[id_] for id_ in some), strict=True)
        differ |= np.array([len(set(row) - {None}) > 1 for row in rows], bool)
    return differ


def _groups(columns: Sequence[LargeColumn]) -> list[tuple[str, int]]:
    groups = itertools.groupby("" if one.group is None else text(one.group) for one in columns)
    found = [(name, len([*same])) for name, same in groups]
    return found if any(name for name, _ in found) else []


def _name(column: LargeColumn, unit: str) -> str:
    """Name a column where nothing stands above it: in CSV."""
    parts = [text(one) for one in (column.group, column.heading) if one is not None]
    return ": ".join(part for part in parts if part) + (f" [{unit}]" if unit else "")


def _width(column: LargeColumn, texts: Iterable[str]) -> int:
    longest = max((len(one) for one in texts), default=0)
    heading = min(len(text(column.heading)), _MOST_OF_HEADING)
    return _GAP + max(min(longest, _MOST_CHARACTERS), heading, _LEAST[column.kind])


def _units(unit: str) -> dict[str, float]:
    """Return the units that a filter may name, with their sizes in the one that is stored."""
    if unit in ("s", "ns"):
        return {name: float(size * (1 if unit == "s" else 10**9)) for name, size in TIMES.items()}
    if unit == "bytes":
        return {name: float(size) for name, size in BYTES.items()}
    return dict(LADDERS.get(unit, ()))
