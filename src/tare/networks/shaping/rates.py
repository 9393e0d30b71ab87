"""Quantities in the specification of a network's shape: each with its name, for the complaint."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Callable

from tare import units
from tare.errors import ExperimentError

#: Units that a wrong one is compared with.
_UNITS = ("bit", "kbit", "Mbit", "Gbit", "Tbit", "kB", "MB", "GB")


class WrongQuantityError(ExperimentError):
    """A quantity that cannot be understood, in the specification of a network.

    Attributes
    ----------
    name : str
        Of the quantity.
    text : str
        As it was written.
    example : str
        One that may stand in its place.
    """

    def __init__(self, name: str, text: str, why: str, example: str) -> None:
        super().__init__(f"{name}={text} {why}", f"{name}={example}")
        self.name, self.text, self.example = name, text, example

    def corrected(self, specification: str) -> str:
        """Return the specification with the example in place of the quantity."""
        written = rf"(\b{re.escape(self.name)}[\s=]+){re.escape(self.text)}"
        return re.sub(written, lambda found: found[1] + self.example, specification)


def read(parse: Callable[[str], int], name: str, text: str) -> int:
    """Return what ``name=text`` says, by one of the parsers of `tare.units`.

    Raises
    ------
    WrongQuantityError
        If it is no such quantity: why, and how one is written.
    """
    try:
        return parse(text)
    except units.QuantityError as error:
        number = text.rstrip(string.ascii_letters)
        close = difflib.get_close_matches(text.removeprefix(number), _UNITS, n=1)
        is_number = number.strip().replace(".", "", 1).isdecimal()
        example = f"{number.strip()}{close[0]}" if is_number and close else error.example
        raise WrongQuantityError(name, text, error.why, example) from None
