"""A fleet's results: the sums of each host are those of its trials."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import columns
import journals
import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import synthetic
from inprocess import invoke
from said import args, template

import tare
from tare import readers
from tare.errors import IncompleteError, InputError, StoreError
from tare.experiment import plan_file, store
from tare.experiment.findings.cells import Basis, Cells
from tare.experiment.results import Results
from tare.experiment.store import export
from tare.features.audit import audit
from tare.features.fleet import answers, measuring, page, results
from tare.features.fleet import folder as fleet_folder
from tare.features.fleet import host as host_results
from tare.features.fleet.engine import Host
from tare.features.fleet.folder import HostRecord, Record
from tare.features.fleet.host import CellLevels, What
from tare.features.fleet.laboratory import Told
from tare.features.fleet.results import Fleet
from tare.results.finding import Finding
from tare.results.message import Message, message
from tare.statistics.hosts import Sessions


def exported(folder: Path, table: str, format: str, destination: Path) -> int:
    return export.export(folder, table, format, destination, lambda results: ())


HOSTS = ("box-1", "box-2", "box-10", "box-11")
_WRITTEN = tempfile.TemporaryDirectory()


def in_sessions(made: Results, count: int) -> Results:
    """Spread the blocks over sessions, which count their own from 0."""
    blocks = made.trial_table["block"]
    each = -(-int(blocks.max() + 1) // count)
    trials = made.trial_table.with_columns(session=blocks // each, block=blocks % each)
    sessions = [made.sessions.with_columns(session=[number]) for number in range(count)]
    return dataclasses.replace(made, trial_table=trials, sessions=columns.stacked(*sessions))


def changed(made: Results, change: Callable[[pd.DataFrame], pd.Series]) -> Results:
    """Change the values of samples."""
    trials = columns.frame(made.trial_table)
    return columns.with_values(
        made, lambda samples: change(samples.frame().merge(trials, on="trial")).to_numpy()
    )


def first_trial_is(value: float, platform: str, worker: int) -> Callable[..., pd.Series]:
    """Make one worker's values of one trial another one."""

    def change(samples: pd.DataFrame) -> pd.Series:
        own = samples[(samples["platform"] == platform) & (samples["worker"] == worker)]
        return samples["value"].mask(samples["trial"].eq(own["trial"].min())
                                     & samples["worker"].eq(worker), value)  # fmt: skip

    return change


@functools.cache
def usual() -> dict[str, Results]:
    def behave(levels: dict[str, str]) -> synthetic.Behaviour:
        return synthetic.Behaviour(failing=0.2 if levels["platform"] == "docker" else 0.0)

    given = {"trials": 13, "iterations": 2}
    some = {
        name: in_sessions(synthetic.make(behave, seed=seed, **given), 3)
        for seed, name in enumerate(HOSTS)
    }
    lacking = synthetic.make(behave, seed=9, without={"docker": ["perf_cpu"]}, **given)
    return some | {"box-2": in_sessions(lacking, 2)}


@functools.cache
def written(name: str) -> Path:
    """Write what a usual host has measured, once for all tests."""
    folder = journals.write(usual()[name], Path(_WRITTEN.name) / name)
    _LOADED[contents(folder)] = store.load(folder)
    return folder


def fleet_of(folder: Path, made: dict[str, Results]) -> Path:
    """Write a fleet."""
    (folder / plan_file.HOSTS).mkdir(parents=True)
    for name, one in made.items():
        if one is usual().get(name):
            shutil.copytree(written(name), folder / plan_file.HOSTS / name)
        else:
            journals.write(one, folder / plan_file.HOSTS / name)
    hosts = tuple(HostRecord(name=name, ended="finished") for name in made)
    fleet_folder.write(Record(name="fleet", question="Do hosts differ?", hosts=hosts), folder)
    return folder


@pytest.fixture
def made() -> dict[str, Results]:
    return dict(usual())


_LOADED: dict[bytes, Results] = {}
_BY_HAND: dict[tuple[bytes, Basis], list[tuple[What, Sessions]]] = {}


def contents(host: Path) -> bytes:
    """Return a host's plan and journal."""
    paths = [host / plan_file.FILE, *sorted((host / "journal").iterdir())]
    return b"\0".join(path.read_bytes() for path in paths)


