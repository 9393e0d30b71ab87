"""Where a test begins to refuse, which bounds an interval; where a function is 0."""

from __future__ import annotations

import math
from collections.abc import Callable

#: Steps of the search: what is left is a ten-thousand-millionth of the range.
_HALVINGS = 34


def edge(refused: Callable[[float], bool], inside: float, outside: float) -> float:
    """Find where a test begins to refuse; where it never does, the end of the range.

    Parameters
    ----------
    refused : callable
        Whether the test refuses a value.
    inside, outside : float
        A value that it does not refuse, and the end of the range.

    Returns
    -------
    float
        Refused, by the least that the search can tell.
    """
    if not refused(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if refused(middle):
            outside = middle
        else:
            inside = middle
    return outside


def root(function: Callable[[float], float], low: float, high: float, within: float) -> float:
    """Find where a continuous function is 0, by Ridders' method.

    Parameters
    ----------
    function : callable
        Its values at ``low`` and ``high`` have opposite signs.
    low, high : float
        Ends of the range that is searched.
    within : float
        Largest error of the result, beside rounding.

    References
    ----------
    Ridders, A new algorithm for computing a single root of a real continuous function, 1979.
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0 or at_high == 0:
        return low if at_low == 0 else high
    found = math.inf
    while True:
        middle = (low + high) / 2
        at_middle = function(middle)
        step = math.copysign((high - low) / 2, at_low) * at_middle
        before, found = found, middle + step / math.sqrt(at_middle**2 - at_low * at_high)
        if abs(found - before) <= within or not low < found < high or high - low <= within:
            return min(max(found, low), high)
        for place, value in ((middle, at_middle), (found, function(found))):
            if value == 0:
                return place
            if low < place < high:
                if (value > 0) == (at_low > 0):
                    low, at_low = place, value
                else:
                    high, at_high = place, value
