"""Measured less true: every figure of tare's beside what the program says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np

from tare.decoding import decode
from tare.experiment.results import Results
from tare.features.machine.selftest.programs import BY_NAME, KEPT, Program
from tare.results.columns import Columns

#: Of a stream that was captured; not a metric of the agent's.
OUTPUT = "output_bytes"
#: What ``tare run`` tells first: wall time, and the time until the memory is given back.
WHOLE = "wall_and_teardown_ns"
#: What the program says is inside of what is timed, so less than that cannot be right.
CONTAINED = ("wall_ns", "tree_wall_ns")
#: Metrics that begin with the launch, by what a launch is told as.
LAUNCHED = {
    "wall_ns": "wall_ns", "tree_wall_ns": "wall_ns", WHOLE: "wall_ns", "cpu_ns": "cpu_ns",
    "minor_faults": "minor_faults", "voluntary_switches": "voluntary_switches",
}  # fmt: skip
COLUMNS = (
    "trial", "worker", "platform", "workers", "program", "metric", "source", "true", "part",
    "error", "less", "launch",
)  # fmt: skip


class Truth(msgspec.Struct, frozen=True):
    """What a program tells: by metric, or by ``metric.source`` where a source sees less."""

    own: dict[str, int]
    #: What it took to come to its first line, which is not in ``own``.
    launch: dict[str, int]

    def of(self, metric: str, source: str) -> int | None:
        """Return what it knows of a figure, its launch apart; None: nothing."""
        if metric == WHOLE:
            parts = [self.own.get(name) for name in ("wall_ns", "teardown_ns")]
            return sum(p for p in parts if p is not None) if None not in parts else None
        return self.own.get(f"{metric}.{source}", self.own.get(metric))


@dataclass(frozen=True)
class _Told:
    """One process: what it told, and what was measured of it by metric and source."""

    trial: int
    worker: int
    platform: str
    workers: int
    program: Program
    truth: Truth
    measured: Mapping[tuple[str, str], float]


def errors(results: Results, folder: Path) -> Columns:
    """Return one row a process and figure.

    Parameters
    ----------
    results : Results
        Of the experiment with the programs.
    folder : Path
        That holds ``output``, in which the programs tell the truth.

    Returns
    -------
    Columns
        ``true`` is what the program said, ``part`` that of which a share is promised, ``error``
        measured less true, ``less`` by how much it is below what it must contain (NaN: it
        contains nothing), ``launch`` what of ``true`` is the launch.
    """
    told = list(_told(results, folder))
    launches = _launches(told)
    rows = [row for one in told for row in _rows(one, launches.get((one.platform, one.workers)))]
    return Columns.of_rows(COLUMNS, [[row[name] for name in COLUMNS] for row in rows])


def _told(results: Results, folder: Path) -> Iterator[_Told]:
    samples: dict[int, dict[int, dict[tuple[str, str], float]]] = {}
    for key, part in results.sample_table:
        # Of each worker its first iteration, or what is of all of them.
        own = part.rows(~np.isnan(part["worker"]) & (np.nan_to_num(part["iteration"]) == 0))
        for row in own.records() if key.phase == "measured" else ():
            workers = samples.setdefault(row["trial"], {})
            workers.setdefault(int(row["worker"]), {})[key.metric, key.source] = row["value"]
    for trial in results.trial_table.records():
        program = BY_NAME[str(trial["workload"])]
        # Trials with another status are reported as failures of the selftest.
        number = int(trial["trial"])
        if trial["status"] != program.expected_status or number not in samples:
            continue
        for worker, some in sorted(samples[number].items()):
            kept = folder / KEPT.format(trial=number, worker=worker, iteration=0)
            truth = Truth(program.known, {}) if program.known else read(kept)
            if truth is not None:
                yield _Told(
                    number, worker, str(trial["platform"]), int(trial["workers"]),
                    program, truth, _measured(program, some, kept),
                )  # fmt: skip


def read(path: Path) -> Truth | None:
    """Read the truth from the last line that a program wrote; None where it wrote none."""
    try:
        *_, last = path.read_bytes().splitlines()
        return decode(last, Truth)
    except (OSError, ValueError):
        return None


def _measured(
    program: Program, some: Mapping[tuple[str, str], float], kept: Path
) -> dict[tuple[str, str], float]:
    found = dict(some)
    if OUTPUT in program.metrics:
        found |= {(OUTPUT, stream): n for stream, n in _streams(kept).items()}
    if WHOLE in program.metrics:
        found |= {
            (WHOLE, source): found["wall_ns", source]
            for source in ("switch", "around")
            if ("wall_ns", source) in found
        }
    # Of all others the truth ends before the memory is given back.
    found.pop(("wall_ns", "switch"), None)
    return {key: value for key, value in found.items() if key[0] in program.metrics}


def _streams(kept: Path) -> dict[str, float]:
    """Count what was kept of what ``write`` wrote: of each stream only its own letter."""
    found: dict[str, float] = {}
    for stream, file, letter in (("stdout", kept, b"o"), ("stderr", Path(f"{kept}.err"), b"e")):
        try:
            written = file.read_bytes()
        except OSError:
            continue
        first = written.split(b"\n", 1)[0]
        found[stream] = float(first.count(letter) + (len(first) < len(written)))
    return found


def _launches(told: list[_Told]) -> dict[tuple[str, int], dict[str, float]]:
    """Return what a launch typically takes, by platform and degree of parallelism.

    A single one may have waited for a CPU, on which the launch before it had not to wait.
    """
    launches: dict[tuple[str, int], list[Mapping[str, int]]] = {}
    for one in told:
        if one.truth.launch:
            launches.setdefault((one.platform, one.workers), []).append(one.truth.launch)
    return {
        place: {
            name: float(median(own[name] for own in some if name in own))
            for name in set(LAUNCHED.values())
            if any(name in own for own in some)
        }
        for place, some in launches.items()
    }


def _rows(one: _Told, launch: dict[str, float] | None) -> Iterator[dict[str, Any]]:
    for (metric, source), value in one.measured.items():
        own = one.truth.of(metric, source)
        if own is None:
            continue
        launched = (launch or {}).get(LAUNCHED.get(metric, ""), 0.0)
        yield {
            "trial": one.trial,
            "worker": one.worker,
            "platform": one.platform,
            "workers": one.workers,
            "program": one.program.name,
            "metric": metric,
            "source": source,
            "true": own + launched,
            "part": one.truth.own["teardown_ns"] if metric == WHOLE else own + launched,
            "error": value - own - launched,
            "less": max(0.0, own - value) if metric in CONTAINED else np.nan,
            "launch": launched,
        }
