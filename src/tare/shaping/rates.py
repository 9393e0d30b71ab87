"""Rates and amounts of data as people write them: ``2Gbit``, ``200 Mbit/s``, ``12.5 GB``."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from tare.errors import ExperimentError

#: Signed, since stores keep them so.
MOST = 2**63 - 1

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BYTES = {f"{prefix}B": 8 * size for prefix, size in (_DECIMAL | _BINARY).items()} | {"KB": 8000}
#: Bits, by unit in small letters: nobody means a millibit.
_BITS = {f"{prefix.lower()}bit": size for prefix, size in (_DECIMAL | _BINARY).items()}
#: As iperf and clouds write them. In small letters they are bytes to tc, and bits to others.
_PER_SECOND = {f"{prefix}bps": size for prefix, size in _DECIMAL.items()} | {"Kbps": 1000}

_NUMBER = re.compile(r"([+-]?)([0-9]{1,40}(?:\.[0-9]{1,40})?)(?![0-9.])\s*(.*)", re.DOTALL)
_RATES = "200Mbit, 2.5Gbit/s, 100MB/s"
_AMOUNTS = "10Gbit, 1MB, 12.5GiB"


def parse_rate(text: str, name: str = "rate") -> int:
    """Return the bits a second that a text says: ``200Mbit``, ``2 Gbit/s``, ``1Gbps``, ``100MB/s``.

    Parameters
    ----------
    text : str
        What was written.
    name : str
        Of what, for the complaint.

    Raises
    ------
    ExperimentError
        If it is no rate: why, and how one is written.
    """
    number, unit = _taken_apart(text, name, _RATES)
    stem, slash, second = unit.partition("/")
    stem = stem.strip()
    if slash and second.strip() not in ("s", "sec", "second"):
        raise _not_known(text, name, unit, _RATES)
    if unit in _PER_SECOND:
        return _bounded(number * _PER_SECOND[unit], text, name)
    if (size := _bits(stem)) is not None:
        return _bounded(number * size, text, name)
    if stem in _BYTES:
        if not slash:
            raise ExperimentError(
                f"{name}={text} is an amount of bytes, not a rate",
                f"{name}={text}/s",
            )
        return _bounded(number * _BYTES[stem], text, name)
    raise _not_known(text, name, unit, _RATES)


def parse_amount(text: str, name: str = "budget") -> int:
    """Return the bits that a text says: ``10Gbit``, ``1MB``, ``12.5 GiB``.

    Parameters
    ----------
    text : str
        What was written.
    name : str
        Of what, for the complaint.

    Raises
    ------
    ExperimentError
        If it is no amount: why, and how one is written.
    """
    number, unit = _taken_apart(text, name, _AMOUNTS)
    if "/" in unit or unit in _PER_SECOND:
        raise ExperimentError(
            f"{name}={text} is a rate, not an amount",
            f"{name} is in bits or bytes: {_AMOUNTS}",
        )
    size = _bits(unit)
    size = _BYTES.get(unit) if size is None else size
    if size is None:
        raise _not_known(text, name, unit, _AMOUNTS)
    return _bounded(number * size, text, name)


def parse_bytes(text: str, name: str = "queue") -> int:
    """Return the whole bytes that a text says, as :func:`parse_amount` reads it."""
    return math.ceil(parse_amount(text, name) / 8)


def format_rate(bps: float) -> str:
    """Return a rate as people read it, which :func:`parse_rate` reads: ``2.5 Gbit/s``."""
    return f"{format_amount(bps)}/s"


def format_amount(bits: float) -> str:
    """Return an amount as people read it, which :func:`parse_amount` reads: ``10 Gbit``."""
    # Networks and their budgets are spoken of in Gbit: 4395 of them rather than 4.395 Tbit.
    least = {p: 10 * size if p == "T" else size for p, size in _DECIMAL.items()}
    prefix = next((p for p, size in reversed(least.items()) if size <= abs(bits)), "")
    value = bits / _DECIMAL[prefix]
    return f"{value:.4g} {prefix}bit" if abs(value) < 9999.5 else f"{value:.0f} {prefix}bit"


def written(bits: int) -> str:
    """Return an amount, or a rate, exactly, in one word: ``2.5Gbit``."""
    for prefix, size in reversed(_DECIMAL.items()):
        if bits >= size and (bits * 1000) % size == 0:
            whole, part = divmod(bits * 1000 // size, 1000)
            decimals = f".{part:03d}".rstrip("0") if part else ""
            return f"{whole}{decimals}{prefix}bit"
    return f"{bits}bit"


def _bits(unit: str) -> int | None:
    """Return how many bits a unit is; None: it is none of bits."""
    small = unit.lower()
    return _BITS.get(small[:-1] if small.endswith("bits") else small)


def _taken_apart(text: str, name: str, examples: str) -> tuple[Fraction, str]:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise ExperimentError(
            f"{name}={text} does not begin with a number",
            examples,
        )
    sign, digits, unit = found.groups()
    if unit.startswith(","):
        raise ExperimentError(f"{name}={text} has a comma where a point is to be", examples)
    if sign == "-":
        raise ExperimentError(f"{name}={text} is negative", examples)
    if not unit:
        raise ExperimentError(f"{name}={text} has no unit", examples)
    return Fraction(digits), unit.strip()


def _not_known(text: str, name: str, unit: str, examples: str) -> ExperimentError:
    if re.fullmatch(r"[kKMGT]i?b(/s)?", unit) or unit in ("mbps", "gbps", "tbps"):
        return ExperimentError(
            f"{name}={text}: {unit!r} means bits to some and bytes to others",
            f"write bit for bits, B for bytes: {examples}",
        )
    return ExperimentError(f"{name}={text}: no unit is called {unit!r}", examples)


def _bounded(bits: Fraction, text: str, name: str) -> int:
    if bits > MOST:
        raise ExperimentError(
            f"{name}={text} is more than 64 bits hold",
            f"at most {written(MOST // 10**18 * 10**18)}",
        )
    return round(bits)
