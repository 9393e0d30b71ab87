"""A table of an experiment file, whose every complaint names the file and the key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tare.errors import ExperimentError
from tare.experiment.file.kinds import Kind
from tare.registry import Parameter


@dataclass(frozen=True)
class Key:
    """One key of a table: what it means, and what it may hold."""

    name: str
    kind: Kind
    meaning: str
    #: Field of the struct; None: as the key.
    field: str | None = None
    required: bool = False


class Table:
    """One table of a file.

    Parameters
    ----------
    source : str
        The file, as messages name it.
    path : str
        Dotted path of the table; empty for the whole file.
    values : dict
        What TOML says.
    """

    def __init__(self, source: str, path: str, values: dict[str, Any]) -> None:
        self.source = source
        self.path = path
        self.values = values

    def error(self, key: str | None, what: str, hint: str | None = None) -> ExperimentError:
        """Return a complaint about a key, or about the table itself."""
        path = ".".join(part for part in (self.path, key) if part)
        return ExperimentError(": ".join(p for p in (self.source, path, what) if p), hint)

    def read(self, keys: Iterable[Key]) -> dict[str, Any]:
        """Return the values of all keys that are given, by field.

        Raises
        ------
        ExperimentError
            If a key is unknown, missing, or holds what it must not.
        """
        keys = tuple(keys)
        self.only([key.name for key in keys])
        found = {}
        for key in keys:
            if key.name in self.values:
                found[key.field or key.name] = self.value(key.name, key.kind)
            elif key.required:
                raise self.error(key.name, f"is missing; expected {key.kind.expected}")
        return found

    def part(self, names: Iterable[str]) -> Table:
        """Return the same table with only some of its keys."""
        some = {name: self.values[name] for name in names if name in self.values}
        return Table(self.source, self.path, some)

    def parameters(self, parameters: Iterable[Parameter], owner: str) -> dict[str, Any]:
        """Return the values of a unit's parameters that are given."""
        from tare.experiment.file import kinds

        known = {parameter.name: parameter for parameter in parameters}
        self.only(known, owner)
        return {name: self.value(name, kinds.of(known[name])) for name in self.values}

    def value(self, key: str, kind: Kind) -> Any:
        """Return the value of a key that is there."""
        if kind.parts and isinstance(self.values[key], dict):
            own = self.table(key)
            own.only(kind.parts)
            for name in own.values:
                own.value(name, kind.parts[name])
        try:
            return kind.read(self.values[key])
        except ValueError:
            raise self.error(
                key, f"{shown(self.values[key])} is not possible; expected {kind.expected}"
            ) from None

    def only(self, known: Iterable[str], owner: str | None = None) -> None:
        """Refuse keys that are not known, naming the one that was meant."""
        known = tuple(known)
        for key in self.values:
            if key not in known:
                whose = f" of {owner}" if owner else ""
                raise self.error(key, f"is no key{whose}", suggestion(key, known))

    def table(self, key: str) -> Table:
        """Return a table below this one; empty where it is not there."""
        values = self.values.get(key, {})
        path = f"{self.path}.{key}" if self.path else key
        if not isinstance(values, dict):
            raise self.error(key, f"{shown(values)} is not possible; expected a table, [{path}]")
        return Table(self.source, path, values)

    def subtables(self) -> Mapping[str, Table]:
        """Return all values of this table, each of which must be a table."""
        return {key: self.table(key) for key in self.values}

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables below this one, counted from 1."""
        values = self.values.get(key, [])
        path = f"{self.path}.{key}" if self.path else key
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            raise self.error(key, f"expected tables, each beginning with [[{path}]]")
        return [
            Table(self.source, f"{path}[{number}]", value) for number, value in enumerate(values, 1)
        ]


def shown(value: Any) -> str:
    """Return a value as a message shows it: short, and on one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


#: Names that one reads; whoever wants all asks for them.
MOST_NAMED = 20


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return a hint at what was meant, or at what there is."""
    known = tuple(known)
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    there_are = f"there are: {', '.join(known[:MOST_NAMED])}{more}" if known else "there are none"
    return closest(given, known) or there_are


def closest(given: str, known: Iterable[str]) -> str | None:
    """Return a hint at what was probably meant, if anything."""
    close = difflib.get_close_matches(given, tuple(known), n=1)
    return f"did you mean {close[0]!r}?" if close else None
