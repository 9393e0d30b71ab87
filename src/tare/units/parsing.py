"""Reads numbers with their units as people type them: ``4 min``, ``2Gbit/s``, ``1.5GiB``, ``5%``.

Options, experiment files and specifications of networks share one syntax. What
:mod:`tare.units.formatting` writes belongs to it: ``4 min 10 s``, ``1,500 MiB``, ``512 bytes``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from fractions import Fraction

#: Of amounts: signed, since stores keep them so.
MOST_BITS = 2**63 - 1
#: Nobody waits longer, and it fits all integers.
LONGEST_S = 10 * 366 * 86_400

#: Fractions, so that "7%" is 0.07 and not the sum of a rounding error.
TIMES: Mapping[str, Fraction] = {
    "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3), "s": Fraction(1), "min": Fraction(60), "h": Fraction(3600),
    "d": Fraction(86_400), "w": Fraction(7 * 86_400),
}  # fmt: skip
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
#: Bytes, by unit.
BYTES = {f"{prefix}B": size for prefix, size in (_DECIMAL | _BINARY).items()} | {
    "KB": 1000, "byte": 1, "bytes": 1,
}  # fmt: skip
#: Bits, by unit in small letters: nobody means a millibit.
_BITS = {f"{prefix.lower()}bit": size for prefix, size in (_DECIMAL | _BINARY).items()}
#: As iperf and clouds write them. In small letters they are bytes to tc, and bits to others.
_PER_SECOND = {f"{prefix}bps": size for prefix, size in _DECIMAL.items()} | {"Kbps": 1000}

#: Commas stand between groups of three digits alone.
_NUMBER = re.compile(
    r"([+−-]?)((?:[1-9][0-9]{0,2}(?:,[0-9]{3}){1,13}|[0-9]{1,40})(?:\.[0-9]{1,40})?)(?![0-9.])"
    r"\s*(.*)",
    re.DOTALL,
)
#: Between the parts of a time of several units.
_PARTS = re.compile(r"(?<=[a-zµ])\s*(?=[0-9])")
_QUANTILE = re.compile(
    r"p([0-9]{1,2}(?:\.[0-9]{1,6})?)|([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%|(0?\.[0-9]{1,8})|(median)"
)
_TIME, _RATE, _AMOUNT, _SHARE, _QUANTILE_NAMED = "90s", "200Mbit/s", "10Gbit", "5%", "p99"
_SIZE = "512MiB"
_COUNT, _FREQUENCY, _FACTOR = "20", "3.5GHz", "1.5"


class QuantityError(ValueError):
    """A text is no such quantity.

    Parameters
    ----------
    why : str
        Completes a sentence that begins with the text.
    example : str
        What could have been typed.
    """

    def __init__(self, why: str, example: str) -> None:
        super().__init__(why)
        self.why = why
        self.example = example


def seconds(text: str, least: float = 0.0, most: float = LONGEST_S) -> float:
    """Return a time in seconds: ``500ms``, ``90 s``, ``4 min 10 s``, ``2w``.

    Raises
    ------
    QuantityError
        If it is none, or not from ``least`` to ``most``.
    """
    return float(_time(text, Fraction(str(least)), Fraction(most)))


def nanoseconds(text: str, least: int = 1) -> int:
    """Return a time in whole nanoseconds, at least so many, as :func:`seconds` reads it."""
    return round(10**9 * _time(text, Fraction(least, 10**9), Fraction(LONGEST_S)))


def _time(text: str, least: Fraction, most: Fraction) -> Fraction:
    found, units = Fraction(0), []
    for part in _PARTS.split(text.strip()):
        number, unit = _taken_apart(part, _TIME)
        if unit not in TIMES:
            raise QuantityError(
                f"has no unit of time ({', '.join(TIMES)})" if not unit else
                f"has no unit of time: {unit!r} is none of {', '.join(TIMES)}", _TIME
            )  # fmt: skip
        found += number * TIMES[unit]
        units.append(TIMES[unit])
    if any(smaller >= larger for larger, smaller in itertools.pairwise(units)):
        raise QuantityError("has a unit after one that is not larger", "1 min 30 s")
    if found < least:
        raise QuantityError(f"is below {_typed_time(least)}", _typed_time(least))
    if found > most:
        raise QuantityError(f"is above {_typed_time(most)}", _typed_time(most))
    return found


def _typed_time(value: Fraction) -> str:
    whole = (name for name, size in reversed([*TIMES.items()]) if value >= size)
    unit = next((name for name in whole if not value % TIMES[name]), "s")
    return f"{float(value / TIMES[unit]):g}{unit}"


def rate(text: str) -> int:
    """Return bits a second: ``200Mbit``, ``2 Gbit/s``, ``1Gbps``, ``100MB/s``.

    Raises
    ------
    QuantityError
        If it is no rate.
    """
    number, unit = _with_unit(text, _RATE)
    stem, slash, second = (part.strip() for part in unit.partition("/"))
    if slash and second not in ("s", "sec", "second"):
        raise _not_known(unit, _RATE)
    if unit in _PER_SECOND:
        return _bounded(number * _PER_SECOND[unit])
    if (found := _bits(stem)) is not None:
        return _bounded(number * found)
    if stem in BYTES and slash:
        return _bounded(number * 8 * BYTES[stem])
    if stem in BYTES:
        raise QuantityError("is an amount of bytes, not a rate", f"{text.strip()}/s")
    raise _not_known(unit, _RATE)


def bits(text: str, example: str = _AMOUNT) -> int:
    """Return an amount of data in bits: ``10Gbit``, ``1MB``, ``12.5 GiB``.

    Raises
    ------
    QuantityError
        If it is no amount.
    """
    number, unit = _with_unit(text, example)
    if "/" in unit or unit in _PER_SECOND:
        raise QuantityError("is a rate, not an amount", example)
    found = _bits(unit)
    if found is None and unit in BYTES:
        found = 8 * BYTES[unit]
    if found is None:
        raise _not_known(unit, example)
    return _bounded(number * found)


def size(text: str) -> int:
    """Return whole bytes: ``512 MiB``, ``1.5GB``, ``100Mbit``, as :func:`bits` reads them."""
    return math.ceil(bits(text, _SIZE) / 8)


def share(text: str, least: float = 0.0, most: float = 1.0, example: str = _SHARE) -> float:
    """Return a share, above ``least`` and below ``most``: ``5%`` and ``0.05`` are the same.

    Raises
    ------
    QuantityError
        If it is none. A number from 1 on needs its sign: 5 may be 5 % or five times as much.
    """
    number, unit = _taken_apart(text, example)
    if unit not in ("", "%"):
        raise QuantityError(f"is no share: {unit!r} is not %", example)
    found = float(number / 100 if unit else number)
    if not unit and number >= 1:
        # Beyond the range, its sign makes it no share.
        near = number / 100 < most
        raise QuantityError("has no %", f"{text.strip()}%" if near else example)
    if not least < found < most:
        raise QuantityError(f"is not above {least:.0%} and below {most:.0%}", example)
    return found


def count(text: str, least: int = 1) -> int:
    """Return a whole number: ``1200``, ``1,200``.

    Raises
    ------
    QuantityError
        If it is none, or below ``least``.
    """
    number, unit = _taken_apart(text, _COUNT)
    if unit or number.denominator > 1:
        raise QuantityError("is no whole number", _COUNT)
    if number < least:
        raise QuantityError(f"is below {least:,}", f"{max(least, int(_COUNT))}")
    return int(number)


def frequency(text: str) -> float:
    """Return a frequency in hertz: ``3.5 GHz``, ``250Hz``.

    Raises
    ------
    QuantityError
        If it is none.
    """
    number, unit = _with_unit(text, _FREQUENCY)
    prefix = unit.removesuffix("Hz")
    if prefix == unit or prefix not in _DECIMAL:
        raise QuantityError(f"has no unit of frequency: {unit!r}", _FREQUENCY)
    return float(number * _DECIMAL[prefix])


def number(text: str) -> float:
    """Return a number without a unit, a ratio or a count: ``1.5``, ``5%``, ``1,500``.

    Raises
    ------
    QuantityError
        If it is none.
    """
    found, unit = _taken_apart(text, _FACTOR)
    if unit not in ("", "%"):
        raise QuantityError(f"has a unit, {unit!r}, where none is to be", _FACTOR)
    return float(found / 100 if unit else found)


def quantile(text: str) -> float:
    """Return the probability of a quantile: ``p99``, ``99%``, ``0.99``, ``median``.

    Raises
    ------
    QuantityError
        If it is none, from 0 % to 100 %.
    """
    found = _QUANTILE.fullmatch(text.strip())
    if found is None:
        raise QuantityError("is no quantile", _QUANTILE_NAMED)
    number = Fraction(found[1] or found[2] or 0) / 100
    if found[3] or found[4]:
        number = Fraction(found[3] or "0.5")
    if number > 1:
        raise QuantityError("is above 100%", _QUANTILE_NAMED)
    return float(number)


def quantile_name(probability: float) -> str:
    """Return how people call a quantile: "median", "p95"."""
    return "median" if probability == 0.5 else f"p{100 * probability:.10g}"


def typed_bits(amount: int) -> str:
    """Write an amount, or a rate, exactly, as it is read again: ``2.5Gbit``."""
    for prefix, unit in reversed(_DECIMAL.items()):
        if amount >= unit and (amount * 1000) % unit == 0:
            whole, part = divmod(amount * 1000 // unit, 1000)
            decimals = f".{part:03d}".rstrip("0") if part else ""
            return f"{whole}{decimals}{prefix}bit"
    return f"{amount}bit"


def _bits(unit: str) -> int | None:
    """Return how many bits a unit is; None: it is none of bits."""
    small = unit.lower()
    return _BITS.get(small[:-1] if small.endswith("bits") else small)


def _taken_apart(text: str, example: str) -> tuple[Fraction, str]:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        raise QuantityError("does not begin with a number", example)
    sign, digits, unit = found.groups()
    if unit.startswith(","):
        raise QuantityError("has a comma where a point is to be", example)
    if sign in ("-", "−"):
        raise QuantityError("is negative", example)
    return Fraction(digits.replace(",", "")), unit.strip()


def _with_unit(text: str, example: str) -> tuple[Fraction, str]:
    number, unit = _taken_apart(text, example)
    if not unit:
        raise QuantityError("has no unit", example)
    return number, unit


def _not_known(unit: str, example: str) -> QuantityError:
    if re.fullmatch(r"[kKMGT]i?b(/s)?", unit) or unit in ("mbps", "gbps", "tbps"):
        return QuantityError(
            f"is not clear: {unit!r} means bits to some and bytes to others; write bit or B",
            example,
        )
    return QuantityError(f"has no known unit: {unit!r}", example)


def _bounded(amount: Fraction) -> int:
    if amount > MOST_BITS:
        raise QuantityError("is more than 64 bits hold", typed_bits(MOST_BITS // 10**18 * 10**18))
    return round(amount)
