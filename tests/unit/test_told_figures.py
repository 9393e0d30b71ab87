"""Terminal, JSON and page have the same figures: fixed journals, and what all three say of them."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import folder_report as report
import journals
import msgspec
import numpy as np
import printed
import pytest
import synthetic
from journals import BEGIN, LASTS

from tare import readers
from tare.agent import record
from tare.errors import InputError
from tare.experiment import journal, pipeline, plan, plan_file
from tare.experiment.findings import disturbance
from tare.experiment.metrics import ranked
from tare.experiment.report import backing
from tare.experiment.results import Results
from tare.experiment.session.resume_state import Past
from tare.experiment.specification import Cell, Experiment, Stopping
from tare.experiment.store.collector import Collector
from tare.features.measure.comparison import report as comparison_report
from tare.features.measure.comparison import session
from tare.features.measure.comparison.execution import Execution
from tare.features.measure.run.report import _notes, missed, target_of
from tare.features.measure.run.report import make as report_of
from tare.features.measure.run.summary import Summary, summarize
from tare.readers.series import FailedRuns
from tare.render import comment, files, markdown
from tare.render.words import text as text_of
from tare.results.message import Amount, Chosen, message
from tare.units import percent
from tare.wiring import SUPPLIES
from tare.workloads.specification import WorkloadSpec

MS = 1e6
UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0, "MiB": 2.0**20, "KiB": 2.0**10, "bytes": 1.0}
Values = Mapping[tuple[str, str], float]
#: "60.56 ms [60.47, 60.63]", or "60.56 ms".
FIGURE = re.compile(r"(\d[\d.,]*) (s|ms|µs|ns|MiB|KiB|bytes)\b(?: \[([\d.,]+), ([\d.,]+)\])?")


def series(n: int, seed: int = 1, *, memory: float = 0.0, level: float = 60.0) -> list[Values]:
    """Give trials of a command, with all sources of its time; ``memory``: autocorrelation."""
    rng = np.random.default_rng(seed)
    found: list[Values] = []
    state = 0.0
    for _ in range(n):
        state = memory * state + rng.normal()
        wall = float(np.rint(level * MS * np.exp(0.02 * state)))
        found.append({
            ("wall_ns", "perf_cpu"): wall,
            ("wall_ns", "switch"): wall + float(rng.integers(10_000, 900_000)),
            ("wall_ns", "around"): wall + 2 * MS,
            ("teardown_ns", "switch"): 0.5 * MS,
            ("cpu_ns", "cgroup"): wall / 3,
            ("cpu_ns", "rusage"): wall / 4,
            ("memory_bytes", "rusage"): 9.5 * 2**20 + float(rng.integers(0, 2**16)),
            ("memory_bytes", "cgroup"): 3.9 * 2**20,
            ("wait_ns", "schedstat"): 0.12 * wall,
            # Of both CPUs, and of the whole second that a trial takes.
            ("steal_ns", "stat"): 0.1 * LASTS,
        })  # fmt: skip
    return found


def without(trials: list[Values], metric: str, source: str, *which: int) -> list[Values]:
    """Leave a value out of some trials; of all, where none is named."""
    return [
        {k: v for k, v in t.items() if k != (metric, source) or (which and i not in which)}
        for i, t in enumerate(trials)
    ]


@dataclass
class Case:
    trials: list[Values]
    stopping: Stopping = field(default_factory=lambda: Stopping(budget_s=10.0))
    metric: str = "wall_ns"
    reason: str = "budget"
    failed: int = 0


CASES = {
    "one": Case(series(1)),
    "three": Case(series(3)),
    "six": Case(series(6)),
    "sixty": Case(series(60)),
    "fixed": Case(series(12), Stopping(trials=12), reason="finished"),
    "autocorrelated": Case(series(90, memory=0.8)),
    "by hand": Case(series(25), reason="interrupted"),
    "by hand early": Case(series(4), reason="interrupted"),
    "p90": Case(series(130), Stopping(budget_s=10.0, quantile=0.9)),
    "two metrics": Case(series(70), Stopping(budget_s=10.0, also=("wall_ns",)), "cpu_ns"),
    "memory": Case(series(20), metric="memory_bytes"),
    "one has no teardown": Case(without(series(20), "wall_ns", "switch", 7)),
    "read around": Case(
        without(without(series(20), "wall_ns", "switch"), "wall_ns", "perf_cpu")
    ),
    "nothing recorded": Case(
        without(without(series(20), "wait_ns", "schedstat"), "steal_ns", "stat")
    ),
    "some failed": Case(series(20), failed=3),
}  # fmt: skip


def write(folder: Path, asked: Experiment, cells: Sequence[Cell], given: Sequence[Case]) -> Path:
    """Write the folder of an experiment whose cells had these trials, in turn."""
    (folder / "journal").mkdir(parents=True)
    plan_file.write(plan.make(asked, tuple(cells)), folder)
    lines: list[journal.Line] = [
        journals.session(),
        journal.MachineFact(name="cpus", value=2, source="sched_getaffinity"),
    ]
    number = 0
    for block in range(max(len(case.trials) for case in given)):
        for cell, case in zip(cells, given, strict=True):
            if block < len(case.trials):
                number += 1
                good = block >= case.failed
                lines += _trial(number, block, cell, case.trials[block] if good else None)
    lines.append(journal.SessionEnd(ended="2026-01-01T11:00:00.000+00:00", reason=given[0].reason))
    writer = journal.Writer(folder / "journal" / "1.ndjson")
    writer.write(*lines)
    writer.close()
    return folder


def _trial(number: int, block: int, cell: Cell, values: Values | None) -> list[journal.Line]:
    lines: list[journal.Line] = [
        journals.start(number, block=block, cell=cell.cell, levels=cell.levels())
    ]
    lines += [
        record.Sample(
            id=number, trial=number, worker=0, iteration=0, phase="measured",
            metric=metric, source=source, value=value,
        )
        for (metric, source), value in (values or {}).items()
    ]  # fmt: skip
    lines.append(
        journal.TrialEnd(
            trial=number,
            status="failed" if values is None else "ok",
            reason="exit code 1" if values is None else None,
            monotonic_ns=BEGIN + number * LASTS + LASTS,
        )
    )
    return lines


def experiment(*names: str, case: Case, **changes: Any) -> Experiment:
    workloads = tuple(WorkloadSpec(name=name, command=(name,)) for name in names)
    return Experiment(
        name="run", question="How long does a take?", workloads=workloads, factors={},
        metric=case.metric, stopping=case.stopping, fingerprint=False, **changes,
    )  # fmt: skip


def measured(folder: Path, asked: Experiment, cell: Cell, case: Case) -> Results:
    """Return the results of a single cell."""
    return pipeline.results_of(write(folder, asked, [cell], [case]))


def page(folder: Path) -> str:
    """Return the page's text, without the marks of Markdown."""
    results = pipeline.results_of(folder)
    answers = pipeline.answers(results, SUPPLIES.findings())
    document = report.document(folder, SUPPLIES, answers.findings, results=results)
    return markdown.render(document, "report-charts").replace("\\", "")


