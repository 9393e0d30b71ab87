"""NumPy without the threads of its linear algebra."""

from __future__ import annotations

import os

_THREADS = "OPENBLAS_NUM_THREADS"


def load() -> None:
    """Load NumPy so that its linear algebra has one thread, unless the environment says otherwise.

    Matrices here are small: threads would only wait for each other, and starting them takes as
    long as all else of NumPy [200 series of 1,000 values on two cores: 30 s with them, 5 s
    without]. Programs that are measured get the environment as it was.
    """
    if _THREADS in os.environ:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS]
