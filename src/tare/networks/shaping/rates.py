"""Quantities in the specification of a network's shape: each with its name, for the complaint."""

from __future__ import annotations

from collections.abc import Callable

from tare import units
from tare.errors import ExperimentError


def read(parse: Callable[[str], int], name: str, text: str) -> int:
    """Return what ``name=text`` says, by one of the parsers of `tare.units`.

    Raises
    ------
    ExperimentError
        If it is no such quantity: why, and how one is written.
    """
    try:
        return parse(text)
    except units.QuantityError as error:
        raise ExperimentError(f"{name}={text} {error.why}", f"{name}={error.example}") from None