def screen_of(summary: Summary) -> str:
    return " ".join(printed.text(report_of(summary, "a", None, "bare")).split())


def figures(text: str) -> list[tuple[str, ...]]:
    return [found.groups("") for found in FIGURE.finditer(text)]


def holds(shown: tuple[str, ...], value: float, low: float | None, high: float | None) -> bool:
    """Tell whether what is shown is these numbers, rounded at the last digit that is shown."""
    told, unit, *ends = shown
    for text, number in zip((told, *ends), (value, low, high), strict=True):
        if (not text) != (number is None):
            return False
        if text:
            places = len(text.partition(".")[2])
            if float(text.replace(",", "")) != pytest.approx(
                round((number or 0) / UNITS[unit], places), abs=1e-9
            ):
                return False
    return True


@pytest.mark.parametrize("name", CASES)
def test_a_run_says_the_same_on_the_screen_on_the_page_and_in_json(
    name: str, tmp_path: Path
) -> None:
    case = CASES[name]
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    folder = write(tmp_path / "kept", asked, [cell], [case])

    made = report_of(summarize(pipeline.results_of(folder), case.reason), "a", None, "bare")
    screen = " ".join(printed.text(made).split())
    told = json.loads(files.encode(made))
    written = page(folder)

    good = case.trials[case.failed :]
    for known, metric in zip(
        told["summary"]["asked"], (case.metric, *case.stopping.also), strict=True
    ):
        # What JSON says is what the trials have, from the best source that all of them have.
        source = ranked(metric, set.intersection(*({s for m, s in t if m == metric} for t in good)))
        values = [t[metric, source[0]] for t in good]
        assert known["source"] == source[0]
        assert known["value"] == pytest.approx(np.quantile(values, known["quantile"]), rel=1e-3)
        assert known["n"] == len(good)
        three = known["value"], known["low"], known["high"]
        for text in (screen, written):
            assert any(holds(shown, *three) for shown in figures(text)), text
        both = {shown for text in (screen, written) for shown in figures(text) if shown[2]}
        # Of one metric and quantile there is one figure, wherever it stands.
        assert len({shown for shown in both if holds(shown, *three)}) == (known["low"] is not None)
    _same_time(told, case, good)
    _same_trust(told, screen, written)