def loaded(host: Path) -> Results:
    """Load a host's results, once for all folders with the same plan and the same journal."""
    key = contents(host)
    if key not in _LOADED:
        _LOADED[key] = store.load(host)
    return _LOADED[key]


def workers_of(results: Results, basis: Basis) -> dict[CellLevels, pd.DataFrame]:
    """Return each cell's means by worker, a column each, with a row for each good trial."""
    samples = columns.frame(results.sample_table)
    samples = samples[
        (samples["metric"] == basis.metric)
        & (samples["source"] == basis.source)
        & (samples["phase"] == "measured")
    ]
    rows = samples.merge(columns.frame(results.good), on="trial")
    levels = ["workload", *results.experiment.factors]
    found = {}
    for key, own in rows.groupby(levels):
        means = own.groupby(["session", "block", "worker"])["value"].mean().unstack()
        level_of = dict(zip(levels, key, strict=True))
        found[tuple((f, level_of[f]) for f in results.factors)] = means.dropna()
    return found


def host_by_hand(host: Path, basis: Basis) -> list[tuple[What, Sessions]]:
    """Sum up the trials of a host with pandas: of each cell, and of each pair within blocks."""
    key = contents(host), basis
    if key in _BY_HAND:
        return _BY_HAND[key]
    results = loaded(host)
    cells = workers_of(results, basis)
    own: list[tuple[What, pd.Series]] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        own += [(What(levels), np.log(rows.mean(axis=1))) for levels, rows in cells.items()]
        there = [dict(levels)["platform"] for levels in cells]
        real = [one for one in there if one not in results.emulated]
        reference = "bare" if "bare" in real else real[0]
        for levels, rows in cells.items():
            other = tuple((f, reference if f == "platform" else own) for f, own in levels)
            if dict(levels)["platform"] in {reference, *results.emulated} or other not in cells:
                continue
            first, second = cells[other].align(rows, join="inner", axis=0)
            above = (first > 0).all(axis=1) & (second > 0).all(axis=1)
            logs = np.log(second.mean(axis=1)) - np.log(first.mean(axis=1))
            own.append((What(levels, reference), logs.where(above)))
    _BY_HAND[key] = [
        (
            what,
            Sessions.of(
                np.zeros(len(x), np.int64), x.index.get_level_values(0).to_numpy(), x.to_numpy()
            ),
        )
        for what, x in own
        if len(x) and np.isfinite(x).all()
    ]
    return _BY_HAND[key]


def by_hand(folder: Path, basis: Basis) -> dict[What, dict[str, Sessions]]:
    found: dict[What, dict[str, Sessions]] = {}
    for path in plan_file.hosts(folder):
        for what, summed in host_by_hand(path, basis):
            found.setdefault(what, {})[path.name] = summed
    return found


def agrees(fleet: Fleet, folder: Path) -> None:
    assert isinstance(fleet.basis, Basis)
    expected = by_hand(folder, fleet.basis)
    series = (*fleet.cells, *fleet.ratios)
    assert {one.what for one in series} == set(expected)
    # As the experiment has the levels, references first.
    for own in fleet.measured:
        platforms = [(dict(one)["platform"], dict(one)["workers"]) for one in own.levels]
        assert platforms == sorted(platforms)
    order = dict.fromkeys(levels for own in fleet.measured for levels in own.levels)
    assert [one.what.levels for one in fleet.cells] == [*order]
    for one in series:
        own = expected[one.what]
        assert [fleet.hosts[place] for place in one.hosts] == list(own)
        assert one.sessions.host.tolist() == [
            place for place, summed in enumerate(own.values()) for _ in summed.n
        ]
        for name in ("n", "mean", "square", "fourth"):
            whole = np.concatenate([getattr(summed, name) for summed in own.values()])
            assert getattr(one.sessions, name) == pytest.approx(whole, rel=1e-9, abs=1e-20)
        assert one.trials == sum(int(summed.n.sum()) for summed in own.values())


