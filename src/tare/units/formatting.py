"""Writes numbers with their units: one unit for those together, digits as intervals say."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence

#: Stored unit to the units that it is shown in, largest first, with their size.
LADDERS = {
    "s": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "ns": (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)),
    "bytes": (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0)),
    "B/s": (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)),
    # Networks and their budgets are spoken of in Gbit: 4,395 of them rather than 4.395 Tbit.
    "bits": (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)),
    "bits/s": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)),
    "Hz": (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)),
    "hz": (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)),
    "flop/s": (("GFLOPS", 1e9), ("MFLOPS", 1e6), ("kFLOPS", 1e3), ("FLOPS", 1.0)),
    "share": (("%", 0.01),),
}

#: Of rates of anything else.
_LARGE = (("billion", 1e9), ("million", 1e6), ("thousand", 1e3), ("", 1.0))
#: Digits that an interval's width is shown to, and values that have none.
_WIDTH_DIGITS = 2
_DIGITS = 3
_CHOSEN_BYTES = sorted(
    (*LADDERS["bytes"], ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)), key=lambda step: -step[1]
)
#: Units that a wait is told in, two of them side by side: from twice the larger one on.
_WAITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
#: Digits of a value, however narrow its interval.
#: Value below which decimal places are counted from the first digit on.
_SMALLEST = 1e-3
#: Largest bound over smallest of a ratio that is worth printing.
_WIDEST = 1e6
_MOST_DIGITS = 5
_MOST_PLACES = 5
#: Decimal places of R², and how close to 1 it is 1 but for rounding.
_RATIO_PLACES, _EXACT = 4, 1e-12
#: From here on, nobody counts the digits.
_WITH_EXPONENT = 1e21


def scale_for(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Choose the unit in which most of some values read best.

    Parameters
    ----------
    values : iterable of float
        As stored.
    unit : str
        Unit as stored: one of `LADDERS`, another word (``%``), or ``1`` for none.

    Returns
    -------
    (float, str)
        What to divide by, and the unit then; empty where there is none.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    return _scale(statistics.median(sizes) if sizes else 1.0, unit)


def _scale(magnitude: float, unit: str) -> tuple[float, str]:
    steps = LADDERS.get(unit)
    if steps is None and unit.endswith("/s"):
        steps = tuple((f"{prefix} {unit}".strip(), size) for prefix, size in _LARGE)
    if steps is None:
        return 1.0, "" if unit == "1" else unit
    name, size = next((step for step in steps if magnitude >= step[1]), steps[-1])
    return size, name


def places_of_width(widths: Iterable[float]) -> int:
    """Return the decimal places that show a typical interval's width to two digits."""
    positive = sorted(w for w in widths if w > 0)
    if not positive:
        return 2
    return _places(positive[len(positive) // 4], _WIDTH_DIGITS)


def places_of(values: Iterable[float]) -> int:
    """Return the decimal places that show most values to three digits."""
    sizes = sorted(abs(v) for v in values if v and math.isfinite(v))
    return _places(sizes[len(sizes) // 2], _DIGITS) if sizes else 0


def _places(size: float, digits: int) -> int:
    return min(_MOST_PLACES, max(0, digits - 1 - math.floor(math.log10(size))))


def fixed(value: float, places: int) -> str:
    """Write a number with so many decimal places, and a true minus sign."""
    text = f"{value:,.{places}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def amounts(unit: str, values: Sequence[float]) -> list[str]:
    """Write values in one unit, with as many decimals: ``["1.2 ms", "13.4 ms"]``."""
    scale, name = scale_for(values, unit)
    scaled = [value / scale for value in values]
    places = places_of(scaled)
    return [f"{fixed(value, places)} {name}".rstrip() for value in scaled]


def amount(unit: str, value: float) -> str:
    """Write a value in the unit in which it reads best: ``41.2 ms``."""
    return amounts(unit, [value])[0]


def interval(unit: str, estimate: float, low: float, high: float) -> str:
    """Write an estimate with its interval, in its unit: ``41.2 ms [39.8, 43.0]``.

    As many digits as the interval supports, but no more than five.
    """
    scale, name = scale_for([estimate], unit)
    if 0 < abs(estimate / scale) < _SMALLEST:
        told, *ends = (significant(value / scale, _MOST_DIGITS) for value in (estimate, low, high))
        return f"{told} {name}".rstrip() + f" [{', '.join(ends)}]"
    places = places_of_width([(high - low) / scale])
    if estimate:
        places = min(places, _places(abs(estimate / scale), _MOST_DIGITS))
    told, *ends = (fixed(value / scale, places) for value in (estimate, low, high))
    return f"{told} {name}".rstrip() + f" [{', '.join(ends)}]"


def known(
    unit: str, estimate: float, low: float | None, high: float | None, above: float | None
) -> str:
    """Write an estimate with its interval, where one of them may be above a limit.

    ``60 ms [55, > 98]``; of an infinite estimate ``> 98 ms [55, > 98]``, or ``> 98 ms`` where the
    lower bound is the limit as well.
    """
    if above is None or (math.isfinite(estimate) and (high is None or math.isfinite(high))):
        if low is None or high is None:
            return amount(unit, estimate)
        return interval(unit, estimate, low, high)
    is_above = math.isinf(estimate)
    scale, name = scale_for([above if is_above else estimate], unit)
    limit = f"> {above / scale:.6g}"
    told = f"{limit if is_above else significant(estimate / scale)} {name}".rstrip()
    if low is None or (is_above and low >= above):
        return told
    return f"{told} [{significant(low / scale)}, {limit}]"


def span(unit: str, low: float, high: float, above: float | None = None) -> str:
    """Write two ends in one unit, apart from each other: ``40.12 – 40.31 ms``.

    Infinite ends are above a limit: ``40.1 – > 98 ms``, ``> 98 ms``.
    """
    if above is not None and math.isinf(high):
        is_above = math.isinf(low)
        scale, name = scale_for([above if is_above else low], unit)
        limit = f"> {above / scale:.6g} {name}".rstrip()
        return limit if is_above else f"{significant(low / scale)} – {limit}"
    scale, name = scale_for([low], unit)
    places = places_of_width([(high - low) / scale]) if high > low else places_of([low / scale])
    ends = " – ".join(fixed(end / scale, places) for end in (low, high))
    return f"{ends} {name}".rstrip()


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """Write a measured value with its unit: ``quantity(2.031e8, "ns")`` is "203 ms".

    None is "unknown", and what is no number "none".
    """
    if value is None or math.isnan(value):
        return "unknown" if value is None else "none"
    size, name = _scale(abs(value), unit)
    return f"{significant(value / size, digits)} {name}".rstrip()


def chosen(value: float, unit: str = "share", digits: int = 6) -> str:
    """Write a value as whoever chose it would: ``chosen(0.02)`` is "2 %"."""
    size, name = _chosen_bytes(abs(value)) if unit == "bytes" else _scale(abs(value), unit)
    shown = value / size
    number = f"{shown:,.0f}" if abs(shown) >= 10**digits else f"{shown:,.{digits}g}"
    return f"{_minus(number)} {name}".rstrip()


def factor(margin: float) -> str:
    """Write a relative margin as the factor that it allows: ``factor(0.5)`` is "1.5 ×"."""
    return f"{1 + margin:g} ×"


def _chosen_bytes(value: float) -> tuple[float, str]:
    """Find out whether someone chose so many in powers of 1000 or 1024: fewest digits."""
    fitting = []
    for name, size in _CHOSEN_BYTES:
        digits = len(f"{value / size:.3f}".replace(".", "").strip("0"))
        most = 6 if "i" in name else 3
        if value >= size and not 1000 * value % size and digits <= most:
            fitting.append((digits, size, name))
    _, size, name = min(fitting, default=(0, 1.0, "bytes"), key=lambda one: one[0])
    return size, name


def duration(seconds: float) -> str:
    """Write how long something lasts, or a person waits: "350 ms", "85 s", "4 min 10 s", "14 h"."""
    if seconds < 10 and seconds != round(seconds):
        return quantity(seconds, "s", 2)
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    (unit, size), (part, smaller) = next(
        steps for steps in itertools.pairwise(_WAITS) if whole >= 2 * steps[0][1]
    )
    if whole >= 10 * size:
        return f"{round(whole / size)} {unit}"
    n, rest = divmod(round(whole / smaller), size // smaller)
    return f"{n} {unit} {rest} {part}" if rest else f"{n} {unit}"


def percent(share: float, *, sign: bool = False) -> str:
    """Write a measured share as per cent: ``percent(0.0312)`` is "3.1 %"."""
    value = 100 * share
    size = abs(value)
    digits = 0 if size >= 20 or not value else 1 if size >= 0.95 else 2 if size >= 0.01 else 4
    return f"{_signed(value, digits) if sign else fixed(value, digits)} %"


def p_value(p: float) -> str:
    """Write a probability; below one in a thousand only that it is."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def r_squared(value: float) -> str:
    """Write an R² with at least four decimal places, and as many as distinguish it from 1."""
    exact = value >= 1 - _EXACT
    places = _RATIO_PLACES
    while not exact and float(f"{value:.{places}f}") == 1:
        places += 1
    return f"{value:.{places}f}"


def significant(value: float, digits: int = 3) -> str:
    """Write a number to so many significant digits, without an exponent where it can be helped."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) >= _WITH_EXPONENT:
        return _minus(f"{value:.{digits - 1}e}")
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return _minus(f"{round(value, places):,.{max(0, places)}f}")


def counted(n: int, noun: str) -> str:
    """Write a number with its noun: "1 trial", "1,200 trials", "2 processes"."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{n:,} {noun}" + ("" if n == 1 else plural)


def about(n: int, noun: str) -> str:
    """Write an estimated number of things with two digits: ``about(16599, "trial")``."""
    return counted(n if n < 100 else round(n, 1 - math.floor(math.log10(n))), noun)


def off_by(value: float, unit: str, half: float | None = None) -> str:
    """Write an error with its sign, in one unit with half of its interval: "+0.07 ± 0.02 ms"."""
    scales = LADDERS[unit][1:] if unit in ("ns", "bytes") else (("", 1.0),)
    size = max(abs(value), half or 0.0)
    # Errors that are compared with each other read best in few units.
    name, scale = next((s for s in scales if size >= 0.05 * s[1]), scales[-1])
    finest = (half or abs(value)) / scale
    places = 0
    if scale > 1 and finest > 0:
        places = min(3, max(0, 1 - math.floor(math.log10(finest))))
    text = f"{value / scale:+.{places}f}" if value else "0"
    if half:
        text += f" ± {half / scale:.{places}f}"
    return _minus(f"{text} {name}".rstrip())


def change(ratio: float) -> str:
    """Write a ratio as a change: ``change(1.03)`` is "+3.0 %", ``change(4)`` is "× 4.00"."""
    if _is_factor(ratio):
        return f"× {significant(ratio)}"
    return percent(ratio - 1, sign=True)


def change_interval(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio with its interval, all in one form: "+3.0 % [+2.1, +3.9]".

    A lower bound of 0 and an infinite upper one are open: "+31 % [+12, open]", and "at least +12 %"
    where the ratio is NaN, since it is not known either.
    """
    if low == 0 or high == math.inf:
        return _open_change(ratio, low, high)
    if math.isnan(ratio):
        return "not known"
    if low is None or high is None or high > _WIDEST * low:
        return f"{change(ratio)} (no interval)"
    places = _places_of_ratio(ratio, low, high)
    if any(_is_factor(x) for x in (ratio, low, high)):
        return f"× {ratio:.{places}f} [{low:.{places}f}, {high:.{places}f}]"
    one, start, end = (_signed(100 * (x - 1), places) for x in (ratio, low, high))
    return f"{one} % [{start}, {end}]"


def _open_change(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio of which one bound is open, or both."""
    end = low or high
    if end is None or not math.isfinite(end):
        return "not known"
    if math.isnan(ratio):
        return f"{'at least' if low else 'at most'} {change(end)}"
    if any(_is_factor(x) for x in (ratio, end)):
        one, bound = (significant(x) for x in (ratio, end))
        told = f"× {one}"
    else:
        places = _places_of_ratio(ratio, *sorted((ratio, end)))
        one, bound = (_signed(100 * (x - 1), places) for x in (ratio, end))
        told = f"{one} %"
    return f"{told} [{bound}, open]" if low else f"{told} [open, {bound}]"


def _places_of_ratio(ratio: float, low: float, high: float) -> int:
    """Return the decimal places of a factor, or of a change in per cent, with its interval."""
    if any(_is_factor(x) for x in (ratio, low, high)):
        places = min(6, 1 - math.floor(math.log10(low))) if 0 < low < 0.1 else 2
        places = max(0, places - max(0, math.floor(math.log10(max(low, 1)))))
        if 0 < high - low < 0.1**places:
            places = min(6, -math.floor(math.log10(high - low)))
        return places
    width = high - low
    places = 0 if width >= 0.2 else 1 if width >= 0.01 else 2
    # An interval that leaves out no change is not shown to end there.
    while places < 4 and any(
        x != 1 and abs(100 * (x - 1)) < 0.5 * 0.1**places for x in (low, high)
    ):
        places += 1
    return places


def contradicts(other: float, ratio: float, low: float | None, high: float | None) -> bool:
    """Whether another ratio seems to contradict one with an interval.

    It lies outside the interval by more than rounding, or on the other side of 1, as both are
    written. Without an interval, the change is another one by more than half of it.
    """
    if low is None or high is None:
        if other <= 0 or ratio <= 0:
            return other != ratio
        apart = abs(math.log(other) - math.log(ratio)) > abs(math.log(ratio)) / 2
        return apart and change(other) != change(ratio)
    step = 0.1 ** _places_of_ratio(ratio, low, high)
    step /= 1 if any(map(_is_factor, (ratio, low, high))) else 100
    is_opposite = abs(ratio - 1) > step / 2 and abs(other - 1) > step / 2
    is_opposite &= (ratio > 1) != (other > 1)
    return is_opposite or not low - step <= other <= high + step


def _is_factor(ratio: float) -> bool:
    return ratio >= 2 or ratio <= 0.5


def _signed(value: float, places: int) -> str:
    """Write a number with its sign, and zero without one."""
    text = f"{value:+.{places}f}"
    return _minus(text) if float(text) else text[1:]


def _minus(number: str) -> str:
    return number.replace("-", "−")
