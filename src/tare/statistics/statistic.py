"""What a statistic is: a described set of pure functions of arrays and a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tare.registry import Description

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Statistic:
    """The unit of this package: what a file computes, and why it can be relied on.

    Attributes
    ----------
    description : Description
        Name, question and source of the method.
    methods : tuple of callables
        The functions that the file offers; documentation is derived from their docstrings.
    """

    description: Description
    methods: tuple[Callable[..., Any], ...]
