"""Examples without optional packages: planned; those without an application run and reported."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from scripted import MACHINE, Stage, conduct, prepare
from test_execute import Quiet

from tare import extras
from tare.agent import record
from tare.experiment import file as experiment_file
from tare.experiment import journal, plan
from tare.experiment.catalogue import catalogue
from tare.experiment.findings.answers import all_findings
from tare.experiment.report import page
from tare.experiment.report.origin import Origin
from tare.experiment.specification import Experiment, Stopping
from tare.experiment.store.collector import Collector
from tare.render import html
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
#: Their images, data and networks are real in the system tests.
APART = {"cassandra", "ffmpeg", "mpi", "multitasking", "network", "wordpress"}
ORIGIN = Origin(title="Example", commands=(), versions=("0",), seed=1, digests=(), file=None)
#: Cells of an example that are run.
MOST_CELLS = 6


@pytest.fixture(autouse=True)
def without_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in extras.EXTRAS:
        monkeypatch.setitem(sys.modules, module, None)


def parsed(path: Path) -> Experiment:
    return experiment_file.parse(path.read_text(), str(path), catalogue())


def runs_here(path: Path) -> bool:
    return path.stem not in APART and path.parent == EXAMPLES


def behave(job: record.Trial, worker: int) -> dict[tuple[str, str], float]:
    """Report every time that an example may ask for."""
    time_ns = 1e8 + 1e5 * (job.trial % 7)
    return {
        ("kernel_cpu_ns", "self"): time_ns,
        ("cpu_ns", "self"): time_ns,
        ("wall_ns", "around"): time_ns,
        ("wall_ns", "switch"): time_ns,
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_is_planned(path: Path) -> None:
    asked = parsed(path)
    assert plan.cells(asked, MACHINE)


@pytest.mark.parametrize("path", filter(runs_here, FILES), ids=lambda path: path.stem)
def test_an_example_is_run_and_reported(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = prepare(monkeypatch, tmp_path)
    asked = msgspec.structs.replace(parsed(path), stopping=Stopping(trials=6, budget_s=None))
    cells = plan.cells(asked, MACHINE)[:MOST_CELLS]
    collector = Collector(folder, plan.make(asked, cells))
    target = Target(asked.stopping.precision)
    conduct(
        monkeypatch,
        Stage(behave),
        collector,
        Quiet(),
        lambda values: stopping.decide(values, target),
    )
    ends = [one for one in journal.read_all(folder) if isinstance(one, journal.TrialEnd)]
    assert [one.status for one in ends].count("ok") == len(ends) >= 6 * len(cells)
    results = collector.results()
    findings = all_findings(results, SUPPLIES.findings())
    assert findings
    assert asked.question in html.render(page.make(results, findings, ORIGIN))
