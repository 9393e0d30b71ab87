"""The tables of an experiment, as ``tables.toml`` defines them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Column(NamedTuple):
    """One column: its name, its type in DuckDB, what it means and what its absence means."""

    name: str
    type: str
    meaning: str


class Table(NamedTuple):
    """One table."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    #: Folder in which each trial has a file of it; None: the rows are in the journals.
    files: str | None = None

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]

    @property
    def ddl(self) -> str:
        """The statement that makes the table."""
        columns = ", ".join(f'"{c.name}" {c.type}' for c in self.columns)
        return f'CREATE TABLE "{self.name}" ({columns})'


TABLES = {
    name: Table(
        name, of["meaning"], tuple(Column(*column) for column in of["columns"]), of.get("files")
    )
    for name, of in tomllib.loads(Path(__file__).with_name("tables.toml").read_text()).items()
}

#: Tables read from the journal itself; requests and tasks, up to a million per trial, have files.
STORED = {name: table for name, table in TABLES.items() if table.files is None}


class Counted(NamedTuple):
    """How many requests or tasks a trial had, and how many of them failed, by the journal."""

    rows: int
    failed: int
