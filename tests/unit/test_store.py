from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from math import nan
from pathlib import Path

import columns
import duckdb
import journals
import msgspec
import pandas as pd
import pyarrow.parquet
import pytest
import synthetic
from inprocess import invoke

from tare.agent import record
from tare.errors import StoreError, UsageError
from tare.experiment import journal, plan_file, store
from tare.experiment.findings.answers import all_findings
from tare.experiment.session import folder as execute_folder
from tare.experiment.store import collector, export
from tare.experiment.tables import STORED, TABLES
from tare.render import words
from tare.wiring import SUPPLIES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results():
    return synthetic.make(trials=8, iterations=2, notes=["isolate was left out: not on PATH"])


@pytest.fixture
def folder(results, tmp_path):
    return journals.write(results, tmp_path / "out")


def lines_of(folder: Path, number: int = 1) -> list[bytes]:
    return (folder / "journal" / f"{number}.ndjson").read_bytes().splitlines(keepends=True)


def put(folder: Path, *lines: journal.Line | bytes, number: int = 1) -> None:
    texts = [x if isinstance(x, bytes) else msgspec.json.encode(x) + b"\n" for x in lines]
    (folder / "journal" / f"{number}.ndjson").write_bytes(b"".join(texts))


def test_what_was_written_is_read(results, folder):
    read = store.load(folder)
    assert read.experiment == results.experiment
    shared = read.trial_table.only(*results.trial_table.names)
    trials = shared.with_columns(session=shared["session"] - 1)
    for own, other in ((trials, results.trial_table), (read.sample_table, results.sample_table)):
        pd.testing.assert_frame_equal(columns.frame(own), columns.frame(other))
    assert read.factors == results.factors
    assert read.notes == results.notes
    assert read.fact("cpus") == 2
    assert read.fact("kernel") == "6.1.0"
    assert read.values("kernel_cpu_ns")["value"].tolist() == pytest.approx(
        results.values("kernel_cpu_ns")["value"].tolist()
    )


def test_findings_do_not_depend_on_the_store(results, folder):
    read = store.load(folder)
    # The invented results do not say how long a trial took.
    trials = read.trial_table.only(*results.trial_table.names)
    read = replace(read, trial_table=trials)
    assert all_findings(read, SUPPLIES.findings()) == all_findings(results, SUPPLIES.findings())


