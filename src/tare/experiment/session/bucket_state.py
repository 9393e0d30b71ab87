"""What each level of a network has left in its buckets, and how long they take to be full again."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tare.agent import record
from tare.experiment.specification import NetworkSpec
from tare.networks.shaping.specification import Bucket, Shaping


class Budgets:
    """Tokens by level and host.

    The buckets of a level stand still while trials of other levels take place, so that what a
    trial finds depends on the trials of its own level alone, however many others there are.
    """

    def __init__(self, network: NetworkSpec) -> None:
        self._network = network
        self._left: dict[str, dict[int, int]] = {}

    def keep(self, level: str, hosts: Iterable[record.HostState]) -> None:
        """Remember what a level has left."""
        if self._network.budget == "carry":
            self._left[level] = {
                host.host: host.tokens_bits for host in hosts if host.tokens_bits is not None
            }

    def as_left(self, level: str, host: int, shaping: Shaping) -> Shaping:
        """Return how a host is to be shaped: with what its level has left there, if any is."""
        left = self._left.get(level, {}).get(host)
        if left is None or not isinstance(shaping, Bucket):
            return shaping
        return msgspec.structs.replace(shaping, initial_bits=min(left, shaping.capacity_bits))

    def rest_s(self, level: str, shaping: Shaping) -> float:
        """Return how long the next trial of a level is to wait."""
        rest = self._network.rest
        if isinstance(rest, float | int):
            # Before the first nothing was spent.
            return float(rest) if level in self._left else 0.0
        if rest == "none" or not isinstance(shaping, Bucket):
            return 0.0
        full = shaping.capacity_bits
        first = full if shaping.initial_bits is None else shaping.initial_bits
        missing = full - min(self._left.get(level, {}).values(), default=first)
        return max(0, missing) / shaping.refill_bps if shaping.refill_bps else 0.0
