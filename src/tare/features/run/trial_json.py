"""A trial of ``tare run`` as ``--json`` writes it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tare.measure.comparison.trials import Trial


def trial_json(trial: Trial) -> dict[str, Any]:
    """Return a trial's values on their best sources, and on all."""
    wall, source = trial.best("wall_ns")
    cpu, cpu_source = trial.best("cpu_ns")
    memory, memory_source = trial.best("memory_bytes")
    code = trial.get("exit_code", "wait")
    number = trial.get("signal", "wait")
    sources: dict[str, dict[str, float]] = defaultdict(dict)
    for (metric, name), value in sorted(trial.values.items()):
        sources[metric][name] = value
    return {
        "trial": trial.number,
        "status": trial.status,
        "reason": trial.reason,
        "stderr": trial.stderr if trial.status == "failed" else None,
        "wall_s": _seconds(wall),
        "source": source,
        "teardown_s": _seconds(trial.get("teardown_ns", "switch")),
        "cpu_s": _seconds(cpu),
        "cpu_source": cpu_source,
        "memory_bytes": None if memory is None else round(memory),
        "memory_source": memory_source,
        "wait_s": _seconds(trial.get("wait_ns", "schedstat")),
        "exit": None if code is None else int(code),
        "signal": None if number is None else int(number),
        "timed_out": bool(trial.get("timed_out", "wait") or 0),
        "sources": dict(sources),
    }


def _seconds(value: float | None) -> float | None:
    return None if value is None else value / 1e9
