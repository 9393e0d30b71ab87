"""One planted question for all who conclude: runs that are killed must not make a program faster.

A program takes 20 ms, and 300 ms in a share of its runs, which are killed at 100 ms. The other one
takes 50 ms. Without a limit, 20 % of slow runs leave the program faster, 60 % make it slower. Its
ended runs alone are faster in either case.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import journals
import msgspec
import numpy as np
import pytest
import synthetic
from synthetic import MS

from tare.experiment import plan_file
from tare.experiment.findings import difference
from tare.experiment.findings.judgement import differences
from tare.experiment.results import Results
from tare.experiment.specification import Stopping
from tare.experiment.store import export
from tare.experiment.task_sets.outcomes import RESULTS, Measure, Pair, Scored
from tare.experiment.task_sets.ranking import versus
from tare.features.audit.audit import audit
from tare.features.audit.question import Question, Sizing
from tare.features.fleet import folder as fleet_folder
from tare.features.fleet.folder import HostRecord, Record
from tare.features.fleet.results import load
from tare.features.measure.baseline import stored
from tare.features.measure.baseline.comparison import compare as compare_with_baseline
from tare.features.measure.run.summary import Summary
from tare.readers import ColumnOptions
from tare.results.message import Message
from tare.results.verdict import Direction
from tare.statistics.comparison import Comparison, compare

LIMIT_MS, TRIALS, STEADY, PROGRAM = 100, 120, "a steady one", "b often slow"
SHARES = (0.2, 0.6)


@dataclass(frozen=True)
class Concluded:
    """What somebody concludes of the program, relative to the steady one."""

    direction: Direction
    killed: int
    ratio: tuple[float | None, float | None]


@functools.cache
def measured(share: float, seed: int = 3) -> tuple[Results, Results]:
    """Return results without a limit, and with it."""

    def behave(levels: dict[str, str]) -> synthetic.Behaviour:
        if levels["workload"] == STEADY:
            return synthetic.Behaviour(50 * MS, 0.03)
        return synthetic.Behaviour(20 * MS, 0.03, outliers=share, outlier_size=14)

    whole = synthetic.make(
        behave, workloads=(STEADY, PROGRAM), platforms=("bare",), workers=(1,), trials=TRIALS,
        seed=seed, metric="wall_ns", stopping=Stopping(compare="workload", trials=TRIALS),
    )  # fmt: skip
    return whole, synthetic.with_limit(whole, LIMIT_MS * MS)


def values(results: Results) -> list[np.ndarray]:
    rows = results.values("wall_ns")
    return [rows.where(workload=name)["value"] for name in (STEADY, PROGRAM)]


def concluded(found: Comparison) -> Concluded:
    return Concluded(found.verdict.direction, sum(found.killed), (found.low, found.high))


def by_compare(results: Results, folder: Path) -> Concluded:
    found = differences(results)
    assert not isinstance(found, Message)
    (difference,) = found
    return concluded(difference.comparison)


def by_experiment(results: Results, folder: Path) -> Concluded:
    """The row of the table of differences."""
    found = difference.UNIT.find(results)
    assert not isinstance(found, Message)
    (row,) = [row for table in found.tables for row in table.rows if "direction" in row]
    count = len(results.trial_table.where(status="killed"))
    low = 0.0 if row.get("open") in ("low", "both") else row["low"]
    high = np.inf if row.get("open") in ("high", "both") else row["high"]
    return Concluded(row["direction"], count, (low, high))


def by_baseline(results: Results, folder: Path) -> Concluded:
    """Six sessions of the steady one, and one of the program."""
    share = next(share for share in SHARES if measured(share)[1] is results)
    before = [
        stored.of(measured(share, seed)[1], "wall_ns", workload=STEADY) for seed in range(3, 9)
    ]
    sessions = tuple(session for one in before for session in one.sessions)
    baseline = msgspec.structs.replace(before[0], sessions=sessions)
    new = stored.of(results, "wall_ns", workload=PROGRAM)
    return concluded(compare_with_baseline(baseline, new, 0.02, 1.0).comparison)


def by_run(results: Results, folder: Path) -> Concluded:
    """The median of the program alone, beside 50 ms."""
    alone = of_program(results)
    known = Summary(alone, "finished", "wall_ns").known("wall_ns")
    assert known is not None
    low, high = known.interval.low, known.interval.high
    assert low is not None
    assert high is not None
    direction: Direction = "inconclusive"
    if low > 50 * MS:
        direction = "higher"
    elif high < 50 * MS:
        direction = "lower"
    killed = len(alone.trial_table.where(status="killed"))
    return Concluded(direction, killed, (low / (50 * MS), high / (50 * MS)))


def of_program(results: Results) -> Results:
    """Return the results of the program alone."""
    return dataclasses.replace(results, trial_table=results.trial_table.where(workload=PROGRAM))


def by_audit_of_a_folder(results: Results, folder: Path) -> Concluded:
    return of_audit(journals.write(results, folder / "results"), compare="workload")


def by_audit_of_an_export(results: Results, folder: Path) -> Concluded:
    """The table of samples that `tare export` writes."""
    written = journals.write(results, folder / "results")
    file = folder / "samples.csv"
    export.export(written, "samples", "csv", file, lambda _: [])
    columns = ColumnOptions(
        value="value", group=("metric", "source"), compare=("workload",), block="block",
        trial="trial",
    )  # fmt: skip
    found = audit([file], Question(columns=columns, sizing=Sizing(reference=STEADY)))
    wanted = {"metric": "wall_ns", "source": results.sources("wall_ns")[0]}
    (one,) = [c for c in found.comparisons if wanted.items() <= c.key.items()]
    assert one.location is not None
    return concluded(one.location)


def by_audit_of_benchexec(results: Results, folder: Path) -> Concluded:
    """Two run definitions, each of one task with a run for each trial."""
    files = []
    for name, some in zip(("steady", "slow"), values(results), strict=True):
        rows = "".join(
            '<run name="t">'
            + "".join(
                f'<column title="{title}" value="{value}"/>'
                for title, value in (
                    ("walltime", f"{min(value / 1e9, LIMIT_MS / 1e3 + 0.003):.9f}s"),
                    ("status", "TIMEOUT" if np.isinf(value) else "true"),
                    ("category", "error" if np.isinf(value) else "correct"),
                    *([("terminationreason", "walltime")] if np.isinf(value) else []),
                )
            )
            + "</run>"
            for value in some
        )
        files.append(folder / f"{name}.xml")
        files[-1].write_text(
            f'<result benchmarkname="b" tool="t" options="{name}" walltimelimit="0.1s">'
            f"{rows}</result>"
        )
    return of_audit(*files, compare="options", value="walltime")


def of_audit(*files: Path, compare: str, value: str | None = None) -> Concluded:
    found = audit([*files], Question(columns=ColumnOptions(compare=(compare,), value=value)))
    (one,) = found.comparisons
    assert one.location is not None
    return concluded(one.location)


def by_fleet(results: Results, folder: Path) -> Concluded:
    """Three hosts; what is concluded on each is of one family."""
    share = next(share for share in SHARES if measured(share)[1] is results)
    names = ("h1", "h2", "h3")
    for seed, name in enumerate(names, 3):
        journals.write(measured(share, seed)[1], folder / "fleet" / plan_file.HOSTS / name)
    records = tuple(HostRecord(name=name, ended="finished") for name in names)
    fleet_folder.write(Record(name="f", question="?", hosts=records), folder / "fleet")
    fleet = load(folder / "fleet")
    assert not fleet.ratios  # no mean of the runs that ended
    ((what, by_host),) = [one for one in fleet.above.items() if one[0].reference is not None]
    assert what.reference == STEADY
    ratios = [one.ratio for one in by_host.values() if one.ratio is not None]
    assert len(ratios) == 3
    assert len({one.verdict for one in ratios}) == 1
    return concluded(ratios[0])


def by_task_sets(results: Results, folder: Path) -> Concluded:
    """Each trial is a task, with a length of its own that both programs share."""
    sides = []
    for number, some in enumerate(values(results)):
        killed = np.isinf(some)
        result = np.where(killed, RESULTS.index("timeout"), RESULTS.index("correct"))
        wall = Measure("wall_ns", "wall time", "ns", LIMIT_MS * MS, "timeout")
        time = np.where(killed, LIMIT_MS * MS, some)
        sides.append(
            Scored(
                number=number,
                label=f"{number}",
                levels={"program": f"{number}"},
                session="one",
                result=result.astype(np.int16)[:, None],
                measures=(wall,),
                values={"wall_ns": time[:, None]},
            )
        )
    found = versus(Pair(*sides)).ratios[0].with_killed
    assert found is not None
    return concluded(found)


ASKED: dict[str, Callable[[Results, Path], Concluded]] = {
    "run": by_run,
    "compare": by_compare,
    "experiment": by_experiment,
    "baseline": by_baseline,
    "audit of a folder": by_audit_of_a_folder,
    "audit of an export": by_audit_of_an_export,
    "audit of BenchExec": by_audit_of_benchexec,
    "fleet": by_fleet,
    "task sets": by_task_sets,
}
#: Those who compare the same pairs, so that their interval contains that of all values.
PAIRED = {"compare", "experiment", "audit of a folder", "audit of an export", "fleet", "task sets"}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("who", ASKED)
def test_killed_runs_do_not_make_a_program_faster(who: str, share: float, tmp_path: Path) -> None:
    whole, killed = measured(share)
    truth = compare(*values(whole))
    direction: Direction = "lower" if share < 0.5 else "higher"
    assert truth.verdict.direction == direction
    found = ASKED[who](killed, tmp_path)
    assert found.killed == int(np.isinf(values(killed)[1]).sum()) > 0.7 * share * TRIALS
    assert found.direction in (direction, "inconclusive")
    if who in PAIRED:
        low, high = found.ratio
        assert truth.low is not None
        assert truth.high is not None
        assert low is None or low <= truth.low * 1.02
        assert high is None or high >= truth.high / 1.02


@pytest.mark.parametrize("share", SHARES)
def test_the_ended_runs_alone_would_reverse_it(share: float) -> None:
    """The question is one that survivors answer wrongly."""
    first, second = values(measured(share)[1])
    both = np.isfinite(first) & np.isfinite(second)
    assert compare(first[both], second[both]).verdict.direction == "lower"