def test_sums_are_those_of_the_trials(made: dict[str, Results], tmp_path: Path) -> None:
    folder = fleet_of(tmp_path / "out", made)
    fleet = results.load(folder)
    # In the order of their numbers, on the source that all have.
    assert fleet.hosts == HOSTS
    assert isinstance(fleet.basis, Basis)
    assert fleet.basis.source != "perf_cpu"
    assert [own.sessions for own in fleet.measured] == [3, 2, 3, 3]
    assert len(fleet.ratios) == 2
    agrees(fleet, folder)
    # Nothing is written into the folders of hosts.
    assert {path.name for path in (folder / "hosts/box-1").iterdir()} == {"journal", "plan.json"}


@pytest.mark.parametrize(
    ("value", "worker"), [(0.0, 0), (0.0, 1), (-1e12, 0), (-1e12, 1), (1e-300, 0)]
)
def test_what_has_no_logarithm_is_left_out_on_its_host(
    made: dict[str, Results], tmp_path: Path, value: float, worker: int
) -> None:
    made["box-10"] = changed(made["box-10"], first_trial_is(value, "docker", worker))
    folder = fleet_of(tmp_path / "out", made)
    fleet = results.load(folder)
    agrees(fleet, folder)
    assert {len(one.hosts) for one in fleet.ratios} == ({3, 4} if value <= 0 else {4})
    noted = [one for one in page.make(fleet, "again").missing if template(one) == "as not all"]
    assert [one.args["hosts"] for one in noted] == ([["box-10"]] if value <= 0 else [])


def test_a_file_in_place_of_the_hosts_is_no_fleet(tmp_path: Path) -> None:
    folder = fleet_of(tmp_path / "out", {})
    shutil.rmtree(folder / plan_file.HOSTS, ignore_errors=True)
    (folder / plan_file.HOSTS).touch()
    with pytest.raises(StoreError, match="cannot be read"):
        results.load(folder)


def test_the_end_of_a_session_is_no_part_of_a_block() -> None:
    host = Host("box", "", begun=True, session_ns=5)
    for ended, took in ((None, 10), (None, 12), ("finished", 111)):
        measuring._divide(host, Told(b"", ended, None, blocks=1, own_cpu_ns=1), took)
    assert (host.plain_blocks, host.plain_ns, host.own_cpu_ns) == (2, 22, 2)
    assert host.session_ns == 5 + 100


def test_a_worker_below_zero_has_no_ratio_though_its_trial_has_a_value(
    made: dict[str, Results], tmp_path: Path
) -> None:
    made["box-10"] = changed(made["box-10"], first_trial_is(-1.0, "docker", 1))
    folder = fleet_of(tmp_path / "out", made)
    fleet = results.load(folder)
    agrees(fleet, folder)
    assert {len(one.hosts) for one in fleet.cells} == {4}
    assert {len(one.hosts) for one in fleet.ratios} == {3, 4}


def test_hosts_that_lack_the_reference_have_another(
    made: dict[str, Results], tmp_path: Path
) -> None:
    lacking = synthetic.make(
        platforms=("bare", "docker", "podman"), trials=9,
        leave_out=lambda levels: levels["platform"] == "bare",
    )  # fmt: skip
    emulated = synthetic.make(platforms=("bare", "docker", "vm"), trials=9, emulated=("vm",))
    folder = fleet_of(tmp_path / "out", made | {"box-10": lacking, "box-11": emulated})
    fleet = results.load(folder)
    agrees(fleet, folder)
    assert {one.what.reference for one in fleet.ratios} == {"bare", "docker"}
    assert not [one for one in fleet.ratios if ("platform", "vm") in one.what.levels]


def test_names_of_hosts_are_data(made: dict[str, Results], tmp_path: Path) -> None:
    names = ["'; DROP TABLE own; --", "²", "\x1b[31mred"]
    some = dict(zip(names, made.values(), strict=False))
    folder = fleet_of(tmp_path / "out", some)
    fleet = results.load(folder)
    assert sorted(fleet.hosts) == sorted(names)
    agrees(fleet, folder)
    assert page.make(fleet, "tare fleet report out").cells is not None


