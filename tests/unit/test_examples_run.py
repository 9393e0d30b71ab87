"""Examples without optional packages: planned, run on a scripted stage and reported."""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import folder_report as report
import msgspec
import pytest
from scripted import (
    MACHINE,
    Execution,
    Stage,
    conduct,
    prepare,
    script_images,
    script_networks,
)
from test_execute import Quiet

from tare import extras
from tare.agent import record
from tare.experiment import file as experiment_file
from tare.experiment import journal, plan, plan_file
from tare.experiment.catalogue import catalogue
from tare.experiment.specification import Cell, Experiment, Stopping
from tare.experiment.store.collector import Collector
from tare.statistics import stopping
from tare.statistics.interim_analysis import Target
from tare.wiring import SUPPLIES

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Spark's jobs read Parquet files.
FILES = [
    path
    for path in sorted(EXAMPLES.rglob("*.toml"))
    if "\n[experiment]" in path.read_text() and not path.stem.startswith("spark")
]
#: Modules of extras, and what comes with them.
ABSENT = (*extras.EXTRAS, "dask")
#: Files that applications prepare, with what their programs are to find.
PREPARED = {"frames": "30", "primes": "216816", "largest": "18446744073709551557"}
#: Requests of a load generator: the columns of its file, and a row.
REQUESTS = """intended_ns,start_ns,duration_ns,label,error
{ms}000000,{ms}000000,{took_ms}000000,read,"""
JMETER = """timeStamp,elapsed,label,responseCode,responseMessage,success
{ms},{took_ms},home,200,OK,true"""
#: What Cassandra's load generator prints besides.
CQL_METRICS = (
    "late", "rate", "warm_up_operations", "partitions", "partitions_read", "partitions_written",
    "collections", "collection_ms", "collection_bytes",
)  # fmt: skip
EPOCH_MS, REQUESTS_SENT = 1_700_000_000_000, 100
#: Cells of an example that are run, of each of its workloads as many; and trials of each.
MOST_CELLS, MOST_OF_WORKLOAD, TRIALS = 12, 6, 6
#: A number that is first in a cell of a table.
NUMBER = re.compile(r'<td class="n">([0-9][0-9,.]*)')
#: Times that an example may ask for, by their source.
TIMES = (
    ("kernel_cpu_ns", "self"), ("kernel_wall_ns", "self"), ("cpu_ns", "self"),
    ("wall_ns", "around"), ("wall_ns", "switch"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ABSENT:
        monkeypatch.setitem(sys.modules, module, None)


def parsed(path: Path) -> Experiment:
    asked = experiment_file.parse(path.read_text(), str(path), catalogue())
    # Instance types are left out where a machine is too small for them.
    large = [size for size in plan.too_large(asked, MACHINE) if size in plan.instance_types(asked)]
    return plan.without(asked, "size", large) if large else asked


class Script:
    """Plants a value in every trial, which tells its cell; answers as each example's programs do.

    Parameters
    ----------
    collector : Collector
        Knows the cells of trials that have begun.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._requests = ""

    def cells(self) -> dict[int, int]:
        """Return the cell of each trial; of one that finds the length of iterations it is -1."""
        trials = self._collector.table("trials")
        return dict(zip(trials["trial"].tolist(), trials["cell"].tolist(), strict=True))

    def planted_ns(self, trial: int) -> int:
        """Return the time that a trial is to have: whole milliseconds, as JMeter's are."""
        return (150 + 11 * self.cells()[trial] + trial % 7) * 10**6

    def planted(self, average: Callable[[list[int]], float]) -> list[float]:
        """Return the average of the times of each cell."""
        times = defaultdict(list)
        for trial, cell in self.cells().items():
            times[cell].append(self.planted_ns(trial))
        return [average(some) for cell, some in times.items() if cell >= 0]

    def __call__(self, job: record.Trial, worker: int) -> Execution:
        """Execute a job of a trial's instance, or of its load generator."""
        argv = getattr(job.workload, "argv", ("",))
        program = " ".join(argv[:2]) if argv[0] == "sh" else Path(argv[0]).name
        match program:
            # What the load generator left; and, before it, the order to remove what there was.
            case "sh -c":
                return Execution({}, out=self._requests if argv[-1].endswith(".csv") else "")
            case "tare-cql":
                open_ = "--rate" in argv
                rate = float(argv[argv.index("--rate") + 1]) if open_ else 10.0
                return self._loaded(job, rate, REQUESTS)
            case "sh /application/drive.sh":
                open_ = argv[2] == "open"
                return self._loaded(job, float(argv[4]) if open_ else 10.0, JMETER)
        time_ns = float(self.planted_ns(job.trial))
        out, err = "", ""
        match program:
            case "ffmpeg":
                err = "Stream #0:0 -> #0:0 (h264 (native) -> hevc (libx265))\n"
                err += f"frame= {PREPARED['frames']} fps=9\n"
            case "sh /application/encode.sh":
                out = f"processes {argv[3]}\nframes {PREPARED['frames']}\n"
            case "mpirun":
                ranks = argv[argv.index("-np") + 1]
                out = f'{{"ranks": {ranks}, "primes": {PREPARED["primes"]}, "seconds": '
                out += f'{time_ns / 1e9}, "largest": "{PREPARED["largest"]}"}}\n'
        values = dict.fromkeys(TIMES, time_ns)
        if job.window is not None:
            # Of the rates of all workers it is the sum that is reported.
            values["throughput", "self"] = time_ns / len(job.workers)
        return Execution(values, out, err)

    def _loaded(self, job: record.Trial, rate: float, form: str) -> Execution:
        """Send requests evenly, each of which takes the planted time."""
        self._requests, row = form.splitlines()
        took_ms = self.planted_ns(job.trial) // 10**6
        for number in range(REQUESTS_SENT):
            at_ms = EPOCH_MS + round(1000 * number / rate)
            self._requests += "\n" + row.format(ms=at_ms, took_ms=took_ms)
        times = {("wall_ns", "around"): 1e9 * REQUESTS_SENT / rate, ("cpu_ns", "self"): 1e7}
        said = json.dumps(
            {"operations": REQUESTS_SENT, **dict.fromkeys(CQL_METRICS, 1.0)}, separators=(",", ":")
        )
        jmeter = f"summary = {REQUESTS_SENT} in 2s\nstarted late: median 1 ms\n"
        return Execution(times, said if form is REQUESTS else jmeter)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_is_planned(path: Path) -> None:
    asked = parsed(path)
    assert plan.cells(asked, MACHINE)


def chosen(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the first cells of each workload, numbered anew."""
    workloads = {cell.workload.name for cell in cells}
    most = min(MOST_OF_WORKLOAD, MOST_CELLS // len(workloads))
    seen: Counter[str] = Counter()
    some = []
    for cell in cells:
        seen[cell.workload.name] += 1
        if seen[cell.workload.name] <= most:
            some.append(msgspec.structs.replace(cell, cell=len(some)))
    return tuple(some)


def numbers(value: Any) -> Iterator[float]:
    """Yield every number of a document."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, int | float):
        yield float(value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_is_run_and_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = prepare(monkeypatch, tmp_path)
    script_networks(monkeypatch)
    script_images(monkeypatch, tmp_path / "image", PREPARED)
    asked = msgspec.structs.replace(parsed(path), stopping=Stopping(trials=TRIALS, budget_s=None))
    cells = chosen(plan.cells(asked, MACHINE))
    made = plan.make(asked, cells)
    plan_file.write(made, folder)
    collector = Collector(folder, made)
    script, target = Script(collector), Target(asked.stopping.precision)
    conduct(
        monkeypatch,
        Stage(script),
        collector,
        Quiet(),
        lambda values: stopping.decide(values, target),
    )
    ends = [one for one in journal.read_all(folder) if isinstance(one, journal.TrialEnd)]
    assert [one.reason for one in ends if one.status != "ok"] == []
    good = Counter(collector.results().good["cell"].tolist())
    assert good == dict.fromkeys(range(len(cells)), TRIALS)
    written = {}
    for ending in ("html", "json"):
        (file,) = report.write(folder, SUPPLIES, tmp_path / f"report.{ending}")
        written[ending] = file.read_text()
    assert asked.question in written["html"]
    stored = list(numbers(json.loads(written["json"])))
    shown = [float(one.replace(",", "")) for one in NUMBER.findall(written["html"])]
    # Calibrations report the mean of their windows, in millions a second.
    average, unit = (statistics.median, 1) if asked.window is None else (statistics.mean, 10**6)
    planted = script.planted(average)
    assert len(planted) == len(cells)
    for value in planted:
        assert pytest.approx(value / unit) in stored
        assert pytest.approx(value / 1e6, abs=0.51) in shown
    assert not any(sys.modules.get(module) for module in ABSENT)
