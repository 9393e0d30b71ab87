"""Bounds of intervals by inverting a test: where it begins to refuse."""

from __future__ import annotations

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