def test_the_page_has_a_row_a_host(made: dict[str, Results], tmp_path: Path) -> None:
    folder = fleet_of(tmp_path / "out", made)
    fleet = results.load(folder)
    made_page = page.make(fleet, "tare fleet report out")
    table = made_page.cells
    assert table is not None
    # Trials that failed are counted where the answers begin, and host by host.
    lost = args(made_page.missing, "{more | counted('host')}")
    assert lost["n"] == sum(row["failures"] for row in table.rows) > 0
    assert [row["host"] for row in table.rows] == list(HOSTS)
    assert isinstance(fleet.basis, Basis)
    for row, path in zip(table.rows, plan_file.hosts(folder), strict=True):
        cells = Cells(store.load(path), fleet.basis).all
        assert row["trials"] == sum(cell.n for cell in cells)
        for number, cell in enumerate(cells):
            means = pd.Series(np.log(cell.trial_values)).groupby(cell.sessions).mean()
            # Sessions weigh by what is known of them.
            assert math.log(row[f"c{number}"]) == pytest.approx(means.mean(), abs=0.01)
            assert means.min() <= math.log(row[f"c{number}"]) <= means.max()


@pytest.mark.parametrize(
    ("slower", "spread", "verdict"),
    [(0.0, 0.002, "no"), (0.3, 0.002, "yes"), (0.01, 0.0002, "yes"), (0.0, 0.2, "inconclusive")],
)
def test_whether_a_difference_holds_on_the_next_host(
    slower: float, spread: float, verdict: str, tmp_path: Path
) -> None:
    def behave(levels: dict[str, str]) -> synthetic.Behaviour:
        factor = 1 + slower * (levels["platform"] == "docker")
        return synthetic.Behaviour(mean_ns=2e8 * factor, spread=spread)

    some = {
        f"box-{seed}": synthetic.make(behave, workers=(1,), trials=20, seed=seed)
        for seed in range(5)
    }
    fleet = results.load(fleet_of(tmp_path / "out", some))
    found = next(one for one in answers.findings(fleet) if one.name == "everywhere")
    assert found.verdict == verdict
    (said,) = found.answer
    # A difference may hold everywhere, and be smaller than what matters.
    assert (said.args["margin"] is not None) == (verdict == "no" or slower == 0.01)


def test_a_cell_that_failed_on_a_host_is_said_and_no_difference_holds_everywhere(
    made: dict[str, Results], tmp_path: Path
) -> None:
    def behave(levels: dict[str, str]) -> synthetic.Behaviour:
        return synthetic.Behaviour(failing=1.0 if levels["platform"] == "docker" else 0.0)

    slow = synthetic.Behaviour(mean_ns=4e8)
    some = {
        f"box-{seed}": synthetic.make(
            lambda levels: slow if levels["platform"] == "docker" else synthetic.Behaviour(),
            workers=(1,), trials=20, seed=seed,
        )
        for seed in range(4)
    }  # fmt: skip
    assert verdicts(fleet_of(tmp_path / "all", some))["everywhere"] == "yes"
    some["box-3"] = synthetic.make(behave, workers=(1,), trials=20, seed=9)
    folder = fleet_of(tmp_path / "out", some)
    fleet = results.load(folder)
    assert [dict(levels)["platform"] for levels in fleet.lacking] == ["docker"]
    assert [*fleet.lacking.values()] == [{"box-3": 20}]
    assert verdicts(folder)["everywhere"] == "inconclusive"
    missing = page.make(fleet, "tare fleet report out").missing
    failed = [
        one for one in missing if isinstance(one, Message) and template(one) == "has no good trial"
    ]
    assert [(one.args["host"], one.args["failed"]) for one in failed] == [("box-3", 20)]


def verdicts(folder: Path) -> dict[str, str]:
    return {one.name: one.verdict for one in answers.findings(results.load(folder))}


def test_an_audit_has_each_cell_of_each_host(made: dict[str, Results], tmp_path: Path) -> None:
    folder = fleet_of(tmp_path / "out", made)
    read = readers.read(folder)
    assert read.format == "tare-folder"
    keys = [(one.key["host"], one.key["platform"], one.key["workers"]) for one in read.series]
    assert keys[0][0] == "box-1"
    assert len(set(keys)) == len(keys) == 16
    # Each host has blocks of its own, which its cells share.
    blocks = {name: set() for name in made}
    for one in read.series:
        assert one.block is not None
        assert len(one.values) == len(set(one.block.tolist()))
        blocks[one.key["host"]] |= set(one.block.tolist())
    assert [len(own) for own in blocks.values()] == [13] * 4
    assert len(set.union(*blocks.values())) == 4 * 13
    same = readers.read(folder, readers.ColumnOptions(group=("host",)))
    assert [one.key for one in same.series] == [one.key for one in read.series]


