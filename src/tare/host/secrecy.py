"""Keeping the memory of this process from other processes of the same user."""

from __future__ import annotations

import ctypes

_PR_SET_DUMPABLE = 4


def keep() -> None:
    """Refuse others of the same user this process's memory, descriptors and a core dump.

    Programs that it executes are readable again, unless they refuse it themselves.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
