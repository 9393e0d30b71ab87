"""A table of an experiment file, whose every complaint names the file and the key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tare.errors import ExperimentError, Typed
from tare.options import measuring
from tare.options.kinds import Kind
from tare.options.option import Key, Option, Options, Parsed
from tare.registry import Parameter


class Source(Protocol):
    """Where values come from, for errors."""

    def place(self, path: str, key: str | None) -> str:
        """Return how a key of a table is named, or the table itself."""

    def setting(self, key: str, value: str, table: str) -> str:
        """Return what to write for another value of a key."""


@dataclass(frozen=True)
class File:
    """A file in TOML.

    Attributes
    ----------
    name : str
        As messages name it.
    """

    name: str

    def place(self, path: str, key: str | None) -> str:
        """Return the file, the path of the table and the key."""
        return ": ".join(p for p in (self.name, ".".join(p for p in (path, key) if p)) if p)

    def setting(self, key: str, value: str, table: str) -> str:
        """Return a line of a table."""
        return f"{key} = {value} in [{table}]"


@dataclass(frozen=True)
class CommandLine:
    """Options of a command."""

    options: type[Options]

    def place(self, path: str, key: str | None) -> str:
        """Return the option, or which command it is, counted from 1."""
        table, _, number = path.removesuffix("]").partition("[")
        if table == "workload" and key == "command":
            return f"command {number}"
        found = self._option(table, key)
        return found.long if found else File("the command line").place(path, key)

    def setting(self, key: str, value: str, table: str) -> str:
        """Return an option with its value."""
        found = self._option(table, key)
        return Typed(f"{found.long} {value}") if found else File("").setting(key, value, table)

    def _option(self, table: str, key: str | None) -> Option | None:
        tables = (table, *measuring.PARTS.get(table, ()))
        records = self.options.records.values()
        return next((one for one in records if one.table in tables and one.key == key), None)


class Table:
    """One table of a file.

    Parameters
    ----------
    source : Source
        Where it comes from.
    path : str
        Dotted path of the table; empty for the whole file.
    values : dict
        What TOML says.
    """

    def __init__(self, source: Source, path: str, values: dict[str, Any]) -> None:
        self.source = source
        self.path = path
        self.values = values

    def error(self, key: str | None, what: str, hint: str | None = None) -> ExperimentError:
        """Return a complaint about a key, or about the table itself."""
        return ExperimentError(f"{self.source.place(self.path, key)}: {what}", hint)

    def setting(self, key: str, value: object, table: str | None = None) -> str:
        """Return what to write for another value of a key of this or another table."""
        return self.source.setting(key, str(value), table or self.path)

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
        from tare.experiment.file import file_kinds

        known = {parameter.name: parameter for parameter in parameters}
        self.only(known, owner)
        return {name: self.value(name, file_kinds.of(known[name])) for name in self.values}

    def value(self, key: str, kind: Kind) -> Any:
        """Return the value of a key that is there."""
        if isinstance(self.values[key], Parsed):
            return self.values[key].value
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
#: Keys of earlier versions, to those in their place.
_RENAMED = {"capture": "output"}


def suggestion(given: str, known: Iterable[str]) -> str:
    """Return a hint at what was meant, or at what there is."""
    known = tuple(known)
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    there_are = f"there are: {', '.join(known[:MOST_NAMED])}{more}" if known else "there are none"
    return closest(given, known) or there_are


def closest(given: str, known: Iterable[str]) -> str | None:
    """Return a hint at what was probably meant, if anything."""
    known = tuple(known)
    renamed = _RENAMED.get(given)
    close = [renamed] if renamed in known else difflib.get_close_matches(given, known, n=1)
    return f"did you mean {close[0]!r}?" if close else None