def test_an_audit_names_the_host_to_doubt(made: dict[str, Results], tmp_path: Path) -> None:
    usual = {name: synthetic.make(trials=30, seed=seed) for seed, name in enumerate(HOSTS)}
    usual["box-10"] = synthetic.make(synthetic.Behaviour(drift=0.3), trials=30, seed=9)
    folder = fleet_of(tmp_path / "out", usual)
    done = invoke("audit", str(folder), "--json", "-")
    said = json.loads(done.stdout)
    doubted = [one["key"]["host"] for one in said["series"] if one["verdict"] != "TRUST"]
    assert doubted.count("box-10") == 4
    # A series that is sound is doubted in one of twenty.
    assert len(doubted) <= 4 + 2


def test_a_host_without_values_is_a_note_of_the_audit(
    made: dict[str, Results], tmp_path: Path
) -> None:
    made["box-2"] = synthetic.make(synthetic.Behaviour(failing=1.0), trials=3)
    folder = fleet_of(tmp_path / "out", made)
    read = readers.read(folder)
    assert {one.key["host"] for one in read.series} == {"box-1", "box-10", "box-11"}
    assert (
        message(
            "{hosts | listing} {% if hosts | length == 1 %}has{% else %}have{% endif %} no values",
            hosts=["box-2"],
        )
        in read.notes
    )
    # Each of the others names the trials that it lost.
    failed = args(read.notes, "{more | counted('host')}")
    assert {one.args["host"] for one in failed["hosts"]} == {"box-1", "box-10", "box-11"}
    assert failed["n"] == sum(one.args["n"] for one in failed["hosts"]) > 0
    # Of the fleet's own answers it is no part either.
    assert results.load(folder).hosts == ("box-1", "box-10", "box-11")
    with pytest.raises(InputError, match="no factor 'plattform'"):
        readers.read(folder, readers.ColumnOptions(group=("plattform",)))
    with pytest.raises(InputError, match="no host"):
        readers.read(folder, readers.ColumnOptions(value="speed"))


def test_commands_that_compare_hosts_are_named(made: dict[str, Results], tmp_path: Path) -> None:
    folder = fleet_of(tmp_path / "out", {"box-1": made["box-1"]})
    typed = f"tare fleet report {folder}"
    told = invoke("audit", str(folder)).stdout
    assert f"Next {typed} " in " ".join(told.split())
    with pytest.raises(InputError) as refused:
        readers.read(folder, readers.ColumnOptions(compare=("host",)))
    assert refused.value.hint == typed
    with pytest.raises(StoreError, match="holds a fleet") as opened:
        tare.open(folder)
    assert typed in str(opened.value.hint)
    assert typed in str(readers.command_for(folder))
    assert typed not in str(readers.command_for(folder / plan_file.HOSTS / "box-1"))


@pytest.mark.parametrize("table", ["samples", "trials", "facts", "sessions"])
def test_an_export_has_a_column_of_hosts(
    made: dict[str, Results], tmp_path: Path, table: str
) -> None:
    made["box-1"] = synthetic.make(trials=3)  # of which no trial has failed: no reasons
    folder = fleet_of(tmp_path / "out", made)
    target = tmp_path / "rows.parquet"
    rows = exported(folder, table, "parquet", target)
    found = pq.read_table(target)
    assert found.num_rows == rows
    assert found.column_names[0] == "host"
    for path in plan_file.hosts(folder):
        exported(path, table, "parquet", tmp_path / "one.parquet")
        one = pq.read_table(tmp_path / "one.parquet")
        own = found.filter(pa.compute.equal(found["host"], path.name)).drop(["host"])
        assert own.to_pylist() == one.to_pylist()