def _same_time(told: dict[str, Any], case: Case, good: list[Values]) -> None:
    """Trials and summary have the same time."""
    walls = [t["wall_s"] for t in told["trials"] if t["status"] == "ok"]
    sources = {t["source"] for t in told["trials"] if t["status"] == "ok"}
    if len(sources) == 1:
        assert told["summary"]["median_s"] == pytest.approx(np.median(walls), rel=1e-12)
    for known in told["summary"]["asked"]:
        if (known["metric"], known["quantile"]) == ("wall_ns", 0.5):
            assert told["summary"]["median_s"] == known["value"] / 1e9
            assert told["summary"]["precision"] == known["reached"]
    assert told["summary"]["n"] == len(good)
    few = len(good) < 6
    assert (told["summary"]["p10_s"] is None) == few


def _same_trust(told: dict[str, Any], screen: str, written: str) -> None:
    found = told["summary"]["disturbance"]
    if found is None:
        words = "isturbances were not recorded"
    else:
        assert 0 <= found["share"] <= 1
        name = text_of(
            message(
                {
                    "stolen": "stolen time",
                    "throttling": "throttling",
                    "waiting": "waiting for a CPU",
                }[found["what"]]
            )
        )
        words = f"{name[1:]} took {percent(found['share'])} of the time"
    assert words in screen
    assert words in written
    reached = [k["reached"] for k in told["summary"]["asked"]]
    if len(reached) == 1 and reached[0] is not None and "median ± " in screen:
        if told["summary"]["asked"][0]["metric"] == "wall_ns":
            assert f"median ± {percent(told['summary']['precision'])}" in screen
        assert f"±{percent(reached[0])}" in written


@pytest.mark.parametrize(("target", "advised"), [(0.02, False), (0.001, True)])
def test_no_longer_budget_is_advised_for_what_was_reached(
    target: float, advised: bool, tmp_path: Path
) -> None:
    """The last look at an autocorrelated series was before its last trials."""
    case = CASES["sixty"]
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    summary = summarize(measured(tmp_path / "a", asked, cell, case), case.reason)
    summary.stop = journal.Stop(
        cell=0, trials=60, reason="budget", target=target, more_trials=2, more_seconds=0.1
    )
    assert ("--budget" in screen_of(summary)) == advised


def test_processes_that_outlived_a_command_are_told_once(tmp_path: Path) -> None:
    case = CASES["six"]
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    folder = write(tmp_path / "a", asked, [cell], [case])
    writer = journal.Writer(folder / "journal" / "2.ndjson")
    writer.write(journals.session())
    left = record.Outlived(names=("sleep",), duration_ns=1_000_000_000, killed=True)
    for trial in (1, 2):
        writer.write(
            record.Fault(id=1, trial=trial, kind="warning", message="left sleep", outlived=left)
        )
    writer.close()
    screen = screen_of(summarize(pipeline.results_of(folder), case.reason))
    assert screen.count("sleep") == 1
    assert "2 of 6 trials left processes (sleep), which were killed after 1 s" in screen


