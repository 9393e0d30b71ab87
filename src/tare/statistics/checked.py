"""Checks values where they enter: what callers give becomes an array of finite numbers.

Functions that take `ArrayLike` check their values here. All others of `tare.statistics` are
building blocks, which take arrays that were checked.
"""

from __future__ import annotations

import reprlib
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tare.errors import ValuesError
from tare.statistics.statistic import FloatArray

#: What infinite values of two series are known to exceed: one limit for all values of a series, or
#: one for each; None: no value is infinite.
Limits = tuple[ArrayLike, ArrayLike] | None

#: Values checked at once: the mask of a series in a file needs no memory of its length.
_CHUNK = 1 << 20


def series(
    given: ArrayLike,
    name: str = "values",
    least: int = 1,
    *,
    finite: bool = True,
    above: bool = False,
    most_dimensions: int = 1,
) -> FloatArray:
    """Return one-dimensional finite values as floats; no copy of an array of float64.

    Parameters
    ----------
    given : array_like
        Integers or floats.
    name : str
        What an error calls them.
    least : int
        How many there must be.
    finite : bool
        Refuse NaN and infinities.
    above : bool
        Let positive infinity pass all the same: a value above a limit.
    most_dimensions : int
        2: a row per trial with a value per worker is possible.

    Raises
    ------
    ValuesError
        If they are no such values, or too few.
    """
    array = _numbers(given, name)
    if not 1 <= array.ndim <= most_dimensions:
        raise ValuesError(f"{name} has {array.ndim} dimensions instead of one", f"np.ravel({name})")
    if len(array) < least:
        counted = "no values" if not len(array) else f"only {len(array)}"
        raise ValuesError(f"{name} has {counted}", f"give {least} or more values")
    for begin in range(0, len(array) if finite else 0, _CHUNK):
        _check_finite(array[begin : begin + _CHUNK], name, begin, above=above)
    return array