def test_an_export_of_other_experiments_says_which(
    made: dict[str, Results], tmp_path: Path
) -> None:
    for name, factor in (("box-1", "flags"), ("box-2", "compiler")):
        trials = made[name].trial_table
        trials = trials.with_columns(**{factor: ["-O2"] * len(trials)})
        made[name] = dataclasses.replace(made[name], trial_table=trials)
    folder = fleet_of(tmp_path / "out", made)
    with pytest.raises(StoreError, match="box-2"):
        exported(folder, "trials", "csv", tmp_path / "rows.csv")
    with pytest.raises(StoreError, match="the same experiment"):
        results.load(folder)
    with pytest.raises(StoreError, match="host by host"):
        exported(folder, "requests", "csv", tmp_path / "rows.csv")


def test_a_damaged_host_is_left_out_by_its_name(tmp_path: Path, made: dict[str, Results]) -> None:
    folder = fleet_of(tmp_path / "fleet", made)
    file = folder / "hosts/box-2/journal/1.ndjson"
    file.write_text("not a journal\n")
    fleet = results.load(folder)
    assert fleet.hosts == ("box-1", "box-10", "box-11")
    assert list(fleet.damaged) == ["box-2"]
    document = page.make(fleet, "tare fleet report fleet")
    assert any("box-2" in str(one) and "damaged" in str(one) for one in document.missing)


def test_what_reads_a_fleet_leaves_a_damaged_host_out_and_fails(
    tmp_path: Path, made: dict[str, Results]
) -> None:
    folder = fleet_of(tmp_path / "fleet", made)
    (folder / "hosts/box-1/journal/1.ndjson").write_text("not a journal\n")
    rows = tmp_path / "rows.csv"
    shown = invoke("fleet", "report", str(folder))
    assert (folder / "report.html").exists()
    assert isinstance(shown.exception, StoreError)
    assert "1 of 4 hosts" in shown.exception.message
    with pytest.raises(StoreError, match=r"1 of 4 hosts are not in .*rows\.csv; box-1: "):
        exported(folder, "trials", "csv", rows)
    assert {line.split(",")[0] for line in rows.read_text().splitlines()[1:]} == {
        '"box-2"', '"box-10"', '"box-11"'
    }  # fmt: skip
    audited = audit.audit([folder])
    assert {one.key["host"] for one in audited.series} == {"box-2", "box-10", "box-11"}
    note = audited.files[0].imported.notes[0]
    assert isinstance(note, Message)
    assert template(note) == "are left out;"
    assert audited.exit_code >= 1
    assert not audited.files[0].imported.is_complete


@pytest.mark.parametrize("gone", ["", "plan.json", "journal/1.ndjson"])
def test_a_host_that_has_measured_and_has_no_results_is_missed(
    gone: str, tmp_path: Path, made: dict[str, Results]
) -> None:
    one = {name: made[name] for name in ("box-1", "box-10")}
    folder = fleet_of(tmp_path / "fleet", one)
    whole = fleet_folder.read(folder)
    hosts = tuple(msgspec.structs.replace(host, blocks=13) for host in whole.hosts)
    fleet_folder.write(msgspec.structs.replace(whole, hosts=hosts), folder)
    assert plan_file.lost(folder) == {}
    path = folder / "hosts/box-10" / gone
    if gone.startswith("journal"):
        shutil.rmtree(path.parent)
    elif gone:
        path.unlink()
    else:
        shutil.rmtree(path)
    assert [*results.load(folder).damaged] == ["box-10"]
    other = fleet_of(tmp_path / "other", {"box-2": made["box-2"], "box-11": made["box-11"]})
    assert [*results.load(folder, other).damaged] == ["fleet/box-10"]
    assert not audit.audit([folder]).files[0].imported.is_complete
    with pytest.raises(StoreError, match="1 of 2 hosts"):
        exported(folder, "trials", "csv", tmp_path / "rows.csv")


def test_a_host_whose_journal_lacks_its_end_is_left_out(
    tmp_path: Path, made: dict[str, Results]
) -> None:
    folder = fleet_of(tmp_path / "fleet", made)
    *_, last = sorted((folder / "hosts/box-1/journal").iterdir())
    lines = last.read_bytes().splitlines(keepends=True)
    last.write_bytes(b"".join(lines[:-1]))
    fleet = results.load(folder)
    assert [*fleet.damaged] == ["box-1"]
    assert "box-1" not in fleet.hosts


