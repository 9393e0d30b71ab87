"""An experiment's own folder as series: its trials, paired by their blocks."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import journals
import numpy as np
import pytest
import synthetic

from tare.errors import InputError, Typed
from tare.experiment.store import export
from tare.features.audit.audit import audit
from tare.features.audit.question import Question
from tare.readers import ColumnOptions, command_for, read
from tare.readers.series import FailedRuns

DATA = Path(__file__).parents[1] / "data" / "interop" / "tare_json"


@pytest.fixture
def results():
    def behave(levels):
        failing = 0.3 if levels["platform"] == "docker" else 0.0
        return synthetic.Behaviour(failing=failing)

    return synthetic.make(behave, trials=12, iterations=3)


@pytest.fixture
def folder(results, tmp_path):
    return journals.write(results, tmp_path / "out")


def test_cells_are_series_of_trial_values(results, folder):
    imported = read(folder)
    assert imported.format == "tare-folder"
    values = results.values("kernel_cpu_ns")
    for one in imported.series:
        assert set(one.key) == {"platform", "workers"}
        rows = values.where(**one.key)
        # Trials are the unit: one value each, whatever iterations and workers there were.
        assert one.values.tolist() == pytest.approx((rows["value"] / 1e9).tolist())
        assert one.trial is not None
        assert one.trial.tolist() == rows["trial"].tolist()
        assert (one.metric, one.unit, one.lower_is_better) == ("kernel_cpu", "s", True)
    assert len(imported.series) == 4
    assert imported.specification.repetitions is not None
    assert imported.specification.environment is not None


def test_pairs_share_blocks(results, folder):
    one, other = (s for s in read(folder).series if s.key["workers"] == "1")
    assert one.block is not None
    assert other.block is not None
    assert set(other.block) < set(one.block)
    assert len(np.unique(one.block)) == len(one.values) == 12


def test_failed_trials_are_told(results, folder):
    failed = int((results.trial_table["status"] != "ok").sum())
    assert failed > 0
    total = len(results.trial_table)
    assert read(folder).failed == FailedRuns(failed, total, "trial")


def test_a_cell_of_which_trials_failed_is_one_of_survivors(results, folder):
    found = audit([folder], Question())
    trials = results.trial_table
    for one in found.series:
        own = trials.where(**one.key)
        bad = int((own["status"] != "ok").sum())
        said = FailedRuns(bad, len(own), "trial") if bad else None
        assert one.partly_failed == said
        if bad:
            assert one.trust.verdict == "DOUBT"
    assert {one.key["platform"] for one in found.series if one.partly_failed} == {"docker"}


def test_killed_trials_have_no_other_metric(tmp_path: Path) -> None:
    made = synthetic.make(
        lambda levels: synthetic.Behaviour(200e6, 0.1), workers=(1,), trials=40, metric="wall_ns"
    )
    limited = synthetic.with_limit(made, 220e6)
    folder = journals.write(limited, tmp_path / "out")
    killed = len(limited.trial_table.where(status="killed"))
    assert killed > 1
    for metric, failed in (("wall_ns", 0), ("cpu_ns", killed)):
        found = audit([folder], Question(columns=ColumnOptions(value=metric)))
        counts = [one.partly_failed for one in found.series if one.partly_failed]
        assert sum(one.n for one in counts) == failed


@pytest.mark.parametrize("compare", [(), ("platform",)])
def test_exported_samples_are_told_apart_by_metric(tmp_path: Path, compare: tuple[str, ...]):
    made = synthetic.make(
        lambda levels: synthetic.Behaviour(200e6, 0.1), workers=(1,), trials=40, metric="wall_ns"
    )
    limited = synthetic.with_limit(made, 220e6)
    file = tmp_path / "samples.csv"
    export.export(journals.write(limited, tmp_path / "o"), "samples", "csv", file, lambda _: [])
    series = read(file, ColumnOptions(compare=compare)).series
    assert all({"metric", "source"} & {*one.key} for one in series)
    assert not any({"reason", "limit_kind"} & {*one.key} for one in series)
    source = limited.sources("wall_ns")[0]
    whole = {"metric": "wall_ns", "source": source}
    wall = [one for one in series if all(one.key.get(k, v) == v for k, v in whole.items())]
    assert len(wall) == 2
    values = limited.values("wall_ns")
    for one in wall:
        own = values.where(platform=one.key["platform"])["value"]
        assert one.values.tolist() == pytest.approx(own.tolist())


@pytest.mark.parametrize(
    ("above_s", "metric", "values", "failed"),
    [(0.1, None, 30, 0), (None, None, 20, 10), (0.1, "memory_bytes", 20, 10)],
)
def test_killed_trials_of_a_run_without_a_value_have_failed(
    tmp_path: Path, above_s: float | None, metric: str | None, values: int, failed: int
) -> None:
    document = json.loads((DATA / "run.json").read_text())
    first = document["trials"][0]
    ends = [{"status": "killed", "above_s": above_s}, {"status": "ok"}, {"status": "ok"}]
    document["trials"] = [{**first, "trial": i + 1, **ends[i % 3]} for i in range(30)]
    file = tmp_path / "run.json"
    file.write_text(json.dumps(document))
    (one,) = audit([file], Question(columns=ColumnOptions(value=metric))).series
    assert one.n == values
    said = FailedRuns(failed, 30, "trial") if failed else None
    assert one.partly_failed == said


def test_another_metric_and_factors_that_were_asked_for(folder):
    imported = read(folder, ColumnOptions(value="kernel_wall_ns", compare=("workload",)))
    assert {one.metric for one in imported.series} == {"kernel_wall"}
    assert set(imported.series[0].key) == {"workload", "platform", "workers"}


@pytest.mark.parametrize(
    ("columns", "complaint", "hint"),
    [
        (ColumnOptions(value="speed"), "has no speed", "kernel_cpu_ns"),
        (ColumnOptions(group=("plattform",)), "no factor 'plattform'", "did you mean 'platform'"),
    ],
)
def test_what_there_is_not_is_told(folder, columns, complaint, hint):
    with pytest.raises(InputError, match=complaint) as told:
        read(folder, columns)
    assert hint in told.value.hint


def test_other_folders_and_damaged_ones_are_refused(folder, tmp_path: Path):
    with pytest.raises(InputError, match="is of no format that is known here"):
        read(tmp_path)
    (folder / "plan.json").write_text("{")
    with pytest.raises(InputError, match=r"plan\.json is damaged"):
        read(folder)


@pytest.mark.parametrize(
    ("document", "command", "hint"),
    [
        (
            b'{"format": "tare-report", "version": 2, "tare": "", "command": "run"}',
            "tare report 'it is.json'   (it is a saved report)",
            "",
        ),
        (
            b'{"version": 1, "verdict": "", "exit_code": 0, "precision_required": 0}',
            "name the file of results to tare audit, not its audit",
            "",
        ),
        (
            b'{"version": 1, "agent": "", "effort": "", "platform": ""}',
            "it is a fingerprint: compare it with another one by tare fingerprint diff",
            "",
        ),
        (b'{"version": 1, "fit": []}', None, "name it with --format: "),
    ],
)
def test_what_holds_no_trials_is_sent_to_the_command_that_reads_it(
    document, command, hint, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = Path("it is.json")
    file.write_bytes(document)
    with pytest.raises(InputError) as told:
        read(file)
    assert told.value.hint is not None
    assert command_for(file) == command
    assert told.value.hint.startswith(command or hint)


def test_results_are_sent_to_audit(tmp_path):
    file = tmp_path / "results.csv"
    file.write_text("a,b\nx,1\n")
    assert (command_for(file) or "").startswith(f"tare audit {file}")
    assert command_for(tmp_path / "none") is None


def test_a_folder_of_trials_is_sent_to_the_report_of_experiments(tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    assert (command_for(tmp_path) or "").startswith(f"tare experiment report {tmp_path}")


@pytest.mark.parametrize("name", ["runs.csv", "runs.json", "mine"])
def test_runs_of_a_task_set_are_no_trials(name: str, tmp_path: Path) -> None:
    row = {"experiment": "e", "folder": "mine", "workload": "sort", "task": "1.in",
           "result": "correct", "cpu_ns": 1}  # fmt: skip
    file = tmp_path / name
    if name == "mine":
        file.mkdir()
        (file / "tasks.json").write_text("{}")
    elif name == "runs.json":
        file.write_text(f"[\n{json.dumps(row, separators=(',', ':'))}\n]\n")
    else:
        file.write_text(
            "\n".join(",".join(f'"{one}"' for one in some) for some in (row, row.values()))
        )
    with pytest.raises(InputError) as refused:
        read(file)
    folder = file if name == "mine" else "mine"
    typed = f"tare tasks report {folder}   (it holds runs of a task set)"
    assert (refused.value.hint, command_for(file)) == (typed, typed)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ('"my dir"', "my dir"),
        ('"caf\\u00e9 \\"x\\""', 'café "x"'),
        ('""', None),
        ('"a\\u001b[2J"', None),
        ("null", None),
        ('"cut off', None),
    ],
)
@pytest.mark.parametrize("separator", [":", ": "])
def test_the_folder_of_task_runs_is_read_as_json(
    text: str, separator: str, folder: str | None, tmp_path: Path
) -> None:
    fields = {"experiment": '"e"', "workload": '"s"', "task": '"t"', "result": '"correct"'}
    written = ",".join(f'"{name}"{separator}{value}' for name, value in fields.items())
    file = tmp_path / "runs.json"
    file.write_text(f'[{{{written},"folder"{separator}{text}}}]')
    words = "name the folder of the task set to tare tasks report"
    hint = command_for(file)
    assert isinstance(hint, Typed) == (folder is not None)
    assert hint == (
        f"tare tasks report {shlex.quote(folder)}   (it holds runs of a task set)"
        if folder
        else words
    )
