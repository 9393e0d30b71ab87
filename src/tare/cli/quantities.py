"""Quantities with their units, as options of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tare import units
from tare.errors import UsageError

T = TypeVar("T")


def read(parse: Callable[[str], T], option: str, text: str) -> T:
    """Return what was typed, by one of the parsers of `tare.units`.

    Raises
    ------
    UsageError
        If it is no such quantity: why, and how one is typed.
    """
    try:
        return parse(text)
    except units.QuantityError as error:
        raise UsageError(f"{option} {text!r} {error.why}", f"{option} {error.example}") from None


def wait(option: str, text: str) -> float:
    """Return a time in seconds, which is not none at all."""
    return read(lambda typed: units.seconds(typed, 1e-9), option, text)


def share(option: str, text: str, most: float = 1.0, example: str = "5%") -> float:
    """Return a share above 0 and below ``most``; ``example``: a usual one, for the error."""
    return read(lambda typed: units.share(typed, 0.0, most, example), option, text)


def trials(text: str) -> int:
    """Return a number of trials."""
    return read(units.count, "--trials", text)