def test_a_quantile_without_an_interval_says_why(tmp_path: Path) -> None:
    case = Case(series(30), Stopping(trials=30, quantile=0.95), reason="finished")
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    summary = summarize(measured(tmp_path / "a", asked, cell, case), case.reason)
    (known,) = summary.asked
    assert known.interval.refusal is not None
    screen = screen_of(summary)
    assert f"no interval: {text_of(known.interval.refusal)}" in screen


@pytest.mark.parametrize(
    ("n", "target", "met"), [(130, 0.05, True), (130, 0.0001, False), (12, 0.05, False)]
)
def test_of_a_quantile_it_is_said_whether_its_precision_was_reached(
    n: int, target: float, met: bool, tmp_path: Path
) -> None:
    case = Case(series(n), CASES["p90"].stopping)
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    summary = summarize(measured(tmp_path / "a", asked, cell, case), case.reason)
    summary.stop = journal.Stop(cell=0, trials=n, reason="budget", target=target)
    (known,) = summary.asked
    reached = known.interval.half_width
    assert target_of(summary) == message(
        "± {target} for {names | listing}: {% if not met %}not {% endif %}reached"
        "{% if reached %} (± {reached}){% else %}, no interval{% endif %}",
        target=Chosen(target),
        names=[known.name],
        met=met,
        reached=None if reached is None else Amount(reached, "share"),
    )
    labels = [line.label for line in report_of(summary, "a", None, "bare").entries]
    assert labels[:4] == ["Time", "p90", "Target", "TRUST"]
    # Where more trials would reach it, that is said once.
    if reached is not None and not met:
        summary.stop = journal.Stop(
            cell=0, trials=n, reason="budget", target=target, more_trials=9, more_seconds=1.0
        )
        assert target_of(summary) is None
        assert missed(summary) is not None


def test_of_the_usual_run_the_trust_has_the_precision(tmp_path: Path) -> None:
    case = CASES["sixty"]
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    summary = summarize(measured(tmp_path / "a", asked, cell, case), case.reason)
    summary.stop = journal.Stop(cell=0, trials=60, reason="target", target=0.02)
    assert target_of(summary) is None


