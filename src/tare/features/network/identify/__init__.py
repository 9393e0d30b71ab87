"""What shapes a network, as its traces say: constant, noisy, a token bucket, capped.

::

    from tare.features.network.identify import identify, next_phase
    found = identify(trace, {"host": "a"})
    what = next_phase(trace)  # send, rest or done
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.features.network.identify.identifying import identify
    from tare.features.network.identify.phases import Next, next_phase

__all__ = ["Next", "identify", "next_phase"]
_FILES = {"identify": "identifying", "next_phase": "phases", "Next": "phases"}


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
