"""Optional packages: which extra of tare installs each, and what needs it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

from tare.errors import TareError, Typed


class Extra(NamedTuple):
    """An extra of tare's package.

    Attributes
    ----------
    name : str
        Between the brackets of ``pip install 'tare-bench[…]'``.
    purpose : str
        What needs it; the plural subject of a sentence.
    """

    name: str
    purpose: str


#: Extras by the module that they install.
EXTRAS = {
    "duckdb": Extra("tables", ".duckdb files"),
    "pandas": Extra("tables", "Data frames"),
    "pyarrow": Extra("tables", "Parquet files"),
    "vl_convert": Extra("images", "Charts as SVG or PNG, which Markdown reports have too,"),
    "distributed": Extra("fleet", "Fleets"),
}


def need(module: str) -> None:
    """Check that an optional module is installed, before anything is measured for it.

    Raises
    ------
    TareError
        If it is not; the hint installs its extra.
    """
    if find_spec(module) is None:
        extra = EXTRAS[module]
        raise TareError(
            f"{extra.purpose} need the extra {extra.name!r}, which is not installed",
            Typed(f"pip install 'tare-bench[{extra.name}]'"),
        )
