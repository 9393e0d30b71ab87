"""Listen to a machine's noise: rounds of the agent's probe until the time is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from statistics import median

from tare.agent import record
from tare.agent.client import Agent, ProcessChannel, binary
from tare.errors import AgentError
from tare.experiment.session.probing import Given, Turn, perform_round
from tare.host.view import CpuNoise, Noise

PROBE = "noise"
#: A round that takes longer than this has met something worse than noise.
ROUND_S = 30.0


def listen(seconds: float, tell: Callable[[float], None] = lambda elapsed: None) -> Noise:
    """Perform rounds on all CPUs until so many seconds are over.

    Parameters
    ----------
    seconds : float
        How long.
    tell : callable
        Is told after every round how many seconds have passed.
    """
    readings: list[record.Reading] = []
    why: str | None = None
    began = time.monotonic()
    number = 0
    try:
        with closing(Agent(ProcessChannel([str(binary()), "serve"]))) as agent:
            while (elapsed := time.monotonic() - began) < seconds:
                tell(elapsed)
                done = perform_round(agent, Turn(PROBE, number, ROUND_S), Given())
                number += 1
                readings += done.readings
                if not done.readings:
                    why = "; ".join(fault.message for fault in done.faults) or None
                    break
    except AgentError as error:
        why = error.message
    return Noise(cpus=_cpus(readings), why=why)


def _cpus(readings: list[record.Reading]) -> tuple[CpuNoise, ...]:
    """Put rounds together: shares and rates in the mean, since each round is as long."""
    by_cpu: dict[int, dict[str, list[float]]] = {}
    for reading in readings:
        if reading.at:
            metrics = by_cpu.setdefault(reading.at[0], {})
            metrics.setdefault(reading.metric.removeprefix(f"{PROBE}."), []).append(reading.value)
    return tuple(
        _cpu(cpu, metrics) for cpu, metrics in sorted(by_cpu.items()) if "share" in metrics
    )


def _cpu(cpu: int, metrics: dict[str, list[float]]) -> CpuNoise:
    def mean(name: str) -> float | None:
        values = metrics.get(name)
        return sum(values) / len(values) if values else None

    def middle(name: str) -> float | None:
        return median(values) if (values := metrics.get(name)) else None

    return CpuNoise(
        cpu=cpu,
        lost=mean("share") or 0.0,
        median_ns=middle("typical"),
        longest_ns=max(metrics.get("longest", ()), default=None),
        rate_hz=mean("rate"),
        period_ns=middle("period"),
    )