def pair(
    first: ArrayLike,
    second: ArrayLike,
    names: tuple[str, str] = ("first", "second"),
    *,
    above: bool = False,
    most_dimensions: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return two series whose values belong together one by one.

    Raises
    ------
    ValuesError
        If one is not a series, or they have different lengths.
    """
    a = series(first, names[0], above=above, most_dimensions=most_dimensions)
    b = series(second, names[1], above=above, most_dimensions=most_dimensions)
    if len(a) != len(b):
        unpaired = "compare_unpaired takes series without pairs"
        raise ValuesError(
            f"{names[0]} has {len(a)} values and {names[1]} has {len(b)}, and they are pairs",
            "give as many of each" + (f"; {unpaired}" if names[0] == "first" else ""),
        )
    return a, b


def limits(
    given: Limits, first: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the limits of all values of two series; None: all values are finite.

    Raises
    ------
    ValuesError
        If an infinite value has no finite limit above zero.
    """
    if given is None or not (np.isposinf(first).any() or np.isposinf(second).any()):
        return None
    one, two = (
        _limits(_numbers(limit, "limits"), values)
        for limit, values in zip(given, (first, second), strict=True)
    )
    return one, two


def _limits(given: FloatArray, values: FloatArray) -> FloatArray:
    if given.shape not in ((), values.shape):
        raise ValuesError(
            f"limits has {given.size} values for {values.size}", "one limit, or one for each value"
        )
    found = np.broadcast_to(given, values.shape)
    of_killed = found[np.isposinf(values)]
    if not (np.isfinite(of_killed) & (of_killed > 0)).all():
        raise ValuesError(
            "a value is infinite, and no limit above zero says what it exceeds",
            "limits=(first, second), in the unit of the values",
        )
    return found


def parameters(
    *,
    margin: float | None = None,
    precision: float | None = None,
    confidence: float | None = None,
    q: float | None = None,
) -> None:
    """Refuse parameters of a method that are not numbers in their range; None is not checked.

    Raises
    ------
    ValuesError
        Names the parameter, and a usual value of it.
    """
    for name, value, example in (("margin", margin, 0.02), ("precision", precision, 0.01)):
        if value is not None and not (_is_number(value) and 0 < value < np.inf):
            raise _refused(name, value, "a share above 0", example)
    for name, value, example in (("confidence", confidence, 0.95), ("q", q, 0.5)):
        if value is not None and not (_is_number(value) and 0 < value < 1):
            raise _refused(name, value, "a number between 0 and 1", example)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _refused(name: str, value: object, wanted: str, example: float) -> ValuesError:
    return ValuesError(f"{name} is {reprlib.repr(value)}, not {wanted}", f"{name}={example}")


def positive(values: FloatArray, name: str = "values") -> None:
    """Refuse values that have no logarithm.

    Raises
    ------
    ValuesError
        Names the first one.
    """
    if not (values > 0).all():
        place = int(np.argmax(values <= 0))
        raise ValuesError(
            f"{name}[{place}] is {values[place]:g}, and a ratio needs values above zero",
            "leave out what was not measured",
        )


def apart(
    first: ArrayLike,
    second: ArrayLike,
    *,
    least: int = 1,
    above: bool = False,
    most_dimensions: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return two series, each of its own length.

    Raises
    ------
    ValuesError
        If one is not a series.
    """
    return (
        series(first, "first", least, above=above, most_dimensions=most_dimensions),
        series(second, "second", least, above=above, most_dimensions=most_dimensions),
    )


def times(given: ArrayLike, name: str = "time") -> FloatArray:
    """Return times of shape (tasks, trials), in the caller's unit; NaN where one is not known.

    Raises
    ------
    ValuesError
        If they have another shape, or one is negative.
    """
    array = _numbers(given, name)
    if array.ndim != 2:
        raise ValuesError(
            f"{name} has {array.ndim} dimensions instead of two: tasks and trials",
            f"with one trial a task: np.reshape({name}, (-1, 1))",
        )
    if (array < 0).any():
        place = tuple(int(i) for i in np.argwhere(array < 0)[0])
        raise ValuesError(
            f"{name}{list(place)} is {array[place]:g}, and a time is not negative",
            "give nan where a time is not known",
        )
    return array


def truths(given: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return truth values of a shape, from bools or from numbers that are all 0 or 1.

    Raises
    ------
    ValuesError
        If there are other values, or they have another shape.
    """
    array = np.asarray(given)
    if array.dtype != np.bool_:
        # A table with a missing cell has objects.
        numbers = _numbers(array.tolist() if array.dtype == object else array, name)
        if not np.isin(numbers, (0, 1)).all():
            wrong = numbers[~np.isin(numbers, (0, 1))][0]
            raise ValuesError(f"{name} has the value {wrong:g}", "give True or False, or 1 or 0")
        array = numbers == 1
    if array.shape != shape:
        raise ValuesError(
            f"{name} has the shape {array.shape} instead of {shape}", "give a value for each run"
        )
    return array


def above_zero(value: float, name: str) -> None:
    """Refuse a parameter that is not a finite number above zero.

    Raises
    ------
    ValuesError
        Names the parameter.
    """
    if not 0 < value < np.inf:
        raise ValuesError(f"{name} is {value:g}", f"give a finite {name} above 0")


def tick(value: float | tuple[float | None, float | None] | None) -> None:
    """Refuse ticks of a clock, of both series or of each, that are negative or not finite.

    Raises
    ------
    ValuesError
        Names the tick.
    """
    for one in value if isinstance(value, tuple) else (value,):
        if one is not None and not 0 <= one < np.inf:
            raise ValuesError(f"tick is {one:g}", "give a finite tick of 0 or more, or None")


def _numbers(given: ArrayLike, name: str) -> FloatArray:
    if type(given) is np.ndarray and given.dtype == np.float64:
        return given
    if hasattr(given, "mask") and hasattr(given, "fill_value"):
        raise ValuesError(f"{name} is a masked array", f"{name}.compressed()")
    try:
        array = np.asarray(given)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValuesError(f"{name} is not an array: {error}", "give a list of numbers") from None
    if array.size and array.dtype.kind not in "iuf":
        raise ValuesError(
            f"{name} has values of type {array.dtype}, which are not numbers",
            "convert them: np.asarray(…, dtype=float)",
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    return array.astype(np.float64, copy=False)


def _check_finite(values: FloatArray, name: str, begin: int, *, above: bool) -> None:
    finite = np.isfinite(values)
    if above:
        finite |= np.isposinf(values)
    if not finite.all():
        place = int(np.argmin(finite))
        raise ValuesError(
            f"{name}[{begin + place}] is {values[place]:g}, which is not a finite number",
            "leave out what was not measured",
        )
