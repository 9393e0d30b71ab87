"""Statistics: pure functions of arrays and a seed, one method a file.

Usable without an experiment, on plain arrays (docs/reference/library.md)::

    from tare import statistics
    statistics.quantile_interval(values)
    statistics.trust.trust(values, trials_known=True)

Functions whose name is not that of a file can be had from here; every other one from its file. Each
is loaded when it is first asked for: nobody waits for what nobody uses.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

#: Functions to be had from the package itself, and the files that they are in.
_FUNCTIONS = {
    "quantile_interval": "intervals",
    "range_interval": "intervals",
    "trials_needed": "intervals",
    "mean_and_sd": "moments",
    "coverage_like": "moments",
    "expected_curve": "confirm",
    "compare": "comparison",
    "compare_unpaired": "comparison",
    "paired_shift": "shift",
    "unpaired_shift": "shift",
    "compare_family": "comparison",
    "cliffs_delta": "comparison",
    "holm": "comparison",
    "compare_sequentially": "sequential",
    "compare_spread": "spread",
    "compare_spreads": "spread",
    "compare_spread_unpaired": "spread_unpaired",
    "decompose": "factorial",
    "explained": "variance",
    "cohens_kappa": "kappa",
    "dependence_time": "dependence",
    "change_points": "warmup",
    "settle": "warmup",
    "compare_words": "stability_words",
}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    if name in _files():
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_FUNCTIONS, *_files()})


def _files() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(__path__)}
