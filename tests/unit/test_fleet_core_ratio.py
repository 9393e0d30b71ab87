"""Hosts of different size joined: overhead by CHR, against planted figures."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import journals
import msgspec
import numpy as np
import pytest
import synthetic
from inprocess import invoke
from said import args, templates
from synthetic import MS, Behaviour

from tare.errors import StoreError
from tare.experiment.findings import chr_ranges
from tare.experiment.findings.cells import Basis
from tare.experiment.findings.chr_ranges import ChrLine, LineKey
from tare.experiment.findings.platform_cells import cost_basis, host_cpus
from tare.experiment.results import Results
from tare.features.fleet import core_ratio, page, results
from tare.render.words import sentence
from tare.results.finding import Finding
from tare.results.message import message
from tare.statistics.platform_size import Factor, SizeRatio
from tare.workloads.application import Intensity
from tare.workloads.specification import WorkloadSpec

SIZES = ("2c", "4c", "8c", "16c")


def planted(levels: dict[str, str], cpus: int) -> float:
    """Overhead ratio: unpinned docker costs what falls with CHR, pinned docker nothing."""
    if levels["platform"] == "bare" or levels["pinning"] == "pinned":
        return 1.0
    return float((cpus / float(levels["size"][:-1])) ** 0.1)


def host(cpus: int, sizes: tuple[str, ...] = SIZES, **options: Any) -> Results:
    """Make the results of a host with so many CPUs."""

    def behave(levels: dict[str, str]) -> Behaviour:
        mean = 800 * MS / float(levels["size"][:-1]) * planted(levels, cpus)
        return Behaviour(mean_ns=mean, spread=0.004)

    made = synthetic.make(
        behave, workers=(1,), pinnings=("none", "pinned"), sizes=sizes, trials=12,
        metric="wall_ns", **{"seed": cpus, **options},
    )  # fmt: skip
    values = [
        float(cpus) if name == "cpus" else value
        for name, value in zip(made.facts["name"], made.facts["value"], strict=True)
    ]
    return dataclasses.replace(
        made, facts=made.facts.with_columns(value=np.array(values, dtype=object))
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    top = tmp_path_factory.mktemp("hosts")
    return journals.write(host(16), top / "small"), journals.write(host(112), top / "large")


@pytest.fixture(scope="module")
def found(folders: tuple[Path, Path]) -> Finding:
    made = core_ratio.find(results.load(*folders))
    assert made is not None
    return made


@pytest.mark.parametrize("cpus", [0, -4, 1e300, "many"])
def test_impossible_cpus_are_not_known(cpus: object) -> None:
    made = host(16, sizes=("2c",))
    values = [cpus if name == "cpus" else None for name in made.facts["name"]]
    facts = made.facts.with_columns(value=np.array(values, dtype=object))
    assert host_cpus(dataclasses.replace(made, facts=facts)) is None


def test_a_copy_of_a_host_is_no_other_host(folders: tuple[Path, Path], tmp_path: Path) -> None:
    small, large = folders
    copy = tmp_path / "another name"
    shutil.copytree(small, copy)
    with pytest.raises(StoreError, match="another name is a copy of small"):
        results.load(small, large, copy)


def test_folders_that_are_not_hosts_of_one_experiment_are_refused(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    small, _ = folders
    shutil.copytree(small, tmp_path / "copy")
    (tmp_path / "link").symlink_to(small)
    with pytest.raises(StoreError, match="named twice"):
        results.load(small, tmp_path / "link")
    plan = tmp_path / "copy" / "plan.json"
    changed = msgspec.json.decode(plan.read_bytes())
    changed["experiment"]["margin"] = 0.5
    plan.write_bytes(msgspec.json.encode(changed))
    with pytest.raises(StoreError, match="the margin differs"):
        results.load(small, tmp_path / "copy")


def test_one_container_on_hosts_of_16_and_112_cpus_has_the_planted_overheads(
    found: Finding,
) -> None:
    (table,) = [one for one in found.tables if one.id == "chr"]
    rows = [row for row in table.rows if "unpinned" in row["case"]]
    assert [row["chr"] for row in rows] == sorted(row["chr"] for row in rows)
    assert len(rows) == 2 * len(SIZES)
    for row in table.rows:
        assert row["chr"] == row["cores"] / row["cpus"]
        assert row["cpus"] == {"small": 16, "large": 112}[row["host"]]
        pinning = "none" if "unpinned" in row["case"] else "pinned"
        levels = {"platform": "docker", "pinning": pinning, "size": f"{row['cores']:g}c"}
        # Wall time also holds what each harness adds: some milliseconds on both.
        assert row["ratio"] == pytest.approx(planted(levels, row["cpus"]), rel=0.03)
    # The overhead of one size is 7 ** 0.1 times as much on the host with 112 CPUs.
    change = args(found.answer, "on the larger")["change"]
    assert change.low <= 7**0.1 * 1.01
    assert change.high >= 7**0.1 * 0.99
    assert found.verdict == "yes"


def test_the_range_of_chr_within_the_margin_is_the_planted_one(found: Finding) -> None:
    (table,) = [one for one in found.tables if one.id == "chr_ranges"]
    by_case = {row["case"].split(" vs. ")[0]: row for row in table.rows}
    assert by_case["docker pinned"]["within"] == "0.0179–1"
    # Unpinned, it costs 7 % at half of the host, which is more than the margin.
    assert by_case["docker unpinned"]["within"] == "1"
    assert by_case["docker unpinned"]["above"] == 0.5
    assert {row["kind"] for row in table.rows} == {"CPU-intensive"}
    assert {(row["impact"], row["practices"]) for row in table.rows} == {("0.14–0.28", "0.07–0.14")}
    assert 'of CHR" has' in templates(found.caveats)


def test_the_page_draws_overhead_over_chr(folders: tuple[Path, Path]) -> None:
    made = page.make(results.load(*folders), "tare fleet report small large")
    figures = [one for section in made.sections for one in section.figures if one.name == "chr"]
    assert len(figures) == 1


def test_hosts_of_equal_size_have_no_such_finding(tmp_path: Path) -> None:
    some = [journals.write(host(16, ("2c",), seed=seed), tmp_path / f"{seed}") for seed in (1, 2)]
    assert core_ratio.find(results.load(*some)) is None


def test_folders_are_joined_on_the_command_line(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = invoke("fleet", "report", *map(str, folders))
    assert ran.exit_code == 0, ran.output
    assert "falls with CHR" in ran.output
    assert (tmp_path / "hosts.html").exists()
    twice = invoke("fleet", "report", str(folders[0]), str(folders[0]))
    assert twice.exit_code != 0


def test_a_range_ends_where_an_overhead_is_not_within_the_margin() -> None:
    def point(at: float, low: float, high: float) -> SizeRatio:
        return SizeRatio(at * 8, at, Factor((low * high) ** 0.5, low, high), 9)

    some = (point(0.1, 0.99, 1.01), point(0.2, 1.05, 1.07), point(0.4, 0.99, 1.04),
            point(0.8, 0.99, 1.01), point(1.0, 0.98, 1.0))  # fmt: skip
    key = LineKey("docker", "none", "bare", "none", ())
    line = ChrLine(
        key, message("no host has values above 0, so there is nothing to compare"), "io", some
    )
    assert line.within(0.02) == (0.8, 1.0)
    above = line.above(0.02)
    assert above is not None
    assert above.chr == 0.2
    assert line.within(0.001) == (1.0, 1.0)


def test_advice_on_chr_is_of_two_known_kinds_and_a_table_says_what_is_inconclusive() -> None:
    def line(kind: Intensity | None, low: float, high: float) -> ChrLine:
        some = (SizeRatio(n, n / 8, Factor((low * high) ** 0.5, low, high), 9) for n in (4.0, 8.0))
        key = LineKey("docker", "none", "bare", "none", ())
        return ChrLine(
            key,
            message("no host has values above 0, so there is nothing to compare"),
            kind,
            tuple(some),
        )

    some = [line(None, 0.99, 1.01), line("io", 0.99, 1.01), line("cpu", 1.1, 1.2),
            line("ultra-io", 0.99, 1.01), line("io", 0.9, 1.1)]  # fmt: skip
    said = [sentence(one) for one in chr_ranges.advise(some, 0.02)]
    assert [one.split(":")[0].split(", ")[1] for one in said] == ["I/O-intensive", "CPU-intensive"]
    assert "(PINNING: 0.28–0.57 or 0.14–0.28)" in said[0]
    table = chr_ranges.table(some, 0.02)
    assert table is not None
    assert [row["within"] for row in table.rows] == ["0.5–1", "0.5–1", "none", "0.5–1",
                                                     "inconclusive"]  # fmt: skip
    caveat = chr_ranges.caveat(some)
    assert caveat is not None
    assert sentence(caveat) == (
        'PINNING contradicts itself: its section "Impact of CHR" has CHR 0.14–0.28 for '
        "CPU-intensive and 0.28–0.57 for I/O-intensive loads, its best practices 0.07–0.14 for "
        "CPU-intensive, 0.14–0.28 for I/O-intensive and 0.28–0.57 for ultra-I/O-intensive loads. "
        "Both are of one host with 112 CPUs."
    )


@pytest.mark.parametrize(
    ("ran", "ready", "kind"),
    [(0.9, 0.0, "cpu"), (0.2, 0.7, "cpu"), (0.3, 0.3, "io"), (0.2, 0.1, "io"), (0.1, 2.0, "cpu"),
     (0, 0, None)],
)  # fmt: skip
def test_the_kind_of_a_command_does_not_depend_on_how_long_it_waits_for_a_cpu(
    ran: float, ready: float, kind: str | None
) -> None:
    shares = {("on_cpu_ns", "perf_cpu"): ran, ("off_cpu_preempted_ns", "perf_cpu"): ready}
    made = host(
        16, ("2c", "16c"),
        more=lambda _: {key: 50 * MS * share for key, share in shares.items() if ran},
    )  # fmt: skip
    command = WorkloadSpec(name="exp_float", command=("true",))
    experiment = msgspec.structs.replace(made.experiment, workloads=(command,))
    results = dataclasses.replace(made, experiment=experiment)
    basis = cost_basis(results)
    assert isinstance(basis, Basis)
    assert {line.kind for line in chr_ranges.lines(results, basis)} == {kind}