def test_findings_of_a_fleet_are_in_its_report(tmp_path: Path, made: dict[str, Results]) -> None:
    folder = fleet_of(tmp_path / "fleet", {"box-1": made["box-1"]})
    with pytest.raises(StoreError) as refused:
        exported(folder, "findings", "csv", tmp_path / "rows.csv")
    assert f"tare fleet report {folder}" in str(refused.value.hint)


def test_a_host_with_another_ratio_is_odd() -> None:
    from tare.features.fleet import answers
    from tare.features.fleet.results import Series

    rng = np.random.default_rng(2)
    levels = (("workload", "sort"), ("platform", "docker"))
    host, session = np.repeat(np.arange(8), 24), np.tile(np.repeat([0, 1], 12), 8)
    values_ = np.log(1.1) + rng.normal(0, 0.003, 8)[host] + rng.normal(0, 0.005, len(host))
    values_[host == 2] += 0.05

    def series(what: What, x: np.ndarray) -> Series:
        return Series(what, tuple(range(8)), Sessions.of(host, session, x))

    cells = rng.normal(0, 0.03, 8)[host] + rng.normal(0, 0.01, len(host))
    names = tuple(f"box-{number}" for number in range(8))
    record = Record(name="fleet", question="?", hosts=())
    fleet = Fleet(record, names, (), None, None, {}, {})  # type: ignore[arg-type]
    # What is worked out of the folder otherwise.
    fleet.__dict__["_series"] = (series(What(levels), cells), series(What(levels, "bare"), values_))
    (odd,) = answers.odd_ones(fleet)
    assert (odd.host, odd.reference) == ("box-2", "bare")
    assert odd.off.value == pytest.approx(np.exp(0.05), rel=0.02)
    assert odd.off.low is not None
    assert odd.off.high is not None
    assert odd.off.low < np.exp(0.05) < odd.off.high


def test_wild_numbers_of_a_fleet_are_refused(tmp_path: Path) -> None:
    for wild in (
        '"measured_s": 1e308',
        '"blocks": -1',
        '"session_s": -1.0',
        '"own_cpu_share": 1e9',
    ):
        text = (
            f'{{"name": "a", "question": "?", "hosts": [{{"name": "b", "ended": "lost", {wild}}}]}}'
        )
        (tmp_path / fleet_folder.FILE).write_text(text)
        with pytest.raises(StoreError):
            fleet_folder.read(tmp_path)


def drawn_fleet(sessions: int, *, odd: float = 0.0, off: float = 0.01) -> Fleet:
    """Six hosts with ratios that differ by 1 %, 12 blocks in each session."""
    rng = np.random.default_rng(3)
    levels = (("workload", "sort"), ("platform", "docker"))
    host = np.repeat(np.arange(6), 12 * sessions)
    session = np.tile(np.repeat(np.arange(sessions), 12), 6)

    def series(what: What, level: np.ndarray) -> results.Series:
        of_session = rng.normal(0, off, (6, sessions))[host, session]
        x = level[host] + of_session + rng.normal(0, 0.01, len(host))
        return results.Series(what, tuple(range(6)), Sessions.of(host, session, x))

    level = rng.normal(0, 0.01, 6)
    shifted = np.where(np.arange(6) == 2, level + odd, level)
    records = tuple(
        HostRecord(name=f"box-{n}", ended="finished", blocks=12, measured_s=24.0, session_s=20.0)
        for n in range(6)
    )
    experiment = synthetic.make(workers=(1,), trials=2).experiment
    own = host_results.Host(
        failures=0, sessions=sessions, ended=True, trials=12 * sessions, factor="platform",
        basis=message("no host has values above 0, so there is nothing to compare"),
        levels=(levels,), experiment=experiment,
    )  # fmt: skip
    names = tuple(one.name for one in records)
    record = Record(name="fleet", question="?", hosts=records)
    fleet = Fleet(
        record,
        names,
        (own,) * 6,
        experiment,
        message("no host has values above 0, so there is nothing to compare"),
        {},
        {},
    )
    # What is worked out of the folder otherwise.
    fleet.__dict__["_series"] = (
        series(What(levels), level), series(What(levels, "bare"), shifted + 0.3)
    )  # fmt: skip
    return fleet