@pytest.mark.parametrize("name", ["sixty", "one has no teardown", "some failed", "memory"])
def test_an_audit_reads_what_a_run_has_written(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    summary = summarize(measured(tmp_path / "a", asked, cell, case), case.reason)
    file = tmp_path / "run.json"
    file.write_text(files.encode(report_of(summary, "a", None, "bare"), indent=2))
    found = readers.read(file)
    (one,) = found.series
    known = summary.asked[0]
    assert (found.format, len(one.values)) == ("tare-json", known.interval.n)
    scale = 1e9 if one.unit == "s" else 1.0
    assert np.median(one.values) * scale == pytest.approx(known.interval.estimate, rel=1e-12)
    assert one.trial is not None
    assert one.trial[0] == case.failed + 1
    left_out = FailedRuns(case.failed, len(one.values) + case.failed, "trial")
    assert found.failed == (left_out if case.failed else None)
    # What else was measured of each trial can be named.
    (other,) = readers.read(file, readers.ColumnOptions(value="cpu_ns")).series
    assert (other.values * 1e9).tolist() == pytest.approx(
        [t["cpu_ns", "cgroup"] for t in case.trials[case.failed :]]
    )
    with pytest.raises(InputError, match="has no nonsense"):
        readers.read(file, readers.ColumnOptions(value="nonsense"))


def test_stolen_time_is_a_share_of_what_all_cpus_had(tmp_path: Path) -> None:
    """A command that ends at once, and leaves a child behind for a second of stolen time."""
    case = Case([
        {**t, ("wall_ns", "switch"): 2.6 * MS, ("steal_ns", "stat"): 0.5 * LASTS,
         ("wait_ns", "schedstat"): 0.0}
        for t in series(3)
    ])  # fmt: skip
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    found = summarize(measured(tmp_path / "a", asked, cell, case), "budget").disturbance
    assert found is not None
    assert 0 <= found.share <= 1


def test_trials_whose_records_were_lost_say_nothing_of_disturbances(tmp_path: Path) -> None:
    """Of them only the first thread's waiting is known, which is none of the tree's."""
    waits = {("wait_ns", "schedstat"): 0.5 * LASTS, ("lost_records", "perf_buffer"): 6044.0}
    calm = {("wait_ns", "schedstat"): 0.0}
    for name, given, found_of in (("some", [waits, calm, calm], True), ("all", 3 * [waits], False)):
        case = Case([{**t, **own} for t, own in zip(series(3), given, strict=True)])
        asked = experiment("a", case=case)
        cell = Cell(cell=0, workload=asked.workloads[0])
        folder = write(tmp_path / name, asked, [cell], [case])
        summary, results = (
            summarize(pipeline.results_of(folder), "budget"),
            pipeline.results_of(folder),
        )
        for found in (summary.disturbance, disturbance.disturbance(results)):
            assert (found is not None and not found.is_waiting) == found_of
        lost = given.count(waits)
        said = message(
            "the kernel's records were lost in {trials} of {of | counted('trial')} (up to "
            "{most}): their times are tare's own, less exact",
            trials=lost,
            of=3,
            most=6044,
        )
        time = summary.known("wall_ns")
        assert time is not None
        assert said in [*_notes(summary, time, None)]
        assert said in backing.doubts(results)
    assert "6,044" in text_of(said)


def test_the_whole_tree_waits_for_a_cpu() -> None:
    """Children that did not get a CPU count, though the root process slept all the time."""
    one = np.array([1.0])
    recorded = {
        ("wait_ns", "schedstat"): 0.001 * one,
        ("on_cpu_ns", "perf_cpu"): one,
        ("off_cpu_preempted_ns", "perf_cpu"): 3 * one,
    }
    found = disturbance.worst(recorded, one, one, 2)
    assert found is not None
    assert (found.what, found.share) == ("waiting", 0.75)
    assert disturbance.worst({}, one, one, 2) is None


@pytest.mark.parametrize(
    ("threads", "recorded", "throttled", "waiting", "of_first_thread"),
    [
        # A thread that computes for 100 ms with a quota of half a CPU.
        (
            1, {"wall": 195, "ran": 100, "ready": 95, "wait": 95, "throttled": 95},
            0.49, 0.0, (0.49, 0.0),
        ),
        # Two threads on two CPUs, and four, which also wait for each other.
        # Of one thread's waiting alone, all is throttled time.
        (
            2, {"wall": 395, "ran": 200, "ready": 582, "wait": 289, "throttled": 575},
            0.73, 0.01, (0.73, 0.0),
        ),
        (
            4, {"wall": 395, "ran": 200, "ready": 1082, "wait": 344, "throttled": 583},
            0.74, 0.11, (0.87, 0.0),
        ),
        # It sleeps for most of the time.
        (
            1, {"wall": 1000, "ran": 10, "ready": 90, "wait": 90, "throttled": 90},
            0.09, 0.0, (0.09, 0.0),
        ),
        # The quota was used up by the launch, which is not in the time.
        (
            1, {"wall": 1.5, "ran": 1.3, "ready": 0.0, "wait": 0.0, "throttled": 99},
            0.0, 0.0, (0.13, 0.0),
        ),
        # Others used the CPU, and there is a quota that was never used up.
        (
            1, {"wall": 195, "ran": 100, "ready": 95, "wait": 95, "throttled": 0},
            0.0, 0.49, (0.0, 0.49),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("switches", [True, False])
def test_throttled_time_is_not_waited_for_a_cpu(
    threads: int,
    recorded: dict[str, float],
    throttled: float,
    waiting: float,
    of_first_thread: tuple[float, float],
    switches: bool,
) -> None:
    """To the kernel, a throttled thread waits as well."""
    at = {name: np.full(10, 1e6 * ms) for name, ms in recorded.items()}
    values = {
        ("wait_ns", "schedstat"): at["wait"],
        ("throttled_ns", "cgroup"): at["throttled"],
        ("cpu_ns", "rusage"): at["ran"],
    }
    if switches:
        values |= {
            ("on_cpu_ns", "perf_cpu"): at["ran"],
            ("off_cpu_preempted_ns", "perf_cpu"): at["ready"],
        }
    else:
        # Only the first thread's waiting is known.
        throttled, waiting = of_first_thread
    found = disturbance.worst(values, at["wall"], at["wall"], 2)
    assert found is not None
    assert found.measured["throttling"] == pytest.approx(throttled, abs=0.006)
    assert found.measured["waiting"] == pytest.approx(waiting, abs=0.006)
    if throttled > waiting:
        assert not found.is_waiting
        assert disturbance.said(found) == message(
            "throttled by a CPU quota for {share} of the time",
            share=Amount(found.share, "share"),
        )


def test_nothing_is_said_of_what_was_not_looked_at() -> None:
    """No disturbance is one of those that were recorded, in all trials and for long enough."""
    wall = np.full(10, 5e8)
    quiet = dict.fromkeys(disturbance.RECORDED, 0 * wall)
    found = disturbance.worst(quiet, wall, wall, 2)
    assert found is not None
    assert (set(found.measured), found.missing) == (set(disturbance.RECORDED.values()), {})
    assert disturbance.said(found) == message(
        "no disturbance above {limit} of the time{% if missing %} (not measured: "
        "{missing | join(', ')}){% endif %}",
        limit=Chosen(0.01),
        missing=[],
    )
    throttled = np.where(np.arange(10) < 3, 0.0, np.nan)
    some = {("wait_ns", "schedstat"): 0 * wall, ("throttled_ns", "cgroup"): throttled}
    found = disturbance.worst({**quiet, **some}, wall / 10, wall / 10, 2)
    assert found is not None
    assert found.missing == {
        "stolen": message("trials are shorter than {least}", least=Chosen(1e8, "ns")),
        "throttling": message("recorded in {trials} of {of} trials", trials=3, of=10),
    }
    assert disturbance.said(found).args["missing"] == [
        message(
            {"stolen": "stolen time", "throttling": "throttling", "waiting": "waiting for a CPU"}[
                what
            ]
        )
        for what in ("stolen", "throttling")
    ]
    found = disturbance.worst({("wait_ns", "schedstat"): 0.1 * wall}, wall, wall, 2)
    assert found is not None
    assert found.missing["throttling"] == message("not recorded")
    assert text_of(disturbance.said(found)) == "waiting for a CPU took 10.0 % of the time"
    quota = {("wait_ns", "schedstat"): 0.3 * wall, ("throttled_ns", "cgroup"): 0.1 * wall}
    found = disturbance.worst(quota, wall, wall, 2)
    assert found is not None
    assert not found.is_waiting
    assert text_of(disturbance.said(found)).endswith("and a CPU quota throttled it for 10.0 %")


@pytest.mark.parametrize("reason", ["budget", "interrupted"])
@pytest.mark.parametrize("n", [12, 60])
def test_a_comparison_says_the_same_everywhere(n: int, reason: str, tmp_path: Path) -> None:
    stopping = Stopping(budget_s=10.0, compare="workload")
    # The second of both was started twice more, as when the last pair is cut.
    cases = [Case(series(n, k, memory=0.5, level=60 + k), stopping, reason=reason) for k in (1, 2)]
    cases[0].trials += series(2, 3)
    asked = experiment("old", "new", case=cases[0], margin=0.02)
    cells = [Cell(cell=i, workload=w) for i, w in enumerate(asked.workloads)]
    folder = write(tmp_path / "kept", asked, cells, cases)
    results = pipeline.results_of(folder)
    found = session.differences_in(results, folder, Execution(SUPPLIES), reason)
    made = session.conclude(found, results, reason, folder, Execution(SUPPLIES), lambda code: None)
    screen, out = printed.text(made), tmp_path / "out.json"
    out.write_text(files.encode(made))
    (c,) = json.loads(out.read_text())["comparisons"]
    written = page(folder)
    assert re.search(r"\| cpus \| 2 \|", written)
    # Commands have no workers and iterations.
    assert "SDs: of the trials' means." in written
    for one, values in zip(readers.read(out).series, c["values"], strict=True):
        assert (one.values * 1e9).tolist() == pytest.approx(values)
        assert one.block is not None
    rows = [line.split("|") for line in written.splitlines() if line.startswith("| ")]
    for one, case in zip(c["medians"], cases, strict=True):
        values = [t["wall_ns", "switch"] for t in case.trials]
        assert (one["n"], one["median"]) == (len(values), np.median(values))
        (line,) = re.findall(rf"Median +{one['name']} +(.*)", screen)
        (shown,) = figures(line)
        assert holds(shown, one["median"], *one["median_ci"])
        # On the page, a column of both has as many digits.
        own = [r for r in rows if r[1].strip() == one["name"] and r[2].strip() == str(one["n"])]
        cell_row = next(r for r in own if "[" in r[3])
        told = re.fullmatch(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", cell_row[3].strip())
        assert told is not None
        assert holds((told[1], "ms", told[2], told[3]), one["median"], *one["median_ci"])
    assert _percents(c) in screen
    assert _percents(c) in written


def _percents(c: dict[str, Any]) -> str:
    from tare.units import change_interval

    return change_interval(c["ratio"], *c["ratio_ci"])


def test_a_table_of_platforms_says_what_its_json_says(tmp_path: Path) -> None:
    stopping = Stopping(budget_s=10.0, compare="platform")
    cases = [Case(series(20, k, level=60 + k), stopping) for k in (1, 2)]
    asked = experiment("a", case=cases[0], margin=0.02)
    cells = [
        Cell(cell=i, workload=asked.workloads[0], platform=p)
        for i, p in enumerate(("bare", "unshare"))
    ]
    folder = write(tmp_path / "kept", asked, cells, cases)
    results = pipeline.results_of(folder)
    found = session.differences_in(results, folder, Execution(SUPPLIES), "")
    made = comparison_report.make(results, found, ended="finished", gate=None, is_table=True)
    screen = printed.text(made)
    for name, known in zip(("bare", "unshare"), found[0].medians, strict=True):
        (line,) = re.findall(rf"^{name} .*", screen, re.MULTILINE)
        (told, *ends) = re.search(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", line).groups()
        assert holds((told, "ms", *ends), known.estimate, known.low, known.high)
        assert line.rstrip().endswith(" 20")


@pytest.mark.parametrize("real", [("bare",), ("bare", "docker")])
def test_an_emulated_platform_is_shown_and_not_compared(
    real: tuple[str, ...], tmp_path: Path
) -> None:
    made = synthetic.make(
        synthetic.Behaviour(), platforms=(*real, "vm"), workers=(1,), trials=8, emulated=("vm",)
    )
    stopping = Stopping(trials=8, compare="platform")
    asked = msgspec.structs.replace(made.experiment, stopping=stopping)
    folder = journals.write(dataclasses.replace(made, experiment=asked), tmp_path / "kept")
    execution = Execution(SUPPLIES)
    results = pipeline.results_of(folder)
    found = session.differences_in(results, folder, execution, "finished")
    assert [d.second for d in found] == list(real[1:])
    made = comparison_report.make(results, found, ended="finished", gate=None, is_table=True)
    assert made.cells is not None
    assert [row["platform"] for row in made.cells.rows] == [*real, "vm (emulated)"]
    assert "ratio" not in made.cells.rows[-1]
    assert "vm (emulated)" in comment.render(made)


def test_the_past_is_judged_by_the_source_that_is_told(tmp_path: Path) -> None:
    """What stops a session that goes on is what is told of it at last."""
    case = CASES["sixty"]
    asked = experiment("a", case=case)
    cell = Cell(cell=0, workload=asked.workloads[0])
    folder = write(tmp_path / "kept", asked, [cell], [case])
    from tare.experiment.session.resume_state import past
    from tare.experiment.session.session_state import Tally

    collector = Collector(folder, plan_file.read(folder))
    before = past(collector.lines())
    assert isinstance(before, Past)
    before.values = collector.values(case.metric)
    tally = Tally((cell,), before, case.metric)
    values = [value for _, value in tally.values([0])[0]]
    assert values == [t["wall_ns", "switch"] for t in case.trials]
