"""What an instance says from the inside of its limits, beside what it was asked to be held to."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tare.errors import PlatformError
from tare.platforms import Instance, Place
from tare.units import quantity

#: Of a machine's memory, what its kernel keeps to itself [6.1: 24 MiB of 256, 60 of 2048].
KEPT_BYTES, KEPT_SHARE = 96 << 20, 0.07


def check(stack: str, place: Place, instance: Instance, told: Mapping[str, object]) -> None:
    """See that what is seen inside agrees with what was asked.

    Parameters
    ----------
    stack : str
        Layers, outside-in.
    place : Place
        What was asked.
    instance : Instance
        What was started.
    told : mapping
        Facts of the agent in it, by name; what is absent is not known there.

    Raises
    ------
    PlatformError
        If it does not: what was asked, and what is seen.
    """
    numbers = {name: value for name, value in told.items() if isinstance(value, int)}
    cpus = _cpus(place, instance)
    seen = numbers.get("cpus_affinity")
    if cpus is not None and seen is not None and seen != cpus:
        raise PlatformError(
            f"{stack} was asked for {_count(cpus, 'CPU')}, and {_count(seen, 'CPU')} "
            f"can be used inside",
            'pinning = "none", or leave the platform out',
        )
    if place.memory_bytes is not None:
        _check_memory(stack, place.memory_bytes, instance, numbers)


def _cpus(place: Place, instance: Instance) -> int | None:
    """Return how many CPUs must be seen; a quota leaves all of them."""
    if place.cpus is not None:
        return len(place.cpus)
    if instance.own_machine and place.cores is not None:
        return math.ceil(place.cores)
    return None


def _check_memory(stack: str, asked: int, instance: Instance, numbers: Mapping[str, int]) -> None:
    total, limit = numbers.get("memory_total_bytes"), numbers.get("memory_limit_bytes")
    if instance.own_machine:
        least = asked - max(KEPT_BYTES, round(KEPT_SHARE * asked))
        if total is not None and not least <= total <= asked:
            raise PlatformError(
                f"{stack} was asked for {quantity(asked, 'bytes')} of memory, and its kernel "
                f"has {quantity(total, 'bytes')}"
            )
    # Kernels count in pages.
    elif limit is not None and abs(limit - asked) >= 1 << 16:
        raise PlatformError(
            f"{stack} was asked for {quantity(asked, 'bytes')} of memory, and is held to "
            f"{quantity(limit, 'bytes')} inside"
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
