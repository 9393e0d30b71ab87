"""Samples by metric, source and phase, as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from tare.results.columns import Columns, is_in, objects

#: Columns of the samples of one key: ``row`` is their place among all samples.
COLUMNS = ("row", "trial", "worker", "iteration", "value")


class Key(NamedTuple):
    """What samples have in common."""

    metric: str
    source: str
    phase: str = "measured"


def is_bucket(metric: str) -> bool:
    """Return whether a metric is a bucket of a histogram, such as ``on_cpu_stretches_22``."""
    return "_stretches_" in metric


class Samples:
    """All samples of an experiment.

    Parameters
    ----------
    parts : mapping of Key to Columns
        :data:`COLUMNS` of each, in order of time; worker and iteration are NaN where the value
        belongs to the whole trial.
    """

    def __init__(self, parts: Mapping[Key, Columns]) -> None:
        self._parts = parts

    def of(self, metric: str, source: str, phase: str = "measured") -> Columns:
        """Return ``row, trial, worker, iteration, value`` of the samples of one key."""
        return self._parts.get(Key(metric, source, phase), NOTHING)

    def sources(self, metric: str) -> list[str]:
        """Return the sources of the measured samples of a metric, in alphabetical order."""
        return sorted(key.source for key in self._of_metric.get(metric, ()))

    @cached_property
    def _of_metric(self) -> dict[str, list[Key]]:
        found: dict[str, list[Key]] = {}
        for key in self._parts:
            if key.phase == "measured":
                found.setdefault(key.metric, []).append(key)
        return found

    @property
    def metrics(self) -> list[str]:
        """Metrics of which there are measured samples, in alphabetical order.

        Without buckets of histograms, which :meth:`histogram` has.
        """
        return sorted(metric for metric in self._of_metric if not is_bucket(metric))

    def histogram(self, name: str, source: str) -> dict[int, Columns]:
        """Return the measured samples of each bucket of a histogram, by its K."""
        found = {
            int(key.metric.removeprefix(f"{name}_")): self._parts[key]
            for key in self._parts
            if key.metric.startswith(f"{name}_") and key[1:] == (source, "measured")
        }
        return dict(sorted(found.items()))

    def __iter__(self) -> Iterator[tuple[Key, Columns]]:
        return iter(self._parts.items())

    def of_trials(self, trials: Collection[int]) -> Samples:
        """Return the samples of some of the trials."""
        kept = {key: part.rows(is_in(part["trial"], trials)) for key, part in self}
        return Samples({key: part for key, part in kept.items() if part})

    def with_part(self, key: Key, part: Columns) -> Samples:
        """Return the same with the samples of one key replaced."""
        return Samples({**self._parts, key: part})

    def table(self) -> Columns:
        """Return one table: ``trial, worker, iteration, phase, metric, source, value``."""
        parts = [(key, part) for key, part in self if part]
        columns = {
            name: np.concatenate([part[name] for _, part in parts]) if parts else np.zeros(0)
            for name in COLUMNS
        }
        for name in ("phase", "metric", "source"):
            texts = ([getattr(key, name)] * len(part) for key, part in parts)
            columns[name] = objects(chain.from_iterable(texts))
        order = np.lexsort([columns["row"], columns["trial"]])
        names = ("trial", "worker", "iteration", "phase", "metric", "source", "value")
        return Columns({name: columns[name][order] for name in names})


NOTHING = Columns({name: np.zeros(0, dtype=int if name in ("row", "trial") else float)
                   for name in COLUMNS})  # fmt: skip