def found_in(fleet: Fleet, name: str) -> Finding:
    return next(one for one in answers.findings(fleet) if one.name == name)


def test_what_holds_is_also_said_without_the_odd_host() -> None:
    plain, odd = (found_in(drawn_fleet(3, odd=off), "everywhere") for off in (0.0, 0.3))
    assert [template(one) for one in plain.answer] == [", equivalent within"]
    assert [template(one) for one in odd.answer] == [
        ", equivalent within",
        "without {hosts | listing}",
    ]
    every, rest = odd.answer
    assert rest.args["hosts"] == ["box-2"]
    assert rest.args["ratio"].value == pytest.approx(np.exp(0.3), rel=0.02)
    assert rest.args["next"].high < every.args["next"].high
    (row,) = (row for row in found_in(drawn_fleet(3, odd=0.3), "odd").tables[0].rows if row["to"])
    assert row["host"] == "box-2"
    assert row["p"] < 0.05


@pytest.mark.parametrize(
    ("sessions", "off", "said"),
    [(1, 0.05, "unknown"), (3, 0.05, "takes"), (3, 0.001, "reached")],
)
def test_how_many_it_takes_is_planned_where_it_is_known_and_needed(
    sessions: int, off: float, said: str
) -> None:
    finding = found_in(drawn_fleet(sessions, off=off), "enough")
    (answer,) = finding.answer
    assert (
        template(answer)
        == {"reached": "so no more", "takes": ". By these", "unknown": "can be said"}[said]
    )
    (row,) = finding.tables[0].rows
    assert ("sessions" in row) == (said == "takes")
    if said == "takes":
        # Blocks that were fetched with the end of their session: 2 s each; a session takes 20 s.
        assert row["time"] == 1e9 * row["hosts"] * row["sessions"] * (20 + 2 * row["blocks"])


def test_a_host_without_any_good_trial_is_named_and_nothing_holds_everywhere(
    made: dict[str, Results], tmp_path: Path
) -> None:
    made["box-2"] = synthetic.make(synthetic.Behaviour(failing=1.0), trials=3)
    folder = fleet_of(tmp_path / "out", made)
    fleet = results.load(folder)
    assert [*fleet.silent] == ["box-2"]
    document = page.make(fleet, "again")
    assert args(document.missing, "no good trial:")["host"] == "box-2"
    found = {one.finding.name: one.finding for one in document.sections}
    assert found["everywhere"].verdict == "inconclusive"
    assert args(found["everywhere"].answer, ", equivalent within")["of"] == 4
    done = invoke("fleet", "report", str(folder))
    assert isinstance(done.exception, IncompleteError)
    assert "box-2" in done.exception.message


def test_two_good_trials_of_a_cell_in_a_block_are_damage(
    made: dict[str, Results], tmp_path: Path
) -> None:
    folder = fleet_of(tmp_path / "out", made)
    file = folder / plan_file.HOSTS / "box-1/journal/1.ndjson"
    file.write_text(re.sub(r'"block":[0-9]+', '"block":7', file.read_text()))
    assert "two good trials" in results.load(folder).damaged["box-1"]


def test_two_hosts_have_the_difference_on_each(made: dict[str, Results], tmp_path: Path) -> None:
    folder = fleet_of(tmp_path / "out", {name: made[name] for name in ("box-1", "box-10")})
    document = page.make(results.load(folder), "again")
    found = document.sections[0].finding
    assert (found.name, found.verdict) == ("everywhere", "inconclusive")
    for said, rows in zip(found.answer, page._by_cell(found.tables[0]), strict=True):
        assert isinstance(said, Message)
        shown = [(one.args["host"], one.args["ratio"]) for one in said.args["hosts"]]
        assert [name for name, _ in shown] == ["box-1", "box-10"]
        assert [ratio.value for _, ratio in shown] == [row["ratio"] for row in rows]
    # A picture for each cell, as with more hosts.
    assert len(document.sections[0].figures) == len(found.answer) == 2
