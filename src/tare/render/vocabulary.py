"""What decisions are called: one vocabulary for each kind of question."""

from __future__ import annotations

from dataclasses import dataclass

from tare.results.verdict import Verdict


@dataclass(frozen=True)
class Words:
    """What verdicts are called where one kind of quantity is compared."""

    higher: str
    lower: str
    equivalent: str = "equivalent"

    def of(self, verdict: Verdict, margin: str | None = None) -> str:
        """Write a verdict: "slower", "slower (within 2 %)", "equivalent", "inconclusive".

        Parameters
        ----------
        verdict : Verdict
        margin : str, optional
            As it is written; None: not named.
        """
        if not verdict.conclusive:
            return "inconclusive"
        word: str = getattr(self, verdict.direction)
        return f"{word} (within {margin})" if margin and verdict.within_margin else word


TIMES = Words("slower", "faster")
RATES = Words("faster", "slower")
VALUES = Words("higher", "lower")
#: A cost at the smallest size, relative to the largest.
SIZES = Words("falls", "grows", "flat")
SPREADS = Words("less stable", "more stable", "equally stable")

#: Of a check of the machine: its sign and its word, so that nobody depends on colour.
CHECKS = {"fail": "✕ fail", "warn": "! warn", "ok": "✓ ok", "unknown": "? unknown"}

#: Standard deviations of a cell: between what.
SDS = {
    "sd_trials": "of the trials' means",
    "sd_workers": "of the workers' means inside a trial",
    "sd_within": "of the iterations of one worker",
}

#: Metrics, as a person names them; the others have their own names.
_QUANTITIES = {
    "kernel_cpu_ns": "CPU time of the workload",
    "kernel_wall_ns": "wall time of the workload",
    "cpu_ns": "CPU time",
    "wall_ns": "wall time",
    "memory_bytes": "peak memory",
    "throughput": "work done a second",
    "time_ns": "time",
    "response_mean_ns": "mean response time",
    "response_p50_ns": "median response time",
    "response_p95_ns": "p95 of response times",
    "response_p99_ns": "p99 of response times",
    "response_p999_ns": "p99.9 of response times",
    "response_max_ns": "longest response time",
    "request_throughput": "requests answered a second",
    "request_rate": "requests started a second",
    "request_error_share": "share of failed requests",
}
#: Sources of values, as a person names them.
_SOURCES = {
    "self": "its own clock",
    "switch": "kernel timestamps",
    "perf_cpu": "kernel timestamps",
    "perf_task": "kernel timestamps",
    "cgroup": "counted by its control group",
    "host_cgroup": "counted by its control group",
    "reaped": "kernel accounting at the end of each process",
    "rusage": "kernel accounting at its end",
    "around": "tare's clock",
    "output": "printed by the program",
    "driver": "the load generator's clock",
    "supervise": "the clock of what starts services",
    "workload": "wall time of commands, mean response time of services",
    "qdisc": "counted by the queueing discipline",
}


def source_name(source: str) -> str:
    """Name a source as a person does: "kernel timestamps" for perf_cpu."""
    return _SOURCES.get(source, source)


def metric_name(metric: str) -> str:
    """Name a metric as a person does: "wall time" for wall_ns."""
    return _QUANTITIES.get(metric, metric)
