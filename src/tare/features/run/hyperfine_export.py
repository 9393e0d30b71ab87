"""What ``hyperfine --export-json`` writes, of trials that tare measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np


class Measured(Protocol):
    """A good trial, as far as it is needed here."""

    @property
    def workload(self) -> str:
        """Name of what was measured."""

    def best(self, metric: str) -> tuple[float | None, str | None]:
        """Return the value of a metric on its best source, and that source."""

    def get(self, metric: str, source: str) -> float | None:
        """Return the value of a metric from a source."""


class Command(Protocol):
    """What was measured."""

    @property
    def name(self) -> str:
        """Of the workload."""

    @property
    def text(self) -> str:
        """As it was typed."""

    @property
    def parameters(self) -> Mapping[str, str]:
        """What it was repeated for."""


def document(
    trials: Iterable[Measured], commands: Sequence[Command], *, named: bool = False
) -> dict[str, Any]:
    """Return the document; a command without a good trial is left out.

    Parameters
    ----------
    trials : iterable of Measured
        The good ones, in order of time.
    commands : sequence of Command
        In the order of the document.
    named : bool
        Whether names were given, which hyperfine writes in place of commands.
    """
    by_name: dict[str, list[Measured]] = {one.name: [] for one in commands}
    for trial in trials:
        by_name[trial.workload].append(trial)
    return {
        "results": [
            _result(one.name if named else one.text, one.parameters, by_name[one.name])
            for one in commands
            if by_name[one.name]
        ]
    }


def _result(
    command: str, parameters: Mapping[str, str], trials: Sequence[Measured]
) -> dict[str, Any]:
    times = [value / 1e9 for t in trials if (value := t.best("wall_ns")[0]) is not None]
    memory = [round(value) for t in trials if (value := t.best("memory_bytes")[0]) is not None]
    return {
        "command": command,
        "mean": float(np.mean(times)),
        "stddev": float(np.std(times, ddof=1)) if len(times) > 1 else None,
        "median": float(np.median(times)),
        "user": _mean(trials, "user_ns"),
        "system": _mean(trials, "system_ns"),
        "min": min(times),
        "max": max(times),
        "times": times,
        **({"memory_usage_byte": memory} if len(memory) == len(times) else {}),
        "exit_codes": [_code(t) for t in trials],
        **({"parameters": dict(parameters)} if parameters else {}),
    }


def _mean(trials: Sequence[Measured], metric: str) -> float | None:
    values = [value for t in trials if (value := t.get(metric, "rusage")) is not None]
    return float(np.mean(values)) / 1e9 if values else None


def _code(trial: Measured) -> int | None:
    code = trial.get("exit_code", "wait")
    return None if code is None else int(code)
