"""Results of applications that serve, without a machine: their trials, and files of requests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import columns
import msgspec
import numpy as np
import synthetic

from tare.applications import requests
from tare.experiment.results import Results
from tare.experiment.samples import Samples
from tare.experiment.store.row_file import write
from tare.experiment.store.trial_files import TrialFiles
from tare.experiment.tables import Counted
from tare.registry import Parameter
from tare.results.columns import Columns, objects
from tare.workloads.application import Application, Driver, Image, Ready, Service
from tare.workloads.specification import WorkloadSpec

MS = 10**6
#: Sources of a synthetic trial that a service has none of.
_GONE = ("kernel_cpu_ns", "kernel_wall_ns", "kernel_realtime_ns")


@dataclass(frozen=True)
class Served:
    """How the requests of a cell come out."""

    #: Requests a second, and how long they come.
    rate: float = 100.0
    seconds: float = 3.0
    #: Median of the time that answers take, and how much they vary.
    median_ns: float = 5.0 * MS
    spread: float = 0.3
    #: By how much later than intended each starts.
    late_ns: int = 0
    #: Of every so many requests one fails; 0: none.
    fails: int = 0
    labels: tuple[str, ...] = ("home", "home", "home", "post")
    #: Bytes of every answer; None: not counted.
    answer_bytes: int | None = 2000
    #: CPUs of the load generator's own, and how many it used.
    own_cpus: int | None = 1
    used: float = 0.2


def application(
    load: Literal["open", "closed"] = "open", name: str = "shop", **more: Any
) -> Application:
    """Make an application with one service and a load generator."""
    given = {"rate": "{rate}"} if load == "open" else {"users": "{users}"}
    return Application(
        name=name, question="How long does a page take?", folder="/srv/shop", digest="0" * 64,
        image=Image(packages=("busybox",)),
        services=(Service(name="web", command=("httpd",), ready=Ready(port=80)),),
        driver=Driver(
            **{"command": ("drive",), "load": load, "results": "/tmp/r.csv", **given, **more}
        ),
        parameters=(
            Parameter(name="rate", meaning="requests a second", default=100),
            Parameter(name="users", meaning="users", default=4),
        ),
    )  # fmt: skip


class Held(TrialFiles):
    """Requests that are in no file."""

    def __init__(self, tables: Mapping[int, Columns]) -> None:
        super().__init__(Path("nowhere"), requests.REQUESTS)
        self._tables = tables

    def read(self, trial: int, counted: Counted) -> Columns:
        rows = self._tables[trial]
        assert len(rows) == counted.rows
        return requests.REQUESTS.derived(rows.inserted(0, trial=[trial] * len(rows)))


@dataclass(frozen=True)
class Made:
    """Results, and the folder in which their requests are."""

    results: Results
    folder: Path | None
    counts: Mapping[int, int] = field(default_factory=dict)


def make(
    folder: Path | None,
    served: Callable[[dict[str, str]], Served] | Served | None = None,
    *,
    load: Literal["open", "closed"] = "open",
    arguments: Mapping[str, Any] | None = None,
    trials: int = 8,
    **options: Any,
) -> Made:
    """Build the results of an experiment with a service, and write its requests into a folder.

    Without a folder they are held in memory.
    """
    how = served if callable(served) else (lambda _: served or Served())
    made = synthetic.make(
        workloads=("shop",), workers=(1,), trials=trials, process="fresh",
        **{"platforms": ("bare", "docker"), **options},
    )  # fmt: skip
    spec = WorkloadSpec(
        name="shop", command=("supervise",), application=application(load), of_agent=True,
        arguments={"rate": 100, "users": 4, **(arguments or {})},
    )  # fmt: skip
    rng = np.random.default_rng(1)
    samples, counts, tables = [], {}, {}
    for trial in made.trial_table.records():
        if trial["status"] != "ok":
            continue
        one = how({str(k): str(v) for k, v in trial.items()})
        table = _requests(one, rng)
        tables[trial["trial"]] = table
        if folder is not None:
            write(requests.REQUESTS, table, folder, trial["trial"])
        counts[trial["trial"]] = len(table)
        samples += _samples(trial["trial"], one, table)
    kept = Samples({key: part for key, part in made.sample_table if key.metric not in _GONE})
    results = dataclasses.replace(
        made,
        experiment=msgspec.structs.replace(made.experiment, workloads=(spec,)),
        sample_table=columns.more_samples(kept, samples),
        request_files=Held(tables) if folder is None else TrialFiles(folder, requests.REQUESTS),
    )
    return Made(results, folder, counts)


def _requests(one: Served, rng: np.random.Generator) -> Columns:
    n = round(one.rate * one.seconds)
    intended = 10**12 + (np.arange(n) * 1e9 / one.rate).astype(np.int64)
    took = (one.median_ns * np.exp(one.spread * rng.standard_normal(n))).astype(np.int64)
    errors = ["timeout" if one.fails and i % one.fails == 0 else None for i in range(n)]
    labels = [one.labels[i % len(one.labels)] for i in range(n)]
    return Columns({
        "intended_ns": intended, "start_ns": intended + one.late_ns, "duration_ns": took,
        "label": labels, "error": objects(errors),
        "bytes": np.full(n, np.nan) if one.answer_bytes is None else np.full(n, one.answer_bytes),
    })  # fmt: skip


def _samples(trial: int, one: Served, table: Columns) -> list[tuple[Any, ...]]:
    load = requests.load(table)
    found = {
        "response_mean_ns": load.mean_ns, "response_p50_ns": load.p50_ns,
        "response_p95_ns": load.p95_ns, "response_p99_ns": load.p99_ns,
        "response_p999_ns": load.p999_ns,
        "response_max_ns": load.max_ns, "request_throughput": load.throughput,
        "request_rate": load.rate, "request_error_share": load.error_share,
        "requests": load.requests, "request_late_ns": load.late_ns,
        "requests_at_once": load.at_once, "driver_cpus": one.used, "driver_own_cpus": one.own_cpus,
    }  # fmt: skip
    return [
        (trial, None, None, "measured", metric, "driver", float(value))
        for metric, value in found.items()
        if value is not None
    ]
