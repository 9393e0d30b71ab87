"""Reading hyperfine's JSON, as it really is and as it should not be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audits import shown
from said import args, template, templates

from tare import readers
from tare.errors import InputError
from tare.features.audit.audit import audit
from tare.features.audit.messages import headline
from tare.features.audit.question import Question
from tare.readers import ColumnOptions
from tare.readers.readings import counted
from tare.results.message import message

DATA = Path(__file__).parents[1] / "data" / "interop" / "hyperfine"


def written(folder: Path, *results: dict[str, Any]) -> Path:
    file = folder / "results.json"
    file.write_text(json.dumps({"results": list(results)}))
    return file


def test_every_run_is_a_trial() -> None:
    found = readers.read(DATA / "runs.json")
    assert found.format == "hyperfine"
    assert [dict(one.key) for one in found.series] == [
        {"command": "sleep 0.01"},
        {"command": "seq 20000"},
    ]
    for one in found.series:
        assert (one.metric, one.unit, one.lower_is_better) == ("time", "s", True)
        assert one.trial is not None
        assert list(one.trial) == list(range(12))
        assert one.reported["mean"] == pytest.approx(one.values.mean())
        assert one.reported["sd"] == pytest.approx(one.values.std(ddof=1))
        assert not one.defects
    repetitions = args(found.specification.repetitions, "{count} per {unit}")
    assert repetitions == {"count": counted([12], "run"), "unit": "command"}
    assert found.specification.environment is None


def test_parameters_tell_series_apart() -> None:
    found = readers.read(DATA / "parameters.json")
    assert [one.key["n"] for one in found.series] == ["1000", "100000"]


def test_one_run_has_no_spread() -> None:
    (one,) = readers.read(DATA / "one.json").series
    assert len(one.values) == 1
    assert "sd" not in one.reported


def test_runs_that_failed_are_left_out_and_told() -> None:
    (one,) = readers.read(DATA / "failed.json").series
    assert len(one.values) == 8
    assert one.trial is not None
    assert list(one.trial) == [0, 1, 2, 4, 5, 6, 8, 9]
    failures = args(one.losses, "failed{% else %}")
    assert (failures["n"], failures["total"], failures["what"]) == (2, 10, "run")
    (why,) = failures["why"]
    assert (why.args["why"].args, why.args["n"]) == ({"code": "1"}, 2)


def test_a_command_that_always_fails_has_no_values_and_is_rejected_for_that() -> None:
    found = audit([DATA / "always_failed.json"])
    (one,) = found.series
    assert (one.n, one.series.defects, one.failed, found.exit_code) == (0, (), True, 2)
    (reason,) = one.trust.reasons
    assert template(reason) == "{said}"
    every = args(reason.args["said"], "failed{% else %}")
    assert (every["n"], every["total"], every["why"][0].args["n"]) == (10, 10, 10)
    assert args(headline(found), "do not draw")["failed"] == ["false"]
    assert not one.notes


def test_times_that_hyperfine_cut_off_at_zero_are_a_defect(tmp_path: Path) -> None:
    (one,) = readers.read(
        written(tmp_path, {"command": "a", "times": [0.0] * 8 + [0.1] * 2})
    ).series
    (defect,) = one.defects
    assert args(defect.message, "off below 0") == {"n": 8, "total": 10}


def test_memory_is_read_where_it_is_asked_for_with_its_flaw() -> None:
    found = readers.read(DATA / "memory.json")
    assert [one.metric for one in found.series] == ["time"]
    assert found.notes == (
        message(
            "the file has other metrics (--value): {names | join(', ')}",
            names=["memory_peak_resident"],
        ),
    )
    found = readers.read(DATA / "memory.json", ColumnOptions(value="memory_peak_resident"))
    (one,) = found.series
    assert (one.metric, one.unit) == ("peak memory", "bytes")
    assert len(one.values) == 6
    assert (one.values > 1e5).all()
    assert templates(found.notes) == ["so far. A"]
    with pytest.raises(InputError, match="no metric 'heat'"):
        readers.read(DATA / "memory.json", ColumnOptions(value="heat"))


def test_version_2_measures_more() -> None:
    found = readers.read(DATA / "version_2.json")
    assert [one.key["command"] for one in found.series] == [
        "seq 1000",
        "sh every_fourth_fails.sh",
        "seq 3000",
        "sh every_fourth_fails.sh",
    ]
    first = found.series[0]
    assert (first.key["n"], first.key["N"]) == ("1000", "1000")
    assert first.reported["mean"] == pytest.approx(first.values.mean())
    assert first.trial is not None
    assert list(first.trial) == list(range(8))
    failures = args(found.series[1].losses, "failed{% else %}")
    assert (failures["n"], failures["total"]) == (2, 8)
    assert found.specification.environment == "Linux x86_64"
    assert {"time_cpu", "time_user"} <= set(args(found.notes, "file has other")["names"])
    cpu = readers.read(DATA / "version_2.json", ColumnOptions(value="time_cpu")).series[0]
    assert cpu.metric == "CPU time"
    assert cpu.reported["mean"] == pytest.approx(cpu.values.mean())


def test_another_unit_is_a_defect(tmp_path: Path) -> None:
    text = (DATA / "version_2.json").read_text().replace('"second"', '"minute"', 1)
    file = tmp_path / "minutes.json"
    file.write_text(text)
    (defect,) = readers.read(file).series[0].defects
    assert defect.kind == "mixed units"
    unknown = args(defect.message, "in an unknown")
    assert (unknown["n"], unknown["total"]) == (1, 8)
    assert unknown["at"].args == {
        "place": "results[0].measurements[0].time_wall_clock.unit",
        "found": "'minute'",
    }


def test_without_times_there_is_only_a_summary(tmp_path: Path) -> None:
    (one,) = readers.read(written(tmp_path, {"command": "a", "mean": 1.5, "min": "x"})).series
    assert [d.kind for d in one.defects] == ["summary only"]
    assert len(one.values) == 0
    assert one.reported == {"mean": 1.5}


def test_a_broken_time_is_a_defect_with_its_place(tmp_path: Path) -> None:
    times = [0.1, -0.2, "0.3", float("nan")]
    (one,) = readers.read(written(tmp_path, {"command": "a", "times": times})).series
    assert list(one.values) == [0.1]
    assert {d.kind for d in one.defects} == {"corrupt"}
    places = [args(d.message, "{place} is {found}") for d in one.defects]
    assert {"place": "results[0].times[1]", "found": "-0.2"} in places


def test_a_parameter_may_be_called_command(tmp_path: Path) -> None:
    result = {"command": "a", "times": [1.0], "parameters": {"command": "b", "n": 3}}
    (one,) = readers.read(written(tmp_path, result)).series
    assert one.key == {"command": "a", "parameter command": "b", "n": "3"}
    np.testing.assert_array_equal(one.values, [1.0])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"results": []}', "'results' is empty"),
        ('{"results": 3}', "results: expected a list, found 3"),
        ('{"results": [3]}', r"results\[0\]: expected an object"),
        ('{"results": [{}]}', r"results\[0\]: has no 'command'"),
        ('{"results": [{"command": 1}]}', r"results\[0\].command: expected a text"),
        ('{"results": [{"command": "a", "times": 1}]}', r"times: expected a list"),
        (
            '{"results": [{"command": "a", "times": [1], "exit_codes": [0, 0]}]}',
            r"results\[0\]: 1 runs have 2 exit codes",
        ),
        ("{}", "has no 'results'"),
        ("[]", "expected an object, found a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(InputError, match=complaint) as told:
        readers.read(file, format="hyperfine")
    assert "bad.json" in told.value.message


@pytest.mark.parametrize(("failed", "verdict"), [(1, "TRUST"), (3, "DOUBT")])
def test_more_than_one_failed_run_in_100_is_a_doubt(
    tmp_path: Path, failed: int, verdict: str
) -> None:
    times = list(np.random.default_rng(5).normal(1, 0.01, 200))
    codes = [int(60 <= i < 60 + failed) for i in range(200)]
    file = written(tmp_path, {"command": "./prog", "times": times, "exit_codes": codes})
    found = audit([file], Question())
    assert found.verdict == verdict
    counts = [(one.args["n"], one.args["total"]) for one in headline(found).args["closing"]]
    assert counts == ([] if verdict == "TRUST" else [(failed, 200)])


def test_failures_stand_below_a_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [0.1 + i / 1000 for i in (3, 1, 4, 1, 5, 9, 2, 6)]
    results = [
        {"command": "good", "times": times},
        {"command": "flaky", "times": times, "exit_codes": [0, 0, 0, 0, 0, 0, 2, None]},
        {"command": "bad", "times": times, "exit_codes": [1] * 8},
    ]
    found = audit(
        [written(tmp_path, *results)], Question(columns=ColumnOptions(compare=("command",)))
    )
    refused = [c.refusal.args["names"] for c in found.comparisons if c.refusal]
    assert refused == [["bad"], ["bad"]]
    print(shown(found))
    lines = [one for one in capsys.readouterr().out.splitlines() if "2 of 8 runs" in one]
    assert [line.split()[0] for line in lines] == ["REJECT", "DOUBT"]  # first line, reason
    assert all("flaky" in line for line in lines)