def test_a_grown_journal_is_read_anew(folder):
    whole = lines_of(folder)
    put(folder, *whole[: len(whole) // 2])
    fewer = len(store.load(folder).trial_table)
    put(folder, *whole)
    assert len(store.load(folder).trial_table) == 16 * 2 > fewer


def test_reading_writes_nothing(folder):
    store.load(folder)
    assert sorted(p.name for p in folder.iterdir()) == ["journal", "plan.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_read(folder):
    folder.chmod(0o500)
    assert len(store.load(folder).trial_table) == 32
    folder.chmod(0o700)


@pytest.mark.parametrize("cut", [1, 5, 17])
def test_the_last_line_may_be_cut(folder, cut):
    whole = lines_of(folder)
    ends = [i for i, line in enumerate(whole) if b'"ended"' in line[:20]]
    put(folder, *whole[: ends[-1]], whole[ends[-1]][:-cut])
    read = store.load(folder)
    assert read.trial_table["status"].tolist()[-1] == "unfinished"
    assert (read.trial_table["status"] == "ok").sum() == 31
    assert len(read.values("kernel_cpu_ns")) == 31
    assert read.sessions["ended"].tolist() == [None]


def test_a_tail_of_zeros_counts_as_cut(folder):
    put(folder, *lines_of(folder), b"\0" * 4096)
    assert len(store.load(folder).trial_table) == 32


@pytest.mark.parametrize(
    ("garbage", "why"),
    [
        (b"garbage\n", "malformed"),
        (b"\xff\xfe\n", ""),
        (b"{}\n", "record"),
        (b'{"record":"unheard"}\n', "unheard"),
        (b'{"record":"sample","id":1,"trial":0,"phase":"measured"}\n', "metric"),
        (
            b'{"record":"sample","id":1,"trial":0,"phase":"measured","metric":"m","source":"s",'
            b'"value":"high"}\n',
            "value",
        ),
    ],
)
def test_garbage_names_file_and_line(folder, garbage, why):
    whole = lines_of(folder)
    put(folder, *whole[:7], garbage, *whole[7:])
    with pytest.raises(StoreError) as caught:
        store.load(folder)
    assert "line 8 of" in caught.value.message
    assert "1.ndjson" in caught.value.message
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([journals.start(1)], "begin with a session"),
        ([journals.session(version=99)], "another tare"),
        ([journals.session(), journals.session(2)], "second session"),
        ([journals.session(), journals.start(1), journals.start(1)], "second time"),
        (
            [
                journals.session(),
                record.Sample(
                    id=1, trial=7, phase="measured", metric="m", source="s", value=1
                ),
            ],
            "trial 7 has not begun",
        ),
        ([journals.session(), journals.start(2**70)], "damaged"),
        ([journals.session(), journals.start(1, cell=16)], "line 2 .* no cell 16"),
        ([journals.session(), journals.start(1, cell=-1)], "line 2 .* no cell -1"),
        (
            [journals.session(), journal.Stop(cell=16, trials=9, reason="fixed")],
            "line 2 .* no cell 16",
        ),
        *(
            (
                [
                    journals.session(),
                    journals.start(1),
                    record.Sample(
                        id=1, trial=1, phase="measured", metric="m", source="s", value=value
                    ),
                ],
                "line 3 .* no value",
            )
            for value in (1e308, -1e308)
        ),
        *(
            (
                [
                    journals.session(),
                    journals.start(trial),
                    record.Sample(
                        id=1, trial=trial, iteration=iteration, phase="measured", metric="m",
                        source="s", value=value,
                    ),
                ],
                "line 3 .* damaged: Expected `int` <= 9223372036854775807",
            )
            for trial, iteration, value in ((2**70, 0, 1), (1, 10**400, 1), (1, 0, 10**40))
        ),
    ],
)  # fmt: skip
def test_a_journal_that_contradicts_itself(folder, lines, why):
    put(folder, *lines)
    with pytest.raises(StoreError, match=why):
        store.load(folder)


def test_a_machine_that_has_been_up_for_years(folder):
    moment = 2**53 + 1  # ns: 104 days, and no float is it exactly
    sample = record.Sample(
        id=1, trial=1, phase="measured", metric="start_ns", source="around", value=moment
    )
    put(folder, *lines_of(folder), sample)
    read = store.load(folder)
    assert read.sample_table.of("start_ns", "around")["value"].max() == pytest.approx(moment)


def test_cells_that_the_plan_has_not_are_refused_before_measuring_more(folder):
    ended = journal.TrialEnd(trial=1, status="ok", monotonic_ns=journals.BEGIN * 2)
    put(folder, journals.session(), journals.start(1, cell=16), ended)
    with pytest.raises(StoreError, match=r"line 2 of .*the plan has no cell 16"):
        execute_folder.go_on(plan_file.read(folder), None, folder)


def test_a_trial_of_two_sessions(folder):
    put(folder, *lines_of(folder), number=2)
    with pytest.raises(StoreError, match=r"2\.ndjson.*second time"):
        store.load(folder)


def test_not_a_folder_of_tare(tmp_path):
    with pytest.raises(StoreError) as caught:
        store.load(tmp_path)
    assert caught.value.hint


def test_an_older_layout(folder):
    file = folder / plan_file.FILE
    older = json.loads(file.read_text()) | {"version": 1}
    # It has a key that is read no more.
    older["experiment"]["workloads"][0]["capture"] = False
    file.write_text(json.dumps(older))
    with pytest.raises(StoreError, match=r"another tare \(layout 1, this one reads 2\)"):
        store.load(folder)


def test_before_the_first_trial(folder):
    put(folder, journals.session())
    read = store.load(folder)
    assert not read.trial_table
    assert not read.sample_table.table()
    assert read.factors == ["workload", "platform", "workers", "pinning", "load", "size"]
    shutil.rmtree(folder / "journal")
    assert not store.load(folder).sessions


def test_a_rehearsal_is_kept_apart(folder):
    extra = [
        journals.start(1000, rehearsal=True, repetitions=4, cell=-1),
        record.Sample(id=9, trial=1000, phase="measured", metric="m", source="s", value=1),
        record.Fault(id=9, trial=1000, kind="warning", message="rehearsing"),
        journal.TrialEnd(trial=1000, status="ok", monotonic_ns=journals.BEGIN * 2),
    ]
    whole = lines_of(folder)
    put(folder, whole[0], *extra, *whole[1:])
    # The word of folders that were written before a calibration was one of the machine.
    assert b'"calibration":true' in msgspec.json.encode(extra[0])
    read = store.load(folder)
    assert 1000 not in set(read.trial_table["trial"])
    assert 1000 not in set(read.sample_table.table()["trial"])
    assert not read.faults
    rehearsed = collector.read(folder).table("trials").where(calibration=True)
    assert rehearsed["repetitions"].tolist() == [4]


def test_the_last_stop_of_a_cell_counts(folder):
    again = [
        journals.session(2),
        journal.Stop(cell=0, trials=99, reason="target", target=0.02, reached=0.015),
    ]
    put(folder, *again, number=2)
    stops = store.load(folder).stops
    assert stops.where(cell=0)["trials"].tolist() == [99]
    assert stops.where(cell=1)["reason"].tolist() == ["fixed"]


def test_names_are_data(tmp_path):
    hostile = '"; DROP TABLE trials; --</script>\u2028'
    made = synthetic.make(workloads=[hostile], platforms=("bare",), trials=3)
    read = store.load(journals.write(made, tmp_path / "out"))
    assert set(read.trial_table["workload"]) == {hostile}


def conclude(results):
    return all_findings(results, SUPPLIES.findings())


def exported(folder, table, format, destination):
    return export.export(folder, table, format, destination, conclude)


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    return journals.write(synthetic.make(trials=8), tmp_path_factory.mktemp("store") / "out")


def test_all_tables_are_read_by_sql(answered, tmp_path):
    export.database(answered, tmp_path / "all.duckdb", conclude)
    found = conclude(store.load(answered))
    with duckdb.connect(tmp_path / "all.duckdb", read_only=True) as made:
        for table in STORED.values():
            rows = made.sql(f"DESCRIBE {table.name}").fetchall()
            assert [(r[0], r[1]) for r in rows] == [(c.name, c.type) for c in table.columns]
        findings = made.sql("SELECT name, answer FROM findings ORDER BY place").fetchall()
        estimates = made.sql("SELECT count(*) FROM estimates").fetchall()
        means = made.sql("""
            SELECT trial, avg(value) FROM samples JOIN trials USING (trial)
            WHERE metric = 'kernel_cpu_ns' AND phase = 'measured' AND status = 'ok'
            GROUP BY trial ORDER BY trial
        """).fetchall()
    assert findings == [(f.name, words.paragraph(f.answer)) for f in found]
    assert estimates == [(sum(len(f.estimates) for f in found),)]
    values = store.load(answered).values("kernel_cpu_ns").only("trial", "value")
    assert [mean for _, mean in means] == pytest.approx(values["value"].tolist())
    assert [trial for trial, _ in means] == values["trial"].tolist()


def test_a_database_that_cannot_be_written_leaves_nothing(answered, tmp_path):
    (tmp_path / "all.duckdb").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        export.database(answered, tmp_path / "all.duckdb", conclude)
    with pytest.raises(StoreError, match="no/such/all"):
        export.database(answered, tmp_path / "no/such/all.duckdb", conclude)
    assert [path.name for path in tmp_path.iterdir()] == ["all.duckdb"]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_in_every_format(answered, tmp_path, table):
    folder = answered
    written = {f: tmp_path / f"{table}.{f}" for f in export.FORMATS}
    for format, path in written.items():
        exported(folder, table, format, path)
    rows = json.loads(written["json"].read_text())
    parquet = pyarrow.parquet.read_table(written["parquet"])
    csv = pd.read_csv(written["csv"])
    assert len(rows) == parquet.num_rows == len(csv)
    assert list(csv.columns) == parquet.column_names
    if rows:
        assert list(rows[0]) == parquet.column_names


def test_exported_samples_have_their_levels(folder, tmp_path):
    exported(folder, "samples", "json", tmp_path / "s.json")
    first = json.loads((tmp_path / "s.json").read_text())[0]
    assert first["platform"] in ("bare", "docker")
    assert first["status"] == "ok"


def test_export_to_standard_output(folder, capfdbinary):
    exported(folder, "trials", "csv", "-")
    assert capfdbinary.readouterr().out.startswith(b'"trial","session"')


@pytest.mark.parametrize(
    ("table", "format", "destination"),
    [("trails", "csv", "x"), ("trials", "xml", "x"), ("trials", "csv", "no/such/x")],
)
def test_export_says_what_is_wrong(folder, tmp_path, table, format, destination):
    with pytest.raises(StoreError):
        exported(folder, table, format, tmp_path / destination)


def test_a_table_that_was_probably_meant_is_proposed(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no table 'task'; tasks is meant") as told:
        exported(tmp_path, "task", "csv", "-")
    assert "tasks" in (told.value.hint or "")
    with pytest.raises(StoreError) as unknown:
        exported(tmp_path, "xyzzy", "csv", "-")
    assert unknown.value.message == "there is no table 'xyzzy'"


def test_what_hosts_of_a_network_sent_is_stored_with_its_trial(folder):
    first, *rest, last = lines_of(folder)
    use = journal.HostUse(
        trial=1, host=1, tokens_start_bits=10**13, tokens_end_bits=5, sent_bytes=7,
        dropped_packets=0, times_dry=1, dry_ns=3, first_dry_ns=2,
    )  # fmt: skip
    bare = msgspec.structs.replace(
        use, host=2, tokens_start_bits=None, tokens_end_bits=None, first_dry_ns=None
    )
    log = journal.HostTokens(
        trial=1, at_ns=4, tokens_bits=(6, None), rate_bps=(8, None), sent_bytes=(9, 10)
    )
    put(folder, first, *rest, use, bare, log, last)
    read = store.load(folder)
    assert read.network_use["tokens_start_bits"].tolist() == [
        10**13,
        pytest.approx(nan, nan_ok=True),
    ]
    assert read.network_use["sent_bytes"].tolist() == [7, 7]
    first, second = (tuple(row.values()) for row in read.network_log.records())
    assert first == (1, 4, 1, 6, 8, 9)
    assert second == (1, 4, 2, None, None, 10)
    assert list(read.network_use.names) == TABLES["network_use"].names
    assert list(read.network_log.names) == TABLES["network_log"].names
    assert not read.of_sessions([99]).network_log


@pytest.mark.parametrize(
    ("line", "table"),
    [
        (journals.start(9, position=2**40), "trials"),
        (
            journal.Stop(cell=0, trials=1, reason="fixed", more_trials=10**30),
            "stops",
        ),
    ],
)
def test_numbers_that_no_column_holds_are_damage(folder, tmp_path, line, table):
    put(folder, journals.session(), line, journal.Stop(cell=1, trials=1, reason="fixed"))
    with pytest.raises(StoreError, match=f"{table} are damaged"):
        exported(folder, table, "csv", tmp_path / "x.csv")


def test_the_command_writes_a_database_without_being_told_a_table(answered, tmp_path):
    made = tmp_path / "results.duckdb"
    done = invoke("export", str(answered), "--file", str(made))
    assert done.exit_code == 0, done.output
    with duckdb.connect(made, read_only=True) as connection:
        tables = {name for (name,) in connection.sql("SHOW TABLES").fetchall()}
        (trials,) = connection.sql("SELECT count(*) FROM trials").fetchall()
    assert tables == set(STORED)
    assert trials == (32,)
    refused = ["export", str(answered), "--table", "trials", "--file", str(made)]
    assert isinstance(invoke(*refused).exception, UsageError)
